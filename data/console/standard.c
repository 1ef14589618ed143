#include "data/console/standard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0 || errno != EBADF;
}

/* The lowest free descriptor is fd, since those below are open.  A path can be held that can be neither read nor
 * written, by its descriptor or by /dev/stdout. */
static void fill(int fd)
{
    int got = fd == STDERR_FILENO ? open("/dev/null", O_WRONLY) : -1;

    if (got < 0)
        got = open("/", O_PATH | O_DIRECTORY);
    if (got != fd)
        _exit(EXIT_FAILURE);
}

void standard_open(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (!is_open(fd))
            fill(fd);
    signal(SIGXFSZ, SIG_IGN);
}
