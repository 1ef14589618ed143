/*
 * standard.h - descriptors 0 to 2 as a program finds them.
 *
 * One that is closed would be given to the next file or socket that is opened, which would then be read as standard
 * input or written as standard output.
 */
#ifndef DATA_CONSOLE_STANDARD_H
#define DATA_CONSOLE_STANDARD_H

/*
 * First in main.  A closed standard input or output is opened so that reading and writing fail with EBADF; a closed
 * standard error takes messages and drops them.  SIGXFSZ is ignored: writing beyond a limit of the shell fails with
 * EFBIG and its message.
 */
void standard_open(void);

#endif
