"""Rendering: what the context holds, where each line comes from, and that the short way is Jinja2's."""

from pathlib import Path

import jinja2
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pydotcompute import declare
from pydotcompute.declare.substitute import substitute
from pydotcompute.declare.templates import expand

SIGNATURE = "(x: float32[n]) -> (out: float32[n])"


def project(folder: Path, kernel: str, **templates: str) -> declare.Kernel:
    (folder / "templates").mkdir(exist_ok=True)
    for name, text in templates.items():
        (folder / "templates" / f"{name}.j2").write_text(text)
    indented = "".join(f"    {line}\n" for line in kernel.strip("\n").split("\n"))
    (folder / "kernels.yaml").write_text(f'version: 1\nkernels:\n  k:\n    signature: "{SIGNATURE}"\n{indented}')
    return declare.load(folder).kernels["k"]


def rendering(folder: Path, kernel: declare.Kernel, backend: str = "cpu") -> declare.Rendered:
    return declare.render(kernel, kernel.specialisations[0], backend, folder, ("cuda",))


def written_at(rendered: declare.Rendered) -> dict[str, tuple[str, int]]:
    """Each line of the text without its indentation → the file's name and the line that it comes from."""
    return {
        line.strip(): (Path(rendered.position(k, 1).path).name, rendered.position(k, 1).line)
        for k, line in enumerate(rendered.text.split("\n"), 1)
        if line.strip()
    }


def from_template(folder: Path, text: str, **others: str) -> declare.Rendered:
    return rendering(folder, project(folder, "template: k.j2", k=text, **others))


def test_context(tmp_path):
    text = "y = '{{ kernel }} {{ backend }} {{ TILE }} {{ FAST }} {{ SLOPE }}'"
    for body in (text, text + "{% if true %}{% endif %}"):  # the short way, and Jinja2's
        kernel = project(tmp_path, f"params: {{TILE: [32, 16], FAST: true, SLOPE: 0.5}}\nbody: |\n  {body}")
        assert rendering(tmp_path, kernel, "python").text == "def k(x, out):\n    y = 'k python 32 True 0.5'\n"
        second = declare.render(kernel, kernel.specialisations[1], "cuda", tmp_path)
        assert second.text == "def k(x, out):\n    y = 'k cuda 16 True 0.5'\n"


def test_avx512(tmp_path):
    body = "y = {{ 8 if avx512 else 6 }}"
    kernel = project(tmp_path, f"body: {body}")
    plain, more = (declare.render(kernel, kernel.specialisations[0], "cpu", tmp_path, (), it) for it in (False, True))
    assert [(r.text.splitlines()[1].strip(), r.avx512) for r in (plain, more)] == [("y = 6", False), ("y = 8", True)]
    silent = project(tmp_path, "body: y = 6")
    assert not declare.render(silent, silent.specialisations[0], "cpu", tmp_path, (), True).avx512


def test_types_and_family(tmp_path):
    (tmp_path / "kernels.yaml").write_text(
        "version: 1\nkernels:\n  unary:\n    family: {twice: {BY: 2}, thrice: {BY: 3.0}}\n    doc: 'x times {{ BY }}'\n"
        '    signature: "(x: T[n]) -> (out: T[n])"\n    types: {T: [float32, float64]}\n'
        "    body: y = {{ T }}({{ BY }})\n"
        "    reference: 'x * {{ BY }} + {% if BY == 2 %}0{% else %}1{% endif %}'\n"
    )
    kernels = declare.load(tmp_path).kernels
    assert [(k.name, k.doc, k.reference) for k in kernels.values()] == [
        ("twice", "x times 2", "x * 2 + 0"), ("thrice", "x times 3.0", "x * 3.0 + 1"),
    ]  # fmt: skip
    last = kernels["thrice"].specialisations[1]
    assert declare.render(kernels["thrice"], last, "cpu", tmp_path).text == (
        "def thrice(x, out):\n    y = float64(3.0)\n"
    )


def test_lines_of_a_loop(tmp_path):
    rendered = from_template(
        tmp_path,
        "def k(x, out):\n    {% for j in range(3) %}\n    a{{ j }} = 1\n    b{{ j }} = 2\n"
        "    {% endfor %}\n    c = 3\n",
    )
    assert written_at(rendered) == {
        "def k(x, out):": ("k.j2", 1), "a0 = 1": ("k.j2", 3), "b0 = 2": ("k.j2", 4), "a1 = 1": ("k.j2", 3),
        "b1 = 2": ("k.j2", 4), "a2 = 1": ("k.j2", 3), "b2 = 2": ("k.j2", 4), "c = 3": ("k.j2", 6),
    }  # fmt: skip


