#include "data/base/startup.h"

#include "kernels/base.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <omp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0 || errno != EBADF;
}

/* fd is the lowest free descriptor, since all below it are open.  An O_PATH descriptor can be neither read nor written,
 * also through /dev/stdout. */
static void fill(int fd)
{
    int got = fd == STDERR_FILENO ? open("/dev/null", O_WRONLY) : -1;

    if (got < 0)
        got = open("/", O_PATH | O_DIRECTORY);
    if (got != fd)
        _exit(EXIT_FAILURE);
}

void standard_open(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (!is_open(fd))
            fill(fd);
    signal(SIGXFSZ, SIG_IGN);
}

enum { SPIN_NS = 20000, SAMPLES = 8, SAMPLE = 128 };

/* Reads up to two numbers from the start of a file.  Returns how many it found. */
static int read_numbers(const char *folder, const char *name, double numbers[2])
{
    char *path = path_in(folder, name);
    FILE *f = fopen(path, "re");
    int n = f ? fscanf(f, "%lf %lf", &numbers[0], &numbers[1]) : 0;

    if (f)
        fclose(f);
    free(path);
    return n;
}

/* "max", which is not a number, and -1 mean no quota. */
static double folder_quota(const char *folder)
{
    double v2[2], quota[2], period[2];

    if (read_numbers(folder, "cpu.max", v2) == 2 && v2[0] > 0 && v2[1] > 0)
        return v2[0] / v2[1];
    if (read_numbers(folder, "cpu.cfs_quota_us", quota) >= 1 &&
        read_numbers(folder, "cpu.cfs_period_us", period) >= 1 && quota[0] > 0 && period[0] > 0)
        return quota[0] / period[0];
    return HUGE_VAL;
}

double threads_quota(const char *root, const char *group)
{
    char *folder = path_in(root, group + (*group == '/'));
    size_t shortest = strlen(root);
    double quota = HUGE_VAL;

    for (;;) {
        quota = fmin(quota, folder_quota(folder));
        if (strlen(folder) <= shortest)
            break;
        *strrchr(folder, '/') = '\0';
    }
    free(folder);
    return quota;
}

/* A line of /proc/self/cgroup: "0::GROUP" (v2) or "N:CONTROLLERS:GROUP" (v1). */
static double line_quota(char *line)
{
    char *controllers = strchr(line, ':'), *group = controllers ? strchr(++controllers, ':') : NULL;

    if (!group)
        return HUGE_VAL;
    *group++ = '\0';
    group[strcspn(group, "\n")] = '\0';
    if (!*controllers)
        return threads_quota("/sys/fs/cgroup", group);
    for (const char *c = controllers; c; c = strchr(c, ',') ? strchr(c, ',') + 1 : NULL)
        if (strncmp(c, "cpu", 3) == 0 && (!c[3] || c[3] == ','))
            return threads_quota("/sys/fs/cgroup/cpu", group);
    return HUGE_VAL;
}

static double own_quota(void)
{
    char line[4096];
    double quota = HUGE_VAL;
    FILE *f = fopen("/proc/self/cgroup", "re");

    while (f && fgets(line, sizeof line, f))
        quota = fmin(quota, line_quota(line));
    if (f)
        fclose(f);
    return quota;
}

/* Adds the processors of an OpenMP place. */
static void add_place(cpu_set_t *set, int place)
{
    int n = omp_get_place_num_procs(place), *ids = xmalloc((size_t)n * sizeof *ids);

    omp_get_place_proc_ids(place, ids);
    for (int i = 0; i < n; i++)
        CPU_SET((size_t)ids[i], set);
    free(ids);
}

/* The processors of this process.  If OpenMP binds threads, it has already bound this thread to the first place, so the
 * affinity mask alone would be too small. */
static int own_processors(cpu_set_t *set)
{
    CPU_ZERO(set);
    for (int i = 0; i < omp_get_num_places(); i++)
        add_place(set, i);
    return omp_get_num_places() ? 0 : sched_getaffinity(0, sizeof *set, set);
}

int threads_available(void)
{
    cpu_set_t set;
    int n = own_processors(&set) == 0 ? CPU_COUNT(&set) : (int)sysconf(_SC_NPROCESSORS_ONLN);
    double quota = own_quota();

    return n > 1 && quota < n ? (int)fmax(1, ceil(quota)) : n > 1 ? n : 1;
}

void threads_set(int n)
{
    omp_set_num_threads(n);
}

/* The variable may list a number for each level of nested parallel regions. */
int threads_check_environment(struct error *err)
{
    const char *value = getenv("OMP_NUM_THREADS");

    for (const char *at = value; at && *at; at += strcspn(at, ","), at += *at == ',')
        if (strtol(at, NULL, 10) > THREADS_MAX)
            return error_set(err, EXIT_CODE_USAGE, "OMP_NUM_THREADS: expected at most %d threads, got %.40s",
                             THREADS_MAX, value);
    return 0;
}

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * (int64_t)1000000000 + t.tv_nsec;
}

/* Polls a word as libgomp does while it waits. */
static void look(int times)
{
    static volatile int word;

    for (int i = 0; i < times && !word; i++)
#if defined(__x86_64__)
        __builtin_ia32_pause();
#else
        __asm__ volatile("" : : : "memory");
#endif
}

/* Number of polls that take SPIN_NS.  A pause takes 5 to 50 ns, depending on the processor.  A shorter spin halves the
 * speed of decoding, a longer one slows other programs down (bench/log/2026-11-26.md). */
static int spin_count(void)
{
    int64_t min_ns = INT64_MAX;

    for (int i = 0; i < SAMPLES; i++) {
        int64_t start = now_ns();
        look(SAMPLE);
        int64_t took = now_ns() - start;
        min_ns = took < min_ns ? took : min_ns;
    }
    return (int)((int64_t)SPIN_NS * SAMPLE / (min_ns > SAMPLE ? min_ns : SAMPLE));
}

/* Writes the path of this program for execv.  False if a restart would run another program: it would leave valgrind.  A
 * program started through the dynamic loader has the loader's path; the kernel gave it no interpreter. */
static bool find_self(char *path, size_t size)
{
    const char *preload = getenv("LD_PRELOAD");
    ssize_t n = readlink("/proc/self/exe", path, size - 1);

    if (n <= 0 || !getauxval(AT_BASE) || (preload && strstr(preload, "vgpreload")))
        return false;
    path[n] = '\0';
    return true;
}

/* Returns only on failure. */
static void restart(char **argv)
{
    char number[16], self[4096];
    cpu_set_t set;

    if (!find_self(self, sizeof self) || setenv("OMP_WAIT_POLICY", "passive", 0))
        return;
    snprintf(number, sizeof number, "%d", omp_get_max_threads());
    setenv("OMP_NUM_THREADS", number, 0);
    snprintf(number, sizeof number, "%d", spin_count());
    setenv("GOMP_SPINCOUNT", number, 0);
    setenv("OPENBLAS_THREAD_TIMEOUT", "14", 0); /* 2^14 cycles */
    if (own_processors(&set) == 0)
        sched_setaffinity(0, sizeof set, &set);
    execv(self, argv);
}

void threads_start(char **argv)
{
    if (!getenv("OMP_NUM_THREADS"))
        threads_set(threads_available());
    if (!getenv("OMP_WAIT_POLICY"))
        restart(argv);
}
