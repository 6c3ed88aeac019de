"""Whatever stands in the files, the answer is a declaration or a DeclarationError that can be shown."""

import shutil
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from pydotcompute import declare
from pydotcompute.errors import DeclarationError

GOOD = Path(__file__).parent / "good" / "everything"
DECLARATION = (GOOD / "kernels.yaml").read_text()
TEMPLATE = (GOOD / "templates" / "parts" / "scaled.py.j2").read_text()
pieces = st.sampled_from(
    ["", " ", "\n", ":", "- ", "{", "}", "[", "]", '"', "'", "|", ">", "#", "&a", "*a", "!!int", "{{", "}}",
     "{% if %}", "{% endmacro %}", "\t", "\x00", "é", "\ufeff", "\u2028", "\r", "null", "7", "n", "(",
     ")", "...", "---", "%", "?", "cuda.", "\ufdd0", "\\"]
)  # fmt: skip


def load_and_render(folder: Path) -> None:
    try:
        declaration = declare.load(folder)
        for kernel in declaration.kernels.values():
            for specialisation in kernel.specialisations[:2]:
                rendered = declare.render(kernel, specialisation, "cuda", folder)
                assert len(rendered.origins) >= rendered.text.rstrip("\n").count("\n") + 1
                for line in range(1, rendered.text.count("\n") + 2):
                    assert rendered.position(line, 1).line >= 1
    except DeclarationError as error:
        assert str(error)
        assert error.at is None or (error.at.line >= 1 and error.at.column >= 1)


def changed(data: st.DataObject, text: str) -> str:
    for _ in range(data.draw(st.integers(1, 3))):
        begin = data.draw(st.integers(0, len(text)))
        end = data.draw(st.sampled_from([begin, begin + 1, begin + 5]))
        text = text[:begin] + data.draw(pieces) + text[end:]
    return text


@settings(deadline=None)
@given(st.data())
def test_changed_declaration(tmp_path_factory, data):
    folder = tmp_path_factory.getbasetemp() / "changed_declaration"
    shutil.copytree(GOOD, folder, dirs_exist_ok=True)
    (folder / "kernels.yaml").write_text(changed(data, DECLARATION), newline="")
    load_and_render(folder)


@settings(deadline=None)
@given(st.data())
def test_changed_template(tmp_path_factory, data):
    folder = tmp_path_factory.getbasetemp() / "changed_template"
    shutil.copytree(GOOD, folder, dirs_exist_ok=True)
    (folder / "templates" / "parts" / "scaled.py.j2").write_text(changed(data, TEMPLATE), newline="")
    load_and_render(folder)


@settings(deadline=None)
@given(st.binary(max_size=60) | st.lists(pieces, max_size=30).map(lambda parts: "".join(parts).encode()))
def test_any_bytes(tmp_path_factory, written):
    folder = tmp_path_factory.getbasetemp() / "any_bytes"
    folder.mkdir(exist_ok=True)
    (folder / "kernels.yaml").write_bytes(written)
    load_and_render(folder)
