"""Slices of a phase's work, one after the other or on several threads, as LLVM IR: the same for every kernel, so a
process compiles it once. `run` (targets/cpu/run.py) calls it where the work is more than one slice.

Threads are those of the process's pool (targets/cpu/pool.py); where there is none, they are made for the phase and
joined before it returns. Slices are handed out one after the other by an atomic counter, so a slow thread takes fewer
of them. If a thread cannot be made, those that exist do the work.

Between slices, and where long sequential loops ask (targets/cpu/interruptions.py), `interrupted` says whether the call
is to end: there was a fault, or a handler of a signal raised. To know that, the thread that calls `run` lets Python
handle its signals (`handle_signals` of the entry point): 50 ms after it asked first, and then so seldom that
waiting for the GIL costs at most a hundredth of the time, but once a second.
"""

from __future__ import annotations

from ...artifact import abi
from .system_calls import system_calls_ir

MAXIMUM_THREADS = 256
MADE, POOLED = 4, 2  # slices for each thread at least: where threads are made for them, and where they wait for work
PAUSE, LONGEST = 50_000_000, 1_000_000_000  # nanoseconds between two looks at signals: at least, and at most
_CONTEXT = "{ ptr, ptr, ptr, i64, i64, i64, i64, ptr }"  # words, state, partials, next, units, slice, phase, faults
NAMES = frozenset(("threads", "pool", "interrupted", "in_parts", "on_threads"))
DECLARATIONS = """
@threads = external global i32
@pool = external global ptr
declare hidden i64 @interrupted(ptr) cold
declare hidden void @in_parts(ptr, ptr, ptr, ptr, i64, i64, i64) cold
declare hidden void @on_threads(ptr, ptr, ptr, ptr, i64, i64, i64) cold
"""

