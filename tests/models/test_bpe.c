#include "tests/support/tokens.h"

#include <stdlib.h>
#include <string.h>

/* The spans cover every byte of the text once, in order. */
static void check_spans(const struct token_spans *spans, size_t length, const char *where)
{
    int64_t at = 0;
    for (int64_t i = 0; i < spans->count; at = spans->items[i++].end)
        if (spans->items[i].start != at || spans->items[i].end <= at)
            fail_msg("%s: token %lld is [%lld, %lld) behind %lld", where, (long long)i,
                     (long long)spans->items[i].start, (long long)spans->items[i].end, (long long)at);
    if (at != (int64_t)length)
        fail_msg("%s: spans end at %lld of %zu", where, (long long)at, length);
}

/* Incremental decoding: the concatenated parts equal the whole text, and each part is valid UTF-8. */
static void check_stream(const struct tokenizer *t, const struct ids *ids, const char *wanted, size_t length)
{
    struct tokenizer_stream s;
    size_t at = 0, n;

    tokenizer_stream_start(&s, t, TOKENIZER_SKIP_SPECIALS);
    for (int64_t i = 0; i <= ids->count; i++) {
        const char *part = i < ids->count ? tokenizer_stream_next(&s, ids->items[i], &n) : tokenizer_stream_end(&s, &n);
        assert_true(at + n <= length);
        assert_memory_equal(part, wanted + at, n);
        assert_true(n == 0 || ((unsigned char)part[0] & 0xC0) != 0x80);
        at += n;
    }
    assert_int_equal(at, length);
    tokenizer_stream_release(&s);
}

static void check_decoded(const struct tokenizer *t, const struct ids *ids, const json_t *record)
{
    size_t wanted_length, length;
    char *wanted = test_from_hex(json_string_value(json_object_get(record, "decoded")), &wanted_length);
    char *text = tokenizer_decode(t, ids->items, ids->count, TOKENIZER_SKIP_SPECIALS, &length);

    assert_int_equal(length, wanted_length);
    assert_memory_equal(text, wanted, length + 1);
    check_stream(t, ids, wanted, wanted_length);
    free(wanted);
    free(text);
}

static void check_record(const struct tokenizer *t, const json_t *record, const char *where)
{
    struct ids ids = { 0 };
    struct token_spans spans = { 0 };
    size_t length = test_encode(t, record, &ids, &spans, where);

    check_decoded(t, &ids, record);
    if (json_equal(json_object_get(record, "decoded"), json_object_get(record, "hex")))
        check_spans(&spans, length, where); /* normalisation changed nothing */
    ids_release(&ids);
    token_spans_release(&spans);
}

static void test_gold(void **state)
{
    (void)state;
    assert_true(test_gold_records("bpe", check_record) > 700);
}

/* Names of added tokens in untrusted text remain plain text. */
static void test_added_stay_text(void **state)
{
    static const char text[] = "<|im_end|> <tool_call> cafe\xcc\x81s";
    struct tokenizer *t = test_tokenizer("bpe/qwen");
    struct ids ids = { 0 };
    (void)state;

    tokenizer_encode(t, text, strlen(text), 0, &ids, NULL);
    for (int64_t i = 0; i < ids.count; i++)
        assert_true(ids.items[i] < tokenizer_id(t, "<|endoftext|>"));
    ids.count = 0;
    assert_int_equal(tokenizer_encode(t, text, strlen(text), TOKENIZER_MATCH_SPECIALS, &ids, NULL), 5);
    assert_int_equal(ids.items[0], tokenizer_id(t, "<|im_end|>"));
    assert_int_equal(ids.items[2], tokenizer_id(t, "<tool_call>"));
    assert_int_equal(ids.items[4], tokenizer_id(t, "cafe\xcc\x81s"));
    ids_release(&ids);
    tokenizer_close(t);
}

static void test_vocabulary(void **state)
{
    struct tokenizer *t = test_tokenizer("bpe/llama");
    (void)state;

    for (int32_t id = 0; id < tokenizer_vocab_size(t); id++)
        assert_int_equal(tokenizer_id(t, tokenizer_token(t, id)), id);
    assert_int_equal(tokenizer_id(t, "no such token"), -1);
    for (int i = 0; i < SPECIAL_COUNT; i++) /* the folder names no special tokens */
        assert_int_equal(tokenizer_special(t, (enum special_token)i), -1);
    tokenizer_close(t);
}

