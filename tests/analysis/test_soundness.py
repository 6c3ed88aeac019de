"""What the analyses accept, tried out on every small case: no random program slips through."""

import itertools

import pytest
from hypothesis import given, settings, strategies as st

from pydotcompute.errors import DeclarationError
from pydotcompute.analysis import affine, races
from pydotcompute.interpreter import source as interpret_source
from pydotcompute.ir import tree as t
from pydotcompute.artifact.signature import Parameter

INT = "int64"


def const(v):
    return t.Const(v, INT)


@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_the_prover_never_refutes_what_has_a_solution(data):
    """Constraints are built around a solution, products and alternatives among them."""
    count = data.draw(st.integers(1, 4))
    atoms = {k: affine.Atom(k, f"a{k}", natural=data.draw(st.booleans())) for k in range(count)}
    values = {k: data.draw(st.integers(0 if atoms[k].natural else -5, 5)) for k in atoms}
    monomials = st.lists(st.integers(0, count - 1), max_size=2).map(lambda m: tuple(sorted(m)))

    def value(poly):
        total = 0
        for monomial, coefficient in poly.items():
            for atom in monomial:
                coefficient *= values[atom]
            total += coefficient
        return total

    constraints = []
    for _ in range(data.draw(st.integers(1, 6))):
        poly = {m: c for m, c in data.draw(st.dictionaries(monomials, st.integers(-4, 4), max_size=4)).items() if c}
        slack = data.draw(st.sampled_from([0, 0, 1, 3]))
        true = affine.add(poly, affine.constant(value(poly) - slack), -1)
        relation = "==" if slack == 0 and data.draw(st.booleans()) else ">="
        other = (">=", affine.add(true, affine.constant(100), -1))
        alternatives = [((relation, true),)] + ([(other,)] if data.draw(st.booleans()) else [])
        constraints.append(affine.Constraint(tuple(alternatives)))
    assert not affine.impossible(constraints, atoms)


def wrapping(e, choice):
    """The expression times a power of two in a narrow type, where the fourth or so comes round to 0."""
    power, dtype = choice
    return t.Convert(
        t.Binary("*", t.Convert(e, dtype), t.Const(1 << power % (8 if "8" in dtype else 64), dtype), dtype), INT
    )


def indices(names):
    """A random index expression over loop indices and the dimension n."""
    leaf = st.one_of(
        st.sampled_from(names).map(lambda name: t.Var(name, INT)),
        st.integers(0, 3).map(const),
        st.just(t.Var("n", INT)),
    )

    def larger(inner):
        return st.one_of(
            st.builds(t.Binary, st.sampled_from(["+", "-", "*"]), inner, inner, st.just(INT)),
            st.builds(t.Binary, st.sampled_from(["//", "%"]), inner, st.integers(1, 3).map(const), st.just(INT)),
            st.builds(t.Binary, st.sampled_from(["//", "%"]), inner, leaf, st.just(INT)),
            st.builds(t.Binary, st.sampled_from(["//", "%", "<<", "&"]), inner, inner, st.just(INT)),
            st.builds(wrapping, inner, st.sampled_from([(30, "int32"), (6, "int8"), (7, "uint8"), (62, INT)])),
            st.builds(lambda f, a, b: t.Call(f, (a, b), INT), st.sampled_from(["min", "max"]), inner, inner),
            st.builds(lambda op, a, b, c, d: t.Select(t.Compare(op, a, b), c, d, INT),
                      st.sampled_from(["<", "==", "!="]), inner, inner, inner, inner),
        )  # fmt: skip

    return st.recursive(leaf, larger, max_leaves=5)


