"""Calls stand in NVTX ranges of the kernel's name where they are asked for: a tool of NVTX's own kind hears them."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("cupy", reason="CuPy is not installed")
pytest.importorskip("nvtx", reason="nvtx is not installed")

ROOT = Path(__file__).resolve().parents[3]
KERNELS = """\
version: 1
targets: ["cuda:compute_80"]
kernels:
  twice:
    signature: "(x: float32[n]) -> (out: float32[n])"
    body: |
      for i in grid(n):
          out[i] = 2 * x[i]
"""
# What Nsight's is, but that it prints: NVTX hands it a table of functions to fill in (nvtx3/nvtxDetail/nvtxTypes.h).
TOOL = r"""
#include <stdint.h>
#include <stdio.h>
#include <wchar.h>
typedef void (*Function)(void);
typedef struct { size_t size; int (*table)(int module, Function ***table, unsigned *size); } Callbacks;
typedef struct {
    uint16_t version, size; uint32_t category; int32_t color_type; uint32_t color; int32_t payload_type, reserved;
    uint64_t payload; int32_t message_type, more; union { const char *ascii; const wchar_t *wide; } message;
} Attributes;
static char names[64][200];
static int count = 0;
static void *register_ascii(void *domain, const char *text) {
    snprintf(names[++count], 200, "%s", text);
    return names[count];
}
static void *register_wide(void *domain, const wchar_t *text) {
    snprintf(names[++count], 200, "%ls", text);
    return names[count];
}
static int push(void *domain, const Attributes *a) {
    if (a->message_type == 2) fprintf(stderr, "push %ls\n", a->message.wide);
    else fprintf(stderr, "push %s\n", a->message.ascii);
    return 0;
}
static int pop(void *domain) { fprintf(stderr, "pop\n"); return 0; }
static void *create(const char *name) { fprintf(stderr, "domain %s\n", name); return names[0]; }
static void *create_wide(const wchar_t *name) { fprintf(stderr, "domain %ls\n", name); return names[0]; }
int InitializeInjectionNvtx2(const void *(*get)(uint32_t)) {
    const Callbacks *callbacks = get(1);
    Function **table; unsigned size;
    if (!callbacks->table(5, &table, &size)) return 0;
    *table[4] = (Function)push; *table[5] = (Function)pop;
    *table[10] = (Function)register_ascii; *table[11] = (Function)register_wide;
    *table[12] = (Function)create; *table[13] = (Function)create_wide;
    return 1;
}
"""
PROGRAM = """
import sys
import numpy as np, pytest
import pydotcompute
from tests.backends.cuda.emulated import Emulated
with pytest.MonkeyPatch.context() as patch:
    device = Emulated(patch)
    library = pydotcompute.load(sys.argv[1])
    for _ in range(4):
        out = library.twice(device.array(np.ones(5, "f4")))
    print(device.host(out).sum())
"""


@pytest.mark.slow  # a tool and a kernel are compiled
def test_a_tool_hears_each_call(tmp_path):
    (tmp_path / "kernels.yaml").write_text(KERNELS)
    (tmp_path / "tool.c").write_text(TOOL)
    compiler = [sys.executable, "-m", "ziglang", "cc", "-shared", "-fPIC", "tool.c", "-o", "tool.so"]
    subprocess.run(compiler, cwd=tmp_path, check=True, capture_output=True)
    subprocess.run([sys.executable, "-m", "pydotcompute", "build", "-q"], cwd=tmp_path, check=True)
    plain = {**os.environ, "NVTX_INJECTION64_PATH": str(tmp_path / "tool.so"), "PYTHONPATH": str(ROOT)}

    def heard(**more):
        command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, env={**plain, **more}, cwd=ROOT)
        assert (done.returncode, done.stdout) == (0, "10.0\n"), done.stderr
        return [line for line in done.stderr.splitlines() if line.startswith(("push", "pop", "domain"))]

    told = heard(PYDOTCOMPUTE_NVTX="1")
    assert "domain pydotcompute" in told
    assert [line for line in told if not line.startswith("domain")] == ["push twice", "pop"] * 4
    assert heard() == []


def test_what_may_be_asked(monkeypatch):
    from pydotcompute.backends.cuda import ranges

    assert importlib.util.find_spec("nvtx") and not ranges.asked({}) and ranges.asked({"PYDOTCOMPUTE_NVTX": "1"})
    with pytest.raises(ValueError, match="PYDOTCOMPUTE_NVTX='yes': write 1"):
        ranges.asked({"PYDOTCOMPUTE_NVTX": "yes"})
