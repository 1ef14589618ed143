/* Questions and tables as token sequences: ten packed examples, windows, and the order of columns. */
#include "tests/support/dte_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 90 };

struct packed {
    const char *question;
    struct span_column columns[3];
    struct tag_value values[3];
    const char *tokens; /* of the one window */
    const char *words;  /* code points of the question's words, and the token of [SEP] */
};

static const struct packed examples[] = {
    { "show name", { { .name = "name" } }, { { 0 } }, "[CLS] show name [SEP] [unused21] name [SEP]", "0-4 5-9 | 3" },
    { "show price",
      { { .name = "price", .type = COLUMN_NUMBER } },
      { { 0 } },
      "[CLS] show price [SEP] [unused22] price [SEP]",
      "0-4 5-10 | 3" },
    { "What is the date?",
      { { .name = "date", .type = COLUMN_TIME } },
      { { 0 } },
      "[CLS] what is the date ? [SEP] [unused23] date [SEP]",
      "0-4 5-7 8-11 12-16 16-17 | 6" },
    { "is home",
      { { .name = "Home Team", .type = COLUMN_BOOLEAN }, { .name = "x", .type = COLUMN_OTHERS } },
      { { 0 } },
      "[CLS] is home [SEP] [unused24] home team [SEP] [unused21] x [SEP]",
      "0-2 3-7 | 3" },
    { "scores of teams", /* a word of two pieces counts once */
      { { .name = "score", .type = COLUMN_NUMBER } },
      { { 0 } },
      "[CLS] score ##s of team ##s [SEP] [unused22] score [SEP]",
      "0-6 7-9 10-15 | 6" },
    { "in Paris and Lyon", /* two values in one column */
      { { .name = "city" } },
      { { 0, "Paris", 3, 8, 1 }, { 0, "Lyon", 13, 17, 1 } },
      "[CLS] in paris and lyon [SEP] [unused21] city [unused31] paris [unused31] lyon [SEP]",
      "0-2 3-8 9-12 13-17 | 5" },
    { "in paris", /* columns sorted by name, with their values */
      { { .name = "name" }, { .name = "city" }, { .name = "home" } },
      { { 2, "Paris", 3, 8, 1 }, { 1, "paris", 3, 8, 1 } },
      "[CLS] in paris [SEP] [unused21] city [unused31] paris [SEP] [unused21] home [unused31] paris [SEP] [unused21] "
      "name [SEP]",
      "0-2 3-8 | 3" },
    { "é, name zzz", /* separate marks, code points, unknown words */
      { { .name = "name" } },
      { { 0 } },
      "[CLS] [UNK] [UNK] name [UNK] [SEP] [unused21] name [SEP]",
      "0-1 1-2 3-7 8-11 | 5" },
    { "show name", /* two tables, each before its columns */
      { { .table = "team", .name = "name", .type = COLUMN_TEXT },
        { .table = "city", .name = "name", .type = COLUMN_TEXT },
        { .table = "city", .name = "year", .type = COLUMN_NUMBER } },
      { { 0 } },
      "[CLS] show name [SEP] [unused30] city [unused21] name [SEP] [unused22] year [SEP] [unused30] team [unused21] name "
      "[SEP]",
      "0-4 5-9 | 3" },
    { "[SEP] name", /* names of special tokens in a question are text; a column without a name has a marker */
      { { .name = "" }, { .name = "name" } },
      { { 0 } },
      "[CLS] [UNK] [UNK] [UNK] name [SEP] [unused21] [SEP] [unused21] name [SEP]",
      "0-1 1-4 4-5 6-10 | 5" },
};

static int count_columns(const struct packed *p)
{
    int n = 0;

    while (n < 3 && p->columns[n].name)
        n++;
    return n;
}

static int count_values(const struct packed *p)
{
    int n = 0;

    while (n < 3 && p->values[n].text)
        n++;
    return n;
}

