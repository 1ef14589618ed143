/* Questions in words: text and options of each question type, written by hand. */
#include "tests/support/sql_world.h"
#include "tests/support/support.h"

#include "data/clarify/question.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char script[] =
    "CREATE TABLE singer (id INT, name TEXT, age INT, home_country TEXT, total_sales REAL);"
    "CREATE TABLE artist (id INT, name TEXT, age INT, home_country TEXT);"
    "CREATE TABLE song (id INT, singer_id INT, title TEXT, sales REAL);"
    "INSERT INTO singer (name, age, home_country) VALUES ('Joe', 52, 'France'), ('Ann', 40, "
    "NULL), ('Joe', 41, ' '), (X'00', 42, 'A country with a very long name'), ('Tim', 43, 'x'),"
    "('Liz', 44, 'y');"
    "INSERT INTO song (title, sales) VALUES ('Hey', 2.5), ('You', 3.0);";

enum { CANDIDATES = 8 };

struct world {
    struct sql_world sql; /* first */
    struct column_samples samples;
};

static int set_up(void **state)
{
    int rc = sql_world_set_up(state, sizeof(struct world), script);
    struct world *w = *state;
    const char *path = test_file(w->sql.dir, "db.sqlite", NULL);

    assert_int_equal(column_samples_open(&w->samples, w->sql.schemas.schemas, path, NULL), 0);
    return rc;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    column_samples_close(&w->samples);
    return sql_world_tear_down(state);
}

