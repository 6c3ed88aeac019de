"""The exported `run` of a CPU artifact, as LLVM IR, and `share`, which does a phase: slices of its work on this thread
and, where it pays, on others.

`run` calls the two functions of the lowered kernel (targets/cpu/lowering.py): `drive`, which calls `share` for each
phase, which calls `body`. Threads are made for the phase and joined before it returns; slices are handed out one after
the other by an atomic counter, so a slow thread takes fewer of them. If a thread cannot be made, those that exist do
the work.
"""

from __future__ import annotations

MAXIMUM_THREADS = 256
_CONTEXT = "{ ptr, ptr, ptr, i64, i64, i64, i64 }"  # words, state, partials, next unit, units, of a slice, phase

_COMMON = "ptr %result, ptr %error, ptr %words, ptr %state, ptr %partials"
_TEMPLATE = """
@threads = global i32 1

declare i32 @drive(ptr, ptr, ptr, ptr, ptr)
declare i32 @body(ptr, ptr, ptr, ptr, ptr, i64, i64, i64, i64)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)

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
  br label %take
take:
  {look_first}
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

declare i64 @llvm.smin.i64(i64, i64)

define void @share(ptr %words, ptr %state, ptr %partials, i64 %units, i64 %phase) {{
entry:
  %result = alloca i64
  %error = alloca ptr
  %context = alloca {context}
  %others = alloca [{maximum} x i64]
  {look_begun}
  %some = icmp sgt i64 %units, 0
  br i1 %some, label %divide, label %finish
divide:
  %slice = load i64, ptr %state
  %allowed.32 = load i32, ptr @threads
  %allowed.any = sext i32 %allowed.32 to i64
  %allowed = call i64 @llvm.smin.i64(i64 %allowed.any, i64 {maximum})
  %several.allowed = icmp sgt i64 %allowed, 1
  %several.slices = icmp sgt i64 %units, %slice
  %several = and i1 %several.allowed, %several.slices
  br i1 %several, label %share, label %alone
alone:
  %status = call i32 @body({common}, i64 0, i64 %units, i64 1, i64 %phase)
  br label %finish
share:
  %padded = add i64 %units, %slice
  %before = sub i64 %padded, 1
  %slices = udiv i64 %before, %slice
  %wanted = call i64 @llvm.smin.i64(i64 %allowed, i64 %slices)
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
  br label %create
create:
  %made = phi i64 [ 0, %share ], [ %made.next, %created ]
  %have = add i64 %made, 1
  %enough = icmp sge i64 %have, %wanted
  br i1 %enough, label %join_in, label %make
make:
  %other = getelementptr [{maximum} x i64], ptr %others, i64 0, i64 %made
  %failed = call i32 @pthread_create(ptr %other, ptr null, ptr @work, ptr %context)
  %works = icmp eq i32 %failed, 0
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
  %joined = call i32 @pthread_join(i64 %one, ptr null)
  br label %join
finish:
  ret void
}}

define i32 @run(ptr %words) {{
  %result = alloca i64
  %error = alloca ptr
  %state = alloca [{state_words} x i64], align 64
  %partials = alloca [{partial_words} x i64], align 64
  {clear_fault}
  %status = call i32 @drive({common})
  {result}
}}
"""

# Go on at a label where there was no fault in the call, else at another.
_LOOK = """%{label}.at = getelementptr i64, ptr %words, i64 {words}
  %{label}.word = load atomic i64, ptr %{label}.at monotonic, align 8
  %{label}.none = icmp eq i64 %{label}.word, 0
  br i1 %{label}.none, label %{label}, label %{other}
{label}:"""


def run_ir(state_words: int, partial_words: int, words: int, checks: bool) -> str:
    """LLVM IR of `run` and the variable `threads`. words: how many a call has before the fault words, if it checks:
    then no slice and no phase begins after a fault."""

    def look(label: str, other: str) -> str:
        return _LOOK.format(label=label, words=words, other=other) if checks else ""

    fault = f"%fault.at = getelementptr i64, ptr %words, i64 {words}"
    return _TEMPLATE.format(
        state_words=max(1, state_words),
        partial_words=max(1, partial_words),
        maximum=MAXIMUM_THREADS,
        context=_CONTEXT,
        common=_COMMON,
        clear_fault=f"{fault}\n  store i64 0, ptr %fault.at" if checks else "",
        look_first=look("whole", "done"),
        look_begun=look("begun.well", "finish"),
        result="%fault = load i64, ptr %fault.at\n  %found = icmp ne i64 %fault, 0\n"
        "  %code = zext i1 %found to i32\n  ret i32 %code"
        if checks
        else "ret i32 0",
    )
