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
        ("analysis/races.py", "analysis/accesses.py", "analysis/affine.py", "analysis/feasible.py", "lower/symbolic*.py",
         "analysis/aliases.py", "analysis/barriers.py"),
        ("analysis",),
        ("language/test_refused_loops.py", "language/test_trees.py", "cuda/test_barriers.py",
         "random_programs/test_races.py"),
    ),
    "compile-cpu": Group(
        ("targets/cpu/compiler.py", "targets/llvm/conversions.py", "targets/cpu/fma.py", "targets/llvm/numba_frontend.py",
         "targets/llvm/operations.py", "targets/llvm/dialect.py", "targets/llvm/values.py", "targets/llvm/memory.py",
         "targets/cpu/dialect.py",
         "targets/cpu/link.py", "targets/llvm/independence.py", "targets/cpu/memory.py", "targets/cpu/reduction.py", "targets/cpu/run.py",
         "targets/cpu/scalar.py", "targets/cpu/namespace.py"),
        ("compile",),
        ("builder/test_reproducible.py", "check/test_mutants.py"),
    ),
    "compile-entry": Group(
        ("compile/entry*.py",),
        ("runtime/test_entry.py", "runtime/test_rules.py", "runtime/test_product.py"),
        ("runtime/test_random.py", "runtime/test_expressions.py", "runtime/test_libraries.py",
         "runtime/test_loading.py"),
    ),
    "compile-cuda": Group(
        ("compile/cuda*.py", "targets/cpu/elf.py"),
        ("cuda/test_arithmetic.py", "cuda/test_language.py", "cuda/test_artifacts.py", "cuda/test_reductions.py"),
        ("cuda/test_functions.py", "cuda/test_barriers.py", "cuda/test_batches.py", "cuda/test_raw.py"),
    ),
    "compile-plain": Group(
        ("jit/cpu.py", "jit/fingerprint.py", "jit/store.py"),
        ("backends/test_fingerprint.py", "backends/test_compile_kernel.py"),
    ),
    "compile-math": Group(("compile/math/*.py",), ("math",), ("compile/test_arithmetic.py",)),
    "runtime": Group(
        ("runtime/*.py", "backends/cpu/backend.py", "backends/cpu/kernel.py"),
        ("runtime/test_rules.py", "runtime/test_libraries.py", "runtime/test_loading.py", "runtime/test_references.py",
         "runtime/test_expressions.py", "backends/test_cpu.py"),
        ("runtime/test_settings.py", "runtime/test_kernels_module.py", "runtime/test_entry.py",
         "runtime/test_product.py", "runtime/test_random.py", "backends/test_own_arrays.py", "interpreter", "vendor",
         "backend_system"),
    ),
    "keys": Group(
        ("cache/keys.py", "builder/plan.py", "builder/tools.py"),
        ("builder/test_keys.py", "builder/test_tools.py", "builder/test_changes.py"),
        ("builder/test_incremental.py", "builder/test_faults.py", "builder/test_bundle.py", "cli/test_output.py"),
    ),
}  # fmt: skip
