/* Tests replaced words: a record keeps its form, and each word has one replacement that no other word has. */
#include "tests/support/support.h"

#include "data/synth/substitute.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *const corpus[] = {
    "singer: singer id, name, born state\nQuestion: List the name of singers.",
    "artist: artist id, title\nQuestion: List the title of Artists born in 'Utah'.",
    "Question: What is the oldest heads' age? An id, of it.",
};

static void open_counts(struct word_counts *l, int common)
{
    *l = (struct word_counts){ 0 };
    for (int i = 0; i < ARRAY_LEN(corpus); i++)
        word_counts_add(l, corpus[i], i + 1);
    word_counts_close(l, common);
}

static void counts(void **state)
{
    struct word_counts l;
    (void)state;

    open_counts(&l, 2);
    assert_int_equal(l.records[strings_find(&l.words, "question")], 3);
    assert_int_equal(l.records[strings_find(&l.words, "singer")], 1); /* three times in one record */
    assert_int_equal(l.records[strings_find(&l.words, "artist")], 1);
    assert_int_equal(strings_find(&l.words, "singers"), -1);
    assert_int_equal(strings_find(&l.words, "id"), -1); /* too short */
    static const char *const common[] = { "question", "the" };
    assert_int_equal(l.n_common, 2);
    for (int i = 0; i < l.n_common; i++) {
        bool known = false;
        for (int k = 0; k < 2; k++)
            known = known || strcmp(l.words.items[l.common[i]], common[k]) == 0;
        assert_true(known);
    }
    word_counts_release(&l);
}

/* Ends the word at p with a zero and returns the rest. */
static char *cut_word(char *p)
{
    while (isalpha((unsigned char)*p))
        p++;
    *p = '\0';
    return p + 1;
}

static void form_stays(void **state)
{
    struct word_counts l;
    struct rng rng = { .seed = 1 };
    (void)state;

    open_counts(&l, 2);
    for (int i = 0; i < 50; i++) {
        struct substitution s = { &l, &rng, { 0 }, { 0 } };
        char *text = substitute(&s, "Singer singers, THE singer: id 'born' UnheardOf"), *more = substitute(&s, "born");
        char *second = cut_word(text), *third = cut_word(second) + 5, *rest = cut_word(third), *born = rest + 5;
        size_t n = strlen(text);
        assert_true(isupper((unsigned char)*text) && strcasecmp(text, third) == 0);
        assert_true(strncasecmp(text, second, n) == 0 && strcmp(second + n, "s") == 0);
        assert_memory_equal(third - 5, " THE ", 5); /* what stays keeps its capitals */
        assert_memory_equal(rest, " id '", 5);
        assert_int_equal(strncmp(born, more, strlen(more)), 0);
        assert_string_equal(born + strlen(more), "' UnheardOf"); /* not among the counted words */
        assert_string_not_equal(more, third);
        free(text);
        free(more);
        substitution_release(&s);
    }
    word_counts_release(&l);
}

/* If every word can be replaced, the result is a permutation of the words. */
static void all_different(void **state)
{
    struct word_counts l;
    struct rng rng = { .seed = 2 };
    struct strings seen = { 0 };
    (void)state;

    open_counts(&l, 0);
    struct substitution s = { &l, &rng, { 0 }, { 0 } };
    for (int i = 0; i < l.words.n; i++) {
        char *word = substitute(&s, l.words.items[i]);
        int known = seen.n;
        if (strings_find(&s.words, l.words.items[i]) >= 0) /* else nothing was left to draw */
            assert_int_equal(strings_add(&seen, word), known);
        free(word);
    }
    assert_true(seen.n > l.words.n / 2);
    substitution_release(&s);
    strings_release(&seen);
    word_counts_release(&l);
}

/* A statement still parses, and no word becomes a keyword. */
static void sql_stays(void **state)
{
    static const char form[] = "select count(?) from ? where exists (select max(?), group_concat(?) from ? group by ? "
                               "having length(?) > round(?))";
    static const char text[] =
        "select count(age) from singer where exists (select max(year), group_concat(length) from "
        "song group by singer having length(age) > round(round))";
    struct rng rng = { .seed = 4 };
    struct word_counts l = { 0 };
    (void)state;

    word_counts_add(&l, text, 1);
    word_counts_add(&l, "intersect between average", 2);
    word_counts_close(&l, 0);
    for (int i = 0; i < 50; i++) {
        struct substitution s = { &l, &rng, { 0 }, { 0 } };
        char *copy = substitute(&s, text);
        const char *at = copy;
        for (const char *f = form; *f; f++) {
            const char *name = at;
            while (*f == '?' && isalpha((unsigned char)*at))
                at++;
            assert_true(*f == '?' ? at > name : *at++ == *f);
            assert_true(strncmp(name, "intersect", 9) != 0 && strncmp(name, "between", 7) != 0);
        }
        assert_string_equal(at, "");
        free(copy);
        substitution_release(&s);
    }
    word_counts_release(&l);
}

static void edges(void **state)
{
    struct word_counts none = { 0 }, l;
    struct rng rng = { .seed = 3 };
    char longest[200];
    (void)state;

    word_counts_close(&none, 10);
    struct substitution s = { &none, &rng, { 0 }, { 0 } };
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    const char *const texts[] = { "", "a", "no words known", longest, "\xc3\xa9t\xc3\xa9 12 %" };
    for (int i = 0; i < ARRAY_LEN(texts); i++) {
        char *text = substitute(&s, texts[i]);
        assert_string_equal(text, texts[i]);
        free(text);
    }
    substitution_release(&s);
    word_counts_release(&none);
    open_counts(&l, 1000); /* every word stays */
    s = (struct substitution){ &l, &rng, { 0 }, { 0 } };
    char *text = substitute(&s, corpus[0]);
    assert_string_equal(text, corpus[0]);
    free(text);
    substitution_release(&s);
    word_counts_release(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts),    cmocka_unit_test(form_stays), cmocka_unit_test(all_different),
        cmocka_unit_test(sql_stays), cmocka_unit_test(edges),
    };
    return cmocka_run_group_tests_name("substitute", tests, NULL, NULL);
}
