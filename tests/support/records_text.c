#include "tests/support/records_text.h"

#include "data/base/json.h"
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

void write_bytes(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    CHECK(f && fwrite(bytes, 1, n, f) == n && fclose(f) == 0, "cannot write %s", path);
}

const char *records_text(const char *path, enum record_format format, struct error *err)
{
    static char seen[4096];
    struct record_reader *r = record_reader_open(path, format, err);
    json_t *o;
    int rc;
    *seen = '\0';
    while (r && (rc = record_reader_next(r, &o, err)) != 0) {
        size_t at = strlen(seen);
        char *text = rc > 0 ? json_dumps(o, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
        snprintf(seen + at, sizeof seen - at, "%s;", text ? text : "-");
        assert_true(strncmp(record_reader_where(r), path, strlen(path)) == 0);
        assert_int_equal(rc > 0, o != NULL);
        free(text);
        json_decref(o);
        if (record_reader_failed(r))
            break;
    }
    record_reader_close(r);
    return r ? seen : NULL;
}
