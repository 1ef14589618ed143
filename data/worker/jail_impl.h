/* Parts of jail.h: what its sources share. */
#ifndef DATA_WORKER_JAIL_IMPL_H
#define DATA_WORKER_JAIL_IMPL_H

#include "data/worker/jail.h"

/* Leaves only reading of files, outside of the system's own folders.  1 when the kernel has no Landlock, -1 with err
 * when it has and refuses. */
int jail_restrict_files(struct error *err);
/* Leaves only the system calls that a database is read with; needs "no new privileges".  -1 with err. */
int jail_filter_calls(struct error *err);

#endif
