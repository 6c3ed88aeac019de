"""What to write instead of a race, by what the line seems to be after."""

from __future__ import annotations

import ast
from typing import NamedTuple

from ..artifact.dimensions import text
from ..ir import tree as t
from ..ir.operations import SYMBOLS, UPDATES
from . import affine, distinct
from .accesses import Access, Accesses, Scope

_OWN = (
    "let each iteration touch only its own elements, write to another array, or use a reduction or an atomic; "
    "what goes from one element to the next takes a loop over `range`"
)
_OWN_ARRAY = {"grid": "local", "blocks": "shared", "threads": "local"}  # one of an iteration's own


class _Update(NamedTuple):
    """A line `a[k] += v`, `a[k] = a[k] + v` or `a[k] = max(a[k], v)`."""

    element: str
    place: ast.expr
    op: str  # "+" "*" "min" …
    term: ast.expr

    def of(self, name: str) -> str:
        """The same of a scalar."""
        term = ast.unparse(self.term)
        return f"{name} {self.op}= {term}" if self.op in UPDATES else f"{name} = {self.op}({name}, {term})"

    def atomic(self, array: str) -> str:
        """The same as an atomic, if there is one."""
        named = {"+": "add", "-": "add", "min": "min", "max": "max"}.get(self.op)
        term = ast.UnaryOp(ast.USub(), self.term) if self.op == "-" else self.term
        return f"write `atomic_{named}({array}, {ast.unparse(self.place)}, {ast.unparse(term)})`" if named else ""


def of_stores(tree: t.KernelTree, found: Accesses, store: Access) -> str:
    """Where iterations store to one element."""
    write = f"scatter({store.array}, k, v)" if store.indices else f"scatter({store.array}, v)"
    declared = f", or declare disjoint: [{store.array}] if the data keep them apart" * _declared(tree, store)
    longer = "count in int64, which does not come round; or " if distinct.is_short(found, store) else ""
    return (
        f"{longer}write `{write}` if any one of the values may stay{declared}; else use a reduction, an atomic, an "
        "element for each iteration, or another array for each store"
    )


def of_read(tree: t.KernelTree, found: Accesses, scope: Scope, load: Access, store: Access) -> str:
    """Where an iteration reads what another one stores."""
    loops = {atom.id for access in (load, store) for inner in access.scopes for atom in inner.indices}
    varying = {a for a in affine.atoms_of((*load.indices, *store.indices)) if scope in found.atoms[a].scopes}
    own = {atom.id: atom.name for atom in scope.indices}
    ways, enough = [], False
    if (update := _update(load, store)) and not (varying - loops or varying >= own.keys()):
        if not varying:
            return (
                f"accumulate in a scalar: `s = {update.element}` before the loop, `{update.of('s')}` in it, and "
                f"`{update.element} = s` after it"
            )
        over, others = (
            ", ".join(f"`{name}`" for name in names)
            for names in ([found.atoms[a].name for a in sorted(varying)], [own[a] for a in own if a not in varying])
        )
        enough = True
        ways.append(f"let the parallel loop run over {over}, and a `range` over {others} inside it")
    if update and _takes_atomics(tree, load) and (atomic := update.atomic(load.array)):
        ways.append(atomic)
        enough = True
    temp = next((p for p in tree.parameters if p.role == "temp" and p.name == load.array), None)
    if temp and not varying & own.keys():
        shape = f"({', '.join(map(text, temp.dims or ()))}{',' * (temp.rank == 1)})"
        made = f"`{load.array} = {_OWN_ARRAY[scope.kind]}({shape}, T)`"
        ways.append(f"write {made} in the loop, not `temp`, for an array of each iteration's own")
    if varying - loops and _declared(tree, store):
        ways.append(f"declare disjoint: [{load.array}] if no two iterations meet in an element of it")
    return "; or ".join(ways) if enough else "; else ".join((*ways, _OWN))


def _declared(tree: t.KernelTree, access: Access) -> bool:
    """Whether `disjoint` may name the array."""
    return bool(access.indices) and access.array not in tree.arrays


def _takes_atomics(tree: t.KernelTree, access: Access) -> bool:
    dtypes = {p.name: p.dtype for p in tree.parameters} | {name: made.dtype for name, made in tree.arrays.items()}
    return dtypes[access.array] != "bool" and not dtypes[access.array].startswith("complex")


def _update(load: Access, store: Access) -> _Update | None:
    """What the line of both is, if it updates what it loads, and is whole."""
    if load.at is None or store.at is None or load.at[:2] != store.at[:2]:
        return None
    try:
        body = ast.parse(load.at.text.strip()).body
    except SyntaxError:
        return None
    match body:
        case [ast.AugAssign(target=ast.Subscript() as element, op=operator, value=term)]:
            op = SYMBOLS[type(operator)]
        case [ast.Assign(targets=[ast.Subscript() as element], value=ast.BinOp(left=old, op=operator, right=term))]:
            op = SYMBOLS[type(operator)]
        case [
            ast.Assign(targets=[ast.Subscript() as element], value=ast.Call(func=ast.Name(id=op), args=[old, term]))
        ] if op in ("min", "max"):
            pass
        case _:
            return None
    written = ast.unparse(element)
    if not isinstance(body[0], ast.AugAssign) and ast.unparse(old) != written or op not in (*UPDATES, "min", "max"):
        return None
    named = [inner.id for inner in ast.walk(element.value) if isinstance(inner, ast.Name)]
    read = {inner.id for inner in ast.walk(term) if isinstance(inner, ast.Name)}
    return _Update(written, element.slice, op, term) if named == [load.array] and load.array not in read else None
