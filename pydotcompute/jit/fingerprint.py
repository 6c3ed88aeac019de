"""What a Python function means, as text: everything that can change what is compiled from it, and nothing else.

Its code, constants, defaults, closure, and what it and whatever it calls load from elsewhere: an edited helper in
another module is another function. Of a module only what is taken from it counts, so an edit beside that changes
nothing. No path, line or address is in the text. What cannot be told by its content, such as an object of a class of
the user's, raises Unknown: such a function is compiled anew in every process.
"""

from __future__ import annotations

import dis
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from numba.core import types as numba_types

# Modules whose content goes with a version that is in the key of whatever is compiled, or with Python's.
_VERSIONED = ("builtins", "cmath", "llvmlite", "math", "numba", "numpy", "operator")
_GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME")
_CLOSURE = ("LOAD_DEREF", "LOAD_CLASSDEREF")
_ATTRIBUTE = ("LOAD_ATTR", "LOAD_METHOD")
_SILENT = ("EXTENDED_ARG", "CACHE")


class Unknown(ValueError):
    """Something that a function refers to has no content to tell it by."""


@dataclass
class Seen:
    """What a walk has come by: functions by id, each with its number; every name that they mention; and the modules
    that they keep, as in `m = module` and `helper(module, x)`: such a module may give any of the names."""

    functions: dict[int, int] = field(default_factory=dict)
    names: dict[str, None] = field(default_factory=dict)
    modules: list[types.ModuleType] = field(default_factory=list)

    def number(self, module: types.ModuleType) -> int:
        if module not in self.modules:
            self.modules.append(module)
        return self.modules.index(module)


def fingerprint(function: types.FunctionType) -> str:
    """Equal texts: equal functions, whatever file, line or process they come from. Raises Unknown."""
    seen = Seen()
    return "\n".join([*_function(function, seen), *_kept(seen)])


def type_text(given: numba_types.Type) -> str:
    """Equal texts: equal types of arguments, in every process. Raises Unknown for a type that means code, such as a
    class that Numba compiles."""
    plain = (
        numba_types.Number, numba_types.Boolean, numba_types.NPDatetime, numba_types.NPTimedelta,
        numba_types.UnicodeType, numba_types.CharSeq, numba_types.UnicodeCharSeq, numba_types.NoneType,
        numba_types.Record,
    )  # fmt: skip
    if isinstance(given, plain):
        return repr(given)
    if isinstance(given, numba_types.Array):
        return f"{given!r} of {type_text(given.dtype)}"
    if isinstance(given, numba_types.BaseTuple):
        fields = getattr(given, "fields", "")
        return f"{type(given).__name__} {fields} ({', '.join(map(type_text, given))})"
    if isinstance(given, numba_types.Optional):
        return f"optional {type_text(given.type)}"
    raise Unknown(f"the type {given}")


def _function(function: types.FunctionType, seen: Seen) -> Iterator[str]:
    if id(function) in seen.functions:  # it calls itself, or was described before
        yield f"function {seen.functions[id(function)]}"
        return
    seen.functions[id(function)] = len(seen.functions)
    code = function.__code__
    yield f"function {seen.functions[id(function)]} {function.__name__}"
    yield from _code(code, seen)
    yield from _value(function.__defaults__, seen)
    yield from _value(tuple(sorted((function.__kwdefaults__ or {}).items())), seen)
    cells = dict(zip(code.co_freevars, function.__closure__ or ()))
    names = tuple(dict.fromkeys(_names(code)))
    seen.names.update(dict.fromkeys(names))
    for where, name, attributes in dict.fromkeys(_loads(code)):
        if where == "closure" and name in cells:
            try:
                value = cells[name].cell_contents
            except ValueError:
                raise Unknown(f"{name} is not set") from None
        elif where == "global" and name in function.__globals__:
            value = function.__globals__[name]
        else:  # a builtin, or a variable of a function around this piece of code
            continue
        yield f"{where} {name}"
        yield from _taken(value, attributes, seen)
    yield from _attribute_overloads(names, seen)


