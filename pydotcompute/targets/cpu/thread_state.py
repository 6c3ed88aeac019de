"""What a thread of the pool takes over from the thread whose work it does, as LLVM IR for Linux: the processors that it
may run on, and the modes of floating point.

`processors` puts this thread's affinity into a mask and counts it; 0 where it cannot be known. `move_to` gives this
thread an affinity, unless it has that; one that is unknown changes nothing. `modes` and `set_modes` are of rounding,
denormals and traps.
"""

from __future__ import annotations

_NUMBERS = {"x86-64": (203, 204), "aarch64": (122, 123)}  # sched_setaffinity, sched_getaffinity
MASK_WORDS = 16  # of processors: 1024; where there are more, their numbers stay unknown

_MODES = {
    "x86-64": """
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)

define internal i64 @modes() {
  %place = alloca i64
  store i64 0, ptr %place
  call void @llvm.x86.sse.stmxcsr(ptr %place)
  %modes = load i64, ptr %place
  ret i64 %modes
}

define internal void @set_modes(i64 %modes) {
  %place = alloca i64
  store i64 %modes, ptr %place
  call void @llvm.x86.sse.ldmxcsr(ptr %place)
  ret void
}
""",
    "aarch64": """
declare i64 @llvm.aarch64.get.fpcr()
declare void @llvm.aarch64.set.fpcr(i64)

define internal i64 @modes() {
  %modes = call i64 @llvm.aarch64.get.fpcr()
  ret i64 %modes
}

define internal void @set_modes(i64 %modes) {
  call void @llvm.aarch64.set.fpcr(i64 %modes)
  ret void
}
""",
}
_TEMPLATE = """
declare i64 @syscall(i64, ...)
declare i64 @llvm.ctpop.i64(i64)

define internal i64 @processors(ptr %mask) {{
begin:
  %looked = call i64 (i64, ...) @syscall(i64 {getaffinity}, i64 0, i64 {mask_bytes}, ptr %mask)
  br label %count
count:
  %k = phi i64 [ 0, %begin ], [ %k.next, %count ]
  %found = phi i64 [ 0, %begin ], [ %found.next, %count ]
  %word.at = getelementptr i64, ptr %mask, i64 %k
  %word = load i64, ptr %word.at
  %bits = call i64 @llvm.ctpop.i64(i64 %word)
  %found.next = add i64 %found, %bits
  %k.next = add i64 %k, 1
  %more = icmp ult i64 %k.next, {mask_words}
  br i1 %more, label %count, label %counted
counted:
  ret i64 %found.next
}}

define internal void @move_to(ptr %mask, ptr %own) {{
begin:
  br label %compare
compare:
  %k = phi i64 [ 0, %begin ], [ %k.next, %compare ]
  %any = phi i64 [ 0, %begin ], [ %any.next, %compare ]
  %other = phi i64 [ 0, %begin ], [ %other.next, %compare ]
  %mask.at = getelementptr i64, ptr %mask, i64 %k
  %own.at = getelementptr i64, ptr %own, i64 %k
  %there = load i64, ptr %mask.at
  %here = load i64, ptr %own.at
  %differ = xor i64 %there, %here
  %any.next = or i64 %any, %there
  %other.next = or i64 %other, %differ
  store i64 %there, ptr %own.at
  %k.next = add i64 %k, 1
  %more = icmp ult i64 %k.next, {mask_words}
  br i1 %more, label %compare, label %compared
compared:
  %known = icmp ne i64 %any.next, 0
  %new = icmp ne i64 %other.next, 0
  %moves = and i1 %known, %new
  br i1 %moves, label %move, label %done
move:
  %moved = call i64 (i64, ...) @syscall(i64 {setaffinity}, i64 0, i64 {mask_bytes}, ptr %own)
  br label %done
done:
  ret void
}}
"""


def thread_state_ir(architecture: str) -> str:
    """LLVM IR of the four functions. architecture: of artifact/cpu_levels.py."""
    setaffinity, getaffinity = _NUMBERS[architecture]
    return _MODES[architecture] + _TEMPLATE.format(
        setaffinity=setaffinity, getaffinity=getaffinity, mask_words=MASK_WORDS, mask_bytes=8 * MASK_WORDS
    )
