/*
 * startup.h - what a program sets up first in main: standard descriptors and threads.
 *
 * Descriptors: if 0, 1 or 2 is closed at the start, the next opened file or socket would receive its number.  That file
 * would then be read as standard input or written as standard output.
 *
 * Threads: libgomp and OpenBLAS let idle threads spin for milliseconds.  This is fast on an idle machine and slow on a
 * shared one, where programs wait for each other's spinning.  The libraries read the spin time and the number of
 * threads from the environment when they are loaded.  A program that starts without these variables therefore sets them
 * and restarts itself once.
 */
#ifndef DATA_BASE_STARTUP_H
#define DATA_BASE_STARTUP_H

#include "kernels/base.h"

/*
 * Call first in main.  Opens a closed standard input or output so that reads and writes fail with EBADF, and a closed
 * standard error so that messages are dropped.  Ignores SIGXFSZ: a write beyond the shell's file size limit fails with
 * EFBIG and its message.
 */
void standard_open(void);

/*
 * Call first in main.  Without OMP_NUM_THREADS, uses as many threads as available processors.  Without OMP_WAIT_POLICY,
 * sets it to passive, adds GOMP_SPINCOUNT, OPENBLAS_THREAD_TIMEOUT and OMP_NUM_THREADS if they are missing, and
 * restarts the program.  Returns if a restart is not needed, fails, or would start another program.
 */
void threads_start(char **argv);

enum { THREADS_MAX = 1024 };

/* -1 with EXIT_CODE_USAGE if OMP_NUM_THREADS is above THREADS_MAX, which would crash libgomp. */
int threads_check_environment(struct error *err);

/* Sets the number of OpenMP threads.  A device that is opened later uses as many. */
void threads_set(int n);

/* Number of processors that this process may use: its affinity, limited by the quotas of its control groups and rounded
 * up. */
int threads_available(void);

/*
 * The smallest CPU quota of a control group and its ancestors, in processors; HUGE_VAL if none is set. root: mount
 * point of the hierarchy; group: path below it.  Reads cpu.max (cgroup v2) or cpu.cfs_quota_us and cpu.cfs_period_us
 * (v1); see Linux, Documentation/admin-guide/cgroup-v2.rst and Documentation/scheduler/sched-bwc.rst.
 */
double threads_quota(const char *root, const char *group);

#endif