def _code(code: types.CodeType, seen: Seen) -> Iterator[str]:
    yield f"code {code.co_code.hex()} {code.co_argcount} {code.co_kwonlyargcount} {code.co_flags}"
    yield f"{code.co_names} {code.co_varnames} {code.co_freevars} {code.co_cellvars}"
    yield f"exceptions {getattr(code, 'co_exceptiontable', b'').hex()}"
    for constant in code.co_consts:
        yield from _code(constant, seen) if isinstance(constant, types.CodeType) else _value(constant, seen)


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """This code and that of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _names(code: types.CodeType) -> Iterator[str]:
    for each in _codes(code):
        yield from each.co_names


def _loads(code: types.CodeType) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """What the code takes from outside of it: ("global" or "closure", name, the attributes taken of it at once)."""
    for each in _codes(code):
        chain: list[str] = []
        where = ""
        for instruction in dis.get_instructions(each):
            if instruction.opname in _SILENT:
                continue
            if chain and instruction.opname in _ATTRIBUTE:
                chain.append(instruction.argval)
                continue
            if chain:
                yield where, chain[0], tuple(chain[1:])
                chain = []
            if instruction.opname in _GLOBAL + _CLOSURE:
                where = "global" if instruction.opname in _GLOBAL else "closure"
                chain = [instruction.argval]


def _taken(value: Any, attributes: tuple[str, ...], seen: Seen) -> Iterator[str]:
    """What `value.attribute…` is, through modules."""
    for name in attributes:
        if not isinstance(value, types.ModuleType) or _is_versioned(value.__name__):
            break
        if name not in vars(value):
            if "__getattr__" in vars(value):
                raise Unknown(f"{value.__name__}.{name} is made when it is asked for")
            yield f"attribute {name} of {value.__name__}: none"
            return
        yield f"attribute {name}"
        value = vars(value)[name]
    yield from _module_or_value(value, seen)


def _module_or_value(value: Any, seen: Seen) -> Iterator[str]:
    if isinstance(value, types.ModuleType) and not _is_versioned(value.__name__):
        yield f"module {seen.number(value)}"
    else:
        yield from _value(value, seen)


def _kept(seen: Seen) -> Iterator[str]:
    """What the modules that are kept have under any of the names, until that brings neither more modules nor names."""
    done: set[tuple[int, str]] = set()
    while pairs := [p for p in product(range(len(seen.modules)), seen.names) if p not in done]:
        done.update(pairs)
        for number, name in pairs:
            module = seen.modules[number]
            if "__getattr__" in vars(module):
                raise Unknown(f"what {module.__name__} has is made when it is asked for")
            if name in vars(module):
                yield f"attribute {name} of module {number}"
                yield from _module_or_value(vars(module)[name], seen)


def _value(value: Any, seen: Seen) -> Iterator[str]:
    if value is None or value is Ellipsis or type(value) in (bool, int, float, complex, str, bytes):
        yield f"{type(value).__name__} {value!r}"
    elif isinstance(value, (tuple, list, set, frozenset)):
        yield f"{type(value).__name__} of {len(value)} {getattr(value, '_fields', '')}"
        for item in sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value:
            yield from _value(item, seen)
    elif isinstance(value, (np.ndarray, np.generic)):
        if value.dtype.hasobject:
            raise Unknown("an array of objects")
        array = np.asarray(value)
        yield f"array {array.dtype.descr} {array.shape} {array.strides} {array.tobytes().hex()}"
    elif isinstance(value, np.dtype):
        yield f"dtype {value.descr}"
    elif isinstance(value, types.ModuleType) and _is_versioned(value.__name__):
        yield f"module {value.__name__}"
    elif isinstance(value, types.FunctionType):
        yield from _named(value) if _is_versioned(value.__module__) else _function(value, seen)
        yield from _overloads(value, seen)
    elif isinstance(getattr(value, "py_func", None), types.FunctionType):
        yield from _compiled(value, seen)
    elif isinstance(value, (type, types.BuiltinFunctionType)) or type(value).__module__ == "numpy":
        yield from _named(value)
        yield from _overloads(value, seen)
    elif isinstance(value, numba_types.Type):
        yield f"numba type {type_text(value)}"
    elif type(value).__name__ == "_Intrinsic" and _is_versioned(type(value).__module__):
        yield from _named(value)
    else:
        raise Unknown(f"{type(value).__module__}.{type(value).__qualname__}")


def _compiled(dispatcher: Any, seen: Seen) -> Iterator[str]:
    """A function that Numba compiles: how it is told to, and for which types alone, if it was told."""
    yield "compiled"
    for name, option in sorted(getattr(dispatcher, "targetoptions", {}).items()):
        yield f"option {name}"
        yield from _value(option, seen)
    if not getattr(dispatcher, "_can_compile", True):
        for signature in dispatcher.nopython_signatures:
            result = type_text(signature.return_type)
            yield f"({', '.join(map(type_text, signature.args))}) -> {result}"
    yield from _function(dispatcher.py_func, seen)


def _overloads(value: Any, seen: Seen) -> Iterator[str]:
    """What users have told Numba to compile in the place of this function, as `register_jitable` does too."""
    for registry in _registries():
        for registered, meaning in registry.globals:
            if registered is value:
                for template in getattr(meaning, "templates", ()):
                    yield from _overload(template, seen)


def _attribute_overloads(names: tuple[str, ...], seen: Seen) -> Iterator[str]:
    """Methods and attributes of these names that users have added to Numba's types."""
    for registry in _registries():
        for template in registry.attributes:
            if getattr(template, "_attr", None) in names:
                yield from _overload(template, seen)


def _overload(template: Any, seen: Seen) -> Iterator[str]:
    function = getattr(template, "_overload_func", None)
    if isinstance(function, types.FunctionType) and not _is_versioned(function.__module__):
        yield f"overload {getattr(template, '_attr', '')}"
        yield from _function(function, seen)
        yield from _value(tuple(sorted(getattr(template, "_jit_options", {}).items())), seen)


def _registries() -> list[Any]:
    places = ("numba.core.typing.templates", "numba.cuda.typing.templates")
    found = [getattr(sys.modules.get(place), "builtin_registry", None) for place in places]
    return [registry for k, registry in enumerate(found) if registry is not None and registry not in found[:k]]


def _named(value: Any) -> Iterator[str]:
    module = getattr(value, "__module__", None) or getattr(getattr(value, "__self__", None), "__name__", None)
    if isinstance(value, np.ufunc):
        module = "numpy"
    if not _is_versioned(module or "builtins"):
        raise Unknown(f"{module}.{getattr(value, '__qualname__', value)}")
    yield f"named {module}.{getattr(value, '__qualname__', getattr(value, '__name__', ''))}"


def _is_versioned(module: str | None) -> bool:
    root = (module or "").partition(".")[0]
    return root in _VERSIONED or root in sys.builtin_module_names
