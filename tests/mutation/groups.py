"""Which files are mutated together, and which tests are to find it: quick ones, of which a mutant meets those that call
the function that it changes, and slow ones for what those let live."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Group:
    files: tuple[str, ...]  # patterns below pydotcompute/
    quick: tuple[str, ...]  # tests below tests/, or options of pytest's
    slow: tuple[str, ...] = ()
    without: tuple[str, ...] = ()  # patterns of files that other groups have


# Of which compilers read the functions, or which give once what all tests of a process use.
COMPILED = ("targets/cpu/scalar.py", "targets/cpu/namespace.py", "ir/math/*.py", "targets/llvm/mathematics.py")
ONE_LEVEL = "-k=not (x86-64-v2 or x86-64-v4 or opencl or cuda)"
ON_CUDA = "-k=not (x86-64 or opencl or cpu)"
# Of the tests of changes and tools those that build little.
CHANGES = (
    "builder/test_tools.py",
    "builder/test_changes.py",
    "-k=not (linker_is or partial or nobody_asks or made_before or include or param or moving)",
)

GROUPS = {
    "analysis": Group(
        ("analysis/*.py",),
        ("analysis", "frontend/test_refused_loops.py", "frontend/test_trees.py"),
        ("targets/cpu/test_index_checks.py", "targets/cpu/test_bounds.py", "targets/test_ranges.py",
         "targets/cuda/test_barriers.py", "targets/test_parallel_counts.py", "random_programs/test_races.py"),
        without=("analysis/cost.py",),  # an estimate, which decides nothing but how finely work is sliced
    ),
    "runtime": Group(
        ("runtime/*.py", "calls/*.py", "devices/*.py", "backends/*.py", "backends/cpu/*.py", "artifact/*.py"),
        ("runtime", "backends/test_cpu.py", "backends/test_own_arrays.py", "devices", "artifact", "-m=not slow"),
        ("runtime", "interpreter", "packages", "packaging/test_installed.py", "packaging/test_hooks.py", "-m=slow"),
        without=("artifact/launch.py",),
    ),
    "cache": Group(
        ("cache/*.py",),
        ("cache", "builder/test_growth.py", "builder/test_keys.py", "builder/test_store.py", "builder/test_writer.py",
         "runtime/test_loading.py", "runtime/test_no_files.py", "runtime/test_trust.py", "-m=not slow"),
        ("builder/test_faults.py", "builder/test_bundle.py", "builder/test_incremental.py", "builder/test_killed.py"),
    ),
    "keys": Group(
        ("cache/keys.py", "builder/plan.py", "builder/code.py", "targets/tools.py", "targets/base.py",
         "targets/c*/target.py"),
        ("builder/test_keys.py", *CHANGES),
        ("builder/test_incremental.py", "builder/test_changes.py", "builder/test_tools.py", "builder/test_faults.py",
         "builder/test_bundle.py", "cli/test_cache_output.py", "cli/test_output.py"),
    ),
    "cpu": Group(
        ("targets/cpu/*.py", "targets/phases.py", "targets/geometry.py", "targets/arrays.py"),
        ("targets/cpu/test_alignment.py", "targets/cpu/test_artifacts.py", "targets/cpu/test_bounds.py",
         "targets/cpu/test_fastmath.py", "targets/cpu/test_index_set_splitting.py", "targets/cpu/test_independent.py",
         "targets/cpu/test_index_checks.py", "targets/cpu/test_reductions.py", "targets/cpu/test_scatter.py",
         "targets/cpu/test_threads.py", "targets/cpu/test_views.py", "targets/test_dimensions.py",
         "targets/test_language.py", "targets/test_programs.py", "targets/test_reductions.py", ONE_LEVEL),
        ("targets/cpu", "targets/test_arithmetic.py", "targets/test_ranges.py",
         "targets/test_reductions_over_range.py", "builder/test_reproducible.py"),
        without=("targets/cpu/entry*.py",),
    ),
    "entry": Group(
        ("targets/cpu/entry*.py",),
        ("runtime/test_entry.py", "runtime/test_subclasses.py", "runtime/test_expressions.py", "runtime/test_views.py",
         "runtime/test_ranks.py", "runtime/test_rules.py", "-k=not every_dtype"),
        ("runtime/test_entry.py", "runtime/test_product.py", "runtime/test_random.py", "runtime/test_libraries.py",
         "runtime/test_loading.py"),
    ),
    "llvm": Group(
        ("targets/llvm/*.py",),
        ("targets/test_language.py", "targets/test_arithmetic.py", "targets/test_dimensions.py",
         "targets/test_complex_functions.py", "targets/cpu/test_independent.py", "targets/cpu/test_views.py",
         "targets/cpu/test_alignment.py", "targets/cpu/test_bounds.py", "targets/cpu/test_fastmath.py",
         "targets/test_index_checks.py", "artifact/test_dimensions.py", ONE_LEVEL),
        ("targets/cpu", "targets/cuda/test_arithmetic.py", "targets/cuda/test_functions.py"),
        without=("targets/llvm/mathematics.py", "targets/llvm/lanes.py", "targets/llvm/argument_types.py",
                 "targets/llvm/array_scope.py"),
    ),
    "cuda": Group(
        ("targets/cuda/*.py", "targets/llvm/array_scope.py", "artifact/launch.py"),
        ("targets/cuda/test_barriers.py", "targets/cuda/test_scatter.py", "targets/cuda/test_thread_coarsening.py",
         "targets/cuda/test_raw.py", "targets/cuda/test_arithmetic.py", "targets/cuda/test_language.py",
         "targets/cuda/test_reductions.py", "targets/test_language.py", "targets/test_dimensions.py",
         "targets/test_programs.py", "targets/test_reductions.py", "targets/test_ranges.py",
         "targets/test_parallel_counts.py", "targets/test_ranges_of_loops.py", "targets/test_index_checks.py",
         "targets/cuda/test_artifacts.py", "backends/cuda/test_choice.py", "cli/test_cost.py", ON_CUDA),
        ("targets/cuda", "targets/test_arithmetic.py", "builder/test_tools.py", "cli/test_output.py",
         "cli/test_show.py", "cli/test_debug_info.py"),
    ),
    "plain": Group(
        ("jit/*.py", "targets/llvm/argument_types.py"),
        ("jit/test_compile_kernel.py", "jit/test_fingerprint.py", "targets/cuda/test_functions.py"),
        ("jit/test_edits.py",),
    ),
    "backends": Group(
        ("backends/cuda/*.py", "backends/opencl/*.py", "backends/webgpu/*.py"),
        (
            "backends/cuda", "targets/opencl/test_backend.py", "targets/opencl/test_functions.py",
            "targets/webgpu/test_backend.py",
        ),
        ("targets/opencl", "targets/webgpu"),
    ),
    "math": Group(
        ("ir/math/*.py", "targets/llvm/mathematics.py", "targets/llvm/lanes.py"),
        ("math/test_special_values.py", "math/test_accuracy.py", "math/test_loops.py"),
        ("math", "targets/test_arithmetic.py"),
    ),
}  # fmt: skip
