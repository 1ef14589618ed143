/* Any bytes as CREATE TABLE statements: an error with words, or a schema that is written and read again as the same. */
#include "tests/support/fuzz.h"

#include "data/base/log.h"
#include "data/schema/schema_create.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct schema_set first = { 0 }, second;
    struct error err = { 0 };
    char *text = memcpy(malloc(size + 1), data, size); /* exactly these bytes, so that a sanitizer sees a byte more */

    log_set_level(LOG_ERROR);
    if (schema_create_read(&first, text, size, "d", "input", &err) == 0) {
        json_t *written = json_pack("[o]", schema_to_json(first.schemas));
        CHECK(written && schema_set_from_json(&second, written, "written", &err) == 0, "%s", err.text);
        json_t *again = json_pack("[o]", schema_to_json(second.schemas));
        CHECK(json_equal(written, again), "another schema the second time");
        json_decref(written);
        json_decref(again);
        schema_set_close(&second);
    } else {
        CHECK(err.code == EXIT_CODE_DATA && err.text[0], "refused without a word");
    }
    schema_set_close(&first);
    free(text);
    return 0;
}
