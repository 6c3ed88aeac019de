"""A pool of threads that outlives calls, as LLVM IR, for Linux: `run_on_pool`, which every object has, and one of a
process serves them all (backends/cpu/pool.py). Other platforms' objects have none; they make threads for each call.

`run_on_pool(work, context, others)` calls `work(context)` on this thread and on up to so many others at the same time,
and returns when all that began are done. A call puts a job on its own stack into the list of open ones and wakes
workers; a worker that comes takes part in the first. Nobody waits for a worker that has not begun: one that comes late,
or never, because it is busy with another call or was not made, costs nothing. So calls from many threads share the
workers, and a call within a call, from a handler of a signal, is done by its own thread.

Workers are made by the first call that wants as many, and stay. They block all signals but those of faults, so that a
signal reaches the threads that the program knows of. Those of a call compute as its thread does: each takes over that
thread's affinity, and its modes of floating point, which other libraries set; and no more of them take part than there
are processors for it. A child of a fork has none of them: the
process's number, which is looked at in each call, says so, and it makes its own.

The kernel is called directly: `syscall`, `getpid` are the same in every C library and version.
"""

from __future__ import annotations

from .thread_state import MASK_WORDS, thread_state_ir

_NUMBERS = {"x86-64": (202, 14), "aarch64": (98, 135)}  # futex, rt_sigprocmask
# All signals but SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGSYS, and 32 to 34, which are the C library's own.
_BLOCKED = (1 << 64) - 1 & ~sum(1 << number - 1 for number in (4, 5, 7, 8, 11, 31, 32, 33, 34))
_SET_MASK = 2
_WAIT, _WAKE = 128, 129  # of this process alone
_SPIN = 10_000  # nanoseconds until it pays to sleep for the last worker
# Of a job: next, work, context, wanted, active, waiting, affinity, modes; of the crew: process, lock, calls, jobs,
# workers, parked.
_JOB = f"{{ ptr, ptr, ptr, i64, i32, i32, [{MASK_WORDS} x i64], i64 }}"
_CREW, _CREW_BYTES = "{ i64, i32, i32, ptr, i64, i64 }", 40

