"""Seconds until a new process has its first result from a CUDA device, the median; cold means that what it, CuPy and
the driver keep on the disk was deleted before. Numba and Triton are measured where they work."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any, Iterator

from .own import environment
from .peers import NUMBA, TRITON, need_device

COLUMNS = ("by", "warm s", "cold s", "note")
FIRST = {
    "pydotcompute": """
import cupy
from pydotcompute.kernels import axpy
x = cupy.ones(1000, "float32")
assert float(axpy(2.0, x, x)[0]) == 3
""",
    "numba": NUMBA + """
x = cuda.to_device(np.ones(1000, "float32"))
out = cuda.device_array(1000, "float32")
axpy[4, 256](2.0, x, x, out)
assert out.copy_to_host()[0] == 3
""",
    "triton": TRITON + """
x = torch.ones(1000, device="cuda")
out = torch.empty_like(x)
axpy[(1,)](2.0, x, x, out, 1000, BLOCK=1024)
assert out[0].item() == 3
""",
}
CACHES = {"pydotcompute": ("CUPY_CACHE_DIR",), "numba": ("NUMBA_CACHE_DIR",), "triton": ("TRITON_CACHE_DIR",)}
DRIVER_CACHE = "CUDA_CACHE_PATH"  # of what the driver makes from PTX


def measure(rounds: int = 9) -> Iterator[dict[str, Any]]:
    need_device()
    for name, text in FIRST.items():
        with tempfile.TemporaryDirectory() as folder:
            program, kept = f"{folder}/first.py", f"{folder}/kept"
            with open(program, "w") as file:
                file.write(text)
            variables = environment(**dict.fromkeys((DRIVER_CACHE, *CACHES[name]), kept))

            def process(program: str = program, variables: dict[str, str] = variables) -> float:
                started = time.perf_counter()
                subprocess.run([sys.executable, program], env=variables, check=True, capture_output=True, text=True)
                return time.perf_counter() - started

            try:
                process()
            except subprocess.CalledProcessError as error:
                yield {"by": name, "note": f"does not work here: {error.stderr.strip().splitlines()[-1]}"}
                continue
            warm, cold = statistics.median(process() for _ in range(rounds)), []
            for _ in range(3):
                shutil.rmtree(kept, ignore_errors=True)
                cold.append(process())
            yield {"by": name, "warm s": warm, "cold s": statistics.median(cold)}
