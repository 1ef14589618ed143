/* Measures the value index of a database: seconds and MiB to build it, and questions per second with and without typos.
 * The database is synthetic: CELLS texts (default: a million) of one to three words in ten columns. */
#include "data/base/log.h"
#include "data/db/schema_sqlite.h"
#include "data/span/tag_source.h"
#include "kernels/rng.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { COLUMNS = 10, QUESTIONS = 500, WORD = 24, TEXT = 3 * WORD };

/* Makes a word of two to four syllables.  More than a million words are possible; shorter ones are more frequent. */
static void make_word(char word[WORD], struct rng *rng)
{
    static const char *const starts[] = { "b", "br", "c", "ch", "d", "f", "g",  "gr", "h",  "j", "k", "l",
                                          "m", "n",  "p", "qu", "r", "s", "st", "t",  "tr", "v", "w", "z" };
    static const char *const ends[] = { "a", "e", "i", "o", "u", "an", "er", "in", "on", "ar", "el", "is" };
    int n = 2 + (int)rng_below(rng, 2) + (int)rng_below(rng, 2), at = 0;

    for (int i = 0; i < n; i++)
        at += snprintf(word + at, (size_t)(WORD - at), "%s%s", starts[rng_below(rng, ARRAY_LEN(starts))],
                       ends[rng_below(rng, ARRAY_LEN(ends))]);
}

static void make_text(char text[TEXT], struct rng *rng, int column)
{
    char word[WORD];
    int at = 0;

    for (int i = 0; i <= column % 3; i++) {
        make_word(word, rng);
        at += snprintf(text + at, (size_t)(TEXT - at), "%s%s", i ? " " : "", word);
    }
}

static int make_database(const char *path, int64_t cells)
{
    struct rng rng = { .seed = 1 };
    sqlite3_stmt *insert;
    sqlite3 *db;
    char text[TEXT];

    if (sqlite3_open(path, &db) ||
        sqlite3_exec(db, "PRAGMA synchronous=OFF; BEGIN; CREATE TABLE t (a,b,c,d,e,f,g,h,i,j)", NULL, NULL, NULL) ||
        sqlite3_prepare_v2(db, "INSERT INTO t VALUES (?,?,?,?,?,?,?,?,?,?)", -1, &insert, NULL))
        return -1;
    for (int64_t i = 0; i < cells / COLUMNS; i++) {
        for (int c = 0; c < COLUMNS; c++) {
            make_text(text, &rng, c);
            sqlite3_bind_text(insert, c + 1, text, -1, SQLITE_TRANSIENT);
        }
        sqlite3_step(insert);
        sqlite3_reset(insert);
    }
    sqlite3_finalize(insert);
    int rc = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    sqlite3_close(db);
    return rc;
}

/* Asks questions about values of the index, and counts those whose value is found. */
static void ask_all(struct tag_source *s, bool slips)
{
    struct rng rng = { .seed = 2 };
    double start = now_seconds();
    clock_t processor = clock();
    int found = 0;

    for (int i = 0; i < QUESTIONS; i++) {
        const struct value_entry *e = &s->index.entries[rng_below(&rng, (uint32_t)s->index.n)];
        const char *value = s->index.texts + e->text;
        struct tag_matches m;
        char text[TEXT], question[3 * TEXT];
        snprintf(text, sizeof text, "%s", value);
        if (slips)
            text[strlen(text) / 2] = 'x';
        snprintf(question, sizeof question, "How many orders did the customers from %s place in the last year?", text);
        tag_source_ask(s, question, &m);
        for (int k = 0; k < m.values.n; k++)
            if (strcmp(m.values.items[k].text, value) == 0) {
                found++;
                break;
            }
        tag_matches_release(&m);
    }
    printf("%s: %.0f questions/s (of processor time %.0f), %d of %d found\n", slips ? "with a slip" : "exact",
           QUESTIONS / (now_seconds() - start), QUESTIONS * (double)CLOCKS_PER_SEC / (double)(clock() - processor),
           found, QUESTIONS);
}

static int run(const char *path, int64_t cells, struct error *err)
{
    struct schema_set set = { 0 };
    struct tag_source source = { 0 };

    if (make_database(path, cells) || schema_set_open_sqlite(&set, path, true, err))
        return -1;
    double start = now_seconds();
    int rc = tag_source_open(&source, set.schemas, path, VALUE_INDEX_BYTES, err);
    printf("%lld cells, %d values: %.1f s, %.0f MiB\n", (long long)cells, source.index.n, now_seconds() - start,
           (double)value_index_bytes(&source.index) / (1 << 20));
    if (rc == 0 && source.index.n) {
        ask_all(&source, false);
        ask_all(&source, true);
    }
    tag_source_close(&source);
    schema_set_close(&set);
    return rc;
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/ambit-bench-XXXXXX", path[64];
    int64_t cells = argc > 1 ? strtoll(argv[1], NULL, 10) : 1000000;
    struct error err = { 0 };

    if (cells < COLUMNS || !mkdtemp(folder)) {
        fprintf(stderr, "usage: bench_values [CELLS]\n");
        return 2;
    }
    snprintf(path, sizeof path, "%s/cells.sqlite", folder);
    int rc = run(path, cells, &err);
    if (rc)
        fprintf(stderr, "%s\n", *err.text ? err.text : "cannot create the database");
    unlink(path);
    rmdir(folder);
    return rc ? 1 : 0;
}
