/* Any bytes as WikiSQL, or as Squall if they begin with "s": tables, a line of "=", questions. The corpus is refused by
 * the name of its file, or its questions use columns that their tables have. */
#include "tests/support/fuzz.h"

#include "data/corpora/table_corpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const files[2][2] = { { "train.tables.jsonl", "train.jsonl" },
                                         { "tables/json/200_0.json", "data/squall.json" } };
static const char *const folders[] = { "data", "tables", "tables/json" };
static char dir[] = P_tmpdir "/fuzz_table_corpus_XXXXXX";

static const char *path_of(const char *name)
{
    static char path[128];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void write_file(const char *name, const void *data, size_t size)
{
    FILE *f = fopen(path_of(name), "wb");
    CHECK(f && fwrite(data, 1, size, f) == size && fclose(f) == 0, "cannot write %s", name);
}

static void remove_folder(void)
{
    for (int i = 0; i < 4; i++)
        unlink(path_of(files[i / 2][i % 2]));
    for (int i = ARRAY_LEN(folders) - 1; i >= 0; i--)
        rmdir(path_of(folders[i]));
    rmdir(dir);
}

static void make_folder(void)
{
    CHECK(mkdtemp(dir) && atexit(remove_folder) == 0, "no folder");
    for (int i = 0; i < ARRAY_LEN(folders); i++)
        CHECK(mkdir(path_of(folders[i]), 0700) == 0, "no folder %s", folders[i]);
}

static void check_table(const struct corpus_table *t)
{
    CHECK(t->n_columns >= 1 && t->n_columns <= CORPUS_COLUMNS, "%d columns", t->n_columns);
    for (int i = 0; i < t->n_columns; i++) {
        const struct corpus_column *column = &t->columns[i];
        CHECK(column->name && !strpbrk(column->name, "\n\r\t"), "a name");
        CHECK(column->n_values <= CORPUS_VALUES, "%d values", column->n_values);
        for (int k = 0; k < column->n_values; k++)
            CHECK(column->values[k] && *column->values[k], "an empty value");
    }
}

static void check_question(const struct table_corpus *c, const struct corpus_question *q)
{
    CHECK(q->text && q->table >= 0 && q->table < c->n_tables, "table %d", q->table);
    CHECK(q->keywords < 1u << SQL_KEYWORDS, "keywords %x", q->keywords);
    for (int i = 0; i < q->n_uses; i++)
        CHECK(q->uses[i].column >= 0 && q->uses[i].column < c->tables[q->table].n_columns, "column %d",
              q->uses[i].column);
}

static void read_corpus(int (*read)(struct table_corpus *, const char *, struct error *))
{
    struct error err = { .code = EXIT_CODE_OK };
    struct table_corpus c;
    int rc = read(&c, dir, &err);

    CHECK(rc == 0 || (err.code == EXIT_CODE_DATA && strncmp(err.text, dir, strlen(dir)) == 0), "%s", err.text);
    for (int i = 0; i < c.n_tables && rc == 0; i++)
        check_table(&c.tables[i]);
    for (int i = 0; i < c.n_questions && rc == 0; i++)
        check_question(&c, &c.questions[i]);
    table_corpus_release(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool squall = size > 0 && data[0] == 's';

    if (size == 0)
        return 0;
    setenv("AMBIT_LOG", "error", 1);
    if (strstr(dir, "XXXXXX"))
        make_folder();
    const uint8_t *cut = memmem(data, size, "\n=\n", 3), *end = data + size, *tables = data + 1;
    write_file(files[squall][0], tables, (size_t)((cut ? cut + 1 : end) - tables));
    write_file(files[squall][1], cut ? cut + 3 : end, cut ? (size_t)(end - cut - 3) : 0);
    read_corpus(squall ? squall_read : wikisql_read);
    return 0;
}
