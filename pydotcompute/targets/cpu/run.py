"""The exported `run` of a CPU artifact, as LLVM IR, and `share`, which does a phase: at once where that is one slice of
its work, else by slices, on this thread or, where it pays, on others too (targets/cpu/slices.py).

`run` calls the two functions of the lowered kernel (targets/cpu/lowering.py): `drive`, which calls `share` for each
phase, which calls `body`.
"""

from __future__ import annotations

from ...artifact import abi
from .slices import DECLARATIONS

ALONE = 8  # on one thread a slice of several work items is 2 ** 8 times as large: what is done once for it costs little

_COMMON = "ptr %result, ptr %error, ptr %words, ptr %state, ptr %partials"
_TEMPLATE = """
declare i32 @drive(ptr, ptr, ptr, ptr, ptr)
declare i32 @body(ptr, ptr, ptr, ptr, ptr, i64, i64, i64, i64)
declare i64 @llvm.abs.i64(i64, i1)
declare i64 @llvm.ushl.sat.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)

define i64 @several() {{
  %allowed = load i32, ptr @threads
  %some = icmp sgt i32 %allowed, 1
  %several = zext i1 %some to i64
  ret i64 %several
}}

define i64 @pooled() {{
  %pool = load ptr, ptr @pool
  %some = icmp ne ptr %pool, null
  %pooled = zext i1 %some to i64
  ret i64 %pooled
}}

define void @share(ptr %words, ptr %state, ptr %partials, i64 %units, i64 %phase) {{
entry:
  %result = alloca i64
  %error = alloca ptr
  %faults = getelementptr i64, ptr %words, i64 {words}
  %fault = load atomic i64, ptr %faults monotonic, align 8
  %begun.well = icmp eq i64 %fault, 0
  br i1 %begun.well, label %begin, label %finish
begin:
  %some = icmp sgt i64 %units, 0
  br i1 %some, label %divide, label %finish
divide:
  %given = load i64, ptr %state
  %slice = call i64 @llvm.abs.i64(i64 %given, i1 false)
  %pays = icmp sgt i64 %given, 0
  %allowed = load i32, ptr @threads
  %several.allowed = icmp sgt i32 %allowed, 1
  %several.pay = and i1 %several.allowed, %pays
  %several.slices = icmp sgt i64 %units, %slice
  %several = and i1 %several.pay, %several.slices
  br i1 %several, label %threads, label %alone
threads:
  call void @on_threads({same}, i64 %slice, i64 %phase)
  br label %finish
alone:
  %one.alone = icmp eq i64 %slice, 1
  %shift = select i1 %one.alone, i64 0, i64 {alone}
  %large = call i64 @llvm.ushl.sat.i64(i64 %slice, i64 %shift)
  %whole = icmp uge i64 %large, %units
  br i1 %whole, label %at_once, label %parts
at_once:
  %status = call i32 @body({common}, i64 0, i64 %units, i64 1, i64 %phase)
  br label %finish
parts:
  call void @in_parts({same}, i64 %large, i64 %phase)
  br label %finish
finish:
  ret void
}}

define i32 @run(ptr %words) {{
  %result = alloca i64
  %error = alloca ptr
  %state = alloca [{state_words} x i64], align 64
  %partials = alloca [{partial_words} x i64], align 64
  %faults = getelementptr i64, ptr %words, i64 {words}
  store i64 0, ptr %faults
  %next.at = getelementptr i64, ptr %faults, i64 {next}
  store i64 0, ptr %next.at
  %caller.at = getelementptr i64, ptr %faults, i64 {caller}
  store i64 0, ptr %caller.at
  %status = call i32 @drive({common})
  %fault = load i64, ptr %faults
  %ended = icmp ne i64 %fault, 0
  %one = zext i1 %ended to i32
  %signal = icmp eq i64 %fault, {interrupted}
  %another = zext i1 %signal to i32
  %code = add i32 %one, %another
  ret i32 %code
}}
"""


def run_ir(state_words: int, partial_words: int, words: int) -> str:
    """LLVM IR of `run`. words: how many a call has before the fault words."""
    return DECLARATIONS + _TEMPLATE.format(
        state_words=max(1, state_words),
        partial_words=max(1, partial_words),
        common=_COMMON,
        same="ptr %words, ptr %state, ptr %partials, ptr %faults, i64 %units",
        words=words,
        next=abi.NEXT_LOOK,
        caller=abi.CALLER,
        interrupted=abi.INTERRUPTED,
        alone=ALONE,
    )
