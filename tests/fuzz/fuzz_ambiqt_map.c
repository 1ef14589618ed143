/* A gold query, a newline, a prediction: mapped for every kind, as published and as ours. */
#include "tests/support/fuzz.h"

#include "data/published/ambiqt_map.h"

#include <stdlib.h>

static struct schema schema;

static struct ambiqt_record records[AMBIQT_TYPES] = {
    { .type = SIA_COLUMN, .db_id = "db", .table = "a", .column = "x", .names = { "s", "lift-off" } },
    { .type = SIA_TABLE, .db_id = "db", .table = "a", .names = { "s", "T" } },
    { .type = SIA_JOIN, .db_id = "db", .table = "a", .column = "x", .key = "id", .new_table = "a_x" },
    { .type = SIA_AGGREGATE,
      .db_id = "db",
      .table = "a",
      .column = "x",
      .new_table = "a_x",
      .new_columns = { "y", "number", "sum_x", "avg_x" },
      .n_new_columns = 4 },
};

static void set_up(void)
{
    static const char *const tables[][3] = { { "a", "id", "x" }, { "b", "id", "x" } };
    struct schema_build b;

    fuzz_tables(&b, tables, ARRAY_LEN(tables));
    schema_build_finish(&b, &schema);
}

static void check(struct ambiqt_record *r, const char *gold, const char *prediction)
{
    r->original = gold;
    struct ambiqt_interpretations published = ambiqt_map_published(r, prediction),
                                  ours = ambiqt_map(r, &schema, prediction);

    CHECK(published.sql[0] && published.sql[1], "type %d has no reading: %s", r->type, prediction);
    CHECK(r->type == SIA_COLUMN || r->type == SIA_TABLE || !ours.sql[0] || !ours.sql[1], "type %d is both readings: %s",
          r->type, prediction);
    ambiqt_interpretations_release(&published);
    ambiqt_interpretations_release(&ours);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *prediction = fuzz_next_line(text);

    if (!schema.tables)
        set_up();
    for (int k = 0; k < AMBIQT_TYPES; k++)
        check(&records[k], text, prediction ? prediction : text);
    free(text);
    return 0;
}
