"""The coefficients are those that minimax.py computes, and good enough for their type."""

import importlib

import minimax
import pytest

FILES = ("exponential", "logarithm", "hyperbolic", "inverse", "special", "power", "roots", "trigonometric", "circular")


def table(name):
    for file in FILES:
        module = importlib.import_module(f"pydotcompute.ir.math.{file}")
        for known in (f"_{name}", name):
            if hasattr(module, known):
                return getattr(module, known)
    raise AssertionError(f"no file has {name}")


@pytest.mark.parametrize("name", ["EXP_32", "LOG_32", "SIN_32", "TANH_32", "ASIN_32", "CBRT"])
def test_coefficients_are_reproduced(name):
    coefficients, error = minimax.fit(*minimax.TABLES[name])
    assert tuple(coefficients) == table(name)
    assert error < 2 ** (-13.5 if name == "CBRT" else -25.5)


@pytest.mark.parametrize("name", minimax.TABLES)
def test_every_table_is_used(name):
    assert all(isinstance(c, float) for c in table(name))
