/* Any bytes as a tables.json: an error with words, or schemas that are written and read again as the same. */
#include "tests/support/fuzz.h"

#include <stdlib.h>

static json_t *all_to_json(const struct schema_set *s)
{
    json_t *list = json_array();
    for (int i = 0; i < s->n; i++)
        json_array_append_new(list, schema_to_json(&s->schemas[i]));
    return list;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct schema_set first, second;
    struct error err = { 0 };
    json_t *tables = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);

    if (tables && schema_set_from_json(&first, tables, "input", &err) == 0) {
        json_t *written = all_to_json(&first);
        CHECK(schema_set_from_json(&second, written, "written", &err) == 0, "%s", err.text);
        json_t *again = all_to_json(&second);
        CHECK(json_equal(written, again), "another schema the second time");
        json_decref(written);
        json_decref(again);
        schema_set_close(&first);
        schema_set_close(&second);
    } else {
        CHECK(!tables || (err.code == EXIT_CODE_DATA && err.text[0]), "refused without a word");
    }
    json_decref(tables);
    return 0;
}
