"""`len`: which dimension it is."""

import pytest


@pytest.mark.parametrize(
    "signature, length, wanted",
    [
        ("(x: T[...]) -> (out: T[...])", "len(x)", "size"),
        ("(x: T[..., n]) -> (out: T[...])", "len(x) + len(x[0])", "(rows + n)"),
        ("(x: T[n, 3]) -> (out: T[2 * n])", "len(out) - len(x[0])", "((2 * n) - 3)"),
        ("(x: T[n, m]) -> (out: T[max(n, m) // 2])", "len(out)", "(max(n, m) // 2)"),
    ],
)
def test_of_arguments(printed, signature, length, wanted):
    assert printed(f"for i in grid({length}):\n    pass", signature=signature) == f"for i in grid({wanted}):\n    pass\n"


def test_what_no_kernel_computes(refusal):
    error = refusal("for i in grid(len(out)):\n    pass", signature="(x: T[n]) -> (out: T[n if n > 3 else 3])")
    assert error.message == "`len(out)` is n if n > 3 else 3, which kernels do not compute"
