/* Fuzzes the SQL parser with arbitrary bytes. The result is an error or a tree; its printed text gives the same tree
 * and the same uses of schema elements. */
#include "tests/support/fuzz.h"

#include "data/sql/sql.h"

#include <stdlib.h>
#include <string.h>

static struct schema schema;
static struct arena arena;

static void set_up(void)
{
    static const char *const tables[][3] = { { "a", "x", "y" }, { "b", "x", "order" }, { "c d", "x", "y" } };
    struct schema_build b;

    fuzz_tables(&b, tables, ARRAY_LEN(tables));
    schema_build_finish(&b, &schema);
    CHECK(arena_init(&arena, 64 << 20, NULL) == 0, "no memory");
}

/* Returns NULL if the text is not SQL, or the arena is too small. */
static const char *print_again(const char *text, bool resolved, int *n_uses)
{
    struct error err = { 0 };
    struct sql_uses uses = { 0 };
    struct sql_query *q = sql_parse(&arena, text, &err);

    if (q && resolved && sql_resolve(&arena, q, &schema, &uses, &err))
        q = NULL;
    CHECK(q || (err.code && err.text[0]), "refused without a word: %s", text);
    *n_uses = uses.n;
    return q ? sql_print(&arena, q) : NULL;
}

static void check(const char *text, bool resolved)
{
    int uses, again;

    arena_reset(&arena, 0);
    const char *first = print_again(text, resolved, &uses);
    if (!first || arena.used > arena.size / 2)
        return;
    const char *second = print_again(first, resolved, &again);
    CHECK(second && strcmp(first, second) == 0 && uses == again, "%s\nis then\n%s", first, second ? second : "refused");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);

    if (!arena.base)
        set_up();
    check(text, false);
    check(text, true);
    free(text);
    return 0;
}
