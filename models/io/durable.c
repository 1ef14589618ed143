#include "models/io/durable.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int durable_write(int fd, const void *data, size_t bytes, int64_t at, const char *path, struct error *err)
{
    const char *p = data;

    while (bytes) {
        ssize_t n = pwrite(fd, p, bytes, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return error_set(err, EXIT_CODE_FAILURE, "%s: %s", path, strerror(n ? errno : EIO));
        p += n;
        at += n;
        bytes -= (size_t)n;
    }
    return 0;
}

int durable_rename(int fd, const char *tmp, const char *path, struct error *err)
{
    if (fsync(fd) != 0)
        return error_set(err, EXIT_CODE_FAILURE, "%s: %s", tmp, strerror(errno));
    if (rename(tmp, path) != 0)
        return error_set(err, EXIT_CODE_FAILURE, "%s: %s", path, strerror(errno));
    return durable_sync_parent(path, err);
}

int durable_sync_parent(const char *path, struct error *err)
{
    char *copy = xstrdup(path);
    int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;

    /* some file systems cannot sync a folder and return EINVAL */
    if (fd < 0 || (fsync(fd) != 0 && errno != EINVAL))
        rc = error_set(err, EXIT_CODE_FAILURE, "%s: cannot sync its folder: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    free(copy);
    return rc;
}
