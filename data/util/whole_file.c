#include "data/util/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int check(int fd, const char *path, int64_t max_bytes, struct error *err)
{
    struct stat st;

    if (fd < 0 || fstat(fd, &st))
        return error_set(err, EXIT_CODE_DATA, "%s: %s", path, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return error_set(err, EXIT_CODE_DATA, "%s: %s, which is not a file", path, strerror(EISDIR));
    if (!S_ISREG(st.st_mode))
        return error_set(err, EXIT_CODE_DATA, "%s: is not a file: expected a regular one, got a pipe or device", path);
    if (st.st_size > max_bytes)
        return error_set(err, EXIT_CODE_DATA, "%s: expected at most %lld bytes, got %lld", path, (long long)max_bytes,
                         (long long)st.st_size);
    return 0;
}

FILE *whole_file_open(const char *path, int64_t max_bytes, struct error *err)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* of a pipe it returns at once */
    FILE *f = NULL;

    if (check(fd, path, max_bytes, err) == 0 && !(f = fdopen(fd, "rb")))
        error_set(err, EXIT_CODE_DATA, "%s: %s", path, strerror(errno));
    if (!f && fd >= 0)
        close(fd);
    return f;
}
