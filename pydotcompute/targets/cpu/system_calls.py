"""What slices of work ask of the operating system, as LLVM IR: the time, which thread this is, other threads.

`now` gives nanoseconds of a clock that never goes back, `this_thread` a number that is not 0. `begin_thread` runs
`work` on another thread and puts what `join_thread` wants into a word; false where there is none to be had. `on_pool`
runs `work` on this thread and on those of the process's pool; false where there is no pool.
"""

from __future__ import annotations

from ...artifact.cpu_levels import LINUX, MACOS, WINDOWS
from .pool import pool_ir

STACK = 1 << 20  # bytes of a thread: the arrays of one kernel's functions, many times over; musl gives 128 KB unasked
_CLOCKS = {LINUX: 1, MACOS: 6}  # CLOCK_MONOTONIC
_RESERVES = 0x10000  # STACK_SIZE_PARAM_IS_A_RESERVATION

_POSIX = """
declare i32 @pthread_attr_init(ptr)
declare i32 @pthread_attr_setstacksize(ptr, i64)
declare i32 @pthread_attr_destroy(ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare i64 @pthread_self()
declare i32 @clock_gettime(i32, ptr)

define internal i64 @now() {{
  %time = alloca [2 x i64]
  %failed = call i32 @clock_gettime(i32 {clock}, ptr %time)
  %seconds = load i64, ptr %time
  %rest.at = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest.at
  %whole = mul i64 %seconds, 1000000000
  %result = add i64 %whole, %rest
  ret i64 %result
}}

define internal i64 @this_thread() {{
  %self = call i64 @pthread_self()
  ret i64 %self
}}

define internal i1 @begin_thread(ptr %thread, ptr %context) {{
  %attributes = alloca [16 x i64], align 16
  %plain = call i32 @pthread_attr_init(ptr %attributes)
  %sized = call i32 @pthread_attr_setstacksize(ptr %attributes, i64 {stack})
  %failed = call i32 @pthread_create(ptr %thread, ptr %attributes, ptr @work, ptr %context)
  %gone = call i32 @pthread_attr_destroy(ptr %attributes)
  %works = icmp eq i32 %failed, 0
  ret i1 %works
}}

define internal void @join_thread(i64 %thread) {{
  %joined = call i32 @pthread_join(i64 %thread, ptr null)
  ret void
}}
"""

_WINDOWS = """
declare i64 @CreateThread(ptr, i64, ptr, ptr, i32, ptr)
declare i32 @WaitForSingleObject(i64, i32)
declare i32 @CloseHandle(i64)
declare i32 @GetCurrentThreadId()
declare i32 @QueryPerformanceCounter(ptr)
declare i32 @QueryPerformanceFrequency(ptr)

define internal i64 @now() {{
  %count.at = alloca i64
  %second.at = alloca i64
  %counted = call i32 @QueryPerformanceCounter(ptr %count.at)
  %told = call i32 @QueryPerformanceFrequency(ptr %second.at)
  %count = load i64, ptr %count.at
  %second = load i64, ptr %second.at
  %seconds = udiv i64 %count, %second
  %rest = urem i64 %count, %second
  %whole = mul i64 %seconds, 1000000000
  %scaled = mul i64 %rest, 1000000000
  %part = udiv i64 %scaled, %second
  %result = add i64 %whole, %part
  ret i64 %result
}}

define internal i64 @this_thread() {{
  %self = call i32 @GetCurrentThreadId()
  %result = zext i32 %self to i64
  ret i64 %result
}}

define internal i1 @begin_thread(ptr %thread, ptr %context) {{
  %handle = call i64 @CreateThread(ptr null, i64 {stack}, ptr @work, ptr %context, i32 {reserves}, ptr null)
  store i64 %handle, ptr %thread
  %works = icmp ne i64 %handle, 0
  ret i1 %works
}}

define internal void @join_thread(i64 %thread) {{
  %ended = call i32 @WaitForSingleObject(i64 %thread, i32 -1)
  %closed = call i32 @CloseHandle(i64 %thread)
  ret void
}}
"""

_NO_POOL = """
define internal i1 @on_pool(ptr %context, i64 %others) {
  ret i1 false
}
"""


def system_calls_ir(platform: str, architecture: str) -> str:
    """The five functions, for a module that defines `ptr @work(ptr)`."""
    if platform == WINDOWS:
        return _WINDOWS.format(stack=STACK, reserves=_RESERVES) + _NO_POOL
    pool = pool_ir(architecture, STACK) if platform == LINUX else _NO_POOL
    return _POSIX.format(stack=STACK, clock=_CLOCKS[platform]) + pool
