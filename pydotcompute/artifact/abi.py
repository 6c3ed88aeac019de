"""How a compiled CPU kernel is called: the words of `run`. Both halves of the house read this page, and only this.

An artifact for a CPU is a shared object with two exports:

`int32_t run(int64_t *words)`   takes the words as they are, computes, returns 0; 1 if an index was outside its
    array; 2 if a handler of a signal raised: its exception is set. Works without the GIL.
`int32_t run_unlocked(int64_t *words)`   the same for who holds the GIL, which is given up meanwhile.
`PyObject *entry(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *kwnames)`   METH_FASTCALL |
    METH_KEYWORDS: checks the arguments it knows how to check, fills the words, calls `run`; hands every other
    call unchanged to the Python callable in the exported variable `fallback`.

and variables that the loader sets before the first call: `threads` (int32: at most so many), `python` (the addresses of
what CPython exports, in the order of PYTHON: no object names anything of it, since a DLL could not leave that open;
without them `run` and `run_unlocked` do the same, and look at no signals), those of `entry` (see targets/cpu/entry.py),
and `pool`: the address of the `run_on_pool` of some object, which must never be unloaded; without it each call makes
its own threads. Objects for Linux have

`void run_on_pool(void *(*work)(void *), void *context, int64_t others)`   calls `work(context)` on this thread and on
    up to so many threads of a pool at the same time; ready when all are (see targets/cpu/pool.py).

The words, in order:
    for each parameter of the signature
        scalar, not an output      its bits in the low bytes of one word; complex128: two words
        array, layout C            address
        array, strided             address, then with an ellipsis the address of a view, then one stride in bytes
                                   for each trailing dim (without an ellipsis: for each dim)
        array, broadcast           address, address of a view (broadcast has always an ellipsis and no dims)
        output scalar              address of its one element
    for each dimension symbol, in order of first appearance (`size` and `rows` among them): its value
    the fault words, which `run` sets. If it returns 1:
        1 + the number of the index in the metadata's `sites`, of an access in a helper 1 + the number of its call in
        `calls` (else 0), the extent, the index. Where several are outside it is one of them; all such accesses are
        skipped. The rest is its own: when it looks at signals again, and which thread called it.

A view describes the leading dims of an array that is not contiguous: int64 ndim, then per dim (size, stride in
bytes), outermost first; the sizes are those of the common shape (stride 0 where broadcast). ndim may be 0.
An array of size 0 may have any address.
"""

from __future__ import annotations

from typing import NamedTuple, Sequence

from .signature import Parameter

# The number of this convention, and of those of devices (launch.py): a new one refuses every object made before. It
# changes with whatever a loader and an object must agree on.
CONVENTION = 6
PYTHON = (
    "PyBool_Type", "PyComplex_Type", "PyErr_CheckSignals", "PyErr_Clear", "PyEval_RestoreThread", "PyEval_SaveThread",
    "PyFloat_Type", "PyGILState_Ensure", "PyGILState_Release", "PyLong_AsLongLongAndOverflow", "PyLong_FromVoidPtr",
    "PyLong_Type", "PyObject_RichCompareBool", "PyObject_Vectorcall", "PyTuple_GetItem", "PyTuple_New",
    "PyTuple_SetItem", "PyTuple_Size", "PyUnicode_Compare", "Py_DecRef", "Py_IncRef", "_Py_NoneStruct",
    "_Py_TrueStruct",
)  # fmt: skip
POOL = 1  # the number of the way in which `run_on_pool` is called, and of what it does
FAULT_WORDS = 6
TOLD_WORDS = 4  # of these, what is told of an index
NEXT_LOOK, CALLER = 4, 5  # the others, by their number; CALLER is 0 as long as no other thread takes part
INTERRUPTED = -1  # in the first of them: the exception is set already
NO_MEMORY = -1  # in place of an axis: there was no memory for an array of the kernel's own; the index is its bytes
TOO_MANY = -3  # likewise: a loop goes round more often than the device counts; the index is how often
NO_STEP = -2  # in place of an axis: the step of a range is 0; the extent and the index say nothing
# No call has an array with as many elements, dims of 0 left out: index arithmetic that is proved not to wrap relies on
# it. Memory is never that large; views that repeat their elements, and empty arrays, may say they are.
ELEMENTS = 1 << 48


class Slot(NamedTuple):
    """One run of words that belongs to one parameter or dimension symbol."""

    kind: str  # "scalar" "data" "view" "stride" "symbol"
    name: str  # of the parameter or symbol
    index: int  # type: ignore[assignment]  # of its first word; hides tuple's method of the name
    axis: int = 0  # for "stride": which dim, counted among the trailing ones


def slots(parameters: Sequence[Parameter], symbols: Sequence[str]) -> tuple[tuple[Slot, ...], int]:
    """The layout of the words for these parameters with concrete dtypes and these dimension symbols, and how many
    words that makes (without the fault words)."""
    result, index = [], 0

    def add(kind: str, name: str, words: int = 1, axis: int = 0) -> None:
        nonlocal index
        result.append(Slot(kind, name, index, axis))
        index += words

    for p in parameters:
        if not p.in_memory:
            add("scalar", p.name, 2 if p.dtype == "complex128" else 1)
            continue
        add("data", p.name)
        if p.is_array and p.layout != "C":
            if p.ellipsis:
                add("view", p.name)
            for axis in range(len(p.dims or ())):
                add("stride", p.name, axis=axis)
    for symbol in symbols:
        add("symbol", symbol)
    return tuple(result), index
