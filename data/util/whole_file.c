#include "data/util/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
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
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* returns at once for a pipe */
    FILE *f = NULL;

    if (check(fd, path, max_bytes, err) == 0 && !(f = fdopen(fd, "rb")))
        error_set(err, EXIT_CODE_DATA, "%s: %s", path, strerror(errno));
    if (!f && fd >= 0)
        close(fd);
    return f;
}

/* Reads the size that was checked, even if the file has grown since. */
static char *read_all(FILE *f, const char *path, int64_t size, size_t *n, struct error *err)
{
    char *text = xmalloc((size_t)size + 1);

    *n = fread(text, 1, (size_t)size, f);
    text[*n] = '\0';
    if (!ferror(f))
        return text;
    error_set(err, EXIT_CODE_DATA, "%s: cannot read: %s", path, strerror(errno));
    free(text);
    return NULL;
}

char *whole_file_read(const char *path, int64_t max_bytes, size_t *n, struct error *err)
{
    FILE *f = whole_file_open(path, max_bytes, err);
    struct stat st;

    if (!f)
        return NULL;
    CHECK(fstat(fileno(f), &st) == 0, "%s is open", path);
    char *text = read_all(f, path, st.st_size < max_bytes ? st.st_size : max_bytes, n, err);
    fclose(f);
    return text;
}