static const struct row {
    enum question_type type;
    const char *sql[CANDIDATES];
    const char *question; /* with the options behind it, parted by " | " */
} rows[] = {
    { QUESTION_OUTPUT,
      { "SELECT * FROM artist", "SELECT id, name FROM artist" },
      "What should the result show? | everything about artist: id of artist, name of artist, age of artist, home "
      "country of artist | id of artist, name of artist" },
    { QUESTION_COLUMN,
      { "SELECT name FROM singer", "SELECT home_country FROM singer" },
      "What should the result show? | name of singer | home country of singer" },
    { QUESTION_COLUMN,
      { "SELECT id FROM singer WHERE name = 'O''Hara'", "SELECT id FROM singer WHERE home_country = 'O''Hara'" },
      "Where should 'O'Hara' be looked for? | name of singer | home country of singer" },
    { QUESTION_COLUMN,
      { "SELECT id FROM singer WHERE age > 20", "SELECT id FROM singer WHERE total_sales > 20" },
      "Which condition is meant? | age of singer is more than 20 | total sales of singer is more than 20" },
    { QUESTION_TABLE,
      { "SELECT s.name FROM singer s JOIN song ON s.id = singer_id",
        "SELECT s.name FROM artist s JOIN song ON s.id = singer_id" },
      "Which records are meant? | singer | artist" },
    { QUESTION_TABLE,
      { "SELECT count(*) FROM singer", "SELECT count(*) FROM artist" },
      "Which records are meant? | singer | artist" },
    { QUESTION_CONDITION,
      { "SELECT id FROM singer", "SELECT id FROM singer WHERE age > 3" },
      "Should the result be narrowed down? | no such condition | only where age of singer is more than 3" },
    { QUESTION_VALUE,
      { "SELECT id FROM singer WHERE age > 20", "SELECT id FROM singer WHERE age > 21" },
      "Which value of age of singer is meant? | age of singer is more than 20 | age of singer is more than 21" },
    { QUESTION_VALUE,
      { "SELECT id FROM singer WHERE name LIKE 'A%'", "SELECT id FROM singer WHERE name LIKE '%A%'",
        "SELECT id FROM singer WHERE name LIKE '%A'", "SELECT id FROM singer WHERE name LIKE 'A_B'" },
      "Which value of name of singer is meant? | name of singer starts with 'A' | name of singer contains 'A' | name "
      "of singer ends with 'A' | name of singer looks like 'A_B'" },
    { QUESTION_OPERATOR,
      { "SELECT id FROM singer WHERE age > 20", "SELECT id FROM singer WHERE age >= 20" },
      "How should age of singer be compared with 20? | age of singer is more than 20 (20 not included) | age of singer "
      "is 20 or more (20 included)" },
    { QUESTION_OPERATOR,
      { "SELECT id FROM singer WHERE age IS NULL", "SELECT id FROM singer WHERE age IS NOT NULL" },
      "Which condition is meant? | age of singer is not filled in | age of singer is filled in" },
    { QUESTION_LOGIC,
      { "SELECT id FROM singer WHERE age > 3 AND name = 'x'", "SELECT id FROM singer WHERE age > 3 OR name = 'x'" },
      "Must all conditions hold, or is one enough? | all of them must hold | one of them is enough" },
    { QUESTION_STORED,
      { "SELECT sum(sales) FROM song GROUP BY singer_id", "SELECT total_sales FROM singer" },
      "Should a stored value be used, or one that is worked out now? | the sum of sales of song, worked out now | "
      "total "
      "sales of singer, as it is stored" },
    { QUESTION_AGGREGATE,
      { "SELECT max(age) FROM singer", "SELECT avg(age) FROM singer", "SELECT age FROM singer",
        "SELECT count(DISTINCT age) FROM singer" },
      "What should be worked out? | the largest age of singer | the average of age of singer | age of singer as it is, "
      "one by one | the number of different values of age of singer" },
    { QUESTION_DISTINCT,
      { "SELECT name FROM singer", "SELECT DISTINCT name FROM singer" },
      "Should rows that are the same be shown once? | every row, repeats included | each different row once" },
    { QUESTION_GROUP,
      { "SELECT count(*) FROM singer GROUP BY home_country", "SELECT count(*) FROM singer",
        "SELECT count(*) FROM singer GROUP BY age, name" },
      "What should there be one row for? | each home country of singer | everything together, without groups | each "
      "age "
      "of singer and name of singer" },
    { QUESTION_JOIN,
      { "SELECT name FROM singer JOIN song ON singer_id = singer.id",
        "SELECT name FROM singer LEFT JOIN song ON singer_id = singer.id" },
      "How should singer and song be put together? | only what belongs together: id of singer is singer id of song | "
      "also what has no song" },
    { QUESTION_JOIN,
      { "SELECT name FROM singer JOIN song ON singer_id = singer.id", "SELECT name FROM singer",
        "SELECT name FROM singer JOIN song ON singer_id = singer.age" },
      "How should singer and song be put together? | only what belongs together: id of singer is singer id of song | "
      "singer alone | only what belongs together: age of singer is singer id of song" },
    { QUESTION_JOIN,
      { "SELECT name FROM singer JOIN song", "SELECT name FROM singer JOIN song ON singer_id = singer.age" },
      "How should singer and song be put together? | they do not have to belong together | only what belongs together: "
      "age of singer is singer id of song" },
    { QUESTION_SORT,
      { "SELECT name FROM singer ORDER BY age", "SELECT name FROM singer ORDER BY id", "SELECT name FROM singer" },
      "What should the result be sorted by? | age of singer, the smallest first | id of singer, the smallest first | "
      "no "
      "particular order" },
    { QUESTION_SORT,
      { "SELECT name FROM singer ORDER BY age", "SELECT name FROM singer ORDER BY max(id)" },
      "What should the result be sorted by? | age of singer | the largest id of singer" },
    { QUESTION_DIRECTION,
      { "SELECT name FROM singer ORDER BY age", "SELECT name FROM singer ORDER BY age DESC" },
      "Sorted by age of singer, which should come first? | the smallest first | the largest first" },
    { QUESTION_LIMIT,
      { "SELECT name FROM singer ORDER BY age LIMIT 1", "SELECT name FROM singer ORDER BY age LIMIT 3",
        "SELECT name FROM singer ORDER BY age", "SELECT name FROM singer ORDER BY age LIMIT 3 OFFSET 2" },
      "How many rows are wanted? | only the first one | only the first 3 | all of them | 3, leaving out the first 2" },
    { QUESTION_SET,
      { "SELECT name FROM singer UNION SELECT name FROM artist",
        "SELECT name FROM singer EXCEPT SELECT name FROM artist",
        "SELECT name FROM singer INTERSECT SELECT name FROM artist" },
      "How should the two results be put together? | rows that are in either result, each once | rows of the first "
      "result that are not in the second | rows that are in both results" },
    { QUESTION_SEQUENCE,
      { "SELECT name, id FROM singer", "SELECT id, name FROM singer" },
      "In which order should the columns stand? | name of singer, id of singer | id of singer, name of singer" },
    /* sub-queries and expressions */
    { QUESTION_CONDITION,
      { "SELECT id FROM singer WHERE age = (SELECT max(age) FROM singer WHERE name = 'x')", "SELECT id FROM singer" },
      "Should the result be narrowed down? | only where age of singer is (the largest age of singer; only where name "
      "of "
      "singer is 'x') | no such condition" },
    { QUESTION_CONDITION,
      { "SELECT id FROM singer", "SELECT id FROM singer WHERE id IN (SELECT singer_id FROM song)" },
      "Should the result be narrowed down? | no such condition | only where id of singer is one of singer id of song" },
    { QUESTION_CONDITION,
      { "SELECT id FROM singer", "SELECT id FROM singer WHERE (SELECT max(sales) FROM song) > total_sales" },
      "Should the result be narrowed down? | no such condition | only where total sales of singer is less than the "
      "largest sales of song" },
    { QUESTION_CONDITION,
      { "SELECT id FROM singer", "SELECT id FROM singer WHERE NOT EXISTS (SELECT id FROM song WHERE sales > 3)" },
      "Should the result be narrowed down? | no such condition | only where there is no row of song where sales of song is "
      "more than 3" },
    { QUESTION_CONDITION,
      { "SELECT id FROM singer", "SELECT id FROM singer WHERE age = 1 OR (age = 2 AND name = 'x')" },
      "Should the result be narrowed down? | no such condition | only where age of singer is 2 and name of "
      "singer is 'x'" },
    { QUESTION_CONDITION,
      { "SELECT id FROM singer WHERE id IN (SELECT singer_id FROM song)",
        "SELECT id FROM singer WHERE id IN (SELECT singer_id FROM song WHERE sales > 3)" },
      "For the part about song: should the result be narrowed down? | no such condition | only where sales of song is "
      "more than 3" },
    { QUESTION_COLUMN,
      { "SELECT age + total_sales FROM singer", "SELECT 'x' FROM singer" },
      "What should the result show? | age plus total sales | the fixed value 'x'" },
    { QUESTION_TABLE,
      { "SELECT n FROM (SELECT name AS n FROM singer)", "SELECT n FROM (SELECT name AS n FROM artist WHERE age > 3)" },
      "Which records are meant? | singer | artist" },
    /* seven values: five are shown */
    { QUESTION_VALUE,
      { "SELECT id FROM singer WHERE age = 1", "SELECT id FROM singer WHERE age = 2",
        "SELECT id FROM singer WHERE age = 3", "SELECT id FROM singer WHERE age = 4",
        "SELECT id FROM singer WHERE age = 5", "SELECT id FROM singer WHERE age = 6",
        "SELECT id FROM singer WHERE age = 7" },
      "Which value of age of singer is meant? | age of singer is 1 | age of singer is 2 | age of singer is 3 | age of "
      "singer is 4 | age of singer is 5 | something else" },
    { QUESTION_QUERY,
      { "SELECT name, count(*) FROM singer WHERE age > 3 AND name != 'x' GROUP BY name HAVING count(*) > 1 ORDER BY "
        "count(*) DESC LIMIT 2",
        "SELECT DISTINCT name FROM artist UNION SELECT title FROM song" },
      "Which of these is meant? | show name of singer, the number of rows; only where age of singer is more than 3 and "
      "name of singer is not 'x'; one row for each name of singer; only if the number of rows is more than 1; sorted "
      "by "
      "the number of rows, the largest first; only the first 2 | show name of artist, each different row once; put "
      "together with: show title of song; keep rows that are in either result, each once" },
};

