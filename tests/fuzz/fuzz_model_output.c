/* Any bytes as a model's answer: its readings and statements are parts of it, each once, and ours are never empty. */
#include "tests/support/fuzz.h"

#include "data/prompt/model_output.h"

#include <stdlib.h>
#include <string.h>

typedef void parse(struct text_items *out, const char *answer, bool published);

static void check(parse *function, const char *answer, bool published, bool once)
{
    struct text_items found = { 0 };
    size_t bytes = 0;

    function(&found, answer, published);
    for (int i = 0; i < found.n; i++) {
        bytes += strlen(found.items[i]);
        CHECK(published || found.items[i][0], "item %d is empty in %s", i, answer);
        for (int k = 0; k < i && once; k++)
            CHECK(strcmp(found.items[i], found.items[k]) != 0, "%s twice in %s", found.items[i], answer);
    }
    CHECK(bytes <= strlen(answer), "%zu bytes of %s", bytes, answer);
    text_items_release(&found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);

    for (int published = 0; published < 2; published++) {
        check(output_readings, text, published, true);
        check(output_infilled, text, published, !published);
        check(output_sql, text, published, true);
    }
    free(text);
    return 0;
}
