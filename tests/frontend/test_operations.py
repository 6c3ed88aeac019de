"""The table of operators and reductions: what it says of each kind of operands is what the front end takes, the
interpreter computes and reductions start from."""

import ast

import numpy as np
import pytest

from pydotcompute.artifact import signature
from pydotcompute.artifact.dtypes import STORED
from pydotcompute.declare.names import name_problem
from pydotcompute.frontend import operators
from pydotcompute.frontend.promotion import Value
from pydotcompute.interpreter import arithmetic, runtime
from pydotcompute.ir import functions, tree
from pydotcompute.ir.dtypes import kind_of
from pydotcompute.ir.operations import BINARY, COMPARISONS, CONNECTIVES, REDUCTIONS, SYMBOLS, UNARY, UPDATES, of_bools

DTYPES = [dtype for dtype in signature.DTYPES if dtype not in STORED]  # of what is computed with

SAMPLES = {"b": (False, True), "i": (0, 1, 3, 100), "f": (0.0, -0.0, 1.5, -2.0, np.inf, -np.inf), "c": (0j, 1 - 2j)}


class Refused(Exception):
    pass


def fault(message, hint="", at=None):
    raise Refused(message)


def variable(dtype, name="v"):
    return Value(tree.Var(name, dtype))


def accepted(build, *arguments):
    try:
        return build(*arguments, fault)
    except Refused:
        return None


def values(dtype):
    """A few values of a dtype, its extremes among them."""
    found = [arithmetic.value(v, dtype) for v in SAMPLES[kind_of(dtype)]]
    if kind_of(dtype) == "i":
        found += [REDUCTIONS["min"].identity(dtype), REDUCTIONS["max"].identity(dtype)]
    return found


NOT_OURS = {"**": "c", "<": "c", "<=": "c", ">": "c", ">=": "c"}  # what NumPy takes and the language does not


def numpy_takes(text, dtype):
    """Whether NumPy has a meaning for an expression of a and b in a dtype."""
    one = np.ones((), dtype)[()]
    try:
        with np.errstate(all="ignore"):
            eval(text, {"a": one, "b": one})
    except TypeError:
        return False
    return True


@pytest.mark.parametrize("dtype", DTYPES)
def test_operators_take_the_kinds_that_numpy_takes(dtype):
    for table, text in ((BINARY, "a {} b"), (COMPARISONS, "a {} b"), ({s: UNARY[s] for s in "-~"}, "{} a")):
        for symbol, operator in table.items():
            ours = kind_of(dtype) in operator.accepts
            assert ours == (numpy_takes(text.format(symbol), dtype) and kind_of(dtype) not in NOT_OURS.get(symbol, ""))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("symbol", BINARY)
def test_binary_operators_take_the_kinds_of_the_table(symbol, dtype):
    done = accepted(operators.binary, symbol, variable(dtype), variable(dtype))
    assert (done is not None) == (kind_of(dtype) in BINARY[symbol].accepts)
    if done:
        compute = arithmetic.binary(done.expr.op, done.expr.type)
        with np.errstate(all="ignore"):
            results = [compute(a, b) for a in values(done.expr.type) for b in values(done.expr.type)]
        assert all(arithmetic.value(result, done.expr.type) == result or result != result for result in results)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("symbol", UNARY)
def test_unary_operators_take_the_kinds_of_the_table(symbol, dtype):
    if symbol == "not":  # of what holds, whatever its type
        return
    done = accepted(operators.unary, symbol, variable(dtype))
    assert (done is not None) == (kind_of(dtype) in UNARY[symbol].accepts)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("symbol", COMPARISONS)
def test_comparisons_take_the_kinds_of_the_table(symbol, dtype):
    done = accepted(operators.compare, symbol, variable(dtype), variable(dtype))
    assert (done is not None) == (kind_of(dtype) in COMPARISONS[symbol].accepts)
    if done:
        assert done.expr.type == "bool"


