#include "models/engine/automaton.h"
#include "tests/support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TEXTS = 4096, MAX_LENGTH = 64 };

/* A set of sequences as texts of letters, sorted. */
struct language {
    char texts[MAX_TEXTS][MAX_LENGTH];
    int n;
};

static int compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void put(struct language *l, const char *text)
{
    assert_true(l->n < MAX_TEXTS && strlen(text) < MAX_LENGTH);
    snprintf(l->texts[l->n++], MAX_LENGTH, "%s", text);
}

static void sort(struct language *l)
{
    int n = 0;

    qsort(l->texts, (size_t)l->n, sizeof l->texts[0], compare);
    for (int i = 0; i < l->n; i++)
        if (i == 0 || strcmp(l->texts[n - 1], l->texts[i]))
            memmove(l->texts[n++], l->texts[i], sizeof l->texts[0]);
    l->n = n;
}

/* A list of words, separated by blanks; "-" is the empty sequence. */
static struct token_list list_of(const char *words)
{
    struct token_list l = { 0 };

    for (const char *at = words; *at; at++)
        if (*at == ' ')
            token_list_end(&l);
        else if (*at != '-')
            ids_push(&l.ids, *at);
    token_list_end(&l);
    return l;
}

/* Adds all texts of the language that the lists describe. */
static void put_products(struct language *l, const struct token_list *lists, int n, const char *before)
{
    char text[MAX_LENGTH];

    if (n == 0) {
        put(l, before);
        return;
    }
    for (int64_t i = 0; i < lists->count; i++) {
        int64_t from = i ? lists->ends[i - 1] : 0, k = 0;
        snprintf(text, sizeof text, "%s", before);
        size_t at = strlen(text);
        for (; k < lists->ends[i] - from; k++)
            text[at + (size_t)k] = (char)lists->ids.items[from + k];
        text[at + (size_t)k] = '\0';
        put_products(l, lists + 1, n - 1, text);
    }
}

/* Adds all texts that the automaton allows, each without its stop token, which is one of "!?". */
static void put_paths(struct language *l, const struct automaton_host *a, int32_t state, const char *before)
{
    char text[MAX_LENGTH];
    int stops = 0;

    assert_in_range(state, 0, a->n_states - 1);
    for (int32_t e = a->first[state]; e < a->first[state + 1]; e++) {
        assert_true(e == a->first[state] || a->token[e] > a->token[e - 1]);
        snprintf(text, sizeof text, "%s%c", before, (char)a->token[e]);
        if (a->token[e] != '!' && a->token[e] != '?') {
            put_paths(l, a, a->next[e], text);
            continue;
        }
        assert_int_equal(a->first[a->next[e]], a->first[a->next[e] + 1]);
        stops++;
    }
    if (stops)
        put(l, before);
    assert_true(stops == 0 || stops == 2);
    assert_true(a->first[state] < a->first[state + 1]); /* each state has an edge */
}

static void check_same(const struct token_list *lists, int n, const struct automaton_host *a)
{
    struct language *wanted = xcalloc(2, sizeof *wanted), *got = wanted + 1;

    put_products(wanted, lists, n, "");
    put_paths(got, a, 0, "");
    sort(wanted);
    int paths = got->n;
    sort(got);
    assert_int_equal(got->n, paths); /* one path for each text */
    assert_int_equal(got->n, wanted->n);
    for (int i = 0; i < got->n; i++)
        assert_string_equal(got->texts[i], wanted->texts[i]);
    free(wanted);
}

static const int32_t stops[] = { '?', '!', '?' };

static void build(struct automaton_host *a, const char *const *words)
{
    struct token_list lists[8];
    struct error err;
    int n = 0;

    for (; words[n]; n++)
        lists[n] = list_of(words[n]);
    assert_int_equal(automaton_build(a, lists, n, stops, 3, &err), 0);
    check_same(lists, n, a);
    while (n-- > 0)
        token_list_release(lists + n);
}

#define BUILD(a, ...) build(a, (const char *const[]){ __VA_ARGS__, NULL })

static void test_answers(void **state)
{
    struct automaton_host a;
    (void)state;

    BUILD(&a, "ab ac b");
    assert_int_equal(a.n_states, 4); /* start, after a, after a text, after the stop */
    assert_int_equal(a.n_edges, 6);
    assert_int_equal(a.token[0], 'a');
    assert_int_equal(a.token[1], 'b');
    automaton_release(&a);
    BUILD(&a, "ab ab a ab"); /* a text and its prefix, with duplicates */
    assert_int_equal(a.n_edges, 6);
    automaton_release(&a);
}

