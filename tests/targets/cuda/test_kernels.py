"""The repository's kernels: the PTX in the cache, executed, against their references; every artifact there is."""

import os

import pytest
from tests.cuda_project import architectures
from tests.targets.cuda.cuda_support import from_cache
from tests.targets.references import EVERY, agree, cases, named, spread

from pydotcompute.cache.layout import object_path
from pydotcompute.cache.writer import read_manifest


def chosen_cases(kernel, specialisation):
    """Nothing, one, ragged, one block, many blocks; the smaller sizes, as the interpreter of PTX is slow."""
    chosen = spread(cases(kernel, specialisation, 5000), cases(kernel, specialisation, 70_000)[-1])
    if kernel.name == "attention":  # which takes the most by far
        chosen = chosen[::2]
    return chosen if "float64" not in str(specialisation) else chosen[::3]


@pytest.mark.parametrize("name, label", EVERY, ids=str)
def test_cached_ptx_agrees_with_the_reference(project, name, label):
    kernel, specialisation = named(name, label)
    agree(from_cache(project, name, label), kernel, specialisation, chosen_cases(kernel, specialisation))


def test_every_specialisation_is_there_for_every_architecture(project):
    kernels = read_manifest(os.path.join(project, "build", "cache"))[0]["kernels"]
    for name, label in EVERY:
        targets = {"cuda:compute_80", *(f"cuda:sm_{a}" for a in architectures(name))}
        artifacts = kernels[name]["specializations"][label]["artifacts"]
        assert set(artifacts) == targets
        for target, artifact in artifacts.items():
            meta = artifact["meta"]
            path = object_path(artifact["object"], artifact["suffix"])
            with open(os.path.join(project, "build", "cache", path), "rb") as file:
                data = file.read()
            if target == "cuda:compute_80":
                assert artifact["suffix"] == ".ptx" and meta["ptx_version"] == "7.0"
                assert data.partition(b"\n")[2].startswith(b".version 7.0\n.target sm_80\n")
            else:
                assert artifact["suffix"] == ".cubin" and data[:4] == b"\x7fELF"
            entries = [launch["entry"] for launch in meta["launches"]]
            assert entries[0].startswith(name) and set(meta["resources"]) == set(entries)
            spills = sum(used["spill_stores"] + used["spill_loads"] for used in meta["resources"].values())
            assert bool(spills) == ("note" in meta) and all(
                used["registers"] > 0 for used in meta["resources"].values()
            )