/* A row with evidence about its question. */
struct hinted {
    struct row row;
    const char *record; /* NULL for nothing */
    bool samples;       /* from the database */
};

/* A question about equally probable candidates. */
struct made {
    struct form_store store;
    struct slots slots;
    struct attributes attributes;
    struct dialogue dialogue;
    struct evidence evidence;
    struct strings pool;
    double p[CANDIDATES];
    const struct form *forms[CANDIDATES];
    struct question question;
};

static void read_hints(struct evidence *h, struct world *w, const struct hinted *row)
{
    struct error err = { 0 };
    json_t *record = json_loads(row->record ? row->record : "{}", 0, NULL);
    assert_non_null(record);
    if (evidence_read(h, record, w->sql.schemas.schemas, "record", &err))
        fail_msg("%s", err.text);
    json_decref(record);
    h->samples = row->samples ? &w->samples : NULL;
}

static void make(struct made *m, struct world *w, const struct hinted *hinted)
{
    const struct row *row = &hinted->row;
    int n = 0, chosen = -1;
    struct question_view view;
    *m = (struct made){ 0 };
    for (; n < CANDIDATES && row->sql[n]; n++)
        m->forms[n] = sql_world_form(&w->sql, &m->store, row->sql[n]);
    for (int i = 0; i < n; i++)
        m->p[i] = 1.0 / n;
    struct posterior prior = { m->p, n, 0 };
    slots_extract(&m->slots, m->forms, n, w->sql.schemas.schemas);
    attributes_build(&m->attributes, &m->slots, &prior, 0);
    for (int v = 0; v < m->attributes.n && chosen < 0; v++)
        chosen = m->attributes.list[v].type == row->type ? v : -1;
    if (chosen < 0)
        fail_msg("%s: no question of the question type %s", row->sql[0], question_type_name(row->type));
    dialogue_init(&m->dialogue, &dialogue_rules_default, m->attributes.splits, m->attributes.n, &prior);
    assert_true(dialogue_view(&m->dialogue, chosen, &view));
    read_hints(&m->evidence, w, hinted);
    struct question_context a = { { .schema = w->sql.schemas.schemas, .pool = &m->pool, .store = &m->store },
                                  &m->attributes,
                                  m->forms,
                                  &m->dialogue.now,
                                  &m->evidence,
                                  false };
    question_write(&m->question, &a, &view);
}

