"""Native entry points as Python callables: a method definition around machine code, and the variables it reads.

Only where CPython and NumPy lie in memory as targets/cpu/entry.py expects them; that is looked at, not assumed.

Machine code has addresses of objects, so what it needs has to live as long as it may run. A builtin function holds its
`Entry` as its `__self__`, which it lets go of last; the entry holds the libraries of all specialisations and what they
have addresses of. The collector of cycles takes objects apart in any order, so it must not see any of that: it is held
in boxes, and nothing in them leads back to the function. When the last reference to the function is gone, no thread is
in it, since whoever calls it holds it; the entry goes then, and lets go of the libraries.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
from _weakref import ref
from functools import cache, partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping, Sequence

import numpy as np

from ...artifact import abi
from ...artifact.signature import default_value
from .loaded import box

if TYPE_CHECKING:
    from ...artifact.signature import Parameter
    from ...cache.manifest import KernelRecord, SpecialisationRecord

METH_FASTCALL, METH_KEYWORDS = 0x80, 0x02
HAVE_VECTORCALL, TP_FLAGS = 1 << 11, 168  # a flag of a type, and where those lie in it


def _keep(kind: type) -> None:
    """For ever: no other type may get its address."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(kind))


class _MethodDef(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p), ("call", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p),
    ]  # fmt: skip


@cache
def problem() -> str:
    """Why native entry points cannot be used in this interpreter; empty if they can.

    A free-threaded or tracing build has longer object headers, another NumPy might have longer arrays.
    """
    if object.__basicsize__ != 16 or ctypes.sizeof(ctypes.c_void_p) != 8:
        return f"this interpreter's objects have a header of {object.__basicsize__} bytes"
    if sys.implementation.name != "cpython":
        return f"this is {sys.implementation.name}"
    probe = np.zeros((3, 5), np.float32)[::2]
    base = id(probe)

    def field(kind: type[ctypes._SimpleCData[Any]], *offsets: int) -> int:
        address = base
        for offset in offsets[:-1]:
            address = ctypes.c_int64.from_address(address + offset).value
        return kind.from_address(address + offsets[-1]).value

    seen = (
        field(ctypes.c_int64, 8), field(ctypes.c_int64, 16), field(ctypes.c_int32, 24), field(ctypes.c_int64, 32, 8),
        field(ctypes.c_int64, 40, 0), field(ctypes.c_int32, 56, 28), chr(field(ctypes.c_uint8, 56, 26)),
        field(ctypes.c_int32, 64) & 0x501, ctypes.c_double.from_address(id(_HALF) + 16).value,
        *(int.from_bytes(ctypes.string_at(id(number) + 16, number.nbytes), sys.byteorder) for number in _SCALARS),
    )  # fmt: skip
    expected = (
        id(np.ndarray), probe.__array_interface__["data"][0], 2, 5, 40, 11, "=", 0x500, _HALF,
        *(int.from_bytes(number.tobytes(), sys.byteorder) for number in _SCALARS),
    )  # fmt: skip
    return "" if seen == expected else "NumPy's arrays lie differently in memory"


_HALF = float("0.5")
_SCALARS = [np.dtype(code).type(1) for code in "?bhifdFD"]


