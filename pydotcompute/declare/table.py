"""The one table of the keys of kernels.yaml: the loader checks by it, and the JSON Schema is made from it."""

from __future__ import annotations

from ..artifact.signature import DTYPES
from . import names
from .shapes import Anything, Constant, Either, Key, ListOf, MapOf, Number, Record, Text, Truth

FASTMATH_FLAGS = ("nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc", "fast")
INT64_MAX = 2**63 - 1

EXPRESSION = Text("an expression")
AMOUNT = Either("a number or an expression", (Number("a number, 0 or more", 0), EXPRESSION))
NAMED = Text("a name", names.context_name_problem, names.CONTEXT_PATTERN)
ANY_NAME = Text("the name of an argument")
KERNEL_NAME = Text("a kernel name", names.kernel_name_problem, names.KERNEL_PATTERN)
DTYPE = Text("a dtype", names.dtype_problem, choices=DTYPES)
TARGET = Text("a target", names.target_problem, names.TARGET_PATTERN)
VENDOR_CALLS = ("matmul",)  # what NumPy and CuPy have under one name, and hand to a BLAS
FILE_FUNCTION = "FILE.py:FUNCTION beside the templates"

CONSTANT = Number("a number, true or false", boolean=True, infinite=True)
THREADS = Either(
    "a number of threads, or an expression over the params", (Number("1 to 1024 threads", 1, 1024, True), EXPRESSION)
)
BLOCKS = Either(
    "a number of blocks, or an expression over dimensions and params",
    (Number("a number of blocks", 1, None, True), EXPRESSION),
)
SIZES = ListOf(
    MapOf(
        Text("a dimension"), Number("a size, 0 or more", 0, INT64_MAX, integer=True), "sizes by dimension: {n: 1000}"
    ),
    "a list of sizes: [{n: 0}, {n: 1000}]",
)
DRAWN = Record(
    "a range",
    {
        "low": Key(Either("a number or an expression", (Number("a number"), EXPRESSION)), "the smallest value"),
        "high": Key(Either("a number or an expression", (Number("a number"), EXPRESSION)), "above the largest value"),
    },
)


def _one_to_three(shape: Either, what: str) -> Either:
    return Either(what, (*shape.shapes, ListOf(shape, f"one to three, each {what}", 1, 3)))


