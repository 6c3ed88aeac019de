"""Every built kernel called on a device, held to its reference: for the tests, and as a program for the sanitizer.

    python device_calls.py PROJECT MOST        calls of at most so many elements, each array in memory of its own
"""

import sys

import numpy as np

import pydotcompute
from pydotcompute import declare
from pydotcompute.check import draw, judge, sizes
from pydotcompute.check.expected import Expected


def call_every_kernel(project: str, most: float = float("inf")) -> int:
    """Calls each specialisation at every size that a check draws, outputs poisoned; how many calls that were."""
    library, declaration, calls = pydotcompute.load(project), declare.load(project), 0
    for name in library:
        kernel = declaration.kernels[name]
        for specialisation in kernel.specialisations:
            for number, dims in enumerate(sizes.cases(kernel, specialisation, 0)):
                case = draw.draw(kernel, specialisation, dims, np.random.default_rng(number), project)
                if sum(np.size(v) for v in (*case.arguments.values(), *case.outputs.values())) > most:
                    continue
                wanted = Expected(declaration, kernel, specialisation, case, None).reference
                library[name](**case.arguments, **case.outputs, **dict(specialisation.params), backend="cuda")
                calls += 1
                written = [p.name for p in kernel.signature.parameters if p.writable]
                for n, w in zip(written, wanted, strict=True):
                    wrong, _ = judge.compared(kernel, n, {**case.arguments, **case.outputs}[n], w, "the reference")
                    assert not wrong, (name, specialisation, dims, wrong)
    return calls


if __name__ == "__main__":
    import cupy

    cupy.cuda.set_allocator(None)  # the sanitizer knows allocations of the driver's, not those of a pool
    print(call_every_kernel(sys.argv[1], float(sys.argv[2])), "calls were right")
