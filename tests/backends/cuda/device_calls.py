"""Every built kernel called on a device, held to its reference: for the tests, and as a program for the sanitizer.

    python device_calls.py PROJECT MOST        calls of at most so many elements, each array in memory of its own
"""

import sys
from collections.abc import Sequence

import numpy as np

import pydotcompute
from pydotcompute import declare
from pydotcompute.backends.cuda.backend import CUDABackend
from pydotcompute.check import draw, judge, sizes
from pydotcompute.check.expected import Expected
from pydotcompute.declare.model import Declaration, Kernel, Specialisation

Targets = Sequence[str | None]  # to call with; None: what is chosen, a vendor's code where it is faster


def targets(project: str) -> list[str]:
    """Those of a project that this device runs: its own cubins, and PTX."""
    major, minor = CUDABackend().compute_capability
    library = pydotcompute.load(project)
    built = {target for name in library for s in library[name].specializations for target in s.targets}
    return [t for t in (f"cuda:sm_{major}{minor}", "cuda:compute_80") if t in built]


def call_every_kernel(project: str, chosen: Targets, most: float = float("inf")) -> int:
    """Calls each specialisation at every size that a check draws, if it has so few elements; how many calls that
    were."""
    declaration, calls = declare.load(project), 0
    for kernel in declaration.kernels.values():
        for specialisation in kernel.specialisations:
            for seed, dims in enumerate(sizes.cases(kernel, specialisation, 0)):
                calls += call(project, declaration, kernel, specialisation, dims, chosen, seed, most)
    return calls


def call_large(project: str, chosen: Targets, name: str, elements: int) -> int:
    """Calls each specialisation of a kernel with about so many elements in its largest array."""
    declaration = declare.load(project)
    kernel, calls = declaration.kernels[name], 0
    for specialisation in kernel.specialisations:
        calls += call(project, declaration, kernel, specialisation, large(kernel, elements), chosen, 0)
    return calls


def call(
    project: str, declaration: Declaration, kernel: Kernel, specialisation: Specialisation, dims: dict[str, int],
    chosen: Targets, seed: int, most: float = float("inf"),
) -> int:  # fmt: skip
    """A call with each target, its outputs poisoned."""
    reference: tuple = ()
    for target in chosen:
        case = draw.draw(kernel, specialisation, dims, np.random.default_rng(seed), project)
        values = {**case.arguments, **case.outputs}
        if sum(map(np.size, values.values())) > most:
            return 0
        reference = reference or Expected(declaration, kernel, specialisation, case, None).reference
        library = pydotcompute.load(project, target=target)
        library[kernel.name](**values, **dict(specialisation.params), backend="cuda")
        written = [p.name for p in kernel.signature.parameters if p.writable and p.role != "temp"]
        for name, wanted in zip(written, reference, strict=True):
            wrong, _ = judge.compared(kernel, name, values[name], wanted, "the reference")
            assert not wrong, (kernel.name, specialisation, dims, target, wrong)
    return len(chosen)


def large(kernel: Kernel, elements: int) -> dict[str, int]:
    """Dimensions of a call with so many elements; of kernels that do more than a few operations with each, fewer."""
    side = round((elements / 20) ** 0.5)
    known = {
        "sum_axis": {"rows": 1, "m": elements, "inner": 100, "chunks": 64},
        "apply_rope": {"heads": elements // 128, "dim": 128, "half": 64},
        "apply_rope_sequence": {"positions": elements // 4096, "heads": 32, "dim": 128, "half": 64},
        "attention": {"rows": 16, "n": side // 4, "keys": side, "d": 64},
        "matmul": {"m": side, "k": side, "n": side}, "matmul_batched": {"rows": 8, "m": side // 2, "k": side, "n": 200},
        "swap_axes": {"m": elements // 100_000, "n": 1000, "d": 100},
        "gather": {"v": 10_000, "d": 1000, "n": elements // 1000},
        "histogram": {"size": elements, "n": 256},
    }.get(kernel.name)  # fmt: skip
    if known:
        return known
    free = list(next(sizes.cases(kernel, kernel.specialisations[0], 0)))
    return dict.fromkeys(free, 1000) | {free[0]: elements // 1000 ** (len(free) - 1)}


if __name__ == "__main__":
    import cupy

    cupy.cuda.set_allocator(None)  # the sanitizer knows allocations of the driver's, not those of a pool
    print(call_every_kernel(sys.argv[1], targets(sys.argv[1])[:1], float(sys.argv[2])), "calls were right")
