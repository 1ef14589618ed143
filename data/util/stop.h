/*
 * stop.h - SIGINT and SIGTERM ask a long run to stop: it finishes its step, saves, and exits with the signal's code.
 *
 * The first signal only sets a flag that the loop looks at; a second one ends the process at once.
 */
#ifndef DATA_UTIL_STOP_H
#define DATA_UTIL_STOP_H

#include "kernels/base.h"

void stop_install(void);
/* The same for a program that waits for input: the signal ends the waiting read too, with EINTR. */
void stop_install_waiting(void);
/* The same, and the process ends with the signal's code at the latest so many seconds after the signal. */
void stop_install_bounded(unsigned seconds);
/* 0, SIGINT or SIGTERM. */
int stop_requested(void);
/* Another process of this run was asked to stop by that signal, 0: none was; only the exit code tells. */
void stop_note(int sig);
/* EXIT_CODE_SIGINT or EXIT_CODE_SIGTERM after a request or a note of one, EXIT_CODE_OK before. */
enum exit_code stop_exit_code(void);

#endif