class Entry:
    """The native entry point of one kernel, and the table of its specialisations that are loaded."""

    def __init__(self, record: KernelRecord):
        self.record = record
        self.held: list[Any] = []  # what the libraries have addresses of, and boxes with these
        self.method: _MethodDef | None = None  # of the builtin; made with the first specialisation
        self.made: Callable[[], Callable[..., Any] | None] = lambda: None
        inputs, outputs = record.signature.inputs, record.signature.outputs
        self.names = [sys.intern(n) for n in (*(p.name for p in (*inputs, *outputs)), *sorted(record.params))]
        types, params = sorted(record.types), sorted(record.params)
        # Of a tuned param the first digit is that it is not named: no value of a call is this one.
        unnamed = {name: [object()] for name in record.by_size}
        self.values = {name: [*unnamed.get(name, ()), *record.params[name]] for name in params}
        self.unnamed = [*unnamed]
        self.by_size: dict[int, Any] = {}  # by that number: the `serve` of each size class
        steps, number = {}, 1
        for name in (*types, *params):
            steps[name] = number
            number *= len(record.types.get(name) or self.values[name])
        self.steps = steps
        decided = {p.dtype for p in inputs if p.is_array}
        digits = [_digits(record.types[name], steps[name], name in decided) for name in types]
        self.places = [_addresses(self.values[name]) for name in params]
        choices: list[int] = []
        for name, places in zip(params, self.places):
            choices += (len(self.values[name]), steps[name], ctypes.addressof(places))
        self.table = (ctypes.c_void_p * number)()
        self.defaults = [default_value(p.fill, p.dtype) for p in inputs if p.fill is not None]
        self.arrays = {
            "names": _addresses(self.names), "digits": _words([word for own in digits for word in own]),
            "choices": _words(choices), "table": self.table, "array_types": _array_types,
            "scalar_types": _scalar_types(),
        }  # fmt: skip
        if self.defaults:
            self.arrays["defaults"] = _addresses(self.defaults)

    def add(
        self, loaded: np.ndarray, specialisation: SpecialisationRecord, fallback: Callable,
        vendor: Callable | None = None, fault: Callable | None = None, tuned: Sequence[Mapping[str, Any]] = (),
    ) -> None:  # fmt: skip
        """Let an artifact, `Loaded` in a box, serve the calls of its specialisation. What it does not serve goes to
        `fallback`; calls of the sizes for which the artifact was told so go to `vendor`; `fault` gets the address of a
        call's fault words. None of these may lead to the function. tuned: by size class, the params of calls that name
        none of those that are tuned."""
        library = loaded[0].library

        def variable(symbol: str) -> Any:
            return ctypes.c_void_p.in_dll(library, symbol)

        for symbol, words in self.arrays.items():
            variable(symbol).value = ctypes.addressof(words)
        variable("ndarray_type").value = id(np.ndarray)
        variable("numpy_api").value = _numpy_api()
        variable("fallback").value = id(fallback)
        if vendor is not None:
            variable("vendor").value = id(vendor)
        if fault is not None:
            variable("fault").value = id(fault)
        trim = trimming = None
        with contextlib.suppress(ValueError):  # where nothing is trimmed, and of older objects, there is none
            trimming = variable("trim")
        if trimming is not None:
            trim = _trim([p for p in specialisation.parameters if p.role == "out"])
            trimming.value = id(trim)
        self.held += (loaded, fallback, vendor, fault, trim)
        chosen = {name: self.record.types[name].index(dtype) for name, dtype in specialisation.types.items()}
        for name, value in specialisation.params.items():
            chosen[name] = self.values[name].index(value)
        serve = loaded[0].address("serve")
        # Who names some tuned params gets the first value of the others.
        first = [name for name in self.unnamed if chosen[name] == 1]
        for count in range(len(first) + 1):
            for left_out in combinations(first, count):
                if not left_out or count < len(self.unnamed):
                    self.table[self._number({**chosen, **dict.fromkeys(left_out, 0)})] = serve
        if tuned:
            number = self._number({**chosen, **dict.fromkeys(self.unnamed, 0)})
            sizes = self.by_size.setdefault(number, (ctypes.c_void_p * len(tuned))())
            variable("by_size").value = ctypes.addressof(sizes)
            for k, params in enumerate(tuned):
                if all(specialisation.params[name] == value for name, value in params.items()):
                    sizes[k] = serve
            self.table[number] = self.table[number] or loaded[0].address("serve_by_size")
        if self.method is None:
            text, doc = self.record.name.encode(), self.record.doc.encode()
            self.method = _MethodDef(text, loaded[0].address("entry"), METH_FASTCALL | METH_KEYWORDS, doc)

    def _number(self, digits: Mapping[str, int]) -> int:
        return sum(self.steps[name] * digit for name, digit in digits.items())

    @property
    def function(self) -> Callable[..., Any]:
        """The builtin function, which holds this entry; whoever asks for it holds the function."""
        function = self.made()
        if function is None:
            make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
                ("PyCFunction_NewEx", ctypes.pythonapi)
            )
            function = make(ctypes.addressof(self.method), box(self), None)  # type: ignore[arg-type]
            self.made = ref(function)
        return function


def _trim(outputs: Sequence[Parameter]) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """What makes of a call's outputs, of which some are trimmed, what is returned."""
    from ...calls import arrays
    from ...calls.arguments import lengths, trimmed

    known = lengths(outputs)
    return lambda results: tuple(trimmed(results, known, arrays))


