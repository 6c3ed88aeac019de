"""What would take forever is a message, at once: loops without an end, and what multiplies."""

import time

import pytest

from pydotcompute.declare import load, render
from pydotcompute.errors import DeclarationError
from pydotcompute.frontend.build import build_tree

SIGNATURE = '"(x: float32[n]) -> (out: float32[n])"'


def kernel(folder, entry, template=None):
    (folder / "templates").mkdir(exist_ok=True)
    (folder / "kernels.yaml").write_text(f"version: 1\ntargets: [cpu:x86-64-v2]\nkernels:\n  k:\n{entry}")
    if template is not None:
        (folder / "templates" / "k.py.j2").write_text(template)
    found = load(folder).kernels["k"]
    specialisation = found.specialisations[0]
    return build_tree(found, specialisation, render(found, specialisation, "cpu", folder))


def body(*lines):
    text = "".join(f"          {line}\n" for line in lines)
    return f"    signature: {SIGNATURE}\n    body: |\n      for i in grid(n):\n          v = x[i]\n{text}          out[i] = v\n"


TEMPLATED = f"    signature: {SIGNATURE}\n    template: k.py.j2\n"
INDICES = ", ".join(f"i{k}" for k in range(32))
FULL = "{" + ", ".join(f"P{k}: [{', '.join(map(str, range(20)))}]" for k in range(8)) + "}"


def doubling(levels):
    helpers = "".join(f"def h{k}(x):\n    return h{k - 1}(x) + h{k - 1}(x + 1)\n\n" for k in range(1, levels + 1))
    return f"def h0(x):\n    return x * 2\n\n{helpers}def k(x, out):\n    for i in grid(n):\n        out[i] = h{levels}(x[i])\n"


def calling(helpers, terms):
    """Helpers that call one another, each call within a sum of so many terms."""
    sums = "".join(f"def h{k}(x):\n    return h{k - 1}(x){' + x' * terms}\n\n" for k in range(1, helpers))
    return f"def h0(x):\n    return x\n\n{sums}def k(x, out):\n    for i in grid(n):\n        out[i] = h{helpers - 1}(x[i])\n"


def acting(helpers, conditions):
    """Helpers that store, whose statements stand where they are called, one within another."""
    text = "def h0(v, i, out):\n    out[i] = v\n\n"
    for k in range(1, helpers):
        ifs = "".join(f"{'    ' * (c + 1)}if v > {c}:\n" for c in range(conditions))
        text += f"def h{k}(v, i, out):\n{ifs}{'    ' * (conditions + 1)}h{k - 1}(v, i, out)\n\n"
    return f"{text}def k(x, out):\n    for i in grid(n):\n        out[i] = 0\n        h{helpers - 1}(x[i], i, out)\n"


def acting_twice(levels, leaf, call):
    """The same, of which each calls the one before twice."""
    helpers = "".join(
        f"def h{k}(a, v, i):\n    h{k - 1}(a, v, i)\n    h{k - 1}(a, v + 1, i)\n\n" for k in range(1, levels + 1)
    )
    return f"def h0(a, v, i):\n{leaf}\n{helpers}def k(x, out):\n    for i in grid(n):\n        out[i] = 0\n{call.format(levels)}\n"


def nested(turns, line=""):
    begin = "".join(f"{{% for {name} in range({turns}) %}}" for name in "abc")
    return f"def k(x, out):\n    for i in grid(n):\n{begin}{line}{'{% endfor %}' * 3}        out[i] = x[i]\n"


STORES = "    a[i] = v\n", "        h{}(out, x[i], i)"
MAKES = "    t = local(4, float32)\n    for j in range(4):\n        t[j] = v\n    a[i] = t[1] + t[2]\n", STORES[1]
LOOPS = "    for j in grid(n):\n        a[j] += v\n", "    h{}(out, float32(1), 0)"
TURNS = "the loops and macros of a template may have 100,000 turns in all"
MACROS = "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}"

