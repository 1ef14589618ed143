/*
 * stop.h - stops a long run on SIGINT or SIGTERM: the run finishes its step, saves and exits with the signal's code.
 *
 * The first signal only sets a flag that the run polls.  A second signal ends the process at once.
 */
#ifndef DATA_UTIL_STOP_H
#define DATA_UTIL_STOP_H

#include "kernels/base.h"

void stop_install(void);
/* The same for a program that waits for input: the signal also interrupts a blocked read with EINTR. */
void stop_install_waiting(void);
/* The same, but the process exits with the signal's code no later than this many seconds after the signal. */
void stop_install_bounded(unsigned seconds);
/* 0, SIGINT or SIGTERM. */
int stop_requested(void);
/* Records that another process of this run received the signal (0: none).  Only the exit code depends on it. */
void stop_note(int sig);
/* EXIT_CODE_SIGINT or EXIT_CODE_SIGTERM after stop_requested() or stop_note() of a signal, otherwise EXIT_CODE_OK. */
enum exit_code stop_exit_code(void);

#endif
