/* Faults on demand, for tests/api/faults.py: an allocation that fails, a disk that cannot be
 * written, a clock that jumps.
 *
 * The test and the process under test share the file that BAKEHOUSE_FAULTS names. Built twice: as a
 * library for LD_PRELOAD, which stands before every library of the process; and, for sanitizers,
 * which bring an allocator of their own, linked into a second bakehouse by -Wl,--wrap, where only
 * the calls of our own code pass through. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* As in tests/api/faults.py. */
typedef struct Faults {
    _Atomic int64_t left;     /* the how-manieth allocation from now fails; 0: none */
    _Atomic int64_t run;      /* how many more fail behind that one */
    _Atomic int64_t failed;   /* out: that have */
    _Atomic int64_t seen;     /* out: allocations since the start */
    _Atomic int64_t disk;     /* errno of what writes to a disk; 0: it works */
    _Atomic int64_t clock_ms; /* by which the clock of the wall is wrong */
} Faults;

static Faults nothing;
static Faults *faults = &nothing;

#ifdef FAULTS_WRAP
#define FAKE(name)       __wrap_##name
#define REAL(type, name) __real_##name
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_mmap(void *at, size_t size, int protection, int flags, int file, off_t offset);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int file, off_t offset);
#else
#define FAKE(name)       name
/* The next one of this name; looked up once, which allocates nothing that would come back here. */
#define REAL(type, name) (((type)(find_real(&real_##name, #name))))
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);

static void *find_real(_Atomic(void *) *place, const char *name)
{
    void *found = atomic_load(place);

    if (!found) {
        found = dlsym(RTLD_NEXT, name);
        atomic_store(place, found);
    }
    return found;
}
#endif

__attribute__((constructor)) static void open_faults(void)
{
    const char *path = getenv("BAKEHOUSE_FAULTS");
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;

    if (file < 0)
        return;
    void *shared = mmap(NULL, sizeof *faults, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (shared != MAP_FAILED)
        faults = shared;
    (void)close(file);
}

/* --- memory --- */

static bool must_fail(void)
{
    int64_t left = atomic_load(&faults->left);

    atomic_fetch_add(&faults->seen, 1);
    while (left > 0)
        if (atomic_compare_exchange_weak(&faults->left, &left, left > 1 ? left - 1 : -1))
            break;
    // the countdown has passed: as many as `run` fail
    if (left != 1 && !(left < 0 && atomic_fetch_sub(&faults->run, 1) > 0))
        return false;
    atomic_fetch_add(&faults->failed, 1);
    errno = ENOMEM;
    return true;
}

#ifdef FAULTS_WRAP
#define REAL_MALLOC  __real_malloc
#define REAL_CALLOC  __real_calloc
#define REAL_REALLOC __real_realloc
#else
#define REAL_MALLOC  __libc_malloc
#define REAL_CALLOC  __libc_calloc
#define REAL_REALLOC __libc_realloc
static _Atomic(void *) real_mmap;
#endif

void *FAKE(malloc)(size_t size)
{
    return must_fail() ? NULL : REAL_MALLOC(size);
}

void *FAKE(calloc)(size_t count, size_t size)
{
    return must_fail() ? NULL : REAL_CALLOC(count, size);
}

void *FAKE(realloc)(void *old, size_t size)
{
    return must_fail() ? NULL : REAL_REALLOC(old, size);
}

typedef void *(*Mmap)(void *, size_t, int, int, int, off_t);

void *FAKE(mmap)(void *at, size_t size, int protection, int flags, int file, off_t offset)
{
    if (must_fail())
        return MAP_FAILED;
    return REAL(Mmap, mmap)(at, size, protection, flags, file, offset);
}

#ifndef FAULTS_WRAP
/* --- the disk --- */

static bool is_refused(void)
{
    int64_t code = atomic_load(&faults->disk);

    if (code)
        errno = (int)code;
    return code != 0;
}

/* Sockets and counters for events are no disk. */
static bool is_refused_for(int file)
{
    struct stat about;

    return atomic_load(&faults->disk) && fstat(file, &about) == 0 && S_ISREG(about.st_mode) &&
           is_refused();
}

typedef ssize_t (*Write)(int, const void *, size_t);
static _Atomic(void *) real_write;

ssize_t write(int file, const void *data, size_t size)
{
    return is_refused_for(file) ? -1 : REAL(Write, write)(file, data, size);
}

typedef ssize_t (*Pwrite)(int, const void *, size_t, off_t);
static _Atomic(void *) real_pwrite, real_pwrite64;

ssize_t pwrite(int file, const void *data, size_t size, off_t offset)
{
    return is_refused_for(file) ? -1 : REAL(Pwrite, pwrite)(file, data, size, offset);
}

ssize_t pwrite64(int file, const void *data, size_t size, off_t offset)
{
    return is_refused_for(file) ? -1 : REAL(Pwrite, pwrite64)(file, data, size, offset);
}

typedef int (*Ftruncate)(int, off_t);
static _Atomic(void *) real_ftruncate, real_ftruncate64;

int ftruncate(int file, off_t size)
{
    return is_refused_for(file) ? -1 : REAL(Ftruncate, ftruncate)(file, size);
}

int ftruncate64(int file, off_t size)
{
    return is_refused_for(file) ? -1 : REAL(Ftruncate, ftruncate64)(file, size);
}

typedef int (*Renameat)(int, const char *, int, const char *);
static _Atomic(void *) real_renameat;

int renameat(int from, const char *old, int to, const char *name)
{
    return is_refused() ? -1 : REAL(Renameat, renameat)(from, old, to, name);
}

typedef int (*Linkat)(int, const char *, int, const char *, int);
static _Atomic(void *) real_linkat;

int linkat(int from, const char *old, int to, const char *name, int flags)
{
    return is_refused() ? -1 : REAL(Linkat, linkat)(from, old, to, name, flags);
}

typedef int (*Unlinkat)(int, const char *, int);
static _Atomic(void *) real_unlinkat;

int unlinkat(int folder, const char *name, int flags)
{
    return is_refused() ? -1 : REAL(Unlinkat, unlinkat)(folder, name, flags);
}

typedef int (*Mkdirat)(int, const char *, mode_t);
static _Atomic(void *) real_mkdirat;

int mkdirat(int folder, const char *name, mode_t mode)
{
    return is_refused() ? -1 : REAL(Mkdirat, mkdirat)(folder, name, mode);
}

typedef int (*Openat)(int, const char *, int, ...);
static _Atomic(void *) real_openat;

int openat(int folder, const char *name, int flags, ...)
{
    mode_t mode = 0;

    if (flags & O_CREAT) {
        va_list arguments;

        va_start(arguments, flags);
        mode = va_arg(arguments, mode_t);
        va_end(arguments);
    }
    if ((flags & O_ACCMODE) != O_RDONLY && is_refused())
        return -1;
    return REAL(Openat, openat)(folder, name, flags, mode);
}

/* --- the clock --- */

typedef int (*ClockGettime)(clockid_t, struct timespec *);
static _Atomic(void *) real_clock_gettime;

int clock_gettime(clockid_t clock, struct timespec *out)
{
    int code = REAL(ClockGettime, clock_gettime)(clock, out);
    int64_t wrong = atomic_load(&faults->clock_ms);

    if (code == 0 && clock == CLOCK_REALTIME)
        out->tv_sec += (time_t)(wrong / 1000);
    return code;
}
#endif
