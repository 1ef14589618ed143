/* Any bytes as records of a form, the first byte's choice: each is an object with an id, or an error that names its
 * place; the end is reached, and whether the next is at hand can be asked at any time. */
#include "tests/support/fuzz.h"

#include "data/util/log.h"
#include "data/util/record_reader.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void read_records(const char *path, enum record_form form, size_t size)
{
    struct error err = { .code = EXIT_CODE_OK };
    struct record_reader *r = record_reader_open(path, form, &err);
    json_t *o;
    int rc;
    if (!r) {
        CHECK(err.code == EXIT_CODE_DATA && strncmp(err.text, path, strlen(path)) == 0, "%s", err.text);
        return;
    }
    CHECK(record_reader_ready(r), "a file is at hand");
    for (size_t n = 0; (rc = record_reader_next(r, &o, &err)) != 0; n++) {
        const json_t *id = json_object_get(o, "id");
        CHECK(n <= 1000 * size, "more records than bytes"); /* which may be compressed */
        CHECK((rc == 1) == (o != NULL), "rc %d", rc);
        CHECK(rc == 1 ? json_is_string(id) || json_is_integer(id) : err.code == EXIT_CODE_DATA, "rc %d: %s", rc,
              err.text);
        CHECK(rc == 1 || strncmp(err.text, path, strlen(path)) == 0, "%s", err.text);
        CHECK(strncmp(record_reader_where(r), path, strlen(path)) == 0, "%s", record_reader_where(r));
        CHECK(rc == 1 || !record_reader_failed(r) || record_reader_next(r, &o, &err) == 0, "goes on after a failure");
        json_decref(o);
    }
    record_reader_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (size == 0)
        return 0;
    setenv("AMBIT_LOG", "error", 1);
    CHECK(fd >= 0 && write(fd, data + 1, size - 1) == (ssize_t)size - 1, "no file in memory");
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    read_records(path, (enum record_form)(data[0] % (RECORDS_TEXT + 1)), size);
    close(fd);
    return 0;
}
