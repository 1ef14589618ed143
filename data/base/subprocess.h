/*
 * subprocess.h - runs a shell command as a filter: a text in, a text out, with bounds on time and output.
 *
 * The command reads the text from a temporary file without a name, which is its standard input, and so at any speed.
 * Its messages go to our standard error. It runs in a process group of its own, which is killed at the end of every
 * call. A signal from the terminal therefore reaches the caller alone.
 */
#ifndef DATA_BASE_SUBPROCESS_H
#define DATA_BASE_SUBPROCESS_H

#include "kernels/base.h"

struct subprocess {
    const char *command; /* for /bin/sh -c */
    double seconds;      /* maximum time of the command */
    size_t max_output;   /* maximum number of bytes of its output */
    /* set by subprocess_filter */
    char *output; /* [size] and a zero byte; after a failure, the bytes until then */
    size_t size;
};

/* Runs the command with the text [n] as its standard input until it ends. Returns 0 if it exits with 0.
 * Returns -1 with EXIT_CODE_FAILURE if it cannot be started, exits otherwise, takes too long or writes too much. The
 * message begins with the reason and does not name the command. Release p either way. */
int subprocess_filter(struct subprocess *p, const char *text, size_t n, struct error *err);
void subprocess_release(struct subprocess *p);

#endif
