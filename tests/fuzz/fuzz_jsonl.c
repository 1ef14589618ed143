/* A records file of any bytes: every record is an object or an error that names its place, and the end is reached. */
#include "tests/support/fuzz.h"

#include "data/base/json.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void read_records(const char *path, size_t size)
{
    struct error err = { .code = EXIT_CODE_OK };
    struct json_reader *r = json_reader_open(path, &err);
    json_t *o;
    int rc;
    if (!r) {
        CHECK(err.code == EXIT_CODE_DATA && strncmp(err.text, path, strlen(path)) == 0, "%s", err.text);
        return;
    }
    for (size_t n = 0; !json_reader_failed(r) && (rc = json_reader_next(r, &o, &err)) != 0; n++) {
        CHECK(n <= size, "more records than bytes");
        CHECK((rc == 1) == (o != NULL), "rc %d", rc);
        CHECK(rc == 1 ? json_is_object(o) : err.code == EXIT_CODE_DATA, "rc %d: %s", rc, err.text);
        CHECK(strncmp(json_reader_where(r), path, strlen(path)) == 0, "%s", json_reader_where(r));
        json_decref(o);
    }
    json_reader_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size, "no file in memory");
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    read_records(path, size);
    close(fd);
    return 0;
}