static void check_words(const struct dte_item *item, const char *wanted)
{
    char got[256] = "";

    for (int i = 0; i < item->n_words; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%d-%d ", item->words[i].start, item->words[i].end);
    snprintf(got + strlen(got), sizeof got - strlen(got), "| %d", item->sep);
    assert_string_equal(got, wanted);
}

/* First pieces are adjacent from [CLS] to [SEP]. */
static void check_pieces(const struct dte_item *item)
{
    int at = 1;

    for (int i = 0; i < item->n_words; i++) {
        assert_int_equal(item->words[i].at, at);
        at += item->words[i].n;
    }
    assert_int_equal(item->sep, at);
}

static void test_ten_examples(void **state)
{
    struct dte_world w;
    struct dte_asked a;
    (void)state;

    dte_world_open(&w);
    assert_int_equal(ARRAY_LEN(examples), 10);
    for (int i = 0; i < ARRAY_LEN(examples); i++) {
        const struct packed *p = &examples[i];
        dte_asked_init(&a, &w, p->question, p->columns, count_columns(p), p->values, count_values(p));
        assert_int_equal(a.item.n_windows, 1);
        char *got = dte_world_tokens(&w, &a.item.windows[0]);
        assert_string_equal(got, p->tokens);
        check_words(&a.item, p->words);
        check_pieces(&a.item);
        free(got);
        dte_asked_release(&a);
    }
    dte_world_close(&w);
}

static char many_names[MANY][24];

/* Columns of two tables that need several windows; `shift` rotates their order. */
static void many_columns(struct span_column *columns, int shift)
{
    for (int i = 0; i < MANY; i++) {
        int k = (i * 7 + shift) % MANY;
        snprintf(many_names[k], sizeof many_names[k], "date of birth x%d", k);
        columns[i] = (struct span_column){ .table = k % 2 ? "team" : "city", .name = many_names[k] };
    }
}

static void check_windows(const struct dte_item *item)
{
    int columns = 0;

    for (int w = 0; w < item->n_windows; w++) {
        const struct dte_window *window = &item->windows[w];
        assert_true(window->tokens.count <= 256);
        assert_int_equal(window->entities[0].concept.kind, TAG_TABLE);
        assert_int_equal(window->entities[0].at, item->sep + 1);
        assert_memory_equal(window->tokens.items, item->windows[0].tokens.items,
                            (size_t)(item->sep + 1) * sizeof(int32_t));
        for (int i = 0; i < window->n_entities; i++)
        columns += window->entities[i].concept.kind == TAG_COLUMN;
    }
    assert_int_equal(columns, MANY);
}

static void test_windows_and_order(void **state)
{
    struct dte_world w;
    struct dte_asked one, other;
    struct span_column columns[MANY], turned[MANY];
    (void)state;

    dte_world_open(&w);
    many_columns(columns, 0);
    many_columns(turned, 31);
    dte_asked_init(&one, &w, "how many scores in paris?", columns, MANY, NULL, 0);
    dte_asked_init(&other, &w, "how many scores in paris?", turned, MANY, NULL, 0);
    assert_true(one.item.n_windows > 2);
    assert_int_equal(one.item.n_windows, other.item.n_windows);
    check_windows(&one.item);
    for (int i = 0; i < one.item.n_windows; i++) {
        char *a = dte_world_tokens(&w, &one.item.windows[i]), *b = dte_world_tokens(&w, &other.item.windows[i]);
        assert_string_equal(a, b);
        free(a);
        free(b);
    }
    dte_asked_release(&one);
    dte_asked_release(&other);
    dte_world_close(&w);
}

/* A long question is truncated to half of a sequence, and long names so that a column fits beside it. */
static void test_long_texts(void **state)
{
    struct dte_world w;
    struct dte_asked a;
    static char text[400 * 7 + 1], name[300 * 5 + 1];
    (void)state;

    for (int i = 0; i < 400; i++)
        memcpy(text + 7 * i, "scores ", 7);
    for (int i = 0; i < 300; i++)
        memcpy(name + 5 * i, "date ", 5);
    struct span_column columns[2] = { { .table = name, .name = name }, { .table = "city", .name = "name" } };
    struct tag_value values[] = {
        { 0, name, 0, 4, 1 }, { 0, name, 5, 9, 1 }, { 0, text, 0, 4, 1 }, { 0, "x", 0, 4, 1 }
    };
    dte_world_open(&w);
    dte_asked_init(&a, &w, text, columns, 2, values, 4);
    assert_int_equal(a.item.n_question, 400);
    assert_int_equal(a.item.n_words, (256 / 2 - 1) / 2);
    check_pieces(&a.item);
    for (int i = 0; i < a.item.n_windows; i++)
        assert_true(a.item.windows[i].tokens.count <= 256);
    dte_asked_release(&a);
    dte_world_close(&w);
}

static void test_errors(void **state)
{
    static const char *const markers[] = { "[unused21]", "[unused24]", "[unused30]", "[unused31]" };
    const struct span_column column = { .name = "name" };
    const struct tag_question blank = { .question = " \t", .columns = &column, .n_columns = 1 };
    const struct tag_question no_column = { .question = "show" };
    struct dte_world w;
    struct dte_item item;
    struct dte_layout layout;
    struct error err = { 0 };
    (void)state;

    dte_world_open(&w);
    assert_int_equal(dte_item_init(&item, &blank, &w.layout, "a.jsonl: line 3", &err), -1);
    assert_error(err, "a.jsonl: line 3", "at least one word");
    dte_item_release(&item);
    assert_int_equal(dte_item_init(&item, &no_column, &w.layout, "a.jsonl: line 4", &err), -1);
    assert_error(err, "a.jsonl: line 4", "at least one column");
    dte_item_release(&item);
    assert_int_equal(dte_layout_init(&layout, w.tokenizer, 255, &err), -1);
    assert_error(err, "at least 256", "255");
    for (int i = 0; i < ARRAY_LEN(markers); i++) {
        dte_world_vocabulary(w.dir, markers[i]);
        struct tokenizer *t = tokenizer_open(w.dir, &err);
        assert_non_null(t);
        assert_int_equal(dte_layout_init(&layout, t, 512, &err), -1);
        assert_error(err, markers[i]);
        tokenizer_close(t);
    }
    dte_world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_ten_examples), cmocka_unit_test(test_windows_and_order),
                                        cmocka_unit_test(test_long_texts), cmocka_unit_test(test_errors) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