def test_every_operator_of_the_tables_is_one_of_pythons():
    meant = {*BINARY, *UNARY, *COMPARISONS, *CONNECTIVES}
    assert set(SYMBOLS.values()) == meant
    for node, symbol in SYMBOLS.items():
        text = f"{symbol} a" if issubclass(node, ast.unaryop) else f"a {symbol} b"
        parsed = ast.parse(text, mode="eval").body
        assert node in {type(getattr(parsed, "op", None)), *map(type, getattr(parsed, "ops", ()))}


def test_words_name_one_operator_each():
    words = [operator.word for table in (BINARY, UNARY, COMPARISONS, CONNECTIVES) for operator in table.values()]
    assert len(set(words)) == len(words) and all(word.isidentifier() for word in words)


def same(a, b):
    return a == b and np.signbit(np.real(a)) == np.signbit(np.real(b))


OF_DTYPES = [(op, d) for op, r in REDUCTIONS.items() for d in DTYPES if kind_of(d) in r.accepts]


@pytest.mark.parametrize("op, dtype", OF_DTYPES)
def test_an_identity_changes_nothing(op, dtype):
    reduction = REDUCTIONS[op]
    start = arithmetic.value(reduction.identity(dtype), dtype)
    for value in values(dtype):
        if reduction.positioned:
            assert not arithmetic.comparison(reduction.combine)(start, value)  # no element is worse
        elif reduction.combine in functions.FUNCTIONS:
            assert same(arithmetic.function(reduction.combine, dtype)(start, value), value)
        else:
            assert arithmetic.binary(reduction.combine, dtype)(start, value) == value


@pytest.mark.parametrize("op, dtype", OF_DTYPES)
def test_what_a_cpu_starts_from_changes_nothing_not_even_the_sign_of_zero(op, dtype):
    of_cpu = pytest.importorskip("pydotcompute.targets.cpu.lane_vectors")
    if REDUCTIONS[op].positioned or kind_of(dtype) == "c":
        return
    start = arithmetic.value(of_cpu.identity(op, dtype), dtype)
    combine = REDUCTIONS[op].combine
    compute = (arithmetic.function if combine in functions.FUNCTIONS else arithmetic.binary)(combine, dtype)
    for value in values(dtype):
        assert same(compute(start, value), value)


@pytest.mark.parametrize("op", REDUCTIONS)
def test_the_interpreter_reduces_nothing_to_what_it_starts_from(op):
    reduce = runtime.REDUCTIONS[f"reduce_{op}"]
    dtype = "bool" if REDUCTIONS[op].accepts == "b" else "int64"
    assert reduce(7, [], dtype) == 7


NUMPYS = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum}


@pytest.mark.parametrize("op", NUMPYS)
def test_a_reduction_of_bools_is_one_of_their_bits(op):
    combine = REDUCTIONS[of_bools(op, "bool")].combine
    for a in (False, True):
        for b in (False, True):
            assert arithmetic.binary(combine, "bool")(a, b) == NUMPYS[op](a, b)
    assert of_bools(op, "int32") == op and {o for o, r in REDUCTIONS.items() if r.bools} == set(NUMPYS)


def test_updates_are_by_operators_that_are_reductions():
    assert set(UPDATES.values()) <= set(REDUCTIONS)
    for symbol, op in UPDATES.items():
        assert symbol in BINARY and (REDUCTIONS[op].combine == symbol or symbol == "-")


@pytest.mark.parametrize("word", functions.CONSTANTS)
def test_constants_give_way_to_arguments(word):
    assert name_problem(word) is None


@pytest.mark.parametrize("word", sorted({*functions.FUNCTIONS, *functions.WORDS} - {*functions.CONSTANTS}))
def test_no_argument_takes_a_word_of_the_language(word):
    message, _ = name_problem(word)
    assert message.startswith(f"'{word}' cannot be used as a name")
