/*
 * jail.h - kernel restrictions on the worker process. They hold even if a statement or database takes over the
 * process.
 *
 * The process can read files and answer on its socket. It cannot create, change or remove files, start programs or
 * threads, open connections, or signal or inspect other processes. Its memory is limited, and it ends with the
 * program. A seccomp filter allows only the system calls that reading a database needs. Landlock, where the kernel has
 * it, blocks /proc, /sys, /dev and the plain files of /etc.
 */
#ifndef DATA_WORKER_JAIL_H
#define DATA_WORKER_JAIL_H

#include "kernels/base.h"

/* Enters the jail. Closes all descriptors after the first three, and replaces standard error by /dev/null. The program
 * sees the end of standard error as the sign that the jail holds. Returns -1 with EXIT_CODE_FAILURE, the missing kernel
 * feature and a remedy. Then no untrusted statement may run, and standard error stays open. */
int jail_enter(struct error *err);

#endif
