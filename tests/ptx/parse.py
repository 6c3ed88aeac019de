"""PTX text → functions of instructions, and the tables beside them. Calls are inlined: PTX has no recursion here."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

TYPE_BYTES = {
    "pred": 1, "b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "s16": 2, "f16": 2, "b32": 4, "u32": 4, "s32": 4,
    "f32": 4, "b64": 8, "u64": 8, "s64": 8, "f64": 8,
}  # fmt: skip


class PtxError(Exception):
    """The text, or what it does, is something this interpreter refuses."""


@dataclass(frozen=True)
class Instruction:
    name: str  # "add"
    modifiers: tuple[str, ...]  # ("rn", "f32")
    operands: tuple[str, ...]
    guard: str = ""  # "%p1" or "!%p1"
    text: str = ""


@dataclass
class Table:
    """A variable outside of registers: `.global`, `.const`, `.shared` or `.local`."""

    space: str
    name: str
    align: int
    size: int
    data: bytes


@dataclass
class Function:
    name: str
    entry: bool
    parameters: list[tuple[str, str]]  # (name, type), in order; a by-value array is "b8[N]"
    results: list[str]
    registers: dict[str, str] = field(default_factory=dict)  # register → type
    body: list[Instruction | str] = field(default_factory=list)  # a str is a label
    tables: list[Table] = field(default_factory=list)


def parse(text: str) -> tuple[dict[str, Function], list[Table], str]:
    """Functions by name, module tables, and the target."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    target = re.search(r"\.target\s+(\w+)", text)
    text = re.sub(r"^\s*\.(version|target|address_size|file|loc)\b[^\n]*\n", "", text, flags=re.M)
    functions: dict[str, Function] = {}
    tables: list[Table] = []
    position = 0
    while match := re.compile(r"\s*\S").match(text, position):
        position = match.end() - 1
        head = re.compile(r"[^;{]*").match(text, position)[0]
        if re.search(r"\.(entry|func)\b", head):
            function, position = _function(text, position)
            if function is not None:
                functions[function.name] = function
        else:
            end = text.index(";", position)
            tables.append(_table(text[position:end]))
            position = end + 1
    for function in functions.values():
        if function.entry:
            _inline(function, functions)
    return functions, tables, target[1] if target else ""


def _function(text: str, start: int) -> tuple[Function | None, int]:
    head = re.compile(
        r"((?:\.(?:visible|weak|extern)\s+)*)\.(entry|func)\s*(?:\(([^)]*)\))?\s*([\w$]+)\s*(?:\(([^)]*)\))?([^{;]*)([{;])"
    ).match(text, start)
    if head is None:
        raise PtxError(f"not understood: {text[start : start + 80]!r}")
    if head[7] == ";":
        if "extern" in head[1]:
            raise PtxError(f"`{head[4]}` is declared outside of the module")
        return None, head.end()
    for directive in re.findall(r"\.(\w+)", head[6]):
        if directive not in ("maxntid", "minnctapersm", "noreturn"):
            raise PtxError(f".{directive} of {head[4]}")
    function = Function(head[4], head[2] == "entry", _parameters(head[5]), [n for n, _ in _parameters(head[3])])
    position = _body(text, head.end(), function)
    return function, position


def _parameters(text: str | None) -> list[tuple[str, str]]:
    result = []
    for part in (text or "").split(","):
        if not part.strip():
            continue
        match = re.fullmatch(
            r"\s*\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)\s+(?:\.ptr(?:\s+\.global)?(?:\s+\.align\s+\d+)?\s+)?([\w$]+)(\[\d+\])?\s*",
            part,
        )
        if match is None:
            raise PtxError(f"parameter {part.strip()!r}")
        result.append((match[2], match[1] + (match[3] or "")))
    return result


def _body(text: str, position: int, function: Function) -> int:
    scopes: list[dict[str, str]] = [{}]  # a register that an inner scope declares hides one of that name
    statement = re.compile(r"\s*(?:([$\w]+)\s*:(?!:)|([{}])|((?:[^;{}]|\{[^{};]*\})+);)")
    while scopes:
        match = statement.match(text, position)
        if match is None:
            raise PtxError(f"not understood in {function.name}: {text[position : position + 80].strip()!r}")
        position = match.end()
        if match[1]:
            function.body.append(match[1])
        elif match[2] == "{":
            scopes.append({})
        elif match[2]:
            scopes.pop()
        else:
            line = " ".join(match[3].split())
            if line.startswith(".reg") and len(scopes) > 1 and "<" not in line:
                own = [name.strip() for name in line.split(maxsplit=2)[2].split(",")]
                scopes[-1].update({name: f"{name}_{len(function.body)}_{len(scopes)}" for name in own})
            hidden = {old: new for scope in scopes for old, new in scope.items()}
            _statement(re.sub(r"[%\w$]+", lambda m: hidden.get(m[0], m[0]), line), function)
    return position


