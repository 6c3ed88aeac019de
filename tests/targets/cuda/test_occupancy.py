"""Occupancy is what NVIDIA's own calculator says, for every compute capability that there are limits of."""

import importlib.util
import itertools
import os
import subprocess
import sys

import pytest

from pydotcompute.targets.cuda.occupancy import MULTIPROCESSORS, occupancy

PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cuda_occupancy.h"
int main(void) {
    int major, minor, warps, shared, reserved, block, registers, own;
    while (scanf("%d %d %d %d %d %d %d %d",
                 &major, &minor, &warps, &shared, &reserved, &block, &registers, &own) == 8) {
        cudaOccDeviceProp p; cudaOccFuncAttributes f; cudaOccDeviceState s; cudaOccResult r;
        memset(&p, 0, sizeof p); memset(&f, 0, sizeof f); memset(&s, 0, sizeof s);
        p.computeMajor = major; p.computeMinor = minor; p.maxThreadsPerBlock = 1024;
        p.maxThreadsPerMultiprocessor = 32 * warps; p.regsPerBlock = 65536; p.regsPerMultiprocessor = 65536;
        p.warpSize = 32; p.sharedMemPerBlock = 49152; p.sharedMemPerMultiprocessor = shared; p.numSms = 1;
        p.sharedMemPerBlockOptin = shared - reserved; p.reservedSharedMemPerBlock = reserved;
        f.maxThreadsPerBlock = 1024; f.numRegs = registers; f.sharedSizeBytes = own;
        f.maxDynamicSharedSizeBytes = 49152; s.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
        if (cudaOccMaxActiveBlocksPerMultiprocessor(&r, &p, &f, &s, block, 0)) return 1;
        printf("%d\\n", r.activeBlocksPerMultiprocessor * ((block + 31) / 32));
    }
    return 0;
}
"""
CASES = list(itertools.product((32, 96, 256, 1000, 1024), (16, 33, 64, 120, 255), (0, 64, 5000, 40000)))


def header() -> str:
    spec = importlib.util.find_spec("nvidia.cuda_runtime") if importlib.util.find_spec("nvidia") else None
    for folder in (spec and spec.submodule_search_locations) or ():
        if os.path.exists(os.path.join(folder, "include", "cuda_occupancy.h")):
            return os.path.join(folder, "include")
    pytest.skip("nvidia-cuda-runtime, which has cuda_occupancy.h, is not installed")


@pytest.mark.slow  # a C compiler starts
def test_every_capability_against_cuda_occupancy_h(tmp_path):
    (tmp_path / "occupancy.c").write_text(PROGRAM)
    command = [sys.executable, "-m", "ziglang", "cc", "-O0", f"-I{header()}", "occupancy.c", "-o", "occupancy"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    known = {c: sm for c, sm in MULTIPROCESSORS.items() if c[0] < 11}  # which the header of CUDA 12 knows
    asked = [(c, sm, case) for c, sm in known.items() for case in CASES]
    lines = [f"{c[0]} {c[1]} {sm.warps} {sm.shared} {sm.reserved} {' '.join(map(str, case))}" for c, sm, case in asked]
    told = subprocess.run(
        [str(tmp_path / "occupancy")], input="\n".join(lines), capture_output=True, text=True, check=True
    )
    theirs = list(map(int, told.stdout.split()))
    ours = [occupancy(c, *case).warps for c, _, case in asked]
    assert len(theirs) == len(asked) > 1000
    assert [(c, case, a, b) for (c, _, case), a, b in zip(asked, ours, theirs) if a != b] == []


def test_what_limits_it():
    assert occupancy((9, 0), 256, 32, 64) == (64, 64, "warps")
    assert occupancy((9, 0), 32, 16, 0) == (32, 64, "blocks")
    assert occupancy((8, 6), 256, 128, 0) == (16, 48, "registers")
    assert occupancy((9, 0), 128, 32, 49152) == (16, 64, "shared memory")
    assert occupancy((99, 0), 256, 32, 64) is None
