/* Links of words step by step, and their use in training and in the ETA baseline. */
#include "models/tagger/dte_decode.h"
#include "models/tagger/dte_linker.h"
#include "models/tagger/dte_target.h"
#include "tests/support/dte_world.h"

#include <stdlib.h>
#include <string.h>

/* In the order of entities: city, its value "Paris", home team, score. */
enum { CITY = DTE_KEYWORDS, PARIS, HOME_TEAM, SCORE, COUNT = 4 };
enum { NONE = -1 };

static const struct span_column columns[] = { { .name = "score", .type = COLUMN_NUMBER },
                                              { .name = "home team" },
                                              { .name = "city" } };

struct link_world {
    struct dte_world w;
    struct dte_asked asked;
    struct tag_value value;
    struct dte_reading r;
    struct dte_term *terms;
};

/* The value covers code points [start, end) of the question. */
static void open_world(struct link_world *l, const char *question, int start, int end)
{
    l->value = (struct tag_value){ 2, "Paris", start, end, 1 };
    dte_world_open(&l->w);
    dte_asked_init(&l->asked, &l->w, question, columns, ARRAY_LEN(columns), &l->value, 1);
    dte_world_reading(&l->r, &l->asked.item, DTE_TAGS);
    assert_int_equal(l->r.concepts[PARIS - DTE_KEYWORDS].kind, TAG_VALUE);
    memset(l->r.concept, 0, (DTE_KEYWORDS + (size_t)l->r.n_concepts) * sizeof *l->r.concept);
    l->terms = xmalloc((size_t)l->r.n_words * sizeof *l->terms);
}

static void close_world(struct link_world *l)
{
    free(l->terms);
    dte_reading_release(&l->r);
    dte_asked_release(&l->asked);
    dte_world_close(&l->w);
}

static void ground(struct link_world *l, int concept, double c, const float *g)
{
    l->r.concept[concept] = (float)c;
    memcpy(l->r.grounding + concept * l->r.n_words, g, (size_t)l->r.n_words * sizeof *g);
}

static void check_terms(struct link_world *l, const int *wanted)
{
    dte_link(l->terms, &l->r);
    for (int q = 0; q < l->r.n_words; q++)
        if (l->terms[q].concept != wanted[q])
            fail_msg("word %d: %d, wanted %d", q, l->terms[q].concept, wanted[q]);
}

/* Step 1: concepts with a probability of at least .5. */
static void test_concepts_that_are_meant(void **state)
{
    struct link_world l;
    const float g[] = { 0, 0, 0, .9f, 0 };
    (void)state;

    open_world(&l, "a x is x a", 0, 0);
    ground(&l, SCORE, .5, g);
    check_terms(&l, (const int[]){ NONE, NONE, NONE, SCORE, NONE });
    assert_near(l.terms[3].confidence, .5 * (double).9f, 1e-12);
    ground(&l, SCORE, .499, g);
    check_terms(&l, (const int[]){ NONE, NONE, NONE, NONE, NONE });
    close_world(&l);
}

/* Step 2: a value is linked to the words of its match, regardless of grounding. */
static void test_values(void **state)
{
    struct link_world l;
    (void)state;

    open_world(&l, "a in paris x a", 2, 10);
    ground(&l, PARIS, .8, (const float[]){ 0, 0, 0, 0, .9f });
    check_terms(&l, (const int[]){ NONE, PARIS, PARIS, NONE, NONE });
    assert_near(l.terms[1].confidence, (double).8f, 1e-12);
    close_world(&l);
}

/* Step 3: with five words the minimum is 2 / 5; with twenty it is the threshold. */
static void test_least_grounding(void **state)
{
    struct link_world l;
    float g[20] = { 0 };
    int wanted[20];
    (void)state;

    open_world(&l, "a x is x a", 0, 0);
    ground(&l, SCORE, 1, (const float[]){ 0, .41f, 0, .39f, 0 });
    check_terms(&l, (const int[]){ NONE, SCORE, NONE, NONE, NONE });
    close_world(&l);
    open_world(&l, "a x a x a x a x a x a x a x a x a x a x", 0, 0);
    for (int q = 0; q < 20; q++)
        wanted[q] = q == 4 ? SCORE : NONE;
    g[4] = .21f;
    g[10] = .19f;
    ground(&l, SCORE, 1, g);
    check_terms(&l, wanted);
    close_world(&l);
}

