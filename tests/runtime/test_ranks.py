"""Arrays of every rank that NumPy has, in every way of giving the arguments: right results, or an error by the rules."""

import subprocess
import sys

import pytest

KERNELS = """
version: 1
targets: [cpu:x86-64-v2]
kernels:
  flat: {signature: "(x: float32[...]) -> (out: float32[...])", body: "for i in grid(size): out[i] = x[i] + 1"}
  rows:
    signature: "(x: float32[..., n]) -> (out: float32[...], last: float32[..., n])"
    body: |
      for r in blocks(rows):
          out[r] = sum(x[r, c] for c in threads(n))
          for c in threads(n):
              last[r, c] = x[r, c] + 2
  wider:
    signature: "(x: float32[...]) -> (out: float32[..., 2])"
    body: |
      for r in blocks(rows):
          for c in threads(2):
              out[r, c] = x[r] + c
  broadcast:
    signature: "(x: broadcast float32[...], y: broadcast float32[...]) -> (out: float32[...])"
    body: "for i in grid(size): out[i] = x[i] + y[i]"
  strided:
    signature: "(x: strided float32[..., n]) -> (out: float32[..., n])"
    body: |
      for r in blocks(rows):
          for c in threads(n):
              out[r, c] = 2 * x[r, c]
"""
PROGRAM = """
import sys, numpy as np, pydotcompute
lib = pydotcompute.load(sys.argv[1])
most = 64 if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else 32
for rank in range(1, most + 1):
    x = np.arange(2, dtype="f4").reshape((1,) * (rank - 1) + (2,))
    ways = [
        ("flat", (x,), [x + 1]), ("rows", (x,), [x.sum(-1), x + 2]), ("broadcast", (x, x[..., :1]), [x + x[..., :1]]),
        ("broadcast", (x, np.float32([3, 4])), [x + np.float32([3, 4])]), ("strided", (x,), [2 * x]),
        ("strided", (x[..., ::-1],), [2 * x[..., ::-1]]),
    ]
    if rank < most:
        ways.append(("wider", (x,), [np.stack([x, x + 1], -1)]))
    else:
        try:
            lib.wider(x)
            raise SystemExit("an array of more dimensions than there can be")
        except ValueError as error:
            assert "dimension" in str(error), error
    for name, arguments, wanted in ways:
        kernel = lib[name]
        for given in (False, True):
            outputs = [np.zeros_like(w) for w in wanted] if given else []
            for call in (lambda: kernel(*arguments, *outputs), lambda: kernel(*arguments, **dict(zip(("out", "last"), outputs)))):
                made = call()
                for got, right in zip(made if len(wanted) > 1 else (made,), wanted, strict=True):
                    assert np.shape(got) == right.shape and (got == right).all(), (name, rank)
print("right")
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    (folder / "kernels.yaml").write_text(KERNELS)
    done = subprocess.run([sys.executable, "-m", "pydotcompute", "build", "-C", str(folder)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return str(folder)


def test_every_rank(project):
    """In a process of its own: what goes wrong here ends it."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, project], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
