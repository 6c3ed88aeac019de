/* Makes one operation on files fail, or it and all after it: preloaded, in the place of the C library's functions.

   Counted are operations on what lies under one folder, and on anonymous memory files, from `failing_begin` on, by this
   process and those that it forks. A write that finds the disk full writes half first, as disks do. */

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* all: 1 where all after it fail too; 2 where nothing does but locks. */
struct state { volatile int count, on, at, all, error; char root[1024], told[1024]; };
static struct state *state;
static char ours[4096]; /* by descriptor: what is under the folder */

void failing_begin(const char *root, int at, int error, int all) {
  if (!state) state = mmap(0, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  memset(state, 0, sizeof *state);
  strncpy(state->root, root, sizeof state->root - 1);
  state->at = at, state->error = error, state->all = all, state->on = 1;
}

int failing_end(void) { state->on = 0; return state->count; }
const char *failing_told(void) { return state->told; }

static int is_ours(int fd) { return fd >= 0 && fd < (int)sizeof ours && ours[fd]; }

static int under(int folder, const char *path) {
  if (!state || !state->on || !path) return 0;
  return path[0] == '/' ? !strncmp(path, state->root, strlen(state->root)) : is_ours(folder);
}

static int without_locks(void) { return state && state->on && state->all == 2; }

static int fails(int counted, const char *what, const char *path, int fd) {
  if (!counted || !state || !state->on || state->all == 2) return 0;
  int number = __atomic_add_fetch(&state->count, 1, __ATOMIC_SEQ_CST);
  if (number != state->at && !(state->all && number > state->at)) return 0;
  if (number == state->at) {
    char link[32], name[512] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (!path) syscall(SYS_readlink, link, name, sizeof name - 1);
    snprintf(state->told, sizeof state->told, "%s %s", what, path ? path : name);
  }
  errno = state->error;
  return 1;
}

static int opened(int fd, int counted) {
  if (fd >= 0 && fd < (int)sizeof ours) ours[fd] = counted;
  return fd;
}

#define REAL(name) static __typeof__(&name) real; if (!real) real = dlsym(RTLD_NEXT, #name)
#define OF_PATH(result, name, parameters, folder, path, ...) \
  result name parameters { REAL(name); return fails(under(folder, path), #name, path, 0) ? -1 : real(__VA_ARGS__); }
#define OF_FILE(result, name, parameters, ...) \
  result name parameters { REAL(name); return fails(is_ours(fd), #name, 0, fd) ? -1 : real(__VA_ARGS__); }
#define OPENING(name, parameters, folder, ...) \
  int name parameters { \
    REAL(name); \
    mode_t mode = 0; \
    if (flags & (O_CREAT | O_TMPFILE)) { va_list more; va_start(more, flags); mode = va_arg(more, mode_t); va_end(more); } \
    int counted = under(folder, path); \
    return fails(counted, #name, path, 0) ? -1 : opened(real(__VA_ARGS__, mode), counted); \
  }
#define WRITING(name, parameters, ...) \
  ssize_t name parameters { \
    REAL(name); \
    if (fails(is_ours(fd), #name, 0, fd)) { \
      if (errno != ENOSPC || n < 2 || state->count != state->at) return -1; \
      state->at++; n /= 2; \
    } \
    return real(__VA_ARGS__); \
  }

OPENING(open, (const char *path, int flags, ...), -1, path, flags)
OPENING(open64, (const char *path, int flags, ...), -1, path, flags)
OPENING(openat, (int folder, const char *path, int flags, ...), folder, folder, path, flags)
OPENING(openat64, (int folder, const char *path, int flags, ...), folder, folder, path, flags)

FILE *fopen64(const char *path, const char *mode) {
  REAL(fopen64);
  return fails(under(-1, path), "fopen64", path, 0) ? 0 : real(path, mode);
}
DIR *opendir(const char *path) {
  REAL(opendir);
  int counted = under(-1, path);
  DIR *made = fails(counted, "opendir", path, 0) ? 0 : real(path);
  if (made) opened(dirfd(made), counted);
  return made;
}
DIR *fdopendir(int fd) { REAL(fdopendir); return fails(is_ours(fd), "fdopendir", 0, fd) ? 0 : real(fd); }
struct dirent64 *readdir64(DIR *folder) {
  REAL(readdir64);
  return fails(is_ours(dirfd(folder)), "readdir64", 0, dirfd(folder)) ? 0 : real(folder);
}
int memfd_create(const char *name, unsigned flags) {
  REAL(memfd_create);
  int counted = state && state->on;
  return fails(counted, "memfd_create", name, 0) ? -1 : opened(real(name, flags), counted);
}
void *mmap64(void *at, size_t n, int access, int flags, int fd, off64_t offset) {
  REAL(mmap64);
  return fails(is_ours(fd), "mmap64", 0, fd) ? MAP_FAILED : real(at, n, access, flags, fd, offset);
}
int close(int fd) {
  REAL(close);
  struct stat64 status;
  int counted = is_ours(fd) && !syscall(SYS_fstat, fd, &status) && !S_ISDIR(status.st_mode);
  opened(fd, 0);
  int done = real(fd); /* closed it is, whatever it answers */
  return fails(counted, "close", 0, fd) ? -1 : done;
}
int fcntl64(int fd, int what, ...) { /* SQLite tries again for a minute what fails here once, as if another had it */
  REAL(fcntl64);
  va_list more;
  va_start(more, what);
  void *given = va_arg(more, void *);
  va_end(more);
  if (is_ours(fd) && (what == F_SETLK || what == F_SETLKW) && without_locks()) return errno = ENOLCK, -1;
  int done = real(fd, what, given);
  return what == F_DUPFD || what == F_DUPFD_CLOEXEC ? opened(done, is_ours(fd)) : done;
}
int flock(int fd, int how) {
  REAL(flock);
  if (is_ours(fd) && without_locks()) return errno = ENOLCK, -1;
  return fails(is_ours(fd), "flock", 0, fd) ? -1 : real(fd, how);
}

WRITING(write, (int fd, const void *from, size_t n), fd, from, n)
WRITING(pwrite64, (int fd, const void *from, size_t n, off64_t at), fd, from, n, at)
OF_FILE(ssize_t, read, (int fd, void *to, size_t n), fd, to, n)
OF_FILE(ssize_t, pread64, (int fd, void *to, size_t n, off64_t at), fd, to, n, at)
OF_FILE(off64_t, lseek64, (int fd, off64_t to, int from), fd, to, from)
OF_FILE(int, fsync, (int fd), fd)
OF_FILE(int, fdatasync, (int fd), fd)
OF_FILE(int, ftruncate64, (int fd, off64_t n), fd, n)
OF_FILE(int, fstat64, (int fd, struct stat64 *to), fd, to)
OF_FILE(int, fchmod, (int fd, mode_t mode), fd, mode)
OF_FILE(int, fchdir, (int fd), fd)
OF_FILE(int, futimens, (int fd, const struct timespec *to), fd, to)
OF_PATH(int, stat64, (const char *path, struct stat64 *to), -1, path, path, to)
OF_PATH(int, lstat64, (const char *path, struct stat64 *to), -1, path, path, to)
OF_PATH(int, fstatat64, (int in, const char *path, struct stat64 *to, int how), in, path, in, path, to, how)
OF_PATH(int, access, (const char *path, int mode), -1, path, path, mode)
OF_PATH(int, faccessat, (int in, const char *path, int mode, int how), in, path, in, path, mode, how)
OF_PATH(ssize_t, readlink, (const char *path, char *to, size_t n), -1, path, path, to, n)
OF_PATH(ssize_t, readlinkat, (int in, const char *path, char *to, size_t n), in, path, in, path, to, n)
OF_PATH(int, rename, (const char *path, const char *to), -1, path, path, to)
OF_PATH(int, renameat, (int in, const char *path, int out, const char *to), in, path, in, path, out, to)
OF_PATH(int, link, (const char *path, const char *to), -1, path, path, to)
OF_PATH(int, linkat, (int in, const char *path, int out, const char *to, int how), in, path, in, path, out, to, how)
OF_PATH(int, symlink, (const char *to, const char *path), -1, path, to, path)
OF_PATH(int, symlinkat, (const char *to, int in, const char *path), in, path, to, in, path)
OF_PATH(int, unlink, (const char *path), -1, path, path)
OF_PATH(int, unlinkat, (int in, const char *path, int how), in, path, in, path, how)
OF_PATH(int, rmdir, (const char *path), -1, path, path)
OF_PATH(int, mkdir, (const char *path, mode_t mode), -1, path, path, mode)
OF_PATH(int, mkdirat, (int in, const char *path, mode_t mode), in, path, in, path, mode)
OF_PATH(int, chmod, (const char *path, mode_t mode), -1, path, path, mode)
OF_PATH(int, fchmodat, (int in, const char *path, mode_t mode, int how), in, path, in, path, mode, how)
OF_PATH(int, truncate64, (const char *path, off64_t n), -1, path, path, n)
OF_PATH(int, utimensat, (int in, const char *path, const struct timespec *to, int how), in, path, in, path, to, how)
