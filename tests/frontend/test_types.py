"""Types of expressions, checked against NumPy's own: weak values are Python's numbers there."""

import itertools
import operator

import numpy as np
import pytest

from pydotcompute.ir import tree
from pydotcompute.frontend.operators import binary, call, compare, select
from pydotcompute.frontend.promotion import Value, literal, rank
from pydotcompute.artifact import signature
from pydotcompute.artifact.dtypes import STORED

WEAK = {"weak bool": True, "weak int": 2, "weak float": 0.5, "weak complex": 1j}
DTYPES = [dtype for dtype in signature.DTYPES if dtype not in STORED]  # of what is computed with
ALL = [*DTYPES, *WEAK]


class Refused(Exception):
    pass


def fault(message, hint="", at=None):
    raise Refused(message)


def ours(name):
    """A value that is not known now: a variable, held as its kind where it is weak."""
    if name in WEAK:
        return Value(tree.Var("w", literal(WEAK[name]).expr.type), True)
    return Value(tree.Var("v", name))


def numpys(name):
    return WEAK[name] if name in WEAK else np.ones(1, name)[0]


OPERATORS = {
    "+": (operator.add, np.add), "-": (operator.sub, np.subtract), "*": (operator.mul, np.multiply),
    "/": (operator.truediv, np.true_divide), "//": (operator.floordiv, np.floor_divide),
    "%": (operator.mod, np.remainder), "**": (operator.pow, np.power), "&": (operator.and_, np.bitwise_and),
    "|": (operator.or_, np.bitwise_or), "^": (operator.xor, np.bitwise_xor), "<<": (operator.lshift, np.left_shift),
    ">>": (operator.rshift, np.right_shift),
}  # fmt: skip


def expected(op, left, right):
    """NumPy's type of `left op right`; "weak" where both are Python's; None where it has no such operation. The
    functions are NumPy's: np.float64 is a Python float too, and its own operators would be Python's."""
    weak = left in WEAK and right in WEAK
    try:
        with np.errstate(all="ignore"):
            value = OPERATORS[op][not weak](numpys(left), numpys(right))
    except TypeError:
        return None
    return "weak" if weak else str(value.dtype)


@pytest.mark.parametrize("op", OPERATORS)
def test_operators_have_numpys_types(op):
    for left, right in itertools.product(ALL, ALL):
        wanted = expected(op, left, right)
        complex_ = "complex" in left or "complex" in right
        if wanted is None or complex_ and op in ("//", "%", "**"):  # complex powers are not in the language
            with pytest.raises(Refused):
                binary(op, ours(left), ours(right), fault)
            continue
        found = binary(op, ours(left), ours(right), fault)
        assert ("weak" if found.weak else found.expr.type) == wanted, (left, op, right)
        assert found.expr.left.type == found.expr.right.type == found.expr.type


def test_operands_are_converted_where_they_differ():
    found = binary("*", Value(tree.Var("x", "int32")), Value(tree.Var("y", "float32")), fault).expr
    assert found.left == tree.Convert(tree.Var("x", "int32"), "float64")
    assert found.right == tree.Convert(tree.Var("y", "float32"), "float64")
    assert binary("*", Value(tree.Var("y", "float32")), literal(0.1), fault).expr.right == tree.Const(
        float(np.float32(0.1)), "float32"
    )


@pytest.mark.parametrize("text, folded", [("+", 9), ("-", 5), ("*", 14), ("//", 3), ("%", 1), ("**", 49), ("<<", 28)])
def test_literals_are_folded(text, folded):
    value = binary(text, literal(7), literal(2), fault)
    assert value.weak and value.expr == tree.Const(folded, "int64")


def test_float_literals_are_folded_in_float64():
    assert binary("/", literal(1), literal(3), fault).expr == tree.Const(1 / 3, "float64")
    assert isinstance(binary("/", literal(1), literal(0), fault).expr, tree.Binary)  # inf is the arithmetic's


SAMPLES = {  # extremes of each integer type and some between
    name: sorted({int(np.iinfo(name).min), int(np.iinfo(name).max), 0, 1, 100})
    for name in DTYPES if "int" in name
}  # fmt: skip


def run(e, values):
    """The value of a comparison, by hand: conversions only widen or reinterpret here."""
    match e:
        case tree.Const():
            return e.value
        case tree.Var():
            return values[e.name]
        case tree.Convert():
            inner = run(e.operand, values)
            return inner % 2**64 if e.type == "uint64" else inner
        case tree.Compare():
            return OPERATORS_COMPARE[e.op](run(e.left, values), run(e.right, values))
        case tree.BoolOp():
            left = run(e.left, values)
            return (left and run(e.right, values)) if e.op == "and" else (left or run(e.right, values))


