"""`lib.NAME.python(…)`: a call executed by the build half's interpreter, from the project's sources."""

from __future__ import annotations

import os
from types import ModuleType
from typing import Any, Callable, Mapping

import numpy as np

from ..artifact.signature import Parameter
from ..backends.build_half import build_half
from ..cache.manifest import KernelRecord
from ..calls import arguments, arrays
from ..errors import KernelNotBuiltError

ORDERS = ("forward", "reverse", "random")
_declarations: dict[str, tuple[Any, Any]] = {}  # root → what kernels.yaml looked like, and what it declares
_trees: dict[tuple[str, str, str], tuple[Any, Any, Any]] = {}  # (root, kernel, specialisation) → made from what, tree


def execute(
    record: KernelRecord, root: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], order: str = "forward",
    seed: int = 0, met: dict[str, dict[int, list[Any]]] | None = None,
) -> Any:  # fmt: skip
    """Check a call, run the kernel's typed tree in Python, return its outputs, which hold poison where it wrote none.
    `met`: see `interpreter.execute.run`.

    Raises ValueError for an unknown order, KernelNotBuiltError where the sources are missing or declare another
    signature, CompilerNotInstalledError, DeclarationError, IndexError with the line, and what a call raises.
    """
    if order not in ORDERS:
        raise ValueError(f"{record.name}.python: order must be 'forward', 'reverse' or 'random', got {order!r}")
    with build_half("the interpreter") as module:
        call, values, finish, tree = bound(record, root, args, kwargs, module)
        for p in tree.parameters:
            if p.name in call.missing and p.fill is None:
                module("interpreter.runtime").poison(values[p.name], order == "reverse")
        seen = {p.name: as_seen(p, values[p.name], call) for p in tree.parameters}
        module("interpreter.execute").run(tree, seen, call.dims, order, seed, met=met)
    for p in tree.parameters:
        if p.writable and not np.shares_memory(seen[p.name], values[p.name]):
            values[p.name][...] = seen[p.name].reshape(values[p.name].shape)
    return finish()


def bound(
    record: KernelRecord, root: str, args: tuple[Any, ...], kwargs: Mapping[str, Any],
    module: Callable[[str], ModuleType],
) -> tuple[arguments.Call, dict[str, Any], Callable[[], Any], Any]:  # fmt: skip
    """A call that was checked, the value of every parameter, what gives the call's results, and the typed tree."""
    values, chosen = arguments.assign(record.name, record.signature, record.params, args, kwargs)
    call = arguments.check(record, values, chosen, arrays)
    values, finish = call.complete()
    return call, values, finish, _tree(record, root, call.specialisation.name, module)


def _tree(record: KernelRecord, root: str, label: str, module: Callable[[str], ModuleType]) -> Any:
    if not os.path.exists(os.path.join(root, "kernels.yaml")):
        raise KernelNotBuiltError(f"{record.name}.python needs the sources, and there is no {root}/kernels.yaml")
    declare = module("declare")
    declaration = _declaration(root, declare)
    if record.name in declaration.refused:
        raise declaration.refused[record.name]
    kernel = declaration.kernels.get(record.name)
    if kernel is None or kernel.signature.text != record.signature.text:
        raise KernelNotBuiltError(
            f"{root}/kernels.yaml no longer declares {record.name}{record.signature.text}; "
            f"run: pydotcompute build {record.name} -C {root}"
        )
    specialisation = next((s for s in kernel.specialisations if str(s) == label), None)
    if specialisation is None:
        raise KernelNotBuiltError(f"{root}/kernels.yaml no longer declares {record.name}[{label}]")
    rendered = declare.render(kernel, specialisation, "python", root, module("targets.registry").raw_modules())
    made, text, tree = _trees.get((root, record.name, label), (None, None, None))
    if made is not kernel or text != rendered.text:
        tree = module("frontend.build").build_tree(kernel, specialisation, rendered)
        _trees[root, record.name, label] = kernel, rendered.text, tree
    return tree


def _declaration(root: str, declare: ModuleType) -> Any:
    """What kernels.yaml declares, read again only if the file has changed."""
    status = os.stat(os.path.join(root, "kernels.yaml"))
    stamp = status.st_mtime_ns, status.st_size, status.st_ino
    if _declarations.get(root, (None, None))[0] != stamp:
        _declarations[root] = stamp, declare.load(root, keep_going=True)
    return _declarations[root][1]


def as_seen(p: Parameter, value: Any, call: arguments.Call) -> Any:
    """An array with its leading dims seen as one: a view where there is one, else a copy."""
    if not p.ellipsis:
        return value
    whole, leading, own = value, call.leading or (), len(p.dims or ())
    if p.layout == "broadcast":
        whole = np.broadcast_to(value, (*leading, *value.shape[value.ndim - own :]))
    rows = int(np.prod(leading, dtype=np.int64))
    return whole.reshape((rows, *whole.shape[whole.ndim - own :]) if p.dims else (whole.size,))
