/* Checks every clarifying question about the published predictions for SQL keywords. Only keywords that are English
 * words, and names and values of the database, may occur. */
#include "tests/support/support.h"

#include "data/base/json.h"
#include "data/db/schema_catalog.h"

#include <ctype.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Keywords that are needed in English sentences. */
static const char *const english[] = { "all",    "and",    "as",  "by",      "do",      "each",   "first", "for",
                                       "from",   "in",     "is",  "like",    "no",      "not",    "of",    "on",
                                       "or",     "order",  "row", "rows",    "then",    "to",     "with",  "where",
                                       "groups", "values", "if",  "nothing", "without", "before", "else" };

static bool is_english(const char *word)
{
    for (int i = 0; i < ARRAY_LEN(english); i++)
        if (strcmp(word, english[i]) == 0)
            return true;
    return false;
}

/* Blanks out whole words equal to `name`, ignoring case. */
static void blank_out(char *text, const char *name)
{
    size_t n = strlen(name);

    for (char *p = text; n && *p; p++) {
        bool starts = p == text || !isalnum((unsigned char)p[-1]),
             ends = !isalnum((unsigned char)p[n > strlen(p) ? strlen(p) : n]);
        if (starts && ends && strncasecmp(p, name, n) == 0)
            memset(p, '#', n);
    }
}

/* Numbers of options, and of options with quoted SQL. */
static int told, with_sql;

/* Blanks out the quoted SQL of an option that could not be phrased. */
static bool blank_sql(char *text)
{
    bool any = false;

    for (char *p = text; (p = strchr(p, '"')); p++) {
        char *end = p + 1;
        if (p != text && !strchr(" (", p[-1]))
            continue;
        while (*end && !(*end == '"' && (!end[1] || strchr(" ,;)", end[1]))))
            end++;
        memset(p, '#', (size_t)(end - p) + (*end != 0));
        any = true;
    }
    return any;
}

/* Blanks out 'a value', which may contain quotes. */
static void blank_values(char *text)
{
    for (char *p = text; (p = strchr(p, '\'')); p++) {
        char *end = p + 1;
        if (p != text && !strchr(" (", p[-1]))
            continue;
        while (*end && !(*end == '\'' && strchr(" ,;).\"", end[1])))
            end++;
        memset(p, '#', (size_t)(end - p) + (*end != 0));
    }
}

/* Longer names come first, because shorter ones may be parts of them. */
static void blank_names(char *text, const struct schema *s)
{
    for (size_t n = strlen(text); n; n--) {
        for (int i = 0; i < s->n_columns; i++)
            if (strlen(s->columns[i].text) == n)
                blank_out(text, s->columns[i].text);
        for (int i = 0; i < s->n_tables; i++)
            if (strlen(s->tables[i].text) == n)
                blank_out(text, s->tables[i].text);
    }
}

/* Without names and values, a text has no keywords and no word in capitals. */
static void assert_plain(const char *said, const struct schema *s, const char *where)
{
    char *text = xstrdup(said), word[64];

    blank_values(text);
    with_sql += blank_sql(text);
    told++;
    blank_names(text, s);
    for (const char *p = text; *p;) {
        int n = (int)strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_");
        bool capitals = n > 1 && strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == (size_t)n;
        for (int i = 0; i <= n && i < (int)sizeof word; i++)
            word[i] = i < n ? (char)tolower((unsigned char)p[i]) : 0;
        if (n && n < (int)sizeof word && sqlite3_keyword_check(word, n) && (capitals || !is_english(word)))
            fail_msg("%s: \"%s\" has \"%.*s\"", where, said, n, p);
        p += n ? n : 1;
    }
    free(text);
}

static int assert_question(const json_t *question, const struct schema *s, const char *where)
{
    const json_t *options = json_object_get(question, "options"), *option;
    const char *asked = json_string_value(json_object_get(question, "text"));
    int shown = 0;
    size_t i;

    if (asked) {
        assert_plain(asked, s, where);
        assert_true(asked[strlen(asked) - 1] == '?');
    }
    json_array_foreach(options, i, option)
    {
        const char *text = json_string_value(json_object_get(option, "text"));
        assert_plain(text, s, where);
        shown += strcmp(text, "something else") != 0;
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(text, json_string_value(json_object_get(json_array_get(options, k), "text")));
    }
    assert_true(shown <= 5);
    return asked != NULL;
}

