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
LANGUAGE = ("compile/test_bounds.py", "compile/test_guards.py", "compile/test_language.py")
CUDA = ("cuda/test_scatter.py", "cuda/test_language.py")
CUDA_LOOPS = ("cuda/test_barriers.py", "cuda/test_reductions.py", "cuda/test_scatter.py")
# Of the tests of changes and tools those that build little.
CHANGES = (
    "builder/test_tools.py", "builder/test_changes.py",
    "-k=not (linker_is or partial or nobody_asks or made_before or include or param or moving)",
)

GROUPS = {
    "analysis": Group(
        {f"analysis/{name}.py": ("analysis",)
         for name in ("races", "accesses", "affine", "feasible", "symbolic*", "aliases", "barriers", "steps")}
        | {"analysis/ranges.py": ("ranges", "analysis")},
        ("language/test_refused_loops.py", "language/test_trees.py", "cuda/test_barriers.py",
         "random_programs/test_races.py"),
    ),
    "compile-cpu": Group(
        {
            "targets/cpu/fma.py": ("compile/test_fastmath.py",),
            "targets/cpu/reduction.py": ("compile/test_reductions.py",),
            "targets/cpu/run.py": ("compile/test_threads.py", "compile/test_bounds.py", "ranges"),
            "targets/cpu/independence.py": ("compile/test_independent.py", "compile/test_views.py"),
            "targets/cpu/memory.py": (
                "compile/test_views.py", "compile/test_alignment.py", "compile/test_bounds.py",
                "compile/test_independent.py", "compile/test_scatter.py",
            ),
            "targets/cpu/loops.py": ("compile/test_threads.py", "compile/test_reductions.py", "ranges"),
            "targets/cpu/loop_versioning.py": ("compile/test_guards.py", "compile/test_views.py", "ranges"),
            "targets/cpu/index_set_splitting.py": ("compile/test_guards.py", "ranges"),
            "targets/cpu/link.py": ("compile/test_artifacts.py",),
            "targets/cpu/elf.py": ("compile/test_artifacts.py",),
            "targets/llvm/scalar.py": ("compile/test_arithmetic.py",),
            "targets/llvm/conversions.py": ("compile/test_arithmetic.py",),
            "targets/llvm/dimension_code.py": ("runtime/test_expressions.py",),
            "targets/cpu/[!et]*.py": LANGUAGE,
            "targets/llvm/*.py": LANGUAGE,
        },
        ("compile", "builder/test_reproducible.py", "check/test_mutants.py"),
    ),
    "compile-entry": Group(
        {"targets/cpu/entry*.py": ENTRY},
        ("runtime/test_entry.py", "runtime/test_ranks.py", "runtime/test_product.py", "runtime/test_rules.py",
         "runtime/test_random.py", "runtime/test_expressions.py", "runtime/test_libraries.py",
         "runtime/test_loading.py"),
    ),
    "compile-cuda": Group(
        {
            "targets/cuda/math.py": ("cuda/test_functions.py",),
            "targets/cuda/loop*.py": CUDA_LOOPS,
            "targets/cuda/*reduction*.py": ("cuda/test_reductions.py",),
            "targets/cuda/early_loads.py": CUDA,
            "targets/cuda/thread_coarsening.py": CUDA,
            "targets/cuda/t*.py": ("builder/test_tools.py", "cuda/test_artifacts.py"),
            "targets/cuda/ptxas.py": ("cuda/test_artifacts.py",),
            "targets/cuda/device.py": ("cuda/test_raw.py",),
            "targets/cuda/*.py": CUDA,
        },
        ("cuda/test_arithmetic.py", "cuda/test_artifacts.py", "cuda/test_reductions.py", "cuda/test_functions.py",
         "cuda/test_barriers.py", "cuda/test_batches.py", "cuda/test_raw.py"),
    ),
    "compile-plain": Group(
        {"jit/fingerprint.py": ("backends/test_fingerprint.py", "backends/test_compile_kernel.py"),
         "jit/*.py": ("backends/test_compile_kernel.py", "backends/test_fingerprint.py")},
        ("backends/test_edits.py",),
    ),
    "compile-math": Group(
        {"targets/llvm/math/*.py": ("math/test_special_values.py", "math/test_accuracy.py", "math/test_loops.py")},
        ("math", "compile/test_arithmetic.py"),
    ),
    "runtime": Group(
        {
            pattern: ("runtime/test_rules.py", "runtime/test_libraries.py", "runtime/test_loading.py",
                      "runtime/test_references.py", "runtime/test_expressions.py", "backends/test_cpu.py")
            for pattern in ("runtime/*.py", "calls/*.py", "devices/*.py", "backends/cpu/*.py")
        },
        ("runtime/test_settings.py", "runtime/test_kernels_module.py", "runtime/test_entry.py",
         "runtime/test_product.py", "runtime/test_random.py", "backends/test_own_arrays.py", "interpreter", "vendor",
         "backend_system"),
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