static void release(struct made *m)
{
    evidence_release(&m->evidence);
    dialogue_release(&m->dialogue);
    attributes_release(&m->attributes);
    slots_release(&m->slots);
    form_store_release(&m->store);
    strings_release(&m->pool);
}

/* Words of SQL that are not English, in any case, and words in capitals. */
static void assert_no_sql(const char *text)
{
    static const char *const words[] = { "select",    "join",   "where x", "having",   "distinct", "union",
                                         "intersect", "except", "null",    "asc",      "desc",     "avg",
                                         "count(",    "limit",  "offset",  "group by", "order by", "between" };
    char lower[2000];
    for (size_t i = 0; i <= strlen(text) && i < sizeof lower; i++)
        lower[i] = (char)tolower((unsigned char)text[i]);
    for (int i = 0; i < ARRAY_LEN(words); i++)
        if (strstr(lower, words[i]))
            fail_msg("\"%s\" has \"%s\"", text, words[i]);
    for (size_t i = 0; text[i]; i++)
        if (isupper((unsigned char)text[i]) && isupper((unsigned char)text[i + 1]))
            fail_msg("\"%s\" has capitals", text);
}

/* Checks the question of a row, with the rules for all texts. */
static void assert_row(struct world *w, const struct hinted *row)
{
    struct made m;
    char text[4000];
    make(&m, w, row);
    snprintf(text, sizeof text, "%s", m.question.text);
    assert_no_sql(m.question.text);
    for (int k = 0; k < m.question.n; k++) {
        snprintf(text + strlen(text), sizeof text - strlen(text), " | %s", m.question.options[k]);
        assert_no_sql(m.question.options[k]);
        for (int j = 0; j < k; j++)
            assert_string_not_equal(m.question.options[k], m.question.options[j]);
    }
    if (strcmp(text, row->row.question) != 0)
        fail_msg("\n%s\nis not\n%s", text, row->row.question);
    release(&m);
}

static void test_question_types(void **state)
{
    bool seen[QUESTION_TYPES] = { false };
    for (int i = 0; i < ARRAY_LEN(rows); i++) {
        assert_row(*state, &(struct hinted){ rows[i], NULL, false });
        seen[rows[i].type] = true;
    }
    for (int f = 0; f < QUESTION_TYPES; f++)
        if (!seen[f])
            fail_msg("no row has the question type %s", question_type_name((enum question_type)f));
}

#define QUESTION "\"question\":\"Whose home did the näme sell 20 of?\""
#define SPAN(start, end, label, more) "{\"start\":" #start ",\"end\":" #end ",\"label\":\"" label "\"" more "}"
#define SPANS(spans) "{" QUESTION ",\"spans\":[" spans "]}"
#define FOUND(kind, a, b)                                                                                              \
    "{" QUESTION ",\"type\":\"" kind "\",\"ambiguous\":true,\"alternatives\":[\"" a "\",\"" b "\"]}"
#define LINKS(links) ",\"alternatives\":[" links "]"
#define LINK(concept) "{\"concept\":\"" concept "\"}"
#define NAMES "SELECT name FROM singer", "SELECT home_country FROM singer"

