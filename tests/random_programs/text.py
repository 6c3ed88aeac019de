"""A random program as a user would write it: its signature, its entry in kernels.yaml, its template."""

from __future__ import annotations

import textwrap

from .scope import Array


class Text:
    arrays: list[Array]
    lines: list[str]

    @property
    def parameters(self) -> list[Array]:
        """In the order of the signature: inputs, then outputs."""
        kept = [a for a in self.arrays if a.role in ("in", "inout", "out")]
        return [a for a in kept if a.role != "out"] + [a for a in kept if a.role == "out"]

    @property
    def temps(self) -> list[Array]:
        """Scratch of the call, which is no argument of it."""
        return [a for a in self.arrays if a.role == "temp"]

    @property
    def signature(self) -> str:
        outputs = [p for p in self.parameters if p.role == "out"]
        inputs = [self.declared(p) for p in self.parameters if p.role != "out"]
        text = f"({', '.join(inputs)})" + (f" -> ({', '.join(map(self.declared, outputs))})" if outputs else "")
        return text + (f" temp ({', '.join(map(self.declared, self.temps))})" if self.temps else "")

    def declared(self, p: Array) -> str:
        names = [name for name, dtype in self.type_variables.items() if dtype == p.dtype and not p.default]
        dtype = names[0] if names else p.stored
        words = ["inout"] * (p.role == "inout") + [p.layout] * (p.layout != "C")
        dims = ""
        if p.dims:
            dims = p.written or ", ".join(["..."] * p.ellipsis + [str(d) for d in p.dims[p.ellipsis :]])
            dims = f"[{dims}]"
        return " ".join([f"{p.name}:", *words, dtype + dims, *(["=", p.fill or p.default] if p.fill or p.default else [])])

    @property
    def template(self) -> str:
        if not self.helper_lines or self.inline:
            return ""
        names = ", ".join(p.name for p in (*self.parameters, *self.temps))
        body = textwrap.indent("\n".join(self.lines), "    ")
        return "\n".join([*self.helper_lines, f"def {self.kernel}({names}):", body, ""])

    @property
    def entry(self) -> str:
        lines = [f"  {self.kernel}:", f'    signature: "{self.signature}"']
        for name, dtype in self.type_variables.items():
            lines.append(f"    types: {{{name}: [{dtype}]}}")
        if self.params:
            lines.append(f"    params: {{TILE: {self.params['TILE']}}}")
        if self.requires:
            lines.append(f"    requires: {self.requires}".replace("'", '"'))
        if self.fastmath:
            lines.append(f"    fastmath: {self.fastmath}")
        if self.unordered:
            lines.append(f"    unordered: [{', '.join(name for group in self.unordered for name in group)}]")
        if self.disjoint:
            lines.append(f"    disjoint: [{', '.join(self.disjoint)}]")
        if self.unchecked:
            lines.append("    unchecked: true")
        if self.template:
            return "\n".join([*lines, f"    template: {self.kernel}.py.j2"])
        return "\n".join([*lines, "    body: |", textwrap.indent("\n".join([*self.helper_lines, *self.lines]), "      ")])
