"""How long the parts of the suite may take: marks what is slow, and says after a long run what each folder took.

BUDGET.md has the table. What is slow was found by measuring: with all else, `-m "not slow"` stays below 90 seconds.
"""

import os
import zlib
from collections import defaultdict
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
EVERYTHING = bool(os.environ.get("PYDOTCOMPUTE_TEST_EVERYTHING"))  # what the suite leaves out for its time
LONG = 120  # seconds of a run that is worth a summary
BUILDS = {"built", "standard_kernels"}  # fixtures that build the repository
SLOW = (
    "artifact/test_dimensions.py", "backends/cuda/case", "backends/cuda/test_calls.py",
    "backends/cuda/test_choice.py", "backends/cuda/test_device", "backends/cuda/test_emulated",
    "builder/test_bundle.py", "builder/test_changes.py", "builder/test_faults.py", "builder/test_incremental.py",
    "builder/test_key_reads.py", "builder/test_order.py", "builder/test_pool.py", "builder/test_reproducible.py",
    "builder/test_tools.py", "cache/test_archive.py", "check/test_body_mutants.py", "check/test_check.py",
    "check/test_found.py", "check/test_left_out.py", "check/test_mutants.py", "check/test_special.py",
    "cli/test_cache_output.py", "cli/test_output.py", "declare/test_any_text.py", "devices/test_discovery.py",
    "examples/test_embed.py", "frontend/test_limits.py", "frontend/test_mutations.py",
    "frontend/test_random_expressions.py", "house/test_budget.py", "interpreter/test_arithmetic.py",
    "jit/test_compile_kernel.py", "jit/test_edits.py", "kernels/", "math/test_accuracy.py", "math/test_loops.py",
    "math/test_special_values.py", "random_programs/test_agreement.py", "random_programs/test_found.py",
    "runtime/test_entry.py", "runtime/test_expressions.py", "runtime/test_interrupted.py",
    "runtime/test_libraries.py", "runtime/test_loading.py", "runtime/test_no_files.py", "runtime/test_product.py",
    "runtime/test_random.py", "runtime/test_ranks.py", "runtime/test_remedies.py", "runtime/test_rules.py",
    "runtime/test_settings.py", "runtime/test_trust.py", "runtime/test_vendor.py", "targets/cpu/test_arithmetic.py",
    "targets/cpu/test_artifacts.py", "targets/cpu/test_fast_sums.py", "targets/cpu/test_fastmath.py",
    "targets/cpu/test_grid_lanes.py", "targets/cpu/test_independent.py", "targets/cpu/test_index_checks.py",
    "targets/cpu/test_index_set_splitting.py", "targets/cpu/test_language.py", "targets/cpu/test_lifted_checks.py",
    "targets/cpu/test_load_hoisting.py", "targets/cpu/test_narrowed_ranges.py",
    "targets/cpu/test_nested_sums.py", "targets/cpu/test_periodic.py", "targets/cpu/test_private_copies.py",
    "targets/cpu/test_range_lanes.py", "targets/cpu/test_reductions.py", "targets/cpu/test_running_totals.py",
    "targets/cpu/test_saturation.py", "targets/cpu/test_scatter.py", "targets/cpu/test_staged_updates.py",
    "targets/cpu/test_steady.py", "targets/cpu/test_streaming.py", "targets/cpu/test_threads.py",
    "targets/cpu/test_turned_tiles.py", "targets/cpu/test_unroll_and_jam.py", "targets/cpu/test_views.py",
    "targets/cpu/test_while_lanes.py", "targets/cpu/test_written_out.py", "targets/cuda/", "targets/hip/",
    "targets/metal/", "targets/opencl/", "targets/storage/", "targets/test_arithmetic.py",
    "targets/test_complex", "targets/test_index_checks.py", "targets/test_language.py",
    "targets/test_ordering.py", "targets/test_parallel_counts.py", "targets/test_powers",
    "targets/test_random_programs.py", "targets/test_ranges", "targets/test_reductions",
    "targets/test_scatter.py", "targets/webgpu/",
)  # fmt: skip


# Of the tests that are the same for every target, one in so many is made for it; for cpu:x86-64-v3 all are, and with
# EVERYTHING for every one.
SHARES = {"cpu:x86-64-v2": 12, "cpu:x86-64-v4": 12, "cuda": 6, "opencl": 10, "hip": 8, "webgpu": 8}
ALIKE = (TESTS / "targets", TESTS / "targets" / "storage")  # where they are
# Of the tests of a file that take long and differ by their parameters alone.
PARTS = {
    TESTS / folder / f"test_{name}.py": share
    for share, folder, names in (
        (2, "aarch64", "execution"),
        (2, "builder", "key_reads changes"),
        (2, "check", "body_mutants check"),
        (3, "check", "found"),
        (2, "cli", "debug_info"),
        (2, "jit", "compile_kernel edits"),
        (2, "kernels", "sass"),
        (2, "docs", "programs"),
        (3, "programs", "programs"),
        (2, "runtime", "changed_records entry"),
        (3, "runtime", "interrupted"),
        (4, "targets", "arithmetic ordering reductions scans"),
        (2, "targets/cpu", "fastmath grid_lanes periodic range_lanes reductions same_bits short_forms turned_tiles"),
        (2, "targets/cpu", "lifted_checks own_indices proofs unroll_and_jam while_lanes"),
        (2, "targets/cuda", "kept_rows teams thread_coarsening views"),
        (3, "targets/cuda", "kernels"),
        (3, "targets/hip", "code_objects kernels"),
        (4, "targets/opencl", "kernels mathematics"),
        (6, "targets/opencl", "blocks"),
    )
    for name in names.split()
}


def is_left_out(item):
    """Whether a test is one of those that are not made here. Which, follows from its name alone."""
    parameters = getattr(item, "callspec", None) and item.callspec.params
    if not parameters:
        return False
    share, target = PARTS.get(item.path, 1), parameters.get("target")
    if isinstance(target, str) and item.path.parent in ALIKE:
        share = max(share, SHARES.get(target, SHARES.get(target.partition(":")[0], 1)))
    return zlib.crc32(item.nodeid.encode()) % share != 0


def is_slow(path):
    """Whether all tests of a file are."""
    return path.is_relative_to(TESTS) and path.relative_to(TESTS).as_posix().startswith(SLOW)


def mark(items):
    for item in items:
        if is_slow(item.path) or BUILDS & set(item.fixturenames):
            item.add_marker(pytest.mark.slow)


def summarise(reporter):
    """Minutes by folder, over all workers."""
    spent = defaultdict(float)
    for reports in reporter.stats.values():
        for report in reports:
            if hasattr(report, "duration") and hasattr(report, "nodeid"):
                spent["/".join(Path(report.nodeid.partition("::")[0]).parts[:2])] += report.duration
    if sum(spent.values()) < LONG:
        return
    reporter.section("minutes by folder, of all workers together")
    for folder, seconds in sorted(spent.items(), key=lambda pair: -pair[1]):
        reporter.line(f"{seconds / 60:8.1f}  {folder}")
    reporter.line(f"{sum(spent.values()) / 60:8.1f}  in all")