def test_lines_with_white_space_control(tmp_path):
    rendered = from_template(
        tmp_path,
        "{#- first -#}\n\ndef k(x, out):\n    {%- for j in range(2) %}\n    a{{ j }} = 1\n    {%- endfor %}\n\n\n"
        "    {% if true -%}\n\n    b = 2\n    {%- endif +%}\n    {% raw %}c = 3{% endraw %}\n    d = 4\n",
    )
    assert written_at(rendered) == {
        "def k(x, out):": ("k.j2", 3), "a0 = 1": ("k.j2", 5), "a1 = 1": ("k.j2", 5), "b = 2": ("k.j2", 11),
        "c = 3": ("k.j2", 13), "d = 4": ("k.j2", 14),
    }  # fmt: skip


def test_lines_of_includes_and_macros(tmp_path):
    rendered = from_template(
        tmp_path,
        '{% import "m.j2" as m %}\n{% from "m.j2" import two %}\n{% include "i.j2" %}\ndef k(x, out):\n    a = 1\n'
        '    {{ m.one("b") }}\n    {{ two("c") }}\n    {% include "j.j2" %}\n    d = 4\n',
        m="{% macro one(v) %}{{ v }} = 2{% endmacro %}\n"
        "{% macro two(v) -%}\n    {{ v }} = 3\n    {{ v }} += 1\n{%- endmacro %}\n",
        i="def f(v):\n    return v\n",
        j="j = 5",
    )  # fmt: skip
    assert written_at(rendered) == {
        "def f(v):": ("i.j2", 1), "return v": ("i.j2", 2), "def k(x, out):": ("k.j2", 4), "a = 1": ("k.j2", 5),
        "b = 2": ("m.j2", 1), "c = 3": ("m.j2", 3), "c += 1": ("m.j2", 4), "j = 5": ("j.j2", 1), "d = 4": ("k.j2", 9),
    }  # fmt: skip
    assert sorted(rendered.sources) == ["i.j2", "j.j2", "k.j2", "m.j2"]
    assert [Path(f).name for f in rendered.files][0] == "k.j2"


def test_lines_of_inheritance(tmp_path):
    rendered = from_template(
        tmp_path, '{% extends "base.j2" %}\n{% block inner %}\n    b = 2\n    {{ super() }}\n{% endblock %}\n',
        base="def k(x, out):\n    a = 1\n    {% block inner %}\n    c = 3\n    {% endblock %}\n    d = 4\n",
    )  # fmt: skip
    assert written_at(rendered) == {
        "def k(x, out):": ("base.j2", 1), "a = 1": ("base.j2", 2), "b = 2": ("k.j2", 3), "c = 3": ("base.j2", 4),
        "d = 4": ("base.j2", 6),
    }  # fmt: skip


def test_text_that_becomes_a_value(tmp_path):
    """Marks of lines do not show in comparisons, lengths or look-ups."""
    rendered = from_template(
        tmp_path,
        "{% macro name() %}float32{% endmacro %}\n{% set word %} one {% endset %}\ndef k(x, out):\n"
        "    a = {% if name() == 'float32' %}1{% else %}2{% endif %}\n    b = {{ word|length }}\n"
        "    c = {{ word|trim }}\n    d = {{ {'float32': 4}[name()] }}\n"
        "    {% filter replace('1', '2') %}e = 1{% endfilter %}\n",
    )  # fmt: skip
    lines = [line.strip() for line in rendered.text.split("\n") if line.strip()]
    assert lines == ["def k(x, out):", "a = 1", "b = 5", "c = one", "d = 4", "e = 2"]
    assert {line: written_at(rendered)[line][1] for line in lines[:2]} == {"def k(x, out):": 3, "a = 1": 4}


def test_changed_files_are_read_again(tmp_path):
    kernel = project(tmp_path, "template: k.j2", k="{% include 'a.j2' %}\ndef k(x, out):\n    pass\n", a="y = 1\n")
    assert "y = 1" in rendering(tmp_path, kernel).text
    (tmp_path / "templates" / "a.j2").write_text("y = 2\n")
    assert "y = 2" in rendering(tmp_path, kernel).text
    assert rendering(tmp_path, kernel).sources["a.j2"] == "y = 2\n"


