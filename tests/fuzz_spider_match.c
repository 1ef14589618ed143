/* Two lines as two queries: read or not, both ways round they match or do not, and each matches itself. */
#include "data/schema_build.h"
#include "data/spider_match.h"

#include <stdlib.h>
#include <string.h>

static struct schema schema;
static struct spider_schema spider;

static void set_up(void)
{
    struct schema_build b;

    schema_build_init(&b, "db");
    for (int t = 0; t < 3; t++) {
        static const char *const names[] = { "a", "b", "c" };
        int table = schema_build_table(&b, names[t], NULL);
        schema_build_column(&b, table, "x", NULL, COLUMN_NUMBER);
        schema_build_column(&b, table, t == 1 ? "a" : "y", NULL, COLUMN_TEXT);
    }
    schema_build_foreign_key(&b, 2, 0);
    schema_build_foreign_key(&b, 5, 4);
    schema_build_finish(&b, &schema);
    spider_schema_init(&spider, &schema);
}

static void check(const char *a, const char *b)
{
    struct spider_query *x = spider_query_new(&spider, a), *y = spider_query_new(&spider, b);

    CHECK(spider_match(&spider, x, y) == spider_match(&spider, y, x), "one way only: %s\nand %s", a, b);
    CHECK(spider_match(&spider, x, x) || strcasestr(a, "nan"), "does not match itself: %s", a);
    for (int i = 0; i < spider_query_items(x); i++)
        CHECK(spider_same_key(x, i, x, i), "item %d has not its own key: %s", i, a);
    spider_query_free(x);
    spider_query_free(y);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = xmalloc(size + 1);

    if (!schema.tables)
        set_up();
    memcpy(text, data, size);
    text[size] = 0;
    char *second = strchr(text, '\n');
    if (second)
        *second++ = 0;
    check(text, second ? second : "select x from a");
    free(text);
    return 0;
}
