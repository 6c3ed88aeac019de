"""Which files are mutated together, and which tests are to find it: quick ones that reach the file, and slow ones of
the whole group for what those let live."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Group:
    # pattern below pydotcompute/ → tests below tests/, or options of pytest's; the first that fits counts
    quick: dict[str, tuple[str, ...]]
    slow: tuple[str, ...] = ()


ENTRY = ("runtime/test_entry.py", "runtime/test_expressions.py", "runtime/test_views.py", "-k=not every_dtype")
LANGUAGE = ("targets/cpu/test_bounds.py", "targets/cpu/test_guards.py", "targets/test_language.py")
CUDA = ("targets/cuda/test_scatter.py", "targets/test_language.py")
CUDA_LOOPS = ("targets/cuda/test_barriers.py", "targets/test_reductions.py", "targets/cuda/test_scatter.py")
# Of the tests of changes and tools those that build little.
CHANGES = (
    "builder/test_tools.py", "builder/test_changes.py",
    "-k=not (linker_is or partial or nobody_asks or made_before or include or param or moving)",
)

GROUPS = {
    "analysis": Group(
        {f"analysis/{name}.py": ("analysis",)
         for name in ("races", "accesses", "affine", "feasible", "symbolic*", "aliases", "barriers", "steps")}
        | {"analysis/ranges.py": ("targets/test_ranges.py", "analysis")},
        ("frontend/test_refused_loops.py", "frontend/test_trees.py", "targets/cuda/test_barriers.py",
         "random_programs/test_races.py"),
    ),
    "compile-cpu": Group(
        {
            "targets/cpu/fma.py": ("targets/cpu/test_fastmath.py",),
            "targets/cpu/reduction.py": ("targets/test_reductions.py",),
            "targets/cpu/run.py": ("targets/cpu/test_threads.py", "targets/cpu/test_bounds.py", "targets/test_ranges.py"),
            "targets/llvm/independence.py": ("targets/cpu/test_independent.py", "targets/cpu/test_views.py"),
            "targets/cpu/memory.py": (
                "targets/cpu/test_views.py", "targets/cpu/test_alignment.py", "targets/cpu/test_bounds.py",
                "targets/cpu/test_independent.py", "targets/cpu/test_scatter.py",
            ),
            "targets/cpu/loops.py": ("targets/cpu/test_threads.py", "targets/test_reductions.py", "targets/test_ranges.py"),
            "targets/cpu/loop_versioning.py": ("targets/cpu/test_guards.py", "targets/cpu/test_views.py", "targets/test_ranges.py"),
            "targets/cpu/index_set_splitting.py": ("targets/cpu/test_guards.py", "targets/test_ranges.py"),
            "targets/cpu/link.py": ("targets/cpu/test_artifacts.py",),
            "targets/cpu/elf.py": ("targets/cpu/test_artifacts.py",),
            "targets/cpu/scalar.py": ("targets/test_arithmetic.py",),
            "targets/llvm/conversions.py": ("targets/test_arithmetic.py",),
            "targets/llvm/dimension_code.py": ("runtime/test_expressions.py",),
            "targets/cpu/[!et]*.py": LANGUAGE,
            "targets/llvm/*.py": LANGUAGE,
        },
        ("targets/cpu", "builder/test_reproducible.py", "check/test_mutants.py"),
    ),
    "compile-entry": Group(
        {"targets/cpu/entry*.py": ENTRY},
        ("runtime/test_entry.py", "runtime/test_ranks.py", "runtime/test_product.py", "runtime/test_rules.py",
         "runtime/test_random.py", "runtime/test_expressions.py", "runtime/test_libraries.py",
         "runtime/test_loading.py"),
    ),
    "compile-cuda": Group(
        {
            "targets/cuda/math.py": ("targets/cuda/test_functions.py",),
            "targets/cuda/loop*.py": CUDA_LOOPS,
            "targets/cuda/*reduction*.py": ("targets/test_reductions.py",),
            "targets/cuda/early_loads.py": CUDA,
            "targets/cuda/thread_coarsening.py": CUDA,
            "targets/cuda/t*.py": ("builder/test_tools.py", "targets/cuda/test_artifacts.py"),
            "targets/cuda/ptxas.py": ("targets/cuda/test_artifacts.py",),
            "targets/cuda/device.py": ("targets/cuda/test_raw.py",),
            "targets/cuda/*.py": CUDA,
        },
        ("targets/test_arithmetic.py", "targets/cuda/test_artifacts.py", "targets/test_reductions.py", "targets/cuda/test_functions.py",
         "targets/cuda/test_barriers.py", "targets/cuda/test_batches.py", "targets/cuda/test_raw.py"),
    ),
    "compile-plain": Group(
        {"jit/fingerprint.py": ("jit/test_fingerprint.py", "jit/test_compile_kernel.py"),
         "jit/*.py": ("jit/test_compile_kernel.py", "jit/test_fingerprint.py")},
        ("jit/test_edits.py",),
    ),
    "compile-math": Group(
        {
            pattern: ("math/test_special_values.py", "math/test_accuracy.py", "math/test_loops.py")
            for pattern in ("ir/math/*.py", "targets/llvm/mathematics.py", "targets/llvm/lanes.py")
        },
        ("math", "targets/test_arithmetic.py"),
    ),
    "runtime": Group(
        {
            pattern: ("runtime/test_rules.py", "runtime/test_libraries.py", "runtime/test_loading.py",
                      "runtime/test_references.py", "runtime/test_expressions.py", "backends/test_cpu.py")
            for pattern in ("runtime/*.py", "calls/*.py", "devices/*.py", "backends/cpu/*.py")
        },
        ("runtime/test_settings.py", "runtime/test_kernels_module.py", "runtime/test_entry.py",
         "runtime/test_product.py", "runtime/test_random.py", "backends/test_own_arrays.py", "interpreter", "runtime/test_vendor.py",
         "devices"),
    ),
    "keys": Group(
        {
            "cache/keys.py": ("builder/test_keys.py",),
            "builder/plan.py": CHANGES,
            "builder/code.py": CHANGES,
            "targets/tools.py": CHANGES,
            "targets/base.py": CHANGES,
            "targets/c*/target.py": CHANGES,
        },
        ("builder/test_incremental.py", "builder/test_changes.py", "builder/test_tools.py", "builder/test_faults.py",
         "builder/test_bundle.py", "cli/test_output.py"),
    ),
}  # fmt: skip
