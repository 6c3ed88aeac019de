"""Lets the tests here import `support` and `entries`; kernels that several of them share."""

import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))


@pytest.fixture(scope="session")
def kernels(tmp_path_factory):
    from entries import SIGNATURES, Native
    from support import write_kernel

    made = {}

    def get(name):
        if name not in made:
            parameters = SIGNATURES[name][0]
            made[name] = Native(write_kernel(tmp_path_factory.mktemp("k"), "k", parameters))
        return made[name]

    return get
