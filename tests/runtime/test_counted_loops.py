"""Sequential loops whose work items end soon, do not, or are as long as the data says: each is code of its own, and all
give what Python gives."""

import subprocess
import sys

import numpy as np
import pytest

import pydotcompute

pytestmark = pytest.mark.slow

SIGNATURE = '"(x: int64[m], steps: int64) -> (out: int64[m])"'
BODIES = {
    "forwards": """
        for k in range(3, steps):
            s = s * 3 + k""",
    "backwards": """
        for k in range(steps, 2, -1):
            s = s * 3 + k""",
    "between": """
        for k in range(-x[i] - 1, x[i] + steps):
            s = s * 3 + k""",
    "nested": """
        for k in range(steps):
            for j in range(k % 7):
                s = s * 3 + j""",
    "bounded": """
        for k in range(steps):
            for j in range(m):
                s = s * 3 + j + k""",
    "turning": """
        k = s
        while k < steps:
            s = s * 3 + k
            k += 1
        s += k""",
    "leaving": """
        k = 0
        while k < steps:
            s = s * 3 + k
            if k > 100:
                break
            k += 1
        s += k * 5""",
    "skipping": """
        k = 0
        while k < steps:
            if s % 3 == 1:
                s += 1
                continue
            s = s * 3 + k
            k += 1
        s += k""",
    "moving": """
        k = 0
        stop = steps
        while k < stop:
            s = s * 3 + k
            if s % 2 == 0:
                stop -= 1
            k += 1
        s += k * stop""",
    "twofold": """
        k = 0
        while k < steps:
            s = s * 3 + k
            k += 2
        s += k""",
}


@pytest.fixture(scope="module")
def lib(tmp_path_factory):
    root = tmp_path_factory.mktemp("project")
    lines = ["version: 1", "targets: [cpu:x86-64]", "kernels:"]
    for name, body in BODIES.items():
        lines += [f"  {name}:", f"    signature: {SIGNATURE}", "    body: |", "      for i in grid(m):"]
        lines += ["          s = x[i]", *(f"  {line}" for line in body.splitlines()[1:]), "          out[i] = s"]
    (root / "kernels.yaml").write_text("\n".join(lines) + "\n")
    command = [sys.executable, "-m", "pydotcompute", "build", "-q", "-C", str(root)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return pydotcompute.load(root)


def in_python(name, x, steps):
    """The same body in Python, with the bits of 64-bit integers."""
    lines = BODIES[name].replace("s * 3", "wrapped(s * 3)").splitlines()[1:]
    scope = {"wrapped": lambda v: (v + 2**63) % 2**64 - 2**63}
    exec("\n".join(["def run(x, i, steps, m, s):", *(line[4:] for line in lines), "    return s"]), scope)
    return [scope["wrapped"](scope["run"](x, i, steps, len(x), v)) for i, v in enumerate(x)]


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("steps", [-5, 0, 1, 8, 400_001])
def test_loops_give_what_python_gives(lib, name, steps):
    x = [3, 0, -2, 41] if steps < 1000 else [5]
    np.testing.assert_array_equal(lib[name](np.array(x), steps), in_python(name, x, steps))