def _statement(text: str, function: Function) -> None:
    if text.startswith(".reg"):
        match = re.fullmatch(r"\.reg \.(\w+) (.*)", text)
        for name in match[2].split(","):
            name = name.strip()
            if count := re.fullmatch(r"(\S+?)<(\d+)>", name):
                function.registers.update({f"{count[1]}{k}": match[1] for k in range(int(count[2]))})
            else:
                function.registers[name] = match[1]
    elif text.startswith((".local", ".shared")):
        function.tables.append(_table(text))
    elif text.startswith(".param"):
        pass  # a slot of a call: named where it is stored to
    elif text.startswith(".pragma"):
        pass
    elif text.startswith("."):
        raise PtxError(f"directive {text!r}")
    else:
        function.body.append(instruction(text))


def instruction(text: str) -> Instruction:
    match = re.fullmatch(r"(?:@(!?%?[\w$]+) )?([a-z][\w:]*(?:\.[\w:]+)*) ?(.*)", text)
    if match is None:
        raise PtxError(f"instruction {text!r}")
    name, *modifiers = match[2].replace("::", ":").split(".")
    operands = tuple(o.strip() for o in re.findall(r"(?:\{[^}]*\}|\[[^\]]*\]|\([^)]*\)|[^,{\[(])+", match[3]))
    return Instruction(name, tuple(modifiers), tuple(o for o in operands if o), match[1] or "", text)


def _table(text: str) -> Table:
    match = re.fullmatch(
        r"\s*(?:\.(?:visible|weak|common|extern)\s+)*\.(global|const|shared|local)\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+"
        r"([\w$]+)\s*(?:\[(\d*)\])?\s*(?:=\s*(.*))?",
        text, re.S,
    )  # fmt: skip
    if match is None or match[3] not in TYPE_BYTES:
        raise PtxError(f"variable {text.strip()!r}")
    item = TYPE_BYTES[match[3]]
    values = re.findall(r"[-\w.]+", match[6] or "")
    data = b"".join(_constant(v, match[3]) for v in values)
    size = item * (int(match[5]) if match[5] else 1)
    if match[5] == "":
        raise PtxError(f"`{match[4]}` has no size: shared memory given at the launch")
    if match[1] in ("global", "const"):
        data = data.ljust(size, b"\0")
    return Table(match[1], match[4], int(match[2] or item), size, data)


def _constant(text: str, kind: str) -> bytes:
    import struct

    if kind[0] == "f":
        if match := re.fullmatch(r"0[dDfF]([0-9a-fA-F]+)", text):
            return bytes.fromhex(match[1])[::-1]
        return struct.pack("<f" if kind == "f32" else "<d", float(text))
    size = TYPE_BYTES[kind]
    return (int(text.rstrip("U"), 0) % (1 << (8 * size))).to_bytes(size, "little")


def _inline(function: Function, functions: dict[str, Function], serial: list[int] | None = None) -> None:
    """Replace calls by the bodies called, registers, labels and parameter slots renamed."""
    serial = serial if serial is not None else [0]
    result: list[Instruction | str] = []
    for item in function.body:
        if isinstance(item, str) or item.name != "call":
            result.append(item)
            continue
        match = re.fullmatch(r"(?:@\S+ )?call(?:\.uni)? (?:\(([^)]*)\), ?)?([\w$]+) ?(?:, ?\(([^)]*)\))?", item.text)
        if match is None or match[2] not in functions or item.guard:
            raise PtxError(f"call {item.text!r}")
        callee = functions[match[2]]
        serial[0] += 1
        prefix, end = f"c{serial[0]}.", f"c{serial[0]}.end"
        names = {old: f"{prefix}{old}" for old in callee.registers}
        names |= {old: f"{prefix}{old}" for old in callee.body if isinstance(old, str)}
        slots = [s.strip() for s in (match[3] or "").split(",") if s.strip()]
        names |= dict(zip((n for n, _ in callee.parameters), slots, strict=True))
        outs = [s.strip() for s in (match[1] or "").split(",") if s.strip()]
        names |= dict(zip(callee.results, outs, strict=True))
        for table in callee.tables:
            names[table.name] = prefix + table.name
            function.tables.append(Table(table.space, prefix + table.name, table.align, table.size, table.data))
        function.registers.update({names[r]: t for r, t in callee.registers.items()})
        inner = Function(callee.name, False, [], [], dict(callee.registers), list(callee.body), list(callee.tables))
        for part in inner.body:
            if isinstance(part, str):
                result.append(names[part])
            elif part.name == "ret":
                result.append(Instruction("bra", (), (end,), _rename(part.guard, names), part.text))
            else:
                operands = tuple(_rename(o, names) for o in part.operands)
                text = _rename(part.text, names) if part.name == "call" else part.text
                result.append(Instruction(part.name, part.modifiers, operands, _rename(part.guard, names), text))
        result.append(end)
    function.body = result
    if any(isinstance(i, Instruction) and i.name == "call" for i in result):
        _inline(function, functions, serial)


def _rename(text: str, names: dict[str, str]) -> str:
    return re.sub(r"[%$]?[\w$]+(?:\.[\w%$]+)*", lambda m: names.get(m[0], m[0]), text)
