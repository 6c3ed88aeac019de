"""Mutants with a name: such as once lived. Each is a change of the program's text, with the tests that find it."""

from __future__ import annotations

from typing import NamedTuple


class Named(NamedTuple):
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


BARRIERS, SYMBOLIC = "pydotcompute/analysis/barriers.py", "pydotcompute/analysis/symbolic.py"
STATE = "pydotcompute/analysis/symbolic_state.py"
ARRAYS, VALUES = "pydotcompute/targets/cpu/arrays.py", ("analysis/test_values.py",)

NAMED = {
    # ---------------------------------------------------------------------------------------------- the compilers
    "atomics on outputs in the group of independent accesses": Named(
        ARRAYS, 'suffix = "_local" if local else ""', 'suffix = ""', ("targets/cpu/test_independent.py",)
    ),
    "atomics on shared arrays in the group of independent accesses": Named(
        ARRAYS, 'replace(array, suffix="_local") if local else array', "array", ("targets/cpu/test_independent.py",)
    ),
    "plain updates of the first array, where other threads run": Named(
        "pydotcompute/targets/cpu/stores.py", "array.number >= 0", "array.number > 0",
        ("targets/cpu/test_language.py", "-k=test_atomics"),
    ),
    "extremes of numbers without sign as of ones with, by threads": Named(
        "pydotcompute/targets/cpu/dialect.py", 'return ("u" if which in ("uint", "bool") else "") + op', "return op",
        ("targets/cpu/test_language.py", "-k=test_atomics"),
    ),
    "extremes of numbers without sign as of ones with, in PTX": Named(
        "pydotcompute/targets/cuda/atomics.py", '("u" if which == "uint" and op != "add" else "") + op', "op",
        ("targets/test_language.py", "-k=over_all and cuda and int32"),
    ),
    "conditions on what helpers give, decided before the loop": Named(
        "pydotcompute/targets/cpu/bodies.py", "names |= set(s.names)", "pass",
        ("targets/cpu/test_index_set_splitting.py", "-k=iteration_sets"),
    ),
    "a product that is taken away, added": Named(
        "pydotcompute/targets/cpu/loop_reductions.py", 'f"neg({write(x)})" if negative else write(x)', "write(x)",
        ("targets/test_reductions.py", "-k=taken_away and x86-64-v3"),
    ),
    "the last index of several, where the first is meant": Named(
        "pydotcompute/targets/cpu/loops.py", "self.writer.assign(indices[0], flat)",
        "self.writer.assign(indices[-1], flat)",
        ("targets/test_language.py", "-k=test_grids_of_three_counts and x86-64-v3"),
    ),
    "the changed sources told as the others": Named(
        "pydotcompute/cache/sources.py", "before.get(name) != now.get(name)", "before.get(name) == now.get(name)",
        ("cache/test_sources.py",),
    ),
    "an archive taken into the cache of another user": Named(
        "pydotcompute/cache/archive.py", "trust.require_folder(folder, root)\n            make_folders",
        "make_folders", ("cache/test_archive.py",),
    ),
    "local arrays in the group of independent accesses": Named(
        ARRAYS, 'suffix="_local" if a.kind == "local" else ""', 'suffix=""', ("targets/cpu/test_independent.py",)
    ),
    "every access in the group of independent ones": Named(
        "pydotcompute/targets/cpu/dialect.py", "CpuDialect(grouped=False)", "CpuDialect(grouped=True)",
        ("targets/cpu/test_independent.py",),
    ),
    "no barrier between the counts of a loop and its iterations": Named(
        "pydotcompute/targets/cuda/barriers.py", "(*path, 0, 0) in points", "False", ("targets/cuda/test_barriers.py",)
    ),
    "more threads than there is room for": Named(
        "pydotcompute/targets/cpu/slices.py", "call i64 @llvm.smin.i64(i64 %allowed.any, i64 {maximum})",
        "add i64 %allowed.any, 0", ("targets/cpu/test_threads.py",),
    ),
    "complex arrays aligned to whole elements": Named(
        "pydotcompute/targets/llvm/memory.py", '(2 if kind(t) == "complex" else 1)', "1",
        ("targets/cpu/test_alignment.py",),
    ),
    "a thread that is not joined": Named(
        "pydotcompute/targets/cpu/slices.py", "%all = icmp eq i64 %left, 0", "%all = icmp sle i64 %left, 1",
        ("targets/cpu/test_threads.py",),
    ),
    "the stride of a view": Named(
        "pydotcompute/calls/words.py", "result[2 + 2 * axis] = size", "result[2 + 1 * axis] = size",
        ("runtime/test_views.py",),
    ),
    # ------------------------------------------------------------------------------------------ keys and levels
    "a key without the declared types": Named(
        "pydotcompute/builder/plan.py", '        "declared types": canonical([*kernel.types.items()]),', "",
        ("builder/test_incremental.py",),
    ),
    "v3 on a processor without FMA3": Named(
        "pydotcompute/backends/cpu/levels.py", '"AVX2", "FMA3",', '"AVX2",', ("runtime/test_settings.py",)
    ),
    "v3 on a processor without FMA, by Linux's names": Named(
        "pydotcompute/artifact/cpu_levels.py", '"avx2", "fma",', '"avx2",', ("runtime/test_settings.py",)
    ),
    "v3 on a processor without BMI2, where NumPy knows that": Named(
        "pydotcompute/backends/cpu/levels.py", '"x86-64-v3": ("BMI", "BMI2",', '"x86-64-v3": ("BMI",',
        ("runtime/test_settings.py::test_a_processor_that_lacks_one_feature_of_a_level_has_the_one_below",),
    ),
    "the quota of the outermost cgroup alone": Named(
        "pydotcompute/artifact/machine.py", "share if smallest is None else min(smallest, share)", "share",
        ("runtime/test_settings.py",),
    ),
    "host arrays that are to be moved to a pinned target": Named(
        "pydotcompute/runtime/dispatch.py", " and not (moved and owner == HOST)", "",
        ("packages/test_outside.py::test_a_call_on_its_arrays_and_one_that_moves",),
    ),
    "bounds asked for of CUDA": Named(
        "pydotcompute/builder/plan.py", "for t in base_targets if get(t).has_bounds)", "for t in base_targets)",
        ("builder/test_incremental.py",),
    ),
    "sources said to be current without the lock": Named(
        "pydotcompute/builder/build.py", "if project.is_as_planned:  # else who", "if True:  # else who",
        ("builder/test_two_builders.py",),
    ),
    "facts of a branch, where it is not taken": Named(
        "pydotcompute/analysis/symbolic_values.py", "if here or any(value.here for value in values):", "if False:",
        ("targets/cpu/test_proofs.py",),
    ),
    "loads under a reduction's condition, before it": Named(
        "pydotcompute/targets/cpu/lifted_checks.py", "if isinstance(node, Reduce):  # which", "if False:  # which",
        ("targets/cpu/test_proofs.py",),
    ),
    "elements that only some iterations touch, stored by all": Named(
        "pydotcompute/targets/cpu/running_totals.py", "if array not in self.tree.disjoint  # which", "if True  # which",
        ("targets/cpu/test_proofs.py",),
    ),
    "ways out of loops inside, of several turns together": Named(
        "pydotcompute/targets/cpu/unroll_and_jam.py", "if any(jumps(n.body) for n in inner):", "if False:",
        ("targets/cpu/test_own_indices.py",),
    ),
    "how many turns there are, of bounds far apart": Named(
        "pydotcompute/targets/cpu/unroll_and_jam.py", 'Call("max", (loop.stop, loop.start), "int64"), loop.start)',
        "loop.stop, loop.start)", ("targets/cpu/test_unroll_and_jam.py",),
    ),
    "what the end of a turn changes, as the same for all lanes": Named(
        "pydotcompute/targets/cpu/grid_lanes.py", "if name in assigned(self.tail):", "if False:",
        ("targets/cpu/test_own_indices.py",),
    ),
    "indices that are scalars besides": Named(
        "pydotcompute/targets/cpu/own_indices.py", "into=lambda s: False) - _indices(n)}",
        "into=lambda s: False) & set()}", ("targets/cpu/test_own_indices.py",),
    ),
    "choices of the kernel's own, as those of lanes that go on": Named(
        "pydotcompute/targets/cpu/while_lanes.py", "mask in self.masks and dtype", "dtype",
        ("targets/cpu/test_while_lanes.py",),
    ),
    "what a branch stores, as what was there before it": Named(
        "pydotcompute/targets/cpu/load_hoisting.py", "return assigned([s]) | arrays_changed(s)", "return set()",
        ("targets/cpu/test_load_hoisting.py",),
    ),
    "nested sums in each form within each form": Named(
        "pydotcompute/targets/cpu/innermost_loops.py", "if has_loops(*loop.body):\n            with self._blocks",
        "if False:\n            with self._blocks", ("targets/cpu/test_nested_sums.py",),
    ),
    "products of floats that chunks go on from, in another order": Named(
        "pydotcompute/targets/scans.py", "whole if scan.is_product else", "whole if False else",
        ("targets/cpu/test_same_bits.py", "-k=running and product"),
    ),
    "counts far below 0, in a launch for nothing": Named(
        "pydotcompute/targets/cuda/lowering.py", "for count in counts)\n", "for count in counts[1:] or ['int64(1)'])\n",
        ("targets/cuda/test_language.py",),
    ),
    "shuffles of a warp, for a barrier": Named(
        "pydotcompute/targets/cuda/barriers.py", "reductions_synchronise=not team.shuffles_alone",
        "reductions_synchronise=True", ("targets/cuda/test_barriers.py",),
    ),
    "axes of a grid that the loop has not": Named(
        "pydotcompute/targets/geometry.py", "(parts[0], *parts[axes:])), *parts[1:axes]]", "parts[:1]), *parts[1:]]",
        ("targets/test_declared_grids.py",),
    ),
    "counts that a loop changes, read by each thread": Named(
        "pydotcompute/targets/counts_before.py", "not arrays_read(e) & changing", "arrays_read(e) is not None",
        ("targets/test_what_is_read_first.py",),
    ),
    "iterations beyond a private array": Named(
        "pydotcompute/targets/cuda/thread_loops.py", "if private and turns is not None and self._goes_beyond(",
        "if False and self._goes_beyond(", ("targets/test_private_arrays.py",),
    ),
    "indices of a later target, before the earlier one": Named(
        "pydotcompute/frontend/statements.py", "[*s.before_statement, assigned]\n        s.before_statement = outer",
        "[assigned]\n        s.before_statement = [*outer, *s.before_statement]", ("frontend/test_meaning.py",),
    ),
    # ---------------------------------------------------------------------------------------------- the analysis
    "continue in an inner loop": Named(
        BARRIERS, "self.leaving[-1][1].update", "self.leaving[1][1].update", ("analysis/test_barriers.py",)
    ),
    "the bounds of a range read at every turn": Named(
        BARRIERS, "head if isinstance(s, t.While) else set()", "head", ("analysis/test_barriers.py",)
    ),
    "what names hold where one branch leaves": Named(
        SYMBOLIC, "self.environment = self.environment if first_ends else first", "pass", VALUES
    ),
    "the first branch's value after both": Named(
        SYMBOLIC, "if a and b and a.poly == b.poly:", "if a:", VALUES
    ),
    "what both branches set is not known to vary": Named(
        SYMBOLIC, "                condition.varies.union(*(v.varies for v in both)),", "frozenset(),", VALUES
    ),
    "what a reduction starts from": Named(SYMBOLIC, "terms.append(before[reduction.name])", "pass", VALUES),
    "pairs that a loop sets anew": Named(
        "pydotcompute/analysis/earlier.py", "{*s.names, *(", "{*(", VALUES
    ),
    "sizes that are numbers": Named(STATE, "return affine.constant(int(dim))", "return None", VALUES),
    "the rows of an array": Named(
        STATE, 'return ("rows", *dims) if dims else ("size",)', 'return ("size",)', VALUES
    ),
    "a shift by -1": Named(
        "pydotcompute/analysis/symbolic_values.py", "affine.constant(-1), b)", "affine.constant(-2), b)", VALUES
    ),
    "what holds where False is said": Named(
        "pydotcompute/analysis/symbolic_values.py",
        'true = () if e.type != "bool" or not e.value else (Constraint(()),)',
        "true = (Constraint(()),)", VALUES,
    ),
    "two written arrays as one view": Named(
        "pydotcompute/analysis/aliases.py", 'any(a.kind != "load" for a in reads)',
        'all(a.kind != "load" for a in reads)', ("analysis/test_aliases.py",),
    ),
    "the greatest value of an unsigned type": Named(
        "pydotcompute/analysis/ranges.py", "return (0, (1 << bits) - 1)", "return (0, (1 << bits) - 2)",
        ("analysis/test_inside.py",),
    ),
    "a search for contradictions that may go round": Named(
        "pydotcompute/analysis/feasible.py", "a < b or (a == b and basis[k] < basis[pivot])", "a < b",
        ("analysis/test_feasible.py",),
    ),
    "the least number of a narrow type by -1": Named(
        "pydotcompute/analysis/symbolic_values.py", "<= of_type(dtype)[0]", "<= -(1 << 63)",
        ("analysis/test_inside_arithmetic.py",),
    ),
    # -------------------------------------------------------------------------------------- indices that wrap, names
    "a difference that wraps into an array": Named(
        "pydotcompute/targets/cpu/index_ends.py", "for end in found), natural)", "for end in found),)",
        ("targets/cpu/test_index_ends.py",),
    ),
    "the index of a loop far from 0, with a loop in it": Named(
        "pydotcompute/targets/cpu/periodic.py", "low, high = [*far, *self.low], [*far, *self.high]", "low = high = far",
        ("targets/cpu/test_periodic.py", "-k=near_the_ends"),
    ),
    "a loop in it over numbers that are far from 0": Named(
        "pydotcompute/targets/cpu/periodic.py", "for least, most in inner) > _LARGEST.whole:", "for least, most in inner) < 0:",
        ("targets/cpu/test_periodic.py", "-k=near_the_ends"),
    ),
    "a sequential loop that starts far from 0": Named(
        "pydotcompute/targets/cpu/index_set_splitting.py", "if loop.ranges else []", "if False else []",
        ("targets/cpu/test_periodic.py", "-k=may_wrap"),
    ),
    "a sequential loop that is left": Named(
        "pydotcompute/targets/cpu/code.py", "self.splits and not left and not", "self.splits and not",
        ("targets/cpu/test_periodic.py", "-k=sequential"),
    ),
    "a turn whose index has the name of another loop": Named(
        "pydotcompute/targets/phases.py", "_has_phase(n)} - self.hosts:", "_has_phase(n)} & set():",
        ("targets/test_shared_names.py", "-k=cuda"),
    ),
    "the index of a loop in a loop of its name": Named(
        "pydotcompute/targets/host_counters.py", "(node is loop or all(n is not loop for n in walk(node)))", "True",
        ("targets/test_shared_names.py", "-k=cuda"),
    ),
    "counts that are more than a launch works out": Named(
        "pydotcompute/targets/geometry.py", "level > _MOST_LEVELS or seen > _MOST_NODES", "seen > 10**6",
        ("targets/test_shared_names.py", "-k=cuda"),
    ),
    "a lane too many of the rest of a loop": Named(
        "pydotcompute/targets/cpu/rests.py", 'f"lt(lane_number', 'f"le(lane_number', ("targets/cpu/test_rests.py",)
    ),
    "indices in steps that come round": Named(
        "pydotcompute/targets/cpu/lifted_checks.py", "_TURNS = 1 << 40", "_TURNS = 1 << 63",
        ("targets/cpu/test_lifted_checks.py", "-k=come_round"),
    ),
    "elements of strided arrays that iterations share": Named(
        "pydotcompute/targets/cpu/arrays.py", 'is not None else "") + self.suffix', 'is not None else self.suffix)',
        ("targets/test_met_stores.py", "-k=strided and add and x86-64-v3"),
    ),
    "bits that two iterations take back": Named(
        "pydotcompute/targets/webgpu/memory.py", "atomicAnd(_word, _new | ~({mask} << _shift)); atomicOr(_word, _new);",
        "atomicXor(_word, (atomicLoad(_word) & ({mask} << _shift)) ^ _new);",
        ("targets/test_met_stores.py", "-k=webgpu"),
    ),
    "a scalar in a dim that is taken for one": Named(
        "pydotcompute/targets/intervals.py", "for dim in p.dims or () if isinstance(dim, str)}",
        "for d in p.dims or () for dim in __import__('re').findall('[a-z]+', str(d))}",
        ("targets/test_far_loops.py", "-k=webgpu"),
    ),
    "whole numbers of the text beyond 64 bits": Named(
        "pydotcompute/frontend/operators.py", "if (bits := _bits(op, a, b)) > _MOST_BITS:",
        "if op in ('**', '<<') and b > 64:\n        return None\n    if (bits := _bits(op, a, b)) > _MOST_BITS:",
        ("targets/test_powers.py", "-k=whole and x86-64-v3"),
    ),
    "the count of a loop as of those that go on, where one has left": Named(
        "pydotcompute/targets/cpu/while_lanes.py", "if isinstance(loop, For):  # whose count goes on", "if False:",
        ("targets/cpu/test_while_lanes.py",),
    ),
    "what a lane has as it leaves, changed by those that go on": Named(
        "pydotcompute/targets/cpu/while_lanes.py", "self.kept |= exposed(s.body[:-1])[0]", "pass",
        ("targets/cpu/test_while_lanes.py",),
    ),
    "what only some lanes compute, read by all": Named(
        "pydotcompute/targets/cpu/while_lanes.py", "mask in self.masks and dtype in FLOATS and s.name in of_all",
        "mask in self.masks and dtype in FLOATS and times[s.name] == 1",
        ("targets/cpu/test_while_lanes.py",),
    ),
    "turns together whose loops are not alike": Named(
        "pydotcompute/targets/cpu/unroll_and_jam.py", "return alike and at_top", "return at_top",
        ("targets/cpu/test_unroll_and_jam.py",),
    ),
    "turns together that may not change their order": Named(
        "pydotcompute/targets/cpu/lanes.py", "return not tail and self._is_free(", "return self._is_free(",
        ("targets/cpu/test_unroll_and_jam.py",),
    ),
    "turns that are left": Named(
        "pydotcompute/targets/cpu/unroll_and_jam.py", "replace(loop, start=begin), names", "loop, names",
        ("targets/cpu/test_unroll_and_jam.py",),
    ),
    "elements that the loop reads, in a register": Named(
        "pydotcompute/analysis/races.py", "return not may_meet(found, a, b, _outer(scope, a), [ANYHOW])", "return True",
        ("targets/cpu/test_running_totals.py",),
    ),
    "numbers of the text that data have replaced": Named(
        "pydotcompute/targets/cpu/written_out.py", "    known.pop(name, None)\n    if isinstance", "    if isinstance",
        ("targets/cpu/test_written_out.py",),
    ),
    "figures that fell behind, taken for new ones": Named(
        "pydotcompute/bench/compare.py", ', "bound by")', ")", ("cli/test_bench.py", "-k=declared_sizes"),
    ),
    # ---------------------------------------------------------------------------------------------- plain functions
    "machine code of another processor": Named(
        "pydotcompute/jit/cpu.py", ", llvm.get_host_cpu_features().flatten(), *told)", ", *told)",
        ("jit/test_fingerprint.py",),
    ),
    "globals of inner functions": Named(
        "pydotcompute/jit/fingerprint.py", "yield from _codes(constant)", "pass",
        ("jit/test_fingerprint.py",),
    ),
    "how a helper is compiled": Named(
        "pydotcompute/jit/fingerprint.py", 'sorted(getattr(dispatcher, "targetoptions", {}).items())', "()",
        ("jit/test_fingerprint.py",),
    ),
}  # fmt: skip
