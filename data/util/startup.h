/*
 * startup.h - descriptors 0 to 2 as a program finds them.
 *
 * One that is closed would be given to the next file or socket that is opened, which would then be read as standard
 * input or written as standard output.
 *
 * Threads: as many threads as there are processors for us, and none that spins while it waits.
 *
 * libgomp and OpenBLAS let idle threads spin for milliseconds: fast on an idle machine, a disaster on a shared one,
 * where programs then wait for each other's waiting.  For how long, and how many threads there are, is read from the
 * environment when the libraries are loaded, so a program that was started without it starts itself once more with it.
 */
#ifndef DATA_UTIL_STARTUP_H
#define DATA_UTIL_STARTUP_H

#include "kernels/base.h"

/*
 * First in main.  A closed standard input or output is opened so that reading and writing fail with EBADF; a closed
 * standard error takes messages and drops them.  SIGXFSZ is ignored: writing beyond a limit of the shell fails with
 * EFBIG and its message.
 */
void standard_open(void);

/*
 * First in main.  Without OMP_NUM_THREADS there are as many threads as processors for us.  Without OMP_WAIT_POLICY that
 * is set to passive, with GOMP_SPINCOUNT, OPENBLAS_THREAD_TIMEOUT and OMP_NUM_THREADS where they are missing, and the
 * program starts again: once, since it then has it.  Returns where that is not needed, fails, or would start something
 * else.
 */
void threads_start(char **argv);

enum { THREADS_MAX = 1024 };

/* -1 with EXIT_CODE_USAGE where OMP_NUM_THREADS asks for more, of which libgomp would crash. */
int threads_check_environment(struct error *err);

/* From now on n threads of OpenMP and of what runs through it; a device that is opened later has as many. */
void threads_set(int n);

/* Processors that this process may use: its affinity within the quotas of its control groups, rounded up. */
int threads_available(void);

/*
 * The least quota of a control group and those above it, in processors, HUGE_VAL where none is set.  root: where the
 * hierarchy is mounted; group: the path below it.  Reads cpu.max (cgroup v2) or cpu.cfs_quota_us and cpu.cfs_period_us
 * (v1), Documentation/admin-guide/cgroup-v2.rst and scheduler/sched-bwc.rst of Linux.
 */
double threads_quota(const char *root, const char *group);

#endif