/* Decoding restores any bytes, because each byte has a token. */
static void test_exact_bytes(void **state)
{
    struct tokenizer *t = test_tokenizer("bpe/llama");
    char name[4] = { 0 }, *text;
    int32_t ids[256];
    size_t length;
    (void)state;

    for (int b = 0; b < 256; b++) {
        int cp = b > 0x20 && b != 0xAD && (b < 0x7F || b > 0xA0) ? b : 0;
        for (int other = 0, next = 256; other <= b && !cp; other++) /* characters from U+0100 on, in order */
            if (other <= 0x20 || other == 0xAD || (other >= 0x7F && other <= 0xA0))
                cp = other == b ? next : (next++, 0);
        snprintf(name, sizeof name, "%c%c", cp < 0x80 ? cp : 0xC0 | cp >> 6, cp < 0x80 ? 0 : 0x80 | (cp & 0x3F));
        ids[b] = tokenizer_id(t, name);
        assert_true(ids[b] >= 0);
    }
    text = tokenizer_decode(t, ids, 256, TOKENIZER_EXACT_BYTES, &length);
    assert_int_equal(length, 256);
    for (int b = 0; b < 256; b++)
        assert_int_equal((unsigned char)text[b], b);
    free(text);
    tokenizer_close(t);
}

/* Decoding yields the NFC of the text. */
static void test_composed(void **state)
{
    static const char *const cases[][2] = {
        { "e\xcc\x81", "\xc3\xa9" },                                /* a letter with a combining accent */
        { "e\xcc\x81\xcc\xa3", "\xe1\xba\xb9\xcc\x81" },            /* marks in the wrong order */
        { "\xe2\x84\xab", "\xc3\x85" },                             /* the Angstrom sign */
        { "\xe0\xa5\x98", "\xe0\xa4\x95\xe0\xa4\xbc" },             /* excluded from composition */
        { "\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8", "\xea\xb0\x81" }, /* three Hangul letters */
        { "\xea\xb0\x80\xe1\x86\xa7", "\xea\xb0\x80\xe1\x86\xa7" }, /* not a final consonant */
        { "\xcc\x81\xcd\x84", "\xcc\x81\xcc\x88\xcc\x81" },         /* no base character */
        { "a\xff\xcc\x88", "a\xef\xbf\xbd\xcc\x88" },               /* no composition over invalid bytes */
    };
    struct tokenizer *t = test_tokenizer("bpe/qwen");
    (void)state;

    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        struct ids ids = { 0 };
        tokenizer_encode(t, cases[i][0], strlen(cases[i][0]), 0, &ids, NULL);
        char *text = tokenizer_decode(t, ids.items, ids.count, 0, NULL);
        assert_string_equal(text, cases[i][1]);
        free(text);
        ids_release(&ids);
    }
    tokenizer_close(t);
}

/* A character is returned with its last byte; an incomplete one becomes U+FFFD at the end. */
static void test_stream(void **state)
{
    static const char text[] = "\xf0\x9f\x9a\x80";
    struct tokenizer *t = test_tokenizer("bpe/llama");
    struct tokenizer_stream s;
    struct ids ids = { 0 };
    size_t n;
    (void)state;

    assert_int_equal(tokenizer_encode(t, text, 4, 0, &ids, NULL), 4);
    tokenizer_stream_start(&s, t, 0);
    for (int i = 0; i < 4; i++)
        assert_string_equal(tokenizer_stream_next(&s, ids.items[i], &n), i < 3 ? "" : text);
    tokenizer_stream_next(&s, ids.items[0], &n);
    assert_int_equal(n, 0);
    assert_string_equal(tokenizer_stream_next(&s, ids.items[0], &n),
                        "\xef\xbf\xbd"); /* the first byte cannot continue */
    assert_string_equal(tokenizer_stream_end(&s, &n), "\xef\xbf\xbd");
    assert_string_equal(tokenizer_stream_end(&s, &n), "");
    tokenizer_stream_release(&s);
    ids_release(&ids);
    tokenizer_close(t);
}

/* Time is linear in the length of one word of a megabyte, or of one run of another class. */
static void test_hostile_text(void **state)
{
    static const char *const parts[] = { "a", "the",      " ",         "\n", " \n",         "1",
                                         "=", "\xd0\xb9", "e\xcc\x81", "'",  "\xe1\xa0\x8e" };
    enum { N = 1 << 20 };
    struct tokenizer *t = test_tokenizer("bpe/qwen");
    struct ids ids = { 0 };
    char *text = xmalloc(N);
    (void)state;

    for (int i = 0; i < ARRAY_LEN(parts); i++) {
        size_t n = strlen(parts[i]), length = N / n * n;
        for (size_t at = 0; at < length; at += n)
            memcpy(text + at, parts[i], n);
        ids.count = 0;
        assert_true(tokenizer_encode(t, text, length, 0, &ids, NULL) > 0);
        char *back = tokenizer_decode(t, ids.items, ids.count, 0, &n);
        if (i != 8) { /* NFC shortens this one */
            assert_int_equal(n, length);
            assert_memory_equal(back, text, length);
        }
        free(back);
    }
    free(text);
    ids_release(&ids);
    tokenizer_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gold),        cmocka_unit_test(test_added_stay_text), cmocka_unit_test(test_vocabulary),
        cmocka_unit_test(test_exact_bytes), cmocka_unit_test(test_stream),          cmocka_unit_test(test_hostile_text),
        cmocka_unit_test(test_composed),
    };
    return cmocka_run_group_tests_name("bpe", tests, NULL, NULL);
}