KERNEL = Record(
    "a kernel",
    {
        "doc": Key(Text("one line of text"), "one line; becomes the docstring"),
        "signature": Key(Text("a signature"), 'arguments and outputs: "(a: T, x: T[n]) -> (out: T[n])"', required=True),
        "types": Key(
            MapOf(
                NAMED,
                ListOf(DTYPE, "a list of dtypes", 1, unique=True),
                "type variables and their dtypes: {T: [float32, float64]}",
            ),
            "type variable → dtypes: {T: [float32, float64]}",
        ),
        "params": Key(
            MapOf(
                NAMED,
                Either(
                    "a number, true, false, or a list of them",
                    (CONSTANT, ListOf(CONSTANT, "a list of numbers to choose from", 1, unique=True)),
                ),
                "params and their values: {TILE: [32, 16]}",
            ),
            "compile-time constants: {TILE: 32}, or a list to choose from, the first is the default",
        ),
        "tune": Key(
            ListOf(Text("a param"), "a list of params", 1, unique=True),
            "params that change no result, for bench --tune to find the fastest values of: [TILE]",
        ),
        "requires": Key(
            ListOf(Text("a condition"), "a list of conditions"),
            'conditions on dimensions, params and scalar arguments: ["n % 2 == 0", "low < high"]',
        ),
        "body": Key(Text("statements"), "the kernel's statements"),
        "template": Key(Text("a file under templates/"), "a file under templates/ that holds def NAME(arguments…)"),
        "family": Key(
            MapOf(
                KERNEL_NAME,
                MapOf(
                    NAMED,
                    Either("a string or a number", (Text("a string"), Number("a number", infinite=True))),
                    "values by name: {OP: +}",
                ),
                "kernels and their values: {add: {OP: +}, sub: {OP: -}}",
                1,
            ),
            "one declaration, several kernels: {add: {OP: +}, sub: {OP: -}}",
        ),
        "launch": Key(
            Record(
                "a launch",
                {
                    "block": Key(_one_to_three(THREADS, "a number of threads"), "threads of a block", required=True),
                    "grid": Key(_one_to_three(BLOCKS, "a number of blocks"), "blocks of the grid"),
                    "registers": Key(
                        Number("1 to 255 registers", 1, 255, True), "the most registers that a GPU's thread may use"
                    ),
                    "spills": Key(
                        Number("a number of bytes, 0 or more", 0, None, True), "the most bytes that a thread may spill"
                    ),
                },
            ),
            '{block: 128} or {block: 128, grid: "(n + 127) // 128"}',
        ),
        "vendor": Key(
            Record(
                "a vendor's function",
                {
                    "call": Key(
                        Text("a function of NumPy and CuPy", choices=VENDOR_CALLS), "matmul: the arguments in order",
                        required=True,
                    ),
                    "when": Key(EXPRESSION, 'a condition on dimensions and params: "n * d > 2048"; default: always'),
                    "on_device": Key(EXPRESSION, "that condition on GPUs, whose libraries are others; default: when"),
                },
            ),
            'who else computes the same, and when that is faster: {call: matmul, when: "n * d > 2048"}',
        ),
        "fastmath": Key(
            ListOf(
                Text("an LLVM fast-math flag", choices=FASTMATH_FLAGS), "a list of LLVM fast-math flags", unique=True
            ),
            "LLVM fast-math flags; default [contract]",
        ),
        "reference": Key(
            Either(
                "a NumPy expression, or a list of them",
                (Text("a NumPy expression"), ListOf(Text("a NumPy expression"), "a list of NumPy expressions", 1)),
            ),
            f"a NumPy expression over arguments, dimensions, params and np, or {FILE_FUNCTION}",
        ),
        "tolerance": Key(
            Either(
                "a number, or numbers by dtype",
                (
                    Number("a tolerance, 0 or more", 0),
                    MapOf(DTYPE, Number("a tolerance, 0 or more", 0), "numbers by dtype"),
                ),
            ),
            "a number, or by dtype; default 16 eps of the output's type",
        ),
        "inputs": Key(
            Either(
                "ranges by argument: {x: {low: -3, high: 3}}",
                (MapOf(ANY_NAME, DRAWN, "ranges by argument: {x: {low: -3, high: 3}}"), Text(FILE_FUNCTION)),
            ),
            f"how check and bench draw an argument: {{x: {{low: -3, high: 3}}}}, or {FILE_FUNCTION}",
        ),
        "sizes": Key(
            Record(
                "the sizes",
                {
                    "check": Key(SIZES, "the sizes that check calls it with"),
                    "bench": Key(SIZES, "the sizes that bench times"),
                },
            ),
            "{check: [{n: 0}, {n: 1000}], bench: [{n: 1e6}]}",
        ),
        "special": Key(
            Truth(),
            "false: the kernel is not meant for NaN, infinities and -0.0 as inputs, where check else holds it to the "
            "reference too",
        ),
        "unordered": Key(
            ListOf(Text("an output"), "a list of outputs", 1, unique=True),
            "outputs that may come permuted, together, along their first axis: [out]; check compares them so",
        ),
        "disjoint": Key(
            ListOf(Text("an array"), "a list of arrays", 1, unique=True),
            "arrays of which iterations of a parallel loop touch disjoint elements, where nothing proves that: [out]; "
            "check tests it",
        ),
        "unchecked": Key(
            Truth(),
            "true: indices that are not proved to be inside their arrays are not checked; one outside is undefined "
            "behaviour",
        ),
        "work": Key(
            Record(
                "the work of a call",
                {
                    "bytes": Key(AMOUNT, "bytes moved by a call"),
                    "operations": Key(AMOUNT, "arithmetic operations of a call"),
                },
            ),
            "bytes and operations of a call as expressions, where they cannot be derived",
        ),
    },
    either=("body", "template"),
)

DECLARATION = Record(
    "a declaration",
    {
        "version": Key(Constant(1, "version 1"), "write: version: 1", required=True),
        "targets": Key(
            ListOf(TARGET, "a list of targets", 1, unique=True), "what code is made for: [cpu:x86-64-v3, cuda:sm_90]"
        ),
        "kernels": Key(MapOf(KERNEL_NAME, KERNEL, "kernels by name"), "write: kernels: {NAME: …}", required=True),
    },
)
# The same but for the kernels themselves, each of which is checked on its own.
WITHOUT_KERNELS = Record(
    DECLARATION.what,
    {
        **DECLARATION.keys,
        "kernels": Key(
            MapOf(Text("a name"), Anything(), "kernels by name"), "write: kernels: {NAME: …}", required=True,
        ),
    },
)  # fmt: skip
