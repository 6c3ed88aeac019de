"""The design's own examples: what they declare, what they render to, and where each line stands."""

from pathlib import Path

from pydotcompute import declare
from pydotcompute.targets.registry import checked

GOOD = Path(__file__).parent / "good"


def load_and_render(tmp_path, name):
    folder = GOOD / f"design_{name}"
    if not folder.is_dir():
        (tmp_path / "kernels.yaml").write_bytes((GOOD / f"design_{name}.yaml").read_bytes())
        folder = tmp_path
    declaration = checked(declare.load(folder))
    kernel = declaration.kernels[name]
    return declaration, kernel, declare.render(kernel, kernel.specialisations[0], "cpu", folder)


def test_saxpy(tmp_path):
    declaration, kernel, rendered = load_and_render(tmp_path, "saxpy")
    assert declaration.targets == ("cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:x86-64-v4")
    assert kernel.doc == kernel.reference == "a * x + y"
    assert kernel.signature.text == "(a: T, x: T[...], y: T[...]) -> (out: T[...])"
    assert kernel.signature.symbols == ("size",)
    assert kernel.types == {"T": ("float32", "float64")}
    assert [str(s) for s in kernel.specialisations] == ["T=float32", "T=float64"]
    assert kernel.fastmath == ("contract",)
    assert kernel.requires == () and kernel.launch == {} and kernel.tolerance is None and kernel.sizes == {}
    assert rendered.text == "def saxpy(a, x, y, out):\n    for i in grid(size):\n        out[i] = a * x[i] + y[i]\n"
    assert rendered.files == (str(tmp_path / "kernels.yaml"),)
    assert rendered.sources == {} and not rendered.raw
    assert rendered.position(1, 1)[1:4] == (7, 7, "      body: |")
    assert rendered.position(2, 5)[1:4] == (8, 9, "        for i in grid(size):")
    assert rendered.position(3, 18)[1:4] == (9, 22, "            out[i] = a * x[i] + y[i]")
    assert kernel.positions["signature.x"].column == 26


def test_softmax(tmp_path):
    _, kernel, rendered = load_and_render(tmp_path, "softmax")
    source = (GOOD / "design_softmax" / "templates" / "softmax.py.j2").read_text()
    assert kernel.signature.symbols == ("rows", "cols")
    assert [(p.rank, p.ellipsis, p.dims) for p in kernel.signature.parameters] == [(2, True, ("cols",))] * 2
    assert rendered.text.split("\n")[1:] == source.split("\n")[1:]
    assert rendered.text.startswith("\ndef softmax(x, out):\n")
    assert rendered.sources == {"softmax.py.j2": source}
    assert rendered.position(8, 13)[1:4] == (8, 13, "            out[r, c] = e")
