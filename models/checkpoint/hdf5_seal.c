#include "models/checkpoint/hdf5_seal.h"

#include "models/checkpoint/checksum.h"
#include "models/checkpoint/durable.h"
#include "models/checkpoint/hdf5.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER = 1 << 20 };

static void seal_text(char out[SEAL_BYTES], int64_t bytes, uint64_t sum)
{
    memset(out, 0, SEAL_BYTES);
    snprintf(out, SEAL_BYTES, "ambit checkpoint %d\nbytes %" PRId64 "\nxxh64 %016" PRIx64 "\n", HDF5_VERSION, bytes,
             sum);
}

/* Up to n bytes at an offset; fewer only at the end of the file, -1 on an error. */
static ssize_t read_at(int fd, void *out, size_t n, int64_t at)
{
    size_t done = 0;

    while (done < n) {
        ssize_t got = pread(fd, (char *)out + done, n - done, (off_t)(at + (int64_t)done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

/* The sum of everything after the seal, and the file's length. */
static int sum_body(int fd, int64_t *bytes, uint64_t *sum)
{
    unsigned char *buffer = xmalloc(BUFFER);
    struct checksum c;
    ssize_t n;

    checksum_init(&c);
    *bytes = SEAL_BYTES;
    while ((n = read_at(fd, buffer, BUFFER, *bytes)) > 0) {
        checksum_update(&c, buffer, (size_t)n);
        *bytes += n;
    }
    *sum = checksum_final(&c);
    free(buffer);
    return n < 0 ? -1 : 0;
}

int seal_write(int fd, const char *path, struct error *err)
{
    char text[SEAL_BYTES];
    int64_t bytes;
    uint64_t sum;

    if (sum_body(fd, &bytes, &sum))
        return error_set(err, EXIT_CODE_FAILURE, "%s: %s", path, strerror(errno));
    seal_text(text, bytes, sum);
    return durable_write(fd, text, sizeof text, 0, path, err);
}

/* What the first line says; -1 when it is no seal of ours. */
static int seal_version(const char *text)
{
    static const char magic[] = "ambit checkpoint ";
    char *end;

    if (memcmp(text, magic, sizeof magic - 1) != 0)
        return -1;
    long version = strtol(text + sizeof magic - 1, &end, 10);
    return *end == '\n' && version > 0 && version < 1000000 ? (int)version : -1;
}

/* Whether the file is as long as its seal says; one that is not would be read to its end for nothing. */
static bool seal_length_holds(const char *text, int64_t length)
{
    char wanted[64];

    snprintf(wanted, sizeof wanted, "\nbytes %" PRId64 "\n", length);
    const char *line = strchr(text, '\n');
    return line && strncmp(line, wanted, strlen(wanted)) == 0;
}

static int check_open_file(int fd, const char *path, int64_t *bytes, struct error *err)
{
    char text[SEAL_BYTES + 1] = { 0 }, wanted[SEAL_BYTES];
    struct stat st;
    uint64_t sum;

    if (fstat(fd, &st) || !S_ISREG(st.st_mode))
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: is not a file", path);
    ssize_t n = read_at(fd, text, SEAL_BYTES, 0);
    int version = n == SEAL_BYTES ? seal_version(text) : -1;

    if (n < 0)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: %s", path, strerror(errno));
    if (version < 0)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: not an ambit checkpoint, or cut off or damaged at its start",
                         path);
    if (version != HDF5_VERSION)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: format version %d, this program reads %d", path, version,
                         HDF5_VERSION);
    if (!seal_length_holds(text, st.st_size))
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: damaged or cut off: %" PRId64 " bytes, its seal says %.60s",
                         path, (int64_t)st.st_size, strchr(text, '\n') + 1);
    if (sum_body(fd, bytes, &sum))
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: %s", path, strerror(errno));
    seal_text(wanted, *bytes, sum);
    if (memcmp(text, wanted, SEAL_BYTES) != 0)
        return error_set(err, EXIT_CODE_CHECKPOINT,
                         "%s: damaged or cut off: %" PRId64 " bytes with sum %016" PRIx64 ", its seal says %.60s", path,
                         *bytes, sum, strchr(text, '\n') + 1);
    return 0;
}

int seal_open(const char *path, int64_t *bytes, struct error *err)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* of a pipe it returns at once */

    if (fd < 0)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: %s", path, strerror(errno));
    if (check_open_file(fd, path, bytes, err) == 0)
        return fd;
    close(fd);
    return -1;
}
