/* Features of the words that a question shares with the elements of a pair. */
#include "tests/support/support.h"

#include "data/schema/mention.h"
#include "data/schema/schema_build.h"

/* poll: poll_id, support_rate, oppose_rate, Rates_Of_Support; candidate: name */
static void open_schema(struct schema *s)
{
    static const char *const columns[] = { "poll_id", "support_rate", "oppose_rate", "Rates_Of_Support" };
    struct schema_build b;

    schema_build_init(&b, "votes");
    int poll = schema_build_table(&b, "polls", NULL), candidate = schema_build_table(&b, "candidate", NULL);
    for (int i = 0; i < ARRAY_LEN(columns); i++)
        schema_build_column(&b, poll, columns[i], NULL, COLUMN_NUMBER);
    schema_build_column(&b, candidate, "name", NULL, COLUMN_TEXT);
    schema_build_finish(&b, s);
}

enum { POLL, CANDIDATE, POLL_ID, SUPPORT, OPPOSE, RATES, NAME };

static void words_that_tell_apart(void **state)
{
    static const struct {
        const char *question;
        int u, v;
        float wanted[MENTION_FEATURES]; /* shared, own, all, phrase, table: the last four as "more" and "less" */
    } cases[] = {
        { "What is the oppose rate?", SUPPORT, OPPOSE, { 1, 1, 0, 1, .5f, 1, 0, 0, 0 } },
        { "Which candidates support RATES?", OPPOSE, SUPPORT, { 1, 1, 0, 1, .5f, 1, 0, 0, 0 } },
        { "the rate of the poll's support", SUPPORT, RATES, { 1, 0, 0, 1, 1, 0, 0, 1, 1 } },
        { "the rate of support", SUPPORT, RATES, { 1, 0, 0, 1, 1, 1, 0, 0, 0 } },
        { "rate", SUPPORT, OPPOSE, { 1, 0, 0, .5f, .5f, 0, 0, 0, 0 } },
        { "name of every candidate", POLL, CANDIDATE, { 0, 1, 0, 1, 0, 1, 0, 1, 0 } },
        { "candidate names in polls", NAME, POLL_ID, { 0, 1, .5f, 1, .5f, 1, 0, 1, 1 } },
        { "", SUPPORT, OPPOSE, { 0 } },
    };
    struct schema s;

    (void)state;
    open_schema(&s);
    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        const struct schema_pair pair = { .u = cases[i].u, .v = cases[i].v };
        float out[MENTION_FEATURES];
        mention_features(&s, cases[i].question, &pair, 1, out, MENTION_FEATURES);
        for (int k = 0; k < MENTION_FEATURES; k++)
            if (out[k] != cases[i].wanted[k])
                fail_msg("%s: feature %d is %g, expected %g", cases[i].question, k, (double)out[k],
                         (double)cases[i].wanted[k]);
    }
    schema_release(&s);
}

/* The order of u and v does not count, and every pair has its own row. */
static void rows_lie_apart(void **state)
{
    enum { STRIDE = MENTION_FEATURES + 3 };
    const struct schema_pair pairs[] = { { .u = SUPPORT, .v = OPPOSE }, { .u = OPPOSE, .v = SUPPORT } };
    float out[2 * STRIDE];
    struct schema s;

    (void)state;
    open_schema(&s);
    for (int i = 0; i < 2 * STRIDE; i++)
        out[i] = -1;
    mention_features(&s, "oppose rates of polls", pairs, 2, out, STRIDE);
    for (int k = 0; k < STRIDE; k++) {
        assert_true(out[k] == out[STRIDE + k]);
        assert_true((out[k] == -1) == (k >= MENTION_FEATURES));
    }
    schema_release(&s);
}

/* in this order: all, any, phrase, table, is a table, neighbour, elsewhere, namesake */
static void elements_and_their_neighbours(void **state)
{
    static const struct {
        const char *question;
        int element;
        float wanted[ELEMENT_MENTIONS];
    } cases[] = {
        { "What is the oppose rate?", OPPOSE, { 1, 1, 1, 0, 0, .5f, 0, 1 } },
        { "What is the oppose rate?", SUPPORT, { .5f, 1, 0, 0, 0, 1, 0, 1 } },
        { "What is the oppose rate?", POLL, { 0, 0, 0, 0, 1, 1, 0, 0 } },
        { "What is the oppose rate?", NAME, { 0, 0, 0, 0, 0, 0, 1, 0 } },
        { "name of every candidate", NAME, { 1, 1, 1, 1, 0, 0, 0, 0 } },
        { "name of every candidate", CANDIDATE, { 1, 1, 1, 1, 1, 1, 0, 0 } },
        { "name of every candidate", POLL, { 0, 0, 0, 0, 1, 0, 1, 0 } },
        { "polls", POLL_ID, { .5f, 1, 0, 1, 0, 0, 0, 1 } },
        { "polls", CANDIDATE, { 0, 0, 0, 0, 1, 0, 1, 0 } },
        { "", NAME, { 0 } },
    };
    float out[(NAME + 1) * ELEMENT_MENTIONS];
    struct schema s;

    (void)state;
    open_schema(&s);
    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        const float *got = out + cases[i].element * ELEMENT_MENTIONS;
        mention_elements(&s, NULL, cases[i].question, out);
        for (int k = 0; k < ELEMENT_MENTIONS; k++)
            if (got[k] != cases[i].wanted[k])
                fail_msg("%s: feature %d of element %d is %g, expected %g", cases[i].question, k, cases[i].element,
                         (double)got[k], (double)cases[i].wanted[k]);
    }
    schema_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_that_tell_apart),
        cmocka_unit_test(rows_lie_apart),
        cmocka_unit_test(elements_and_their_neighbours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
