/* A record with marked words, ours or the published form's: refused with its place, or every span lies in its question
 * and means columns that the record has. */
#include "tests/support/fuzz.h"

#include "data/published/noisysp.h"

#include <stdlib.h>
#include <string.h>

static void check_spans(const struct span_record *r)
{
    for (int i = 0; i < r->n_spans; i++) {
        const struct marked_span *s = &r->spans[i];
        CHECK(s->start >= (i ? r->spans[i - 1].end : 0) && s->start < s->end && s->end <= r->n_letters, "span %d", i);
        for (int j = 0; j < s->n_alternatives; j++)
            CHECK(s->alternatives[j].column >= 0 && s->alternatives[j].column < r->n_columns, "column of span %d", i);
    }
}

/* Takes the record. */
static void read_record(json_t *json)
{
    struct span_record r;
    struct error err = { .code = EXIT_CODE_OK };

    if (span_record_init(&r, json, "record", &err) == 0) {
        check_spans(&r);
        json_decref(noisysp_write(&r));
    } else {
        CHECK(err.code == EXIT_CODE_DATA && strncmp(err.text, "record", 6) == 0, "%s", err.text);
    }
    span_record_release(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = { .code = EXIT_CODE_OK };
    json_t *json = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);
    json_t *published = json ? noisysp_read(json, 1, "record", &err) : NULL;

    if (published)
        read_record(published);
    else
        CHECK(!json || err.code == EXIT_CODE_DATA, "%s", err.text);
    if (json)
        read_record(json);
    return 0;
}