_TEMPLATE = """
@crew = internal global ptr null

declare i32 @getpid()
declare i32 @pthread_attr_setdetachstate(ptr, i32)
declare ptr @malloc(i64)
declare void @free(ptr)

define internal i1 @on_pool(ptr %context, i64 %others) {{
  %pool = load ptr, ptr @pool
  %none = icmp eq ptr %pool, null
  br i1 %none, label %alone, label %together
together:
  call void %pool(ptr @work, ptr %context, i64 %others)
  ret i1 true
alone:
  ret i1 false
}}

define internal void @sleep_while(ptr %word, i32 %value) {{
  %woken = call i64 (i64, ...) @syscall(i64 {futex}, ptr %word, i64 {wait}, i32 %value, ptr null)
  ret void
}}

define internal void @wake(ptr %word, i64 %most) {{
  %woken = call i64 (i64, ...) @syscall(i64 {futex}, ptr %word, i64 {wake}, i64 %most)
  ret void
}}

define internal void @acquire(ptr %lock) {{
  %first = cmpxchg ptr %lock, i32 0, i32 1 acquire monotonic
  %free = extractvalue {{ i32, i1 }} %first, 1
  br i1 %free, label %done, label %contend
contend:
  %before = atomicrmw xchg ptr %lock, i32 2 acquire
  %got = icmp eq i32 %before, 0
  br i1 %got, label %done, label %held
held:
  call void @sleep_while(ptr %lock, i32 2)
  br label %contend
done:
  ret void
}}

define internal void @release(ptr %lock) {{
  %before = atomicrmw xchg ptr %lock, i32 0 release
  %contended = icmp eq i32 %before, 2
  br i1 %contended, label %next, label %done
next:
  call void @wake(ptr %lock, i64 1)
  br label %done
done:
  ret void
}}

define internal ptr @this_crew() {{
begin:
  %pid.32 = call i32 @getpid()
  %pid = zext i32 %pid.32 to i64
  br label %look
look:
  %crew = load atomic ptr, ptr @crew acquire, align 8
  %none = icmp eq ptr %crew, null
  br i1 %none, label %make, label %whose
whose:
  %made.by = load i64, ptr %crew
  %own = icmp eq i64 %made.by, %pid
  br i1 %own, label %found, label %make
found:
  ret ptr %crew
make:
  %new = call ptr @malloc(i64 {crew_bytes})
  %no.memory = icmp eq ptr %new, null
  br i1 %no.memory, label %nobody, label %fill
fill:
  store {crew} zeroinitializer, ptr %new
  store i64 %pid, ptr %new
  %put = cmpxchg ptr @crew, ptr %crew, ptr %new acq_rel monotonic
  %first = extractvalue {{ ptr, i1 }} %put, 1
  br i1 %first, label %ours, label %late
ours:
  ret ptr %new
late:
  call void @free(ptr %new)
  br label %look
nobody:
  ret ptr null
}}

define internal i1 @make_worker(ptr %crew) {{
  %thread = alloca i64
  %signals = alloca i64
  %blocked = alloca i64
  %attributes = alloca [16 x i64], align 16
  store i64 {blocked}, ptr %blocked
  %plain = call i32 @pthread_attr_init(ptr %attributes)
  %sized = call i32 @pthread_attr_setstacksize(ptr %attributes, i64 {stack})
  %alone = call i32 @pthread_attr_setdetachstate(ptr %attributes, i32 1)
  %quiet = call i64 (i64, ...) @syscall(i64 {sigprocmask}, i64 {set_mask}, ptr %blocked, ptr %signals, i64 8)
  %failed = call i32 @pthread_create(ptr %thread, ptr %attributes, ptr @worker, ptr %crew)
  %again = call i64 (i64, ...) @syscall(i64 {sigprocmask}, i64 {set_mask}, ptr %signals, ptr null, i64 8)
  %gone = call i32 @pthread_attr_destroy(ptr %attributes)
  %works = icmp eq i32 %failed, 0
  ret i1 %works
}}

define internal ptr @worker(ptr %crew) {{
begin:
  %own = alloca [{mask_words} x i64], align 64
  store [{mask_words} x i64] zeroinitializer, ptr %own
  %lock = getelementptr {crew}, ptr %crew, i32 0, i32 1
  %calls.at = getelementptr {crew}, ptr %crew, i32 0, i32 2
  %jobs.at = getelementptr {crew}, ptr %crew, i32 0, i32 3
  %parked.at = getelementptr {crew}, ptr %crew, i32 0, i32 5
  call void @acquire(ptr %lock)
  br label %look
look:
  %job = load ptr, ptr %jobs.at
  %idle = icmp eq ptr %job, null
  br i1 %idle, label %park, label %take
park:
  %calls = load i32, ptr %calls.at
  %parked = load i64, ptr %parked.at
  %parked.more = add i64 %parked, 1
  store i64 %parked.more, ptr %parked.at
  call void @release(ptr %lock)
  call void @sleep_while(ptr %calls.at, i32 %calls)
  call void @acquire(ptr %lock)
  %awake = load i64, ptr %parked.at
  %parked.less = sub i64 %awake, 1
  store i64 %parked.less, ptr %parked.at
  br label %look
take:
  %work.at = getelementptr {job}, ptr %job, i32 0, i32 1
  %context.at = getelementptr {job}, ptr %job, i32 0, i32 2
  %wanted.at = getelementptr {job}, ptr %job, i32 0, i32 3
  %active.at = getelementptr {job}, ptr %job, i32 0, i32 4
  %waiting.at = getelementptr {job}, ptr %job, i32 0, i32 5
  %mask = getelementptr {job}, ptr %job, i32 0, i32 6
  %wanted = load i64, ptr %wanted.at
  %wanted.less = sub i64 %wanted, 1
  store i64 %wanted.less, ptr %wanted.at
  %full = icmp eq i64 %wanted.less, 0
  br i1 %full, label %close, label %join
close:
  %further = load ptr, ptr %job
  store ptr %further, ptr %jobs.at
  br label %join
join:
  %active = load atomic i32, ptr %active.at monotonic, align 4
  %active.more = add i32 %active, 1
  store atomic i32 %active.more, ptr %active.at monotonic, align 4
  call void @release(ptr %lock)
  call void @move_to(ptr %mask, ptr %own)
  %modes.at = getelementptr {job}, ptr %job, i32 0, i32 7
  %modes = load i64, ptr %modes.at
  call void @set_modes(i64 %modes)
  %work = load ptr, ptr %work.at
  %context = load ptr, ptr %context.at
  %nothing = call ptr %work(ptr %context)
  call void @acquire(ptr %lock)
  %waiting = load i32, ptr %waiting.at
  %still = load atomic i32, ptr %active.at monotonic, align 4
  %active.less = sub i32 %still, 1
  store atomic i32 %active.less, ptr %active.at release, align 4
  %last = icmp eq i32 %active.less, 0
  %awaited = icmp ne i32 %waiting, 0
  %tell = and i1 %last, %awaited
  br i1 %tell, label %end, label %look
end:
  call void @release(ptr %lock)
  call void @wake(ptr %active.at, i64 1)
  call void @acquire(ptr %lock)
  br label %look
}}

define void @run_on_pool(ptr %work, ptr %context, i64 %others) {{
begin:
  %job = alloca {job}, align 64
  store {job} zeroinitializer, ptr %job
  %work.at = getelementptr {job}, ptr %job, i32 0, i32 1
  %context.at = getelementptr {job}, ptr %job, i32 0, i32 2
  %wanted.at = getelementptr {job}, ptr %job, i32 0, i32 3
  %active.at = getelementptr {job}, ptr %job, i32 0, i32 4
  %waiting.at = getelementptr {job}, ptr %job, i32 0, i32 5
  %mask = getelementptr {job}, ptr %job, i32 0, i32 6
  %found = call i64 @processors(ptr %mask)
  %unknown = icmp eq i64 %found, 0
  %beside = sub i64 %found, 1
  %fewer = icmp slt i64 %beside, %others
  %limits = select i1 %unknown, i1 false, i1 %fewer
  %wanted = select i1 %limits, i64 %beside, i64 %others
  %any = icmp sgt i64 %wanted, 0
  br i1 %any, label %find, label %alone
find:
  %crew = call ptr @this_crew()
  %nobody = icmp eq ptr %crew, null
  br i1 %nobody, label %alone, label %post
alone:
  %all = call ptr %work(ptr %context)
  ret void
post:
  %lock = getelementptr {crew}, ptr %crew, i32 0, i32 1
  %calls.at = getelementptr {crew}, ptr %crew, i32 0, i32 2
  %jobs.at = getelementptr {crew}, ptr %crew, i32 0, i32 3
  %workers.at = getelementptr {crew}, ptr %crew, i32 0, i32 4
  %parked.at = getelementptr {crew}, ptr %crew, i32 0, i32 5
  store ptr %work, ptr %work.at
  store ptr %context, ptr %context.at
  store i64 %wanted, ptr %wanted.at
  %modes.at = getelementptr {job}, ptr %job, i32 0, i32 7
  %modes = call i64 @modes()
  store i64 %modes, ptr %modes.at
  call void @acquire(ptr %lock)
  %others.jobs = load ptr, ptr %jobs.at
  store ptr %others.jobs, ptr %job
  store ptr %job, ptr %jobs.at
  %calls = load i32, ptr %calls.at
  %calls.more = add i32 %calls, 1
  store atomic i32 %calls.more, ptr %calls.at monotonic, align 4
  %workers = load i64, ptr %workers.at
  %parked = load i64, ptr %parked.at
  %few = icmp slt i64 %workers, %wanted
  %enough = select i1 %few, i64 %wanted, i64 %workers
  store i64 %enough, ptr %workers.at
  call void @release(ptr %lock)
  %some = icmp sgt i64 %parked, 0
  br i1 %some, label %call_some, label %make
call_some:
  call void @wake(ptr %calls.at, i64 %wanted)
  br label %make
make:
  %made = phi i64 [ %workers, %post ], [ %workers, %call_some ], [ %made.next, %made_one ]
  %missing = icmp slt i64 %made, %enough
  br i1 %missing, label %make_one, label %take_part
make_one:
  %works = call i1 @make_worker(ptr %crew)
  br i1 %works, label %made_one, label %made_none
made_one:
  %made.next = add i64 %made, 1
  br label %make
made_none:
  %never = sub i64 %enough, %made
  call void @acquire(ptr %lock)
  %said = load i64, ptr %workers.at
  %true = sub i64 %said, %never
  store i64 %true, ptr %workers.at
  call void @release(ptr %lock)
  br label %take_part
take_part:
  %own = call ptr %work(ptr %context)
  call void @acquire(ptr %lock)
  %unmet = load i64, ptr %wanted.at
  %open = icmp ne i64 %unmet, 0
  br i1 %open, label %find_it, label %closed
find_it:
  %place = phi ptr [ %jobs.at, %take_part ], [ %one, %find_it ]
  %one = load ptr, ptr %place
  %found.it = icmp eq ptr %one, %job
  br i1 %found.it, label %unlink, label %find_it
unlink:
  %rest = load ptr, ptr %job
  store ptr %rest, ptr %place
  br label %closed
closed:
  call void @release(ptr %lock)
  %start = call i64 @now()
  br label %spin
spin:
  %left = load atomic i32, ptr %active.at acquire, align 4
  %over = icmp eq i32 %left, 0
  br i1 %over, label %finish, label %watch
watch:
  %now = call i64 @now()
  %since = sub i64 %now, %start
  %long = icmp sgt i64 %since, {spin}
  br i1 %long, label %rest_until, label %spin
rest_until:
  call void @acquire(ptr %lock)
  store i32 1, ptr %waiting.at
  br label %check
check:
  %still = load atomic i32, ptr %active.at acquire, align 4
  call void @release(ptr %lock)
  %done = icmp eq i32 %still, 0
  br i1 %done, label %finish, label %rest_more
rest_more:
  call void @sleep_while(ptr %active.at, i32 %still)
  call void @acquire(ptr %lock)
  br label %check
finish:
  ret void
}}
"""


def pool_ir(architecture: str, stack: int) -> str:
    """LLVM IR of `run_on_pool`, the variable `pool` and `on_pool`, for a module that has `now`, `work` and the
    functions of POSIX threads. architecture: of artifact/cpu_levels.py. stack: bytes of a worker's."""
    futex, sigprocmask = _NUMBERS[architecture]
    return thread_state_ir(architecture) + _TEMPLATE.format(
        futex=futex,
        sigprocmask=sigprocmask,
        wait=_WAIT,
        wake=_WAKE,
        blocked=_BLOCKED - (1 << 64),
        set_mask=_SET_MASK,
        stack=stack,
        spin=_SPIN,
        mask_words=MASK_WORDS,
        job=_JOB,
        crew=_CREW,
        crew_bytes=_CREW_BYTES,
    )