static const struct hinted hinted[] = {
    /* values, each once, without what cannot be seen, from the rows that are there */
    { { QUESTION_COLUMN,
        { NAMES },
        "What should the result show? | name of singer (such as 'Joe', 'Ann', 'Tim') | home country of singer "
        "(such "
        "as "
        "'France', 'A country with a very lo...', 'x')" },
      NULL,
      true },
    { { QUESTION_TABLE,
        { "SELECT count(*) FROM singer", "SELECT count(*) FROM song" },
        "Which records are meant? | singer (such as 'Joe', 'Ann', 'Tim') | song (such as 'Hey', 'You')" },
      NULL,
      true },
    { { QUESTION_SORT,
        { "SELECT name FROM singer ORDER BY age", "SELECT name FROM singer ORDER BY total_sales" },
        "What should the result be sorted by? | age of singer (such as 52, 40, 41) | total sales of singer" },
      NULL,
      true },
    { { QUESTION_COLUMN,
        { "SELECT sales FROM song", "SELECT title FROM song" },
        "What should the result show? | sales of song (such as 2.5, 3) | title of song (such as 'Hey', 'You')" },
      NULL,
      true },
    /* the user's words: linked, said, a value; letters count, not bytes */
    { { QUESTION_COLUMN,
        { NAMES },
        "You wrote \"näme\". What should the result show? | name of singer | home country of singer" },
      SPANS(SPAN(19, 23, "AMB", ",\"alternatives\":[{\"concept\":\"singer.name\"}]")),
      false },
    { { QUESTION_COLUMN,
        { NAMES },
        "You wrote \"home\". What should the result show? | name of singer | home country of singer" },
      SPANS(SPAN(6, 10, "COL", "")),
      false },
    { { QUESTION_VALUE,
        { "SELECT id FROM singer WHERE age > 20", "SELECT id FROM singer WHERE age > 21" },
        "You wrote \"sell 20 of\". Which value of age of singer is meant? | age of singer is more than 20 | age of "
        "singer is more than 21" },
      SPANS(SPAN(24, 34, "VAL", "")),
      false },
    /* what has nothing to do with it is not told, nor what means nothing */
    { { QUESTION_COLUMN, { NAMES }, "What should the result show? | name of singer | home country of singer" },
      SPANS(SPAN(19, 23, "AMB", ",\"alternatives\":[{\"concept\":\"song.title\"}]") "," SPAN(6, 10, "UNK", "")),
      false },
    /* a finding: both alternatives are there, or one is missing */
    { { QUESTION_COLUMN,
        { NAMES },
        "Two columns fit your question. What should the result show? | name of singer | home country of singer" },
      FOUND("C", "singer.name", "singer.home_country"),
      false },
    { { QUESTION_COLUMN,
        { NAMES },
        "Two columns fit your question. What should the result show? | name of singer | home country of singer | "
        "age "
        "of singer" },
      FOUND("C", "singer.age", "singer.home_country"),
      false },
    { { QUESTION_TABLE,
        { "SELECT count(*) FROM singer", "SELECT count(*) FROM artist" },
        "Two kinds of records fit your question. Which records are meant? | singer | artist | song" },
      FOUND("T", "artist", "song"),
      false },
    { { QUESTION_STORED,
        { "SELECT sum(sales) FROM song GROUP BY singer_id", "SELECT total_sales FROM singer" },
        "What you ask for is stored, and can be worked out too. Should a stored value be used, or one that is "
        "worked "
        "out now? | the sum of sales of song, worked out now | total sales of singer, as it is stored" },
      FOUND("P", "song.sales", "singer.total_sales"),
      false },
    { { QUESTION_COLUMN, { NAMES }, "What should the result show? | name of singer | home country of singer" },
      FOUND("C", "song.sales", "song.title"),
      false },
    { { QUESTION_VALUE,
        { "SELECT id FROM singer WHERE age > 20", "SELECT id FROM singer WHERE age > 21" },
        "Which value of age of singer is meant? | age of singer is more than 20 | age of singer is more than 21" },
      FOUND("C", "singer.age", "singer.name"),
      false },
    { { QUESTION_COLUMN,
        { NAMES },
        "Two columns fit what you wrote, \"home\". What should the result show? | name of singer | home country of "
        "singer" },
      "{" QUESTION ",\"spans\":[" SPAN(6, 10, "AMB", "") "],\"alternatives\":[\"singer.name\","
                                                         "\"singer.home_country\"]}",
      false },
    /* an AMB span says what it leaves open: columns, one of which no statement has; tables; where a value stands */
    { { QUESTION_COLUMN,
        { NAMES },
        "Two columns fit what you wrote, \"home\". What should the result show? | name of singer | home country of "
        "singer | age of singer" },
      SPANS(SPAN(6, 10, "AMB", LINKS(LINK("singer.age") "," LINK("singer.name") "," LINK("singer.age")))),
      false },
    { { QUESTION_TABLE,
        { "SELECT count(*) FROM singer", "SELECT count(*) FROM artist" },
        "Three kinds of records fit what you wrote, \"home\". Which records are meant? | singer | artist | song" },
      SPANS(SPAN(6, 10, "AMB", LINKS(LINK("artist") "," LINK("song") "," LINK("singer")))),
      false },
    { { QUESTION_COLUMN,
        { "SELECT id FROM singer WHERE name = 'home'", "SELECT id FROM singer WHERE home_country = 'home'" },
        "Two columns have what you wrote, \"home\". Where should 'home' be looked for? | name of singer | home country "
        "of singer" },
      SPANS(SPAN(6, 10, "AMB", LINKS(LINK("singer.name::home") "," LINK("singer.home_country::home")))),
      false },
    /* not of what the result shows; not of a statement that has both; of tables and columns only the words */
    { { QUESTION_COLUMN, { NAMES }, "What should the result show? | name of singer | home country of singer" },
      SPANS(SPAN(24, 28, "AMB", LINKS(LINK("singer.name::sell") "," LINK("singer.home_country::sell")))),
      false },
    { { QUESTION_OUTPUT,
        { "SELECT id FROM singer", "SELECT id, name, home_country FROM singer" },
        "What should the result show? | id of singer | id of singer, name of singer, home country of singer" },
      SPANS(SPAN(0, 5, "AMB", LINKS(LINK("singer.name") "," LINK("singer.home_country")))),
      false },
    { { QUESTION_COLUMN,
        { NAMES },
        "You wrote \"home\". What should the result show? | name of singer | home country of singer" },
      SPANS(SPAN(6, 10, "AMB", LINKS(LINK("singer.name") "," LINK("song")))),
      false },
    /* what a question is not about stays out of it */
    { { QUESTION_DISTINCT,
        { "SELECT name FROM singer", "SELECT DISTINCT name FROM singer" },
        "Should rows that are the same be shown once? | every row, repeats included | each different row once" },
      SPANS(SPAN(19, 23, "COL", LINKS(LINK("singer.name")))),
      false },
    /* a detector found two, a tagger three */
    { { QUESTION_COLUMN,
        { NAMES },
        "Three columns fit what you wrote, \"home\". What should the result show? | name of singer | home country of "
        "singer | age of singer" },
      "{" QUESTION
      ",\"spans\":[" SPAN(6, 10, "AMB",
                          LINKS(LINK("singer.name") "," LINK("singer.age") "," LINK(
                              "singer.home_country"))) "],\"alternatives\":[\"singer.name\",\"singer.home_country\"]}",
      false },
};

static void test_questions_with_evidence(void **state)
{
    for (int i = 0; i < ARRAY_LEN(hinted); i++)
        assert_row(*state, &hinted[i]);
}

/* Options that the templates cannot distinguish still differ. */
static void test_distinct_options(void **state)
{
    static const struct row alike[] = {
        { QUESTION_COLUMN,
          { "SELECT age + 1 FROM singer", "SELECT age + 2 FROM singer", "SELECT age + 3 FROM singer" },
          "" },
        { QUESTION_QUERY,
          { "SELECT name FROM singer WHERE id IN (SELECT singer_id FROM song)",
            "SELECT name FROM singer WHERE id IN (SELECT id FROM artist)" },
          "" },
    };
    for (int i = 0; i < ARRAY_LEN(alike); i++) {
        struct made m;
        make(&m, *state, &(struct hinted){ alike[i], NULL, false });
        for (int k = 0; k < m.question.n; k++)
            for (int j = 0; j < k; j++)
                assert_string_not_equal(m.question.options[k], m.question.options[j]);
        release(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_question_types),
        cmocka_unit_test(test_distinct_options),
        cmocka_unit_test(test_questions_with_evidence),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