@st.composite
def bodies(draw, names):
    """Stores and updates of x under guards, in sequential loops, through locals."""
    index = indices(names)
    bound = t.Binary("+", t.Var(draw(st.sampled_from(names)), INT), const(draw(st.integers(0, 2))), INT)

    def access(k):
        value = draw(index)
        statements = []
        if draw(st.booleans()):
            statements.append(t.Assign(f"j{k}", value))
            value = t.Var(f"j{k}", INT)
            more = t.Assign(f"j{k}", t.Binary("+", value, const(1), INT))
            changed = draw(st.sampled_from(["not", "not", "once", "maybe", "either", "leaves", "while"]))
            if changed == "once":
                statements.append(more)
            elif changed == "maybe":
                statements.append(t.If(t.Compare("<", draw(index), draw(index)), (more,)))
            elif changed in ("either", "leaves"):
                one = (t.Assign(f"j{k}", draw(index)),)
                other = (t.Assign(f"j{k}", draw(index)),) if changed == "either" else (t.Continue(),)
                branches = (one, other) if draw(st.booleans()) else (other, one)
                statements.append(t.If(t.Compare("<", draw(index), draw(index)), *branches))
            elif changed == "while":
                statements.append(t.While(t.Compare("<", value, bound), (more,)))
        read = t.Load("x", (draw(index) if draw(st.booleans()) else value,), INT)
        statements.append(t.Store("x", (value,), t.Binary("+", read, const(1), INT)))
        if draw(st.booleans()):
            op = draw(st.sampled_from(["<", "<=", "==", "!=", ">"]))
            test = t.Compare(op, draw(index), draw(index))
            if draw(st.booleans()):
                test = t.BoolOp(draw(st.sampled_from(["and", "or"])), test, t.Compare("<", draw(index), draw(index)))
            if draw(st.booleans()):
                test = t.Unary("not", test, "bool")
            if draw(st.booleans()):
                statements = [t.If(test, (t.Continue(),)), *statements]
            else:
                statements = [t.If(test, tuple(statements), tuple(statements) if draw(st.integers(0, 4)) == 0 else ())]
        if draw(st.integers(0, 2)) == 0:
            start = const(draw(st.integers(0, 2)))
            step = const(draw(st.sampled_from([1, 2, -1])))
            statements = [t.For(f"q{k}", start, bound, step, tuple(statements))]
        return statements

    return tuple(s for k in range(draw(st.integers(1, 2))) for s in access(k))


@pytest.mark.slow
@pytest.mark.parametrize("names", [("i",), ("i", "j")])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_no_two_iterations_of_an_accepted_kernel_meet(names, data):
    body = data.draw(bodies(names))
    counts = tuple(data.draw(st.sampled_from([t.Var("n", INT), const(3), const(2)])) for _ in names)
    x = Parameter("x", INT, ("m",), "inout")
    tree = t.KernelTree("k", (x,), ("m", "n"), {}, {}, (), (t.Parallel("grid", names, counts, body),), ())
    try:
        races.check(tree)
    except DeclarationError:
        return
    for n, m in ((0, 3), (1, 4), (2, 6), (3, 9), (5, 12)):
        touched = record(tree, n, m)
        if touched is None:
            continue  # an index outside of x: an error of the program, of which nothing is promised
        for (a, read_a, written_a), (b, _, written_b) in itertools.permutations(touched, 2):
            assert not (read_a & written_b), (n, m, a, b)
            assert not (written_a & written_b), (n, m, a, b)


class Outside(Exception):
    pass


def record(tree, n, m):
    """For each iteration: the elements of x that it reads and writes when run alone; None if one is outside."""
    source = interpret_source.write(tree)
    found = []

    def loop(*counts):
        for index in itertools.product(*(range(max(c, 0)) for c in counts)):
            found.append((index, set(), set()))
            yield index if len(index) > 1 else index[0]

    def load(array, i, site):
        if not 0 <= i < m:
            raise Outside
        found[-1][1].add(i)
        return 0

    def store(array, i, value, site):
        if not 0 <= i < m:
            raise Outside
        found[-1][2].add(i)

    names = {**source.names, "_item1": load, "_store1": store, "_loop": loop,
             "_span": lambda *r: range(*r)}  # fmt: skip
    exec(source.text, names)
    try:
        names[source.kernel](None, m, n)
    except Outside:
        return None
    return found