_TEMPLATE = """
@threads = global i32 1
@pool = global ptr null

declare hidden i32 @body(ptr, ptr, ptr, ptr, ptr, i64, i64, i64, i64)
declare extern_weak hidden i32 @handle_signals()
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)

define hidden i64 @interrupted(ptr %faults) cold noinline {{
  %fault = load atomic i64, ptr %faults monotonic, align 8
  %none = icmp eq i64 %fault, 0
  br i1 %none, label %whose, label %ended
ended:
  ret i64 1
whose:
  %caller.at = getelementptr i64, ptr %faults, i64 {caller}
  %caller = load i64, ptr %caller.at
  %single = icmp eq i64 %caller, 0
  br i1 %single, label %time, label %several
several:
  %self = call i64 @this_thread()
  %own = icmp eq i64 %self, %caller
  br i1 %own, label %time, label %go_on
time:
  %now = call i64 @now()
  %next.at = getelementptr i64, ptr %faults, i64 {next}
  %next = load i64, ptr %next.at
  %first = icmp eq i64 %next, 0
  br i1 %first, label %begin, label %later
begin:
  %then = add i64 %now, {pause}
  store i64 %then, ptr %next.at
  br label %go_on
later:
  %due = icmp sge i64 %now, %next
  %python = icmp ne ptr @handle_signals, null
  %ask = and i1 %due, %python
  br i1 %ask, label %look, label %go_on
look:
  %raised = call i32 @handle_signals()
  %after = call i64 @now()
  %took = sub i64 %after, %now
  %wanted = mul i64 %took, 100
  %enough = call i64 @llvm.smax.i64(i64 %wanted, i64 {pause})
  %wait = call i64 @llvm.smin.i64(i64 %enough, i64 {longest})
  %again = add i64 %after, %wait
  store i64 %again, ptr %next.at
  %well = icmp eq i32 %raised, 0
  br i1 %well, label %go_on, label %end
end:
  store atomic i64 {interrupted}, ptr %faults monotonic, align 8
  ret i64 1
go_on:
  ret i64 0
}}

define internal ptr @work(ptr %context) {{
  %result = alloca i64
  %error = alloca ptr
  %words = load ptr, ptr %context
  %state.at = getelementptr {context}, ptr %context, i32 0, i32 1
  %state = load ptr, ptr %state.at
  %partials.at = getelementptr {context}, ptr %context, i32 0, i32 2
  %partials = load ptr, ptr %partials.at
  %next = getelementptr {context}, ptr %context, i32 0, i32 3
  %units.at = getelementptr {context}, ptr %context, i32 0, i32 4
  %units = load i64, ptr %units.at
  %slice.at = getelementptr {context}, ptr %context, i32 0, i32 5
  %slice = load i64, ptr %slice.at
  %phase.at = getelementptr {context}, ptr %context, i32 0, i32 6
  %phase = load i64, ptr %phase.at
  %faults.at = getelementptr {context}, ptr %context, i32 0, i32 7
  %faults = load ptr, ptr %faults.at
  br label %take
take:
  %ended = call i64 @interrupted(ptr %faults)
  %goes.on = icmp eq i64 %ended, 0
  br i1 %goes.on, label %next_one, label %done
next_one:
  %start = atomicrmw add ptr %next, i64 %slice monotonic
  %more = icmp slt i64 %start, %units
  br i1 %more, label %compute, label %done
compute:
  %end = add i64 %start, %slice
  %stop = call i64 @llvm.smin.i64(i64 %end, i64 %units)
  %status = call i32 @body({common}, i64 %start, i64 %stop, i64 0, i64 %phase)
  br label %take
done:
  ret ptr null
}}

define hidden void @in_parts({parameters}) {{
entry:
  %result = alloca i64
  %error = alloca ptr
  %before.all = call i64 @interrupted(ptr %faults)
  br label %part
part:
  %from = phi i64 [ 0, %entry ], [ %to, %further ]
  %left.units = sub i64 %units, %from
  %many = call i64 @llvm.umin.i64(i64 %left.units, i64 %slice)
  %to = add i64 %from, %many
  %status = call i32 @body({common}, i64 %from, i64 %to, i64 1, i64 %phase)
  %more = icmp slt i64 %to, %units
  br i1 %more, label %further, label %finish
further:
  %ended = call i64 @interrupted(ptr %faults)
  %goes.on = icmp eq i64 %ended, 0
  br i1 %goes.on, label %part, label %finish
finish:
  ret void
}}

define hidden void @on_threads({parameters}) {{
begin:
  %context = alloca {context}
  %others = alloca [{maximum} x i64]
  %allowed.32 = load i32, ptr @threads
  %allowed.any = sext i32 %allowed.32 to i64
  %allowed = call i64 @llvm.smin.i64(i64 %allowed.any, i64 {maximum})
  %self = call i64 @this_thread()
  %caller.at = getelementptr i64, ptr %faults, i64 {caller}
  store i64 %self, ptr %caller.at
  %padded = add i64 %units, %slice
  %before = sub i64 %padded, 1
  %slices = udiv i64 %before, %slice
  %one.each = icmp eq i64 %slice, 1
  %pool = load ptr, ptr @pool
  %none = icmp eq ptr %pool, null
  %least = select i1 %none, i64 {made}, i64 {pooled}
  %fine = select i1 %one.each, i64 1, i64 %least
  %worth = udiv i64 %slices, %fine
  %wanted = call i64 @llvm.smin.i64(i64 %allowed, i64 %worth)
  %faults.at = getelementptr {context}, ptr %context, i32 0, i32 7
  %state.at = getelementptr {context}, ptr %context, i32 0, i32 1
  %partials.at = getelementptr {context}, ptr %context, i32 0, i32 2
  %next.at = getelementptr {context}, ptr %context, i32 0, i32 3
  %units.at = getelementptr {context}, ptr %context, i32 0, i32 4
  %slice.at = getelementptr {context}, ptr %context, i32 0, i32 5
  %phase.at = getelementptr {context}, ptr %context, i32 0, i32 6
  store ptr %words, ptr %context
  store ptr %state, ptr %state.at
  store ptr %partials, ptr %partials.at
  store i64 0, ptr %next.at
  store i64 %units, ptr %units.at
  store i64 %slice, ptr %slice.at
  store i64 %phase, ptr %phase.at
  store ptr %faults, ptr %faults.at
  %further = sub i64 %wanted, 1
  %pooled = call i1 @on_pool(ptr %context, i64 %further)
  br i1 %pooled, label %finish, label %create
create:
  %made = phi i64 [ 0, %begin ], [ %made.next, %created ]
  %have = add i64 %made, 1
  %enough = icmp sge i64 %have, %wanted
  br i1 %enough, label %join_in, label %make
make:
  %other = getelementptr [{maximum} x i64], ptr %others, i64 0, i64 %made
  %works = call i1 @begin_thread(ptr %other, ptr %context)
  br i1 %works, label %created, label %join_in
created:
  %made.next = add i64 %made, 1
  br label %create
join_in:
  %nothing = call ptr @work(ptr %context)
  br label %join
join:
  %left = phi i64 [ %made, %join_in ], [ %left.next, %wait ]
  %all = icmp eq i64 %left, 0
  br i1 %all, label %finish, label %wait
wait:
  %left.next = sub i64 %left, 1
  %one.at = getelementptr [{maximum} x i64], ptr %others, i64 0, i64 %left.next
  %one = load i64, ptr %one.at
  call void @join_thread(i64 %one)
  br label %join
finish:
  ret void
}}
"""


def slices_ir(platform: str, architecture: str) -> str:
    """LLVM IR of `interrupted`, `in_parts`, `on_threads`, the variable `threads`, and what the pool is, if any."""
    return system_calls_ir(platform, architecture) + _TEMPLATE.format(
        maximum=MAXIMUM_THREADS,
        made=MADE,
        pooled=POOLED,
        context=_CONTEXT,
        parameters="ptr %words, ptr %state, ptr %partials, ptr %faults, i64 %units, i64 %slice, i64 %phase",
        common="ptr %result, ptr %error, ptr %words, ptr %state, ptr %partials",
        next=abi.NEXT_LOOK,
        caller=abi.CALLER,
        interrupted=abi.INTERRUPTED,
        pause=PAUSE,
        longest=LONGEST,
    )
