/* Stop strings in tokens: the same place if tokens are read at once, one by one, or far beyond it. */
#include "infer/lm/complete.h"
#include "tests/support/tokens.h"

#include <stdlib.h>

static struct tokenizer *tokenizer;
static struct ids ids;

/* Reads the first `seen` tokens at once, or one after another. */
static void watch(struct stop_watch *w, const char *stop, int64_t seen, bool slowly)
{
    stop_watch_start(w, stop, tokenizer);
    for (int64_t n = slowly ? 1 : seen; n <= seen; n++)
        stop_watch_read(w, ids.items, n);
}

static void check_found(const char *stop, size_t length, int64_t tokens)
{
    struct stop_watch w;
    int64_t known = 0;

    for (int slowly = 0; slowly < 2; slowly++)
        for (int64_t seen = 1; seen <= ids.count; seen++) {
            watch(&w, stop, seen, slowly);
            known = w.found && !known ? seen : known;
            assert_true(w.found == (known && seen >= known));
            if (w.found) {
                assert_int_equal(w.length, length);
                assert_int_equal(stop_watch_tokens(&w), tokens);
                assert_int_equal(w.n, known);
            }
            stop_watch_release(&w);
        }
    assert_true(known);
}

static void open_text(const char *text)
{
    tokenizer = test_tokenizer("bpe/llama");
    ids = (struct ids){ 0 };
    tokenizer_encode(tokenizer, text, strlen(text), 0, &ids, NULL);
}

static void close_text(void)
{
    ids_release(&ids);
    tokenizer_close(tokenizer);
}

/* Characters of several tokens with a common start. */
static void test_places(void **state)
{
    (void)state;
    open_text("\xf0\x9f\x9a\x80\xf0\x9f\x9a\x81"); /* four tokens each: U+1F680, U+1F681 */
    assert_int_equal(ids.count, 8);
    check_found("\xf0\x9f\x9a\x80", 0, 0);
    check_found("\xf0\x9f\x9a\x81", 4, 4);
    check_found("\xf0\x9f\x9a\x80\xf0\x9f\x9a\x81", 0, 0);
    close_text();
    open_text("aaab aab ab");
    check_found("aab", 1, 1);
    check_found("b ab", 7, 6); /* " a" is one */
    close_text();
}

/* The end of the text is searched too, and an absent text is not found. */
static void test_end(void **state)
{
    struct stop_watch w;

    (void)state;
    open_text("x\xf0\x9f\x9a\x80");
    watch(&w, "\xef\xbf\xbd", ids.count - 1, true);
    assert_false(w.found);
    assert_true(stop_watch_end(&w));
    assert_int_equal(w.length, 1);
    assert_int_equal(stop_watch_tokens(&w), 1);
    stop_watch_release(&w);
    watch(&w, "y", ids.count, true);
    assert_false(stop_watch_end(&w));
    stop_watch_release(&w);
    close_text();
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_places), cmocka_unit_test(test_end) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