OPERATORS_COMPARE = {
    "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b,
}  # fmt: skip


@pytest.mark.parametrize("op", OPERATORS_COMPARE)
def test_comparisons_of_integers_are_exact_as_numpys(op):
    for left, right in itertools.product(SAMPLES, SAMPLES):
        built = compare(op, Value(tree.Var("a", left)), Value(tree.Var("b", right)), fault).expr
        for a, b in itertools.product(SAMPLES[left], SAMPLES[right]):
            numpys_ = OPERATORS_COMPARE[op](np.array(a, left)[()], np.array(b, right)[()])
            assert run(built, {"a": a, "b": b}) == numpys_, (a, left, op, b, right)


@pytest.mark.parametrize("op", OPERATORS_COMPARE)
def test_comparisons_with_literals_that_do_not_fit_are_exact(op):
    for name, number in itertools.product(SAMPLES, (-1, 300, 2**63, 2**64 - 1, 2**70, -(2**70))):
        built = compare(op, Value(tree.Var("a", name)), literal(number), fault).expr
        mirrored = compare(op, literal(number), Value(tree.Var("a", name)), fault).expr
        for a in SAMPLES[name]:
            numpys_ = np.array(a, name)[()]
            assert run(built, {"a": a}) == OPERATORS_COMPARE[op](numpys_, number)
            assert run(mirrored, {"a": a}) == OPERATORS_COMPARE[op](number, numpys_)


def test_comparisons_take_numpys_common_type():
    for left, right in itertools.product(ALL, ALL):
        if rank_of(left) <= 1 and rank_of(right) <= 1:
            continue
        built = compare("==", ours(left), ours(right), fault).expr
        if left in WEAK and right in WEAK:
            continue
        with np.errstate(all="ignore"):
            assert built.left.type == str(np.result_type(numpys(left), numpys(right))), (left, right)


def rank_of(name):
    return literal(WEAK[name]).rank if name in WEAK else rank(name)


UFUNCS = {
    "min": np.minimum, "max": np.maximum, "abs": np.abs, "sign": np.sign, "floor": np.floor, "ceil": np.ceil,
    "trunc": np.trunc, "round": np.round, "sqrt": np.sqrt, "exp": np.exp, "log1p": np.log1p, "hypot": np.hypot,
    "copysign": np.copysign, "atan2": np.arctan2, "isnan": np.isnan, "conj": np.conj, "real": np.real, "imag": np.imag,
}  # fmt: skip


@pytest.mark.parametrize("name", UFUNCS)
def test_functions_have_numpys_types(name):
    """But for integers in functions of floats, which are float64 whatever their size, and complex numbers, which
    have a few functions only."""
    arity = 2 if name in ("min", "max", "hypot", "copysign", "atan2") else 1
    for dtypes in itertools.product(DTYPES, repeat=arity):
        kinds = {rank(d) for d in dtypes}
        arguments = [Value(tree.Var("v", d)) for d in dtypes]
        if 3 in kinds and name not in ("abs", "conj", "real", "imag", "sqrt", "exp"):
            with pytest.raises(Refused):
                call(name, arguments, fault)
            continue
        try:
            with np.errstate(all="ignore"):
                wanted = str(UFUNCS[name](*(np.ones(1, d)[0] for d in dtypes)).dtype)
        except TypeError:
            with pytest.raises(Refused):
                call(name, arguments, fault)
            continue
        if name in ("sqrt", "exp", "log1p", "hypot", "copysign", "atan2") and max(kinds) <= 1:
            wanted = "float64"
        if name in ("round", "conj") and dtypes == ("bool",):
            wanted = "bool"  # NumPy's are float16 and int8
        assert call(name, arguments, fault).expr.type == wanted, dtypes


@pytest.mark.parametrize("name, wanted", [("min", "float32"), ("hypot", "float32"), ("pow", "float32")])
def test_weak_arguments_adopt_the_strong_type(name, wanted):
    assert call(name, [ours("float32"), ours("weak int")], fault).expr.type == wanted
    assert call(name, [ours("weak float"), ours("float32")], fault).expr.type == wanted
    assert call(name, [ours("weak float"), ours("weak int")], fault).weak


def test_where_and_conditional_expressions_take_the_common_type():
    condition = Value(tree.Var("c", "bool"))
    for left, right in itertools.product(DTYPES, DTYPES):
        wanted = str(np.result_type(left, right))
        a, b = Value(tree.Var("a", left)), Value(tree.Var("b", right))
        assert select(condition.expr, a, b, fault).expr.type == wanted
        if "complex" not in left + right:
            found = call("where", [condition, a, b], fault).expr
            assert found.type == wanted and found.arguments[1].type == found.arguments[2].type == wanted