/* Step 3: at most three words, the first of equal ones. */
static void test_ranks(void **state)
{
    struct link_world l;
    (void)state;

    open_world(&l, "a x a x a x a x a x a", 0, 0);
    ground(&l, SCORE, 1, (const float[]){ .22f, 0, .24f, 0, .22f, 0, .23f, 0, 0, 0, 0 });
    check_terms(&l, (const int[]){ SCORE, NONE, SCORE, NONE, NONE, NONE, SCORE, NONE, NONE, NONE, NONE });
    close_world(&l);
}

/* Step 3: a word of the column's name, compared by stem, needs .1. Parts of a name of one word count. Keywords have
 * no name. */
static void test_contained_words(void **state)
{
    struct link_world l;
    (void)state;

    open_world(&l, "scores x teams x in", 0, 0);
    ground(&l, SCORE, 1, (const float[]){ .11f, .11f, 0, 0, 0 });
    ground(&l, HOME_TEAM, 1, (const float[]){ 0, 0, .11f, 0, .11f });
    ground(&l, 3, 1, (const float[]){ 0, 0, 0, .3f, 0 });
    check_terms(&l, (const int[]){ SCORE, NONE, HOME_TEAM, NONE, NONE });
    ground(&l, SCORE, 1, (const float[]){ .099f, 0, 0, 0, 0 });
    check_terms(&l, (const int[]){ NONE, NONE, HOME_TEAM, NONE, NONE });
    close_world(&l);
    open_world(&l, "the ty x a x", 0, 0);
    ground(&l, CITY, 1, (const float[]){ 0, .11f, 0, 0, .11f });
    check_terms(&l, (const int[]){ NONE, CITY, NONE, NONE, NONE });
    close_world(&l);
}

/* Step 3: if a value is mentioned, its column is only linked to the words of its name. */
static void test_value_hides_column(void **state)
{
    struct link_world l;
    (void)state;

    open_world(&l, "x city a in paris", 12, 17);
    ground(&l, CITY, 1, (const float[]){ .5f, .11f, 0, 0, 0 });
    check_terms(&l, (const int[]){ CITY, CITY, NONE, NONE, NONE });
    ground(&l, PARIS, .9, (const float[]){ 0, 0, 0, 0, 0 });
    check_terms(&l, (const int[]){ NONE, CITY, NONE, NONE, PARIS });
    close_world(&l);
}

/* Step 4: the concept with the higher confidence gets the word. */
static void test_most_confident(void **state)
{
    struct link_world l;
    (void)state;

    open_world(&l, "x paris a x a", 2, 7);
    ground(&l, SCORE, 1, (const float[]){ 0, .6f, 0, .5f, 0 });
    ground(&l, HOME_TEAM, .9, (const float[]){ 0, 0, 0, .6f, 0 });
    ground(&l, PARIS, .55, (const float[]){ 0, 0, 0, 0, 0 });
    check_terms(&l, (const int[]){ NONE, SCORE, NONE, HOME_TEAM, NONE });
    close_world(&l);
}

/* Step 5: words of the column's name with a grounding of 1 / words join the runs on both sides. A keyword's run
 * takes one word at .2. */
static void test_growing(void **state)
{
    struct link_world l;
    (void)state;

    open_world(&l, "x home x home team home x a x a", 0, 0);
    ground(&l, HOME_TEAM, 1, (const float[]){ 0, 0, 0, .1f, .4f, .1f, .19f, 0, 0, 0 });
    check_terms(&l, (const int[]){ NONE, NONE, NONE, HOME_TEAM, HOME_TEAM, HOME_TEAM, NONE, NONE, NONE, NONE });
    ground(&l, HOME_TEAM, 1, (const float[]){ 0, 0, 0, .09f, .4f, .09f, 0, 0, 0, 0 });
    check_terms(&l, (const int[]){ NONE, NONE, NONE, NONE, HOME_TEAM, NONE, NONE, NONE, NONE, NONE });
    close_world(&l);
    open_world(&l, "x a x a x a", 0, 0); /* .34 is too low for a single word, but not for two adjacent words */
    ground(&l, 4, 1, (const float[]){ 0, .2f, .2f, .4f, .2f, .2f });
    check_terms(&l, (const int[]){ NONE, NONE, 4, 4, 4, NONE });
    close_world(&l);
}

/* Untrained keywords take no word, however probable they are. */
static void test_untrained_keywords(void **state)
{
    struct link_world l;
    (void)state;

    open_world(&l, "a x is x a", 0, 0);
    ground(&l, SCORE, .6, (const float[]){ 0, 0, 0, .5f, 0 });
    ground(&l, 2, 1, (const float[]){ 0, .9f, 0, .9f, 0 });
    check_terms(&l, (const int[]){ NONE, 2, NONE, 2, NONE });
    l.r.keywords = false;
    check_terms(&l, (const int[]){ NONE, NONE, NONE, SCORE, NONE });
    close_world(&l);
}

