/*
 * jail.h - the limits that the kernel sets to this process, whatever code a stranger's SQL or database makes it run.
 *
 * The process reads files and answers on its socket.  It makes, changes and removes no file, starts no program or
 * thread, opens no connection, signals nobody, sees nothing of other processes, takes no more memory than results need,
 * and ends with the program.  A filter allows the system calls that reading a database takes and no others; Landlock,
 * where the kernel has it, keeps /proc, /sys, /dev and the plain files of /etc out of reach.
 */
#ifndef DATA_WORKER_JAIL_H
#define DATA_WORKER_JAIL_H

#include "kernels/base.h"

/* Closes all descriptors but the first three, and standard error, which becomes /dev/null: who started this process
 * sees by its end that the jail holds.  -1 with EXIT_CODE_FAILURE, the missing feature of the kernel and what to do
 * about it; then nothing of a stranger's may run, and standard error is as it was. */
int jail_enter(struct error *err);

#endif
