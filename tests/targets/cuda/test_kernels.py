"""The repository's kernels: the PTX in the cache, executed, against their references; every artifact there is."""

import json
import os
import zlib

import numpy as np
import pytest
from tests.cuda_project import ARCHITECTURES
from tests.targets.cuda.cuda_support import ROOT
from tests.targets.cuda.cuda_support import from_cache

from pydotcompute import declare
from pydotcompute.cache.layout import object_path
from pydotcompute.check import draw, judge, memory, sizes
from pydotcompute.check.expected import Expected

DECLARATION = declare.load(ROOT)
EVERY = [(k.name, str(s)) for k in DECLARATION.kernels.values() for s in k.specialisations]
CASES = 7


def chosen_cases(kernel, specialisation):
    """Nothing, one, ragged, one block, many blocks; of the sizes that `check` has, the smaller ones."""
    found = [d for d in sizes.cases(kernel, specialisation, 0) if np.prod([float(n) for n in d.values()]) <= 70_000]
    small = [d for d in found if np.prod([float(n) for n in d.values()]) <= 5000]
    step = max(1, len(small) // (CASES - 1))
    chosen = small[::step][: CASES - 1] + found[-1:]
    return chosen if "float64" not in str(specialisation) else chosen[::3]


@pytest.mark.parametrize("name, label", EVERY, ids=str)
def test_cached_ptx_agrees_with_the_reference(project, name, label):
    kernel = DECLARATION.kernels[name]
    specialisation = next(s for s in kernel.specialisations if str(s) == label)
    built = from_cache(project, name, label)
    for number, dims in enumerate(chosen_cases(kernel, specialisation)):
        rng = np.random.default_rng(zlib.crc32(f"{name} {label} {number}".encode()))
        loose = any(p.layout != "C" for p in kernel.signature.parameters) and number % 2 == 1
        case = draw.draw(kernel, specialisation, dims, rng, ROOT, strided=loose)
        references = Expected(DECLARATION, kernel, specialisation, case, None).reference
        built.call(**case.arguments, **case.outputs, **dict(specialisation.params), seed=number)
        both = {**case.arguments, **case.outputs}
        written = {p.name: both[p.name] for p in kernel.signature.parameters if p.writable}
        for n, buffer in case.buffers.items():
            assert not memory.overrun(both[n], buffer), (dims, n)
        for (n, got), wanted in zip(written.items(), references, strict=True):
            assert got.dtype.itemsize == 1 or not memory.unwritten(got).any(), (dims, n)
            wrong, _ = judge.compared(kernel, n, got, wanted, "the reference")
            assert not wrong, (dims, wrong)


def test_every_specialisation_is_there_for_every_architecture(project):
    with open(os.path.join(project, "build", "cache", "manifest.json")) as file:
        kernels = json.load(file)["kernels"]
    targets = {"cuda:compute_80", *(f"cuda:sm_{a}" for a in ARCHITECTURES)}
    for name, label in EVERY:
        artifacts = kernels[name]["specializations"][label]["artifacts"]
        assert set(artifacts) == targets
        for target, artifact in artifacts.items():
            meta = artifact["meta"]
            path = object_path(artifact["object"], artifact["suffix"])
            with open(os.path.join(project, "build", "cache", path), "rb") as file:
                data = file.read()
            if target == "cuda:compute_80":
                assert artifact["suffix"] == ".ptx" and meta["ptx_version"] == "7.0"
                assert data.startswith(b".version 7.0\n.target sm_80\n")
            else:
                assert artifact["suffix"] == ".cubin" and data[:4] == b"\x7fELF"
            entries = [launch["entry"] for launch in meta["launches"]]
            assert entries[0].startswith(name) and set(meta["resources"]) == set(entries)
            spills = sum(used["spill_stores"] + used["spill_loads"] for used in meta["resources"].values())
            assert bool(spills) == ("note" in meta) and all(
                used["registers"] > 0 for used in meta["resources"].values()
            )
