/*
 * jail.h - what the kernel keeps this process from, whatever a stranger's SQL makes of it: it starts no program, opens
 * no connection, writes no file, leaves no core, grows no further than results need, and does not outlive the program.
 */
#ifndef DATA_WORKER_JAIL_H
#define DATA_WORKER_JAIL_H

void jail_enter(void);

#endif
