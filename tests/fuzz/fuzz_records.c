/* Any bytes as records of a form, the first byte's choice: each is an object with an id, or an error that names its
 * place; the end is reached.  Whether the next record is at hand can be asked at any time, and asking changes neither
 * the records nor the errors. */
#include "tests/support/fuzz.h"

#include "data/base/log.h"
#include "data/base/record_reader.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void check_record(const json_t *o, const struct record_reader *r, const char *path, int rc,
                         const struct error *err)
{
    const json_t *id = json_object_get(o, "id");
    CHECK((rc == 1) == (o != NULL), "rc %d", rc);
    CHECK(rc == 1 ? json_is_string(id) || json_is_integer(id) : err->code == EXIT_CODE_DATA, "rc %d: %s", rc,
          err->text);
    CHECK(rc == 1 || strncmp(err->text, path, strlen(path)) == 0, "%s", err->text);
    CHECK(strncmp(record_reader_where(r), path, strlen(path)) == 0, "%s", record_reader_where(r));
}

static void check_failure(struct record_reader *r, const struct error *err)
{
    struct error again = { .code = EXIT_CODE_OK };
    json_t *o;
    CHECK(record_reader_next(r, &o, &again) == -1 && !o, "goes on after a failure");
    CHECK(strcmp(again.text, err->text) == 0, "%s; then %s", err->text, again.text);
}

/* A hash of all that is read: records, errors, their places. */
static uint64_t read_records(const char *path, enum record_format format, size_t size, bool ask)
{
    struct error err = { .code = EXIT_CODE_OK };
    struct record_reader *r = record_reader_open(path, format, &err);
    uint64_t h = HASH_START;
    json_t *o;
    int rc = 1;
    if (!r) {
        CHECK(err.code == EXIT_CODE_DATA && strncmp(err.text, path, strlen(path)) == 0, "%s", err.text);
        return hash_bytes(h, err.text, strlen(err.text));
    }
    for (size_t n = 0; !record_reader_failed(r); n++) {
        CHECK(!ask || record_reader_ready(r), "a file is at hand");
        if ((rc = record_reader_next(r, &o, &err)) == 0)
            break;
        CHECK(n <= 1000 * size, "more records than bytes"); /* which may be compressed */
        check_record(o, r, path, rc, &err);
        char *text = rc == 1 ? json_dumps(o, JSON_COMPACT) : xstrdup(err.text);
        h = hash_bytes(hash_bytes(h, text, strlen(text) + 1), record_reader_where(r), strlen(record_reader_where(r)));
        free(text);
        json_decref(o);
    }
    if (rc < 0)
        check_failure(r, &err);
    record_reader_close(r);
    return h;
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
    enum record_format format = (enum record_format)(data[0] % (RECORDS_TEXT + 1));
    CHECK(read_records(path, format, size, false) == read_records(path, format, size, true),
          "asking whether a record is at hand changes what is read");
    close(fd);
    return 0;
}
