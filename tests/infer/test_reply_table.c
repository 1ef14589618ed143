/* The hand-written replies of tests/replies: how many are read right, read wrong and asked again. */
#include "infer/clarify/reply_words.h"
#include "tests/support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 400, KINDS = 16 };

enum outcome { READ_RIGHT, READ_WRONG, ASKED_AGAIN, OUTCOMES };

/* Replies of a kind, such as "synonym", and of all kinds. */
struct counts {
    char kind[KINDS][LINE_BYTES];
    int of[KINDS][OUTCOMES], n;
};

static void add(struct counts *c, const char *kind, enum outcome how)
{
    int i = 0;

    while (i < c->n && strcmp(c->kind[i], kind) != 0)
        i++;
    assert_true(i < KINDS);
    c->n += i == c->n;
    snprintf(c->kind[i], LINE_BYTES, "%s", kind);
    c->of[i][how]++;
}

static int total(const struct counts *c, enum outcome how)
{
    int n = 0;

    for (int i = 0; i < c->n; i++)
        n += c->of[i][how];
    return n;
}

static void print(const char *name, const struct counts *c)
{
    print_message("%s: %d right, %d wrong, %d asked again\n", name, total(c, READ_RIGHT), total(c, READ_WRONG),
                  total(c, ASKED_AGAIN));
    for (int i = 0; i < c->n; i++)
        print_message("    %-10s %3d %3d %3d\n", c->kind[i], c->of[i][READ_RIGHT], c->of[i][READ_WRONG],
                      c->of[i][ASKED_AGAIN]);
}

/* Writes the reading in the form of the files: the number of an option, a word, or "ask". */
static void write_reading(char text[LINE_BYTES], const struct reply *r)
{
    if (r->kind == REPLY_ANSWER && r->answer.kind == ANSWER_VALUE)
        snprintf(text, LINE_BYTES, "%d", r->answer.value + 1);
    else
        snprintf(text, LINE_BYTES, "%s", r->kind == REPLY_ANSWER ? answer_kind_name(r->answer.kind) : "ask");
}

/* A line "> KIND EXPECTED REPLY". */
static void read_reply(struct counts *c, const char *line, const struct question *q, struct reply_encoder *encoder)
{
    char kind[LINE_BYTES], expected[LINE_BYTES], got[LINE_BYTES];
    int at = 0;

    assert_int_equal(sscanf(line, "> %s %s %n", kind, expected, &at), 2);
    struct reply r = reply_read(line + at, q, encoder);
    write_reading(got, &r);
    bool right = strcmp(got, expected) == 0;
    add(c, kind, right ? READ_RIGHT : strcmp(got, "ask") == 0 ? ASKED_AGAIN : READ_WRONG);
    if (!right && (getenv("AMBIT_REPLIES") || strcmp(got, "ask") != 0))
        print_message("    \"%s\": expected %s, got %s (%s)\n", line + at, expected, got, q->names[0]);
}

static void release(struct question *q)
{
    for (int i = 0; i < q->n; i++)
        free((char *)(uintptr_t)q->names[i]);
    *q = (struct question){ .n = 0 };
}

static void read_file(struct counts *c, const char *path, struct reply_encoder *encoder)
{
    FILE *f = fopen(path, "r");
    char line[LINE_BYTES];
    struct question q = { .n = 0 };

    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '?')
            release(&q);
        else if (line[0] == '>')
            read_reply(c, line, &q, encoder);
        else if (line[0] == '1' + q.n && line[1] == ' ')
            q.names[q.n++] = xstrdup(line + 2);
        else
            assert_true(line[0] == '\0' || line[0] == '#');
    }
    release(&q);
    fclose(f);
    print(path, c);
}

/* Words alone: sure readings, and requests for other words. */
static void test_words(void **state)
{
    struct counts choose = { .n = 0 }, final = { .n = 0 };

    (void)state;
    read_file(&choose, "tests/replies/choose.txt", NULL);
    read_file(&final, "tests/replies/final.txt", NULL);
    assert_int_equal(total(&choose, READ_WRONG) + total(&final, READ_WRONG), 0);
    assert_in_range(total(&choose, READ_RIGHT), 355, 524);
    assert_in_range(total(&final, READ_RIGHT), 78, 121);
}

static void test_meaning(void **state)
{
    struct counts choose = { .n = 0 }, final = { .n = 0 };
    struct reply_encoder encoder = { .tried = false };

    (void)state;
    read_file(&choose, "tests/replies/choose.txt", &encoder);
    read_file(&final, "tests/replies/final.txt", &encoder);
    reply_encoder_close(&encoder);
    assert_in_range(total(&choose, READ_WRONG), 0, 5);
    assert_in_range(total(&choose, READ_RIGHT), 404, 524);
    assert_in_range(total(&final, READ_WRONG), 0, 1);
    assert_in_range(total(&final, READ_RIGHT), 90, 121);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_words), cmocka_unit_test(test_meaning) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