/* Lists share their successors: sizes add up. */
static void test_sums(void **state)
{
    struct automaton_host a;
    (void)state;

    BUILD(&a, "a b c d", "x", "e f g", "y", "e f g");
    assert_int_equal(a.n_states, 7);
    assert_int_equal(a.n_edges, 4 + 1 + 3 + 1 + 3 + 2);
    automaton_release(&a);
}

/* The end of a text and a longer text continue with the same token. */
static void test_two_readings(void **state)
{
    struct automaton_host a;
    (void)state;

    BUILD(&a, "a ab", "b c", "c");
    automaton_release(&a);
    BUILD(&a, "a aa aaa", "a aa", "aa a");
    automaton_release(&a);
    BUILD(&a, "- a", "- a b", "ab");
    automaton_release(&a);
    BUILD(&a, "a abcd", "bc", "de d");
    automaton_release(&a);
}

static void test_refused(void **state)
{
    struct token_list lists[] = { list_of("- a"), list_of("-") };
    struct automaton_host a;
    struct error err;
    (void)state;

    assert_int_equal(automaton_build(&a, lists, 2, stops, 1, &err), -1);
    assert_int_equal(err.code, EXIT_CODE_DATA);
    assert_error(err, "expected texts with at least one token, got an empty one");
    assert_null(a.first);
    token_list_release(lists);
    token_list_release(lists + 1);
}

/* Each end of the first list continues with the whole second list: a product that shares nothing. */
static void test_too_large(void **state)
{
    struct token_list lists[2] = { 0 };
    struct automaton_host a;
    struct error err;
    (void)state;

    for (int length = 1; length <= 1000; length++) {
        for (int k = 0; k < length; k++)
            ids_push(&lists[0].ids, 7);
        token_list_end(lists);
    }
    for (int i = 0; i < 9000; i++) {
        ids_push(&lists[1].ids, 100 + i);
        token_list_end(lists + 1);
    }
    assert_int_equal(automaton_build(&a, lists, 2, stops, 1, &err), -1);
    assert_error(err, "automaton has at most 8388608 edges");
    token_list_release(lists);
    token_list_release(lists + 1);
}

static void test_forced(void **state)
{
    struct automaton_host a;
    int32_t ids[4] = { 0 };
    (void)state;

    BUILD(&a, "abcd", "e f", "gh");
    assert_int_equal(automaton_forced(&a, 0, ids, 3), 4);
    assert_int_equal(ids[0], 'a');
    assert_int_equal(ids[2], 'c');
    assert_int_equal(ids[3], 0);
    int32_t after = a.next[a.first[4]]; /* after e or f */
    assert_int_equal(automaton_forced(&a, 4, ids, 4), 0);
    assert_int_equal(automaton_forced(&a, after, ids, 4), 2);
    automaton_release(&a);
}

/* Short words of few letters, so that texts overlap in all ways. */
static void test_random(void **state)
{
    uint64_t seed = 1;
    (void)state;

    for (int round = 0; round < 3000; round++) {
        char words[4][128];
        int n = 1 + round % 4;
        for (int i = 0; i < n; i++) {
            size_t at = 0;
            for (int k = 0; k < 4; k++) {
                words[i][at++] = k ? ' ' : '-';
                for (int length = (int)((seed = seed * 6364136223846793005u + 1) >> 62) + (i == 0); length > 0;
                     length--)
                    words[i][at++] = "abc"[(seed = seed * 6364136223846793005u + 1) >> 33 & 1];
            }
            words[i][at] = '\0';
        }
        words[0][0] = 'b';
        struct automaton_host a;
        const char *all[] = { words[0], n > 1 ? words[1] : NULL, n > 2 ? words[2] : NULL, n > 3 ? words[3] : NULL,
                              NULL };
        build(&a, all);
        automaton_release(&a);
    }
}

static void test_opening(void **state)
{
    struct ids ids = { 0 };
    struct automaton_host a;
    int32_t forced[4];

    (void)state;
    ids_push(&ids, 7);
    ids_push(&ids, 3);
    automaton_opening(&a, &ids);
    assert_int_equal(automaton_forced(&a, 0, forced, 4), 2);
    assert_memory_equal(forced, ids.items, 2 * sizeof *forced);
    assert_int_equal(a.next[1], -1); /* STATE_FREE */
    automaton_release(&a);
    ids_release(&ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers), cmocka_unit_test(test_sums),      cmocka_unit_test(test_two_readings),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_too_large), cmocka_unit_test(test_forced),
        cmocka_unit_test(test_random),  cmocka_unit_test(test_opening),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