/* Checks all possible questions and the asked ones; returns their number. */
static int assert_record(const json_t *out, const struct schema *s, const char *where)
{
    const json_t *variables = json_object_get(out, "variables");
    size_t i;
    json_t *v;

    json_array_foreach(variables, i, v) assert_question(v, s, where);
    assert_question(json_object_get(out, "fallback_question"), s, where);
    return assert_question(json_object_get(out, "ask"), s, where);
}

/* Asks about the candidates of a published file with these options; expects at least `wanted` questions. */
static void assert_file(const char *dir, const char *from, const char *path, const char *options, const char *tables,
                        const char *db, int wanted)
{
    char command[3000], *said = NULL, *in = xstrdup(test_file(dir, "in.jsonl", NULL));
    const char *out = test_file(dir, "out.jsonl", NULL);
    struct json_reader *candidates = NULL, *questions = NULL;
    struct schema_catalog catalog;
    struct error err = { 0 };
    json_t *record, *answer;
    int asked = 0;

    snprintf(command, sizeof command,
             "ambit-data candidates --from %s '%s' -o '%s'; ambit-infer clarify --candidates '%s' %s -o '%s'", from,
             path, in, in, options, out);
    test_run(command, &said);
    if (schema_catalog_open(&catalog, tables, db, &err) || !(candidates = json_reader_open(in, &err)) ||
        !(questions = json_reader_open(out, &err)))
        fail_msg("%s\n%s", err.text, said);
    while (json_reader_next(candidates, &record, &err) == 1 && json_reader_next(questions, &answer, &err) == 1) {
        const char *where = json_reader_where(questions);
        const struct schema *s =
            json_object_get(answer, "error") ? NULL : schema_catalog_of(&catalog, record, where, &err);
        asked += s ? assert_record(answer, s, where) : 0;
        json_decref(record);
        json_decref(answer);
    }
    if (asked < wanted)
        fail_msg("%s: %d questions, expected %d\n%s", path, asked, wanted, said);
    if (with_sql * 20 > told)
        fail_msg("%s: %d of %d texts have SQL in quotes", path, with_sql, told);
    json_reader_close(candidates);
    json_reader_close(questions);
    schema_catalog_close(&catalog);
    free(said);
    free(in);
}

static int set_up(void **state)
{
    *state = test_dir_new();
    return 0;
}

static int tear_down(void **state)
{
    test_dir_remove(*state);
    return 0;
}

static void ambiqt(void **state)
{
    static const char *const kinds[] = { "join-ambiguity", "precomputed-aggregates" };
    static const char *const systems[] = { "chatgpt", "logical-beam", "t5-3b-bw10" };
    const char *shared = test_shared("data");
    char *base = shared ? xstrdup(shared) : NULL, path[5000], tables[5000], options[5100];

    if (!base)
        skip();
    snprintf(tables, sizeof tables, "%s/spider/tables.json", base);
    snprintf(options, sizeof options, "--schema '%s'", tables);
    for (int k = 0; k < ARRAY_LEN(kinds); k++)
        for (int s = 0; s < ARRAY_LEN(systems); s++) {
            snprintf(path, sizeof path, "%s/ambiqt/outputs/%s/%s.json", base, kinds[k], systems[s]);
            assert_file(*state, "ambiqt-output", path, options, tables, NULL, 20);
        }
    free(base);
}

/* Uses values of the databases. */
static void ambrosia(void **state)
{
    const char *shared = test_shared("data");
    char *base = shared ? xstrdup(shared) : NULL, path[5000], db[5000], options[5100];

    if (!base)
        skip();
    snprintf(db, sizeof db, "%s/ambrosia/db", base);
    snprintf(options, sizeof options, "--db '%s'", db);
    snprintf(path, sizeof path, "%s/ambrosia/questions_validation.jsonl", base);
    assert_file(*state, "ambrosia", path, options, NULL, db, 50);
    snprintf(path, sizeof path, "%s/dfpl/gemma2_ambrosia_resplit_validation.json", base);
    assert_file(*state, "dfpl", path, options, NULL, db, 50);
    free(base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ambiqt, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ambrosia, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