CODES, PYTHON, NUMPY, UNDECIDED = 64, 32, 36, 63  # as in targets/cpu/entry_types.py
_NUMBERS = "?bBhHiIlLqQfdgFD"  # NumPy's scalars by the number of their dtype; and what else an array may be of
_MORE = {21: "int64", 22: "int64", 23: "float16", 24: "bfloat16"}  # datetime64, timedelta64; our own number
FLOAT16, BFLOAT16 = 23, 24
_MOST_TYPES = 64
_array_types = (ctypes.c_int64 * (1 + _MOST_TYPES))()


def admit(kinds: Iterable[type]) -> None:
    """Let native entry points take arrays of these subclasses, whose memory is all they mean (calls/arrays.py); of
    more than there is room for, the Python path takes them."""
    for kind in kinds:
        count = _array_types[0]
        if count < _MOST_TYPES and id(kind) not in _array_types[1 : 1 + count]:
            _keep(kind)
            _array_types[1 + count] = id(kind)
            _array_types[0] = count + 1


def take_vectors(kind: type) -> None:
    """Let calls of a subclass of functools.partial reach the builtin without a tuple and a dict in between.

    Such a subclass has the slot for it; before Python 3.12 only the flag that says so is not inherited, and a call
    with keywords costs 300 ns more.
    """
    if not kind.__flags__ & HAVE_VECTORCALL and kind.__base__ is partial and partial.__flags__ & HAVE_VECTORCALL:
        flags = ctypes.c_ulong.from_address(id(kind) + TP_FLAGS)
        if flags.value == kind.__flags__:
            flags.value |= HAVE_VECTORCALL


def _words(values: Sequence[int]) -> Any:
    return (ctypes.c_int64 * max(len(values), 1))(*values)


def _addresses(values: Sequence[Any]) -> Any:
    """Of objects, which must be kept elsewhere."""
    return _words([id(value) for value in values])


@cache
def _scalar_types() -> Any:
    known = [0 if code == "g" else id(np.dtype(code).type) for code in _NUMBERS]
    return _words([*known, *[0] * (FLOAT16 - len(known)), id(np.float16), 0, -1])


def find_bfloat16() -> None:
    """Let native entry points take arrays and scalars of bfloat16, once something has imported ml_dtypes."""
    package = sys.modules.get("ml_dtypes")
    if package is not None and not (types := _scalar_types())[BFLOAT16]:
        _keep(package.bfloat16)
        types[BFLOAT16], types[BFLOAT16 + 1] = id(package.bfloat16), np.dtype(package.bfloat16).num


def _digits(dtypes: Sequence[str], step: int, by_array: bool) -> list[int]:
    """What each code of entry_types.py adds to the number of a specialisation, for a type variable of these dtypes."""
    digits = [-1] * CODES
    digits[UNDECIDED] = 0
    for number, code in enumerate(_NUMBERS):
        if np.dtype(code).name in dtypes:
            digits[number] = step * dtypes.index(np.dtype(code).name)
    for number, dtype in _MORE.items():
        if dtype in dtypes:
            digits[number] = step * dtypes.index(dtype)
    if not by_array:
        from ...calls.scalars import choose

        for k, value in enumerate((False, 0, 0.0, 0j)):
            digits[PYTHON + k] = step * dtypes.index(choose(dtypes, [value]))
        for number, code in enumerate(_NUMBERS):
            digits[NUMPY + number] = step * dtypes.index(choose(dtypes, [np.dtype(code).type()]))
        digits[NUMPY + FLOAT16] = step * dtypes.index(choose(dtypes, [np.float16()]))
        if "bfloat16" in dtypes:
            digits[NUMPY + BFLOAT16] = digits[BFLOAT16]
    return digits


def give_python(library: ctypes.CDLL) -> None:
    """Fill the table of what CPython exports. Raises ValueError where there is none."""
    table = _python()
    type(table).in_dll(library, "python")[:] = table


@cache
def _python() -> Any:
    exported = (ctypes.c_char.in_dll(ctypes.pythonapi, name) for name in abi.PYTHON)
    return (ctypes.c_void_p * len(abi.PYTHON))(*map(ctypes.addressof, exported))


@cache
def _numpy_api() -> int:
    """The address of NumPy's C API table."""
    try:
        from numpy._core._multiarray_umath import _ARRAY_API as capsule
    except ImportError:  # before NumPy 2
        from numpy.core._multiarray_umath import _ARRAY_API as capsule  # type: ignore[no-redef]
    get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    return get(capsule, None)
