#include "tests/support/fuzz.h"

#include <string.h>

char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = xmalloc(size + 1);

    memcpy(text, data, size);
    text[size] = 0;
    return text;
}

char *fuzz_next_line(char *text)
{
    char *end = strchr(text, '\n');

    if (end)
        *end++ = 0;
    return end;
}

void fuzz_tables(struct schema_build *b, const char *const tables[][3], int n)
{
    schema_build_init(b, "db");
    for (int t = 0; t < n; t++) {
        int table = schema_build_table(b, tables[t][0], NULL);
        schema_build_column(b, table, tables[t][1], NULL, COLUMN_NUMBER);
        schema_build_column(b, table, tables[t][2], NULL, COLUMN_TEXT);
    }
}
