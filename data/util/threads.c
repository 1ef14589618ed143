#include "data/util/threads.h"

#include "kernels/base.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The number a file in the folder begins with, and the one after it; how many there were. */
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

/* "max", which is no number, and -1 stand for none. */
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
    size_t least = strlen(root);
    double quota = HUGE_VAL;

    for (;;) {
        quota = fmin(quota, folder_quota(folder));
        if (strlen(folder) <= least)
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

int threads_available(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (int)sysconf(_SC_NPROCESSORS_ONLN);
    double quota = own_quota();

    return n > 1 && quota < n ? (int)fmax(1, ceil(quota)) : n > 1 ? n : 1;
}

void threads_start(char **argv)
{
    char threads[16], self[4096];
    ssize_t n = getenv("OMP_WAIT_POLICY") ? -1 : readlink("/proc/self/exe", self, sizeof self - 1);

    if (n <= 0 || setenv("OMP_WAIT_POLICY", "passive", 0))
        return;
    self[n] = '\0';
    snprintf(threads, sizeof threads, "%d", threads_available());
    setenv("OMP_NUM_THREADS", threads, 0);
    /* 1,000 pauses are some 40 microseconds, about what it costs to fall asleep and be woken: so a wait never takes
     * more than twice the best that is possible.  OpenBLAS waits 2^n cycles. */
    setenv("GOMP_SPINCOUNT", "1000", 0);
    setenv("OPENBLAS_THREAD_TIMEOUT", "14", 0);
    execv(self, argv);
}
