/* Two lines as two queries: read or not, their components are equal both ways round, and each matches itself. */
#include "tests/support/fuzz.h"

#include "data/published/spider_match.h"

#include <stdlib.h>
#include <string.h>

static struct schema schema;
static struct spider_schema spider;

static void set_up(void)
{
    static const char *const tables[][3] = { { "a", "x", "y" }, { "b", "x", "a" }, { "c", "x", "y" } };
    struct schema_build b;

    fuzz_tables(&b, tables, ARRAY_LEN(tables));
    schema_build_foreign_key(&b, 2, 0);
    schema_build_foreign_key(&b, 5, 4);
    schema_build_finish(&b, &schema);
    spider_schema_init(&spider, &schema);
}

static void check(const char *a, const char *b)
{
    struct spider_query *x = spider_query_new(&spider, a), *y = spider_query_new(&spider, b);

    struct spider_comparison there, back;
    spider_compare(&there, &spider, x, y);
    spider_compare(&back, &spider, y, x);
    for (int c = 0; c < SPIDER_COMPONENTS;
         c++) /* a gold "SELECT * FROM" matches any tables, also after a set operator */
        CHECK(there.same[c] == back.same[c] || c == SPIDER_SET_OPERATORS, "%s: one way only: %s\nand %s",
              spider_component_name((enum spider_component)c), a, b);
    CHECK(spider_hardness(x) < SPIDER_HARDNESSES, "hardness %d: %s", spider_hardness(x), a);
    CHECK(spider_match(&spider, x, x) || strcasestr(a, "nan"), "does not match itself: %s", a);
    for (int i = 0; i < spider_query_items(x); i++)
        CHECK(spider_same_key(x, i, x, i), "item %d has not its own key: %s", i, a);
    spider_query_free(x);
    spider_query_free(y);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *second = fuzz_next_line(text);

    if (!schema.tables)
        set_up();
    check(text, second ? second : "select x from a");
    free(text);
    return 0;
}