ELEMENTS, MEMORY = "may have 1,000,000 characters", " MB of memory"
HUGE = [
    ("{{ 'a' * 10**10 }}", ELEMENTS),
    ("{% set a = [1] * 10**9 %}", ELEMENTS),
    ("{% set a = 10**9 * (1,) %}", ELEMENTS),
    ("{% set a = 10 ** (10 ** 10) %}", "a power in a template may have 10,000 digits"),
    ("{% set a = namespace(t='ab') %}{% for i in range(60) %}{% set a.t = a.t ~ a.t %}{% endfor %}", MEMORY),
    ("{% set a = namespace(t=[1]) %}{% for i in range(60) %}{% set a.t = a.t + a.t %}{% endfor %}", MEMORY),
    ("{{ 'a' | center(10**10) }}", MEMORY),
    ("{% set z = 'a' | center(9999999999) %}", MEMORY),
    ("{% set z = '%9999999999d' % 1 %}", MEMORY),
    ("{{ [1] | batch(999999999, 0) | list }}", MEMORY),
    ("{{ lipsum(9999999) }}", "'lipsum' is undefined"),
    ("{{ 'a'.ljust(10**10) }}", MEMORY),
    ("{{ '%0*d' % (10**9, 1) }}", MEMORY),
    ("{{ 'a'.join(['b' * 10**6] * 1000) }}", MEMORY),
    ("# {{ 'a' * 10**6 }}{{ 'b' * 9 }}", ELEMENTS),
]


@pytest.mark.parametrize("entry, template, told", [
    (body("while True:", "    v = v + 1"), None, "`while True` never ends"),
    (body("while 1 < 2:", "    v = v + 1", "    for j in range(3):", "        break"), None, "`while 1 < 2` never ends"),
    (body(*["v = v * 2 + 1"] * 10_000), None, "'k' has 10,004 lines once it is rendered, and at most 2,000"),
    (f"    params: {FULL}\n{body()}", None, "these are 25,600,000,000 specialisations, and a kernel may have 10,000"),
    (TEMPLATED, doubling(21), "the helpers of `k` have 25,165,816 parts when each stands where it is called"),
    *((TEMPLATED, acting_twice(17, *how), "the helpers of `k` have more than 10,000 parts") for how in (STORES, MAKES, LOOPS)),
    *((TEMPLATED, calling(*sizes), "`k` is nested too deep: helpers that call helpers") for sizes in ((150, 0), (4, 190))),
    (body(f"v = {' + '.join(['v'] * 3_000)}"), None, "kernels.yaml:9:11: a statement nested too deep to be read"),
    (TEMPLATED, acting(3, 50), "statements nested more than 64 deep, with those of helpers where they are called"),
    (TEMPLATED, nested(1000), TURNS),
    (TEMPLATED, "{% for a in 'x' * 10**6 %}{% for b in 'x' * 10**6 %}{% endfor %}{% endfor %}", TURNS),
    (TEMPLATED, MACROS, TURNS),
    (body(*("  " * k + f"for j{k} in range(2):" for k in range(12)), "  " * 12 + "v = v + 1"), None,
     "loops nested more than 12 deep"),
    (TEMPLATED, nested(20, "        # line\n"), "'k' has 8,003 lines once it is rendered"),
    (TEMPLATED, "{% set n = range(10 ** 12) | list %}", TURNS),
    *((TEMPLATED, text, told) for text, told in HUGE),
])  # fmt: skip
def test_what_never_ends_or_multiplies_is_told_at_once(tmp_path, entry, template, told):
    began = time.process_time()  # of which a busy machine takes no more
    with pytest.raises(DeclarationError) as caught:
        kernel(tmp_path, entry, template)
    assert told in str(caught.value) and caught.value.at is not None
    assert caught.value.hint or caught.value.message.startswith("Jinja2"), "what to do"
    assert time.process_time() - began < 10


@pytest.mark.parametrize("entry, template", [
    (body("while True:", "    v = v + 1", "    if v > 9:", "        break"), None),
    (body("while v < 9:", "    v = v + 1"), None),
    (body(*["v = v * 2 + 1"] * 1_500), None),
    (TEMPLATED, doubling(6)),
    *((TEMPLATED, acting_twice(5, *how)) for how in (STORES, MAKES, LOOPS)),
    (TEMPLATED, calling(40, 0)), (TEMPLATED, acting(3, 30)),
    (body(*("  " * k + f"for j{k} in range(2):" for k in range(11)), "  " * 11 + "v = v + 1"), None),
    (TEMPLATED, nested(10, "        # line\n")),
    (TEMPLATED, f"def k(x, out):\n    for {INDICES} in grid({'1, ' * 31}n):\n        out[i31] = x[i31]\n"),
])  # fmt: skip
def test_what_ends_is_not_refused(tmp_path, entry, template):
    kernel(tmp_path, entry, template)