/* Links become tags. AMB and UNK of the record stay and cut runs. The final mark has no tag. */
static void test_tags_of_links(void **state)
{
    const struct dte_config config = { .published = false }, published = { .published = true };
    const int B = DTE_SPAN + 2 * SPAN_COL, V = DTE_SPAN + 2 * SPAN_VAL, A = DTE_SPAN + 2 * SPAN_AMB;
    const struct marked_span span = { .start = 5, .end = 6, .label = SPAN_AMB };
    const struct dte_supervision by = { &span, 1, NULL, false }, none = { 0 };
    struct link_world l;
    int32_t tags[8];
    struct dte_target t = { .tags = tags };
    (void)state;

    open_world(&l, "home x home x paris a a ?", 14, 19);
    l.r.n_words = l.asked.item.n_words;
    ground(&l, HOME_TEAM, 1, (const float[]){ .3f, .3f, .3f, 0, 0, 0, 0, 0 });
    ground(&l, PARIS, 1, (const float[]){ 0, 0, 0, 0, 0, 0, 0, 0 });
    ground(&l, 2, 1, (const float[]){ 0, 0, 0, 0, 0, .3f, 0, .3f });
    dte_target_link(&t, &l.r, &by, &config);
    const int wanted[] = { B, A, B, DTE_OTHER, V, DTE_KEYWORD, DTE_OTHER, DTE_OTHER };
    for (int q = 0; q < 8; q++)
        assert_int_equal(tags[q], 1 << wanted[q]);
    dte_target_link(&t, &l.r, &none, &config);
    assert_int_equal(tags[1], 1 << (B + 1));
    assert_int_equal(tags[2], 1 << (B + 1));
    dte_target_link(&t, &l.r, &by, &published);
    assert_int_equal(tags[0], 1 << (DTE_PUBLISHED_SPAN + SPAN_COL));
    assert_int_equal(tags[1], 1 << (DTE_PUBLISHED_SPAN + SPAN_AMB));
    assert_int_equal(tags[2], 1 << (DTE_PUBLISHED_SPAN + SPAN_COL));
    close_world(&l);
}

/* Several columns with a grounding of .2 make a word AMB; the column "unknown" stands for a missing concept. */
static void test_eta(void **state)
{
    static const struct span_column with_unknown[] = { { .name = "score" }, { .name = "city" }, { .name = "unknown" } };
    struct dte_world w;
    struct dte_asked asked;
    struct dte_reading r;
    struct tag_answer a;
    (void)state;

    dte_world_open(&w);
    dte_asked_init(&asked, &w, "x home year score ?", with_unknown, 3, NULL, 0);
    dte_world_reading(&r, &asked.item, DTE_TAGS);
    const float g[3][5] = { { 0, .5f, 0, 0, .45f }, { 0, .4f, 0, .45f, 0 }, { 0, 0, .9f, 0, 0 } }; /* city, score */
    memcpy(r.grounding + DTE_KEYWORDS * 5, g, sizeof g);
    dte_decode_eta(&a, &r, &dte_decode_defaults);
    assert_int_equal(a.n_spans, 3);
    assert_int_equal(a.spans[0].label, SPAN_AMB);
    assert_int_equal(a.spans[0].start, 2);
    assert_int_equal(a.spans[0].end, 6);
    assert_int_equal(a.spans[0].n_alternatives, 2);
    assert_int_equal(a.spans[0].alternatives[0].column, 1);
    assert_near(a.spans[0].alternatives[0].score, (double).5f, 1e-9);
    assert_int_equal(a.spans[0].alternatives[1].column, 0);
    assert_near(a.spans[0].probability, .5 * (double).5f, 1e-9);
    assert_int_equal(a.spans[1].label, SPAN_UNK);
    assert_int_equal(a.spans[1].n_alternatives, 0);
    assert_int_equal(a.spans[2].label, SPAN_COL);
    assert_int_equal(a.spans[2].start, 12);
    assert_int_equal(a.spans[2].alternatives[0].column, 0);
    tag_answer_release(&a);
    dte_reading_release(&r);
    dte_asked_release(&asked);
    dte_world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_concepts_that_are_meant),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_least_grounding),
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_contained_words),
        cmocka_unit_test(test_value_hides_column),
        cmocka_unit_test(test_most_confident),
        cmocka_unit_test(test_growing),
        cmocka_unit_test(test_untrained_keywords),
        cmocka_unit_test(test_tags_of_links),
        cmocka_unit_test(test_eta),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
