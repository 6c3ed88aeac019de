"""Folders of good and bad declarations: the good ones load and render, the bad ones are refused word for word."""

from pathlib import Path

import jsonschema
import pytest
import yaml

from pydotcompute import declare
from pydotcompute.declare import document
from pydotcompute.errors import DeclarationError
from pydotcompute.targets import registry

HERE = Path(__file__).parent
FILES = sorted(p for p in HERE.glob("*/**/*.yaml") if "render" not in p.parts)
GOOD = [p for p in FILES if p.relative_to(HERE).parts[0] == "good"]
BAD = [p for p in FILES if p.relative_to(HERE).parts[0] == "bad"]
BAD_RENDERINGS = sorted((HERE / "bad" / "render").iterdir())
SCHEMA = jsonschema.Draft202012Validator(declare.schema(registry.pattern()))


def name(path: Path) -> str:
    return path.parent.name + "/" + path.stem


def at_root(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the folder of a declaration, or one that holds it, the working directory."""
    if path.name != "kernels.yaml":
        (tmp_path / "kernels.yaml").write_bytes(path.read_bytes())
    monkeypatch.chdir(path.parent if path.name == "kernels.yaml" else tmp_path)


def load_and_render() -> declare.Declaration:
    declaration = registry.checked(declare.load("."))
    for kernel in declaration.kernels.values():
        for specialisation in kernel.specialisations:
            for backend in {target.split(":")[0] for target in declaration.targets} | {"python"}:
                declare.render(kernel, specialisation, backend, ".", registry.raw_modules())
    return declaration


def in_schema(path: Path) -> bool:
    read = document.read(str(path))
    return SCHEMA.is_valid(document.plain(document.parse(read)))


@pytest.mark.parametrize("path", GOOD, ids=name)
def test_good(path, tmp_path, monkeypatch):
    assert in_schema(path)
    at_root(path, tmp_path, monkeypatch)
    load_and_render()


@pytest.mark.parametrize("path", BAD, ids=name)
def test_bad(path, tmp_path, monkeypatch):
    at_root(path, tmp_path, monkeypatch)
    with pytest.raises(DeclarationError) as caught:
        load_and_render()
    assert f"{caught.value}\n" == path.with_suffix(".txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", [p for p in BAD if p.parent.name != "yaml"], ids=name)
def test_schema_and_loader_agree(path):
    """Folder `schema`: both refuse. In `loader` and `signature` stands what a JSON Schema cannot say."""
    assert in_schema(path) == (path.parent.name != "schema")


@pytest.mark.parametrize("folder", BAD_RENDERINGS, ids=lambda path: path.name)
def test_bad_rendering(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert in_schema(folder / "kernels.yaml")
    declare.load(".")
    with pytest.raises(DeclarationError) as caught:
        load_and_render()
    assert f"{caught.value}\n" == (folder / "error.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", [p for p in FILES if p.parent.name != "yaml"], ids=name)
def test_python_reader_reads_the_same(path):
    """Where PyYAML has no libyaml, its own reader gives the same values at the same places."""
    read = document.read(str(path))

    def described(node):
        value = node.value
        if isinstance(value, dict):
            value = {key: (described(node.keys[key]), described(item)) for key, item in value.items()}
        elif isinstance(value, list):
            value = [described(item) for item in value]
        # The two readers do not agree where nothing stands: after the colon, or after the space.
        place = None if value is None else (node.line, node.column)
        return repr(value), node.text, node.style, place

    assert described(document.parse(read, yaml.SafeLoader)) == described(document.parse(read, yaml.CSafeLoader))


def test_no_file(tmp_path):
    with pytest.raises(DeclarationError, match="cannot read .*kernels.yaml: No such file or directory"):
        declare.load(tmp_path)


def test_not_utf8(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kernels.yaml").write_bytes(b"version: 1\nkernels:\n  k:\n    doc: gr\xf6\n")
    with pytest.raises(DeclarationError) as caught:
        declare.load(".")
    assert str(caught.value) == "kernels.yaml:4:12: not UTF-8 text\n  save the file as UTF-8"


@pytest.mark.parametrize(
    "data, line, column",
    [(b"\xef\xbb\xbfab\xff", 1, 3), ("\ufeffäöü".encode() + b"\xff", 1, 4),
     (b"\xef\xbb\xbfversion: 1\n# caf\xe9\n", 2, 6), (b"version: 1\r# x\r# caf\xe9\r", 3, 6)],
)  # fmt: skip
def test_not_utf8_behind_a_byte_order_mark_or_the_line_ends_of_old_macs(tmp_path, data, line, column):
    (tmp_path / "kernels.yaml").write_bytes(data)
    with pytest.raises(DeclarationError, match=f"kernels.yaml:{line}:{column}: not UTF-8 text"):
        declare.load(tmp_path)


def test_byte_order_mark_and_windows_line_ends(tmp_path):
    text = (HERE / "good" / "design_saxpy.yaml").read_text()
    (tmp_path / "kernels.yaml").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    kernel = declare.load(tmp_path).kernels["saxpy"]
    rendered = declare.render(kernel, kernel.specialisations[0], "cpu", tmp_path)
    assert rendered.position(3, 9).line == 9
    assert rendered.position(3, 9).text == "            out[i] = a * x[i] + y[i]"
