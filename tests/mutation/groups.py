"""Which files are mutated together, and which tests are to find it: quick ones, and slow ones for what those let
live."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Group:
    files: tuple[str, ...]  # patterns below pydotcompute/
    quick: tuple[str, ...]  # tests below tests/, with pytest's own options
    slow: tuple[str, ...] = ()


GROUPS = {
    "analysis": Group(
        ("analysis/*.py",),
        ("analysis",),
        ("frontend/test_refused_loops.py", "frontend/test_trees.py", "targets/cuda/test_barriers.py",
         "random_programs/test_races.py"),
    ),
    "targets-cpu": Group(
        ("targets/cpu/[!e]*.py", "targets/llvm/*.py"),  # all but entry points and ELF
        ("targets/cpu", "targets/test_language.py"),
        ("targets/test_arithmetic.py", "targets/test_reductions.py", "builder/test_reproducible.py",
         "check/test_mutants.py"),
    ),
    "targets-entry": Group(
        ("targets/cpu/entry*.py",),
        ("runtime/test_entry.py", "runtime/test_rules.py", "runtime/test_product.py"),
        ("runtime/test_random.py", "runtime/test_expressions.py", "runtime/test_libraries.py",
         "runtime/test_loading.py"),
    ),
    "targets-cuda": Group(
        ("targets/cuda/*.py", "targets/cpu/elf.py"),
        ("targets/test_language.py", "targets/test_arithmetic.py", "targets/test_reductions.py",
         "targets/cuda/test_arithmetic.py", "targets/cuda/test_language.py", "targets/cuda/test_artifacts.py",
         "targets/cuda/test_reductions.py"),
        ("targets/cuda/test_functions.py", "targets/cuda/test_barriers.py", "targets/cuda/test_batches.py",
         "targets/cuda/test_raw.py"),
    ),
    "jit": Group(("jit/*.py",), ("jit/test_fingerprint.py", "jit/test_compile_kernel.py"), ("jit/test_edits.py",)),
    "targets-math": Group(("targets/llvm/math/*.py",), ("math",), ("targets/test_arithmetic.py",)),
    "runtime": Group(
        ("runtime/*.py", "calls/*.py", "backends/cpu/*.py"),
        ("runtime/test_rules.py", "runtime/test_libraries.py", "runtime/test_loading.py", "runtime/test_references.py",
         "runtime/test_expressions.py", "backends/test_cpu.py"),
        ("runtime/test_settings.py", "runtime/test_kernels_module.py", "runtime/test_entry.py",
         "runtime/test_product.py", "runtime/test_random.py", "runtime/test_vendor.py", "backends/test_own_arrays.py",
         "interpreter", "devices"),
    ),
    "keys": Group(
        ("cache/keys.py", "builder/plan.py", "builder/code.py", "targets/tools.py"),
        ("builder/test_keys.py", "builder/test_tools.py", "builder/test_changes.py"),
        ("builder/test_incremental.py", "builder/test_faults.py", "builder/test_bundle.py", "cli/test_output.py"),
    ),
}  # fmt: skip
