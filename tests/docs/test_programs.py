"""The programs of the page `programs` on devices too, beside their originals: as PTX, which is interpreted, and OpenCL."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pydotcompute import declare
from pydotcompute.check import comparable, draw
from pydotcompute.check.expected import Expected
from pydotcompute.check.judge import compared
from pydotcompute.docs.pages import source
from pydotcompute.targets import registry
from tests.targets.built import compiled, marked

from .examples import HEAD, blocks

SIZES = {  # two for each: one so small that little happens, one that has all in it
    "jacobi_2d": ({"n": 3}, {"n": 19}),
    "k3mm": ({"ni": 1, "nj": 2, "nk": 1, "nl": 3, "nm": 1}, {"ni": 7, "nj": 9, "nk": 5, "nl": 6, "nm": 8}),
    "cholesky": ({"n": 1}, {"n": 9}),
    "fdtd_2d": ({"nx": 1, "ny": 1, "TMAX": 1}, {"nx": 9, "ny": 13, "TMAX": 3}),
    "bray_curtis": ({"m": 2, "n": 1, "d": 0}, {"m": 5, "n": 7, "d": 9}),
    "conv2d_bias": ({"N": 1, "H": 3, "W": 3, "K": 3, "C_in": 1, "C_out": 1},
                    {"N": 2, "H": 6, "W": 5, "K": 3, "C_in": 2, "C_out": 3}),
    "median_filter": ({"h": 1, "w": 2}, {"h": 9, "w": 11}),
    "equalize_hist": ({"h": 1, "w": 1}, {"h": 9, "w": 11}),
    "mandelbrot": ({"xn": 1, "yn": 1}, {"xn": 9, "yn": 8}),
    "cg": ({"n": 1, "nnz": 2}, {"n": 23, "nnz": 70}),
    "life": ({"n": 2, "m": 1}, {"n": 9, "m": 12}),
    "query_pairs": ({"n": 1, "d": 2}, {"n": 17, "d": 2}),
    "softmax": ({"rows": 1, "n": 1}, {"rows": 3, "n": 70}),
}  # fmt: skip


@pytest.fixture(scope="module")
def declaration(tmp_path_factory):
    """The page as a project."""
    root, text = Path(tmp_path_factory.mktemp("programs")), HEAD
    for block in blocks(source("programs")):
        if block.language == "yaml":
            text += "".join(f"  {line}\n" if line else "\n" for line in block.text.split("\n"))
        elif block.name:
            (root / block.name).parent.mkdir(exist_ok=True)
            (root / block.name).write_text(block.text)
    (root / "kernels.yaml").write_text(text)
    return declare.load(root)


def test_each_is_tried(declaration):
    assert list(declaration.kernels) == list(SIZES)


@pytest.mark.slow
@pytest.mark.parametrize("target", [marked("cuda:compute_80"), marked("opencl:1.2")])
@pytest.mark.parametrize("name", SIZES)
def test_a_program_gives_what_its_original_does(declaration, name, target):
    kernel, root = declaration.kernels[name], declaration.root
    for number, specialisation in enumerate(kernel.specialisations):
        backend = target.partition(":")[0]
        rendered = declare.render(kernel, specialisation, backend, root, registry.raw_modules())
        built = compiled(target, kernel, specialisation, rendered)
        for seed, dims in enumerate(SIZES[name]):
            case = draw.draw(kernel, specialisation, dims, np.random.default_rng([number, seed]), root)
            wanted = Expected(declaration, kernel, specialisation, case, None).reference
            both = {**case.arguments, **case.outputs}
            built.call(**both, seed=seed)
            written = comparable.seen(kernel, {p.name: both[p.name] for p in kernel.signature.written})
            for (output, got), right in zip(written.items(), wanted, strict=True):
                assert not compared(kernel, output, got, right, "its original")[0]