@pytest.mark.parametrize(
    "body, where",
    [
        ("body: |\n  y = 1\n\n  z = (2\n", (4, 5, (8, 7))),
        ("body: |2\n    y = 1\n    z = 2\n", (2, 9, (6, 11))),
        ("body: >\n  y = 1\n\n  z = 2\n", (3, 9, (8, 11))),
        ("body: 'y = 1'\n", (2, 9, (5, 16))),
        ("body: y = 1\n", (2, 9, (5, 15))),
        ('body: "y = 1\\nz = 2"\n', (3, 9, (5, 23))),
        ('body: "y = 1\\n\\\n   z = 2"\n', (3, 9, (6, 12))),
        ("{body: y = 1}", None),
    ],
)
def test_places_in_a_body_of_every_style(tmp_path, body, where):
    if where is None:
        text = f'version: 1\nkernels: {{k: {{signature: "{SIGNATURE}", body: y = 1}}}}\n'
        (tmp_path / "kernels.yaml").write_text(text)
        kernel, where = declare.load(tmp_path).kernels["k"], (2, 9, (2, 76))
    else:
        kernel = project(tmp_path, body)
    line, column, expected = where
    at = rendering(tmp_path, kernel).position(line, column)
    assert (at.line, at.column) == expected
    assert at.text[at.column - 1] in "z12="


def test_place_on_a_line_with_values(tmp_path):
    kernel = project(tmp_path, "params: {TILE: 128}\nbody: |\n  y = a + {{ TILE }} * b\n")
    rendered = rendering(tmp_path, kernel)
    source = rendered.position(2, 1).text
    line = rendered.text.split("\n")[1]
    for word in ("y", "a", "+", "*", "b"):
        assert rendered.position(2, line.index(word) + 1).column == source.index(word) + 1
    assert rendered.position(2, line.index("128") + 2).column == source.index("y") + 1


@pytest.mark.parametrize(
    "body, raw",
    [
        ("i = cuda.grid(1)", True), ("i = cuda . grid(1)", True), ("i = 1  # cuda.grid", False), ("cudas.y = 1", False),
        ("i = x.cuda.y", False), ("y = 'cuda.grid'", False), ("i = cuda", False),
    ],
)  # fmt: skip
def test_raw(tmp_path, body, raw):
    kernel = project(tmp_path, f"launch: {{block: 32}}\nbody: |\n  {body}")
    assert rendering(tmp_path, kernel, "cuda").raw == ("cuda" if raw else "")


fragments = st.sampled_from(
    ["a", " ", "\n", "{", "}", "{{", "}}", "{{ X }}", "{{X}}", "{{ Y }}", "{{ true }}", "{#", "#}", "{# c #}",
     "{#- c -#}", "{{- X }}", "{% if X %}", "{% endif %}", "X", "-", "%}", "{% raw %}", "{% endraw %}", "'"]
)  # fmt: skip


@settings(deadline=None)
@given(st.lists(fragments, max_size=12).map("".join))
@example("{#{#- c -#}{#}")
@example("{#{#- c -#}#}")
def test_the_short_way_is_jinja(text):
    context = {"X": "float32", "Y": 0.5}
    found = substitute(text, context)
    if found is not None:
        environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
        assert environment.from_string(text).render(context) == found[0]
        assert len(found[1]) == found[0].count("\n") + 1


def test_the_short_way_is_taken():
    assert substitute("{# a #}y = {{ X }} + {{Y}}\n", {"X": 1, "Y": "z"}) == ("y = 1 + z\n", [1, 2])
    text = "{# of\ntwo lines #}\na = 1\nb {# one\nmore #} = {{ X }} {# #}\n  {#\n#} c = 2{#\n\n#}\n\nd = 3\n"
    assert substitute(text, {"X": 1}) == ("\na = 1\nb  = 1 \n   c = 2\n\nd = 3\n", [2, 3, 4, 7, 10, 11, 12])


@settings(deadline=None)
@given(st.lists(fragments | st.sampled_from(["{# c\n #}", "x\n", "y\n"]), max_size=12).map("".join))
def test_both_ways_give_the_same_lines(tmp_path_factory, text):
    """But for the blank ones: white space comes from anywhere."""
    body = f"z = 1\n{text}"
    if found := substitute(body, {"X": "v", "Y": 1}):
        expanded = expand(str(tmp_path_factory.getbasetemp()), None, body, {"X": "v", "Y": 1}, None)
        assert expanded.text == found[0]
        lines = zip(found[0].split("\n"), found[1], expanded.origins, strict=True)
        assert [number for line, number, _ in lines if line.strip()] == [
            number for line, (_, number) in zip(found[0].split("\n"), expanded.origins, strict=True) if line.strip()
        ]


def test_names_that_stay_undefined_are_jinja():
    assert substitute("{{ Z }}", {"X": 1}) is None
