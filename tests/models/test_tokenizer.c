#include "models/text/normal_text.h"
#include "models/text/tokenizer.h"
#include "models/text/tokenizer_train.h"
#include "models/text/utf8.h"
#include "tests/support/tokens.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define GOLD "tests/gold/"

static void check_spans(const struct token_spans *spans, const json_t *wanted, const char *where)
{
    for (int64_t i = 0; i < 2 * spans->count; i++) {
        int64_t at = i % 2 ? spans->items[i / 2].end : spans->items[i / 2].start;
        if (at != json_integer_value(json_array_get(wanted, (size_t)i)))
            fail_msg("%s: token %lld %s at byte %lld, wanted %lld", where, (long long)i / 2, i % 2 ? "ends" : "starts",
                     (long long)at, (long long)json_integer_value(json_array_get(wanted, (size_t)i)));
    }
}

static void check_record(const struct tokenizer *t, const json_t *record, const char *where)
{
    struct ids ids = { 0 };
    struct token_spans spans = { 0 };

    test_encode(t, record, &ids, &spans, where);
    if (json_object_get(record, "spans"))
        check_spans(&spans, json_object_get(record, "spans"), where);
    char *decoded = tokenizer_decode(t, ids.items, ids.count, TOKENIZER_SKIP_SPECIALS, NULL);
    assert_string_equal(decoded, json_string_value(json_object_get(record, "decoded")));
    free(decoded);
    ids_release(&ids);
    token_spans_release(&spans);
}

static void test_gold(void **state)
{
    (void)state;
    assert_true(test_gold_records("wordpiece", check_record) > 700);
}

static uint64_t fnv(uint64_t h, const char *bytes, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)bytes[i]) * 0x100000001B3u;
    return h;
}

/* Hashes the words of "a<cp>b", each with a zero byte, and a final zero byte. */
static uint64_t hash_character(uint64_t h, const struct bert_normalizer *n, uint32_t cp, struct normal_text *buffer)
{
    char text[8] = "a";
    int length = 1 + utf8_write(text + 1, cp);

    text[length++] = 'b';
    bert_normalize(n, text, 0, length, buffer);
    for (int64_t at = 0, stop, words = 0; bert_next_word(buffer->text, &at, buffer->length, &stop);
         at = stop, words++) {
        if (words)
            h = fnv(h, "", 1);
        h = fnv(h, buffer->text + at, stop - at);
    }
    return fnv(h, "\0", 2);
}

/* Every code point through the whole pipeline, cased and uncased, compared with Hugging Face's tokenizers. */
static void test_every_code_point(void **state)
{
    struct bert_normalizer uncased = { .clean_text = true, .chinese = true, .lowercase = true }, cased = uncased;
    struct normal_text buffer = { 0 };
    FILE *f = fopen(GOLD "char_blocks.txt", "r");
    char line[256];
    unsigned block, blocks = 0;
    unsigned long long wanted;
    (void)state;

    cased.lowercase = false;
    bert_normalizer_prepare(&uncased);
    bert_normalizer_prepare(&cased);
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f));
    for (; fscanf(f, "%x %llx", &block, &wanted) == 2; blocks++) {
        uint64_t h = 0xCBF29CE484222325u;
        for (uint32_t cp = block; cp < block + 256; cp++)
            if (cp < 0xD800 || cp >= 0xE000) {
                h = hash_character(h, &uncased, cp, &buffer);
                h = hash_character(h, &cased, cp, &buffer);
            }
        if (h != wanted)
            fail_msg("a code point of block U+%04X is treated differently", block);
    }
    assert_int_equal(blocks, 0x1100);
    fclose(f);
    normal_text_release(&buffer);
}

static void test_specials_stay_text(void **state)
{
    static const char text[] = "a [SEP] [CLS]";
    struct tokenizer *t = test_tokenizer("wordpiece/uncased");
    struct ids ids = { 0 };
    (void)state;

    tokenizer_encode(t, text, strlen(text), 0, &ids, NULL);
    for (int64_t i = 0; i < ids.count; i++) {
        assert_int_not_equal(ids.items[i], tokenizer_special(t, SPECIAL_SEP));
        assert_int_not_equal(ids.items[i], tokenizer_special(t, SPECIAL_CLS));
    }
    ids.count = 0;
    assert_int_equal(tokenizer_encode(t, text, strlen(text), TOKENIZER_MATCH_SPECIALS, &ids, NULL), 3);
    assert_int_equal(ids.items[1], tokenizer_special(t, SPECIAL_SEP));
    assert_int_equal(ids.items[2], tokenizer_special(t, SPECIAL_CLS));
    ids_release(&ids);
    tokenizer_close(t);
}

static void test_vocabulary(void **state)
{
    struct tokenizer *t = test_tokenizer("wordpiece/uncased");
    (void)state;

    assert_string_equal(tokenizer_token(t, tokenizer_special(t, SPECIAL_MASK)), "[MASK]");
    assert_int_equal(tokenizer_id(t, "[PAD]"), tokenizer_special(t, SPECIAL_PAD));
    assert_int_equal(tokenizer_id(t, "[new1]"), tokenizer_vocab_size(t) - 3);
    assert_int_equal(tokenizer_id(t, "no such token"), -1);
    assert_null(tokenizer_token(t, -1));
    assert_null(tokenizer_token(t, tokenizer_vocab_size(t)));
    for (int32_t id = 0; id < tokenizer_vocab_size(t); id++)
        assert_int_equal(tokenizer_id(t, tokenizer_token(t, id)), id);
    tokenizer_close(t);
}

/* Invalid bytes become U+FFFD as with Python's errors="replace", and are dropped. */
static void test_invalid_utf8(void **state)
{
    static const struct {
        const char *text;
        int replacements;
    } cases[] = { { "\xff", 1 },         { "\xc3", 1 },         { "\xe4\xbd", 1 },         { "\xe4\xbdz", 1 },
                  { "\xf0\x9f\x98", 1 }, { "\xed\xa0\x80", 3 }, { "\xc0\xaf", 2 },         { "\xf4\x90\x80\x80", 4 },
                  { "\x80\x80", 2 },     { "\xe4\xff", 2 },     { "\xf8\x88\x80\x80", 4 }, { "\xe0\x80\x80", 3 } };
    struct bert_normalizer keep = { 0 };
    struct normal_text buffer = { 0 };
    (void)state;

    bert_normalizer_prepare(&keep);
    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        bert_normalize(&keep, cases[i].text, 0, (int64_t)strlen(cases[i].text), &buffer);
        int64_t kept = buffer.length - (strchr(cases[i].text, 'z') ? 1 : 0);
        assert_int_equal(kept, 3 * cases[i].replacements);
        assert_memory_equal(buffer.text, "\xef\xbf\xbd", 3);
    }
    normal_text_release(&buffer);
}

/* Time is linear for a million marks to be sorted, and for endless words. */
static void test_hostile_text(void **state)
{
    enum { N = 1000000 };
    struct tokenizer *t = test_tokenizer("wordpiece/uncased");
    struct ids ids = { 0 };
    char *text = xmalloc(6 * N);
    (void)state;

    for (int i = 0; i < N; i++)
        memcpy(text + 6 * i, i % 2 ? "\xe3\x80\xae\xe1\xb7\xbb" : "\xe1\xb7\xbb\xe1\xad\x84", 6);
    assert_int_equal(tokenizer_encode(t, text, 6 * N, 0, &ids, NULL), 1);
    memset(text, 'a', 6 * N);
    assert_int_equal(tokenizer_encode(t, text, 6 * N, 0, &ids, NULL), 1);
    assert_int_equal(ids.items[1], tokenizer_special(t, SPECIAL_UNK));
    memset(text, '[', 6 * N);
    assert_int_equal(tokenizer_encode(t, text, 6 * N, TOKENIZER_MATCH_SPECIALS, &ids, NULL), 6 * N);
    ids_release(&ids);
    free(text);
    tokenizer_close(t);
}

struct job {
    const struct tokenizer *t;
    struct ids ids;
};

static const char sentence[] = "Zürich: how many students named Đorđe have 2,500.75 naïve cafés? [SEP] NEW2 你好";

static void *encode_often(void *arg)
{
    struct job *job = arg;
    for (int i = 0; i < 500; i++) {
        job->ids.count = 0;
        tokenizer_encode(job->t, sentence, strlen(sentence), TOKENIZER_MATCH_SPECIALS, &job->ids, NULL);
    }
    return NULL;
}

static void test_threads(void **state)
{
    struct tokenizer *t = test_tokenizer("wordpiece/uncased");
    struct job jobs[4] = { { 0 } };
    pthread_t threads[4];
    (void)state;

    for (int i = 0; i < 4; i++) {
        jobs[i].t = t;
        assert_int_equal(pthread_create(&threads[i], NULL, encode_often, &jobs[i]), 0);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 4; i++) {
        assert_true(jobs[i].ids.count > 10 && jobs[i].ids.count == jobs[0].ids.count);
        assert_memory_equal(jobs[i].ids.items, jobs[0].ids.items, (size_t)jobs[0].ids.count * sizeof(int32_t));
        if (i)
            ids_release(&jobs[i].ids);
    }
    ids_release(&jobs[0].ids);
    tokenizer_close(t);
}

static const char *const corpus[] = {
    "Show the names of all singers and the names of their concerts",
    "Which singer gave the most concerts in the stadium of Zürich?",
    "How many concerts did each singer give, and in which stadium?",
    "List singers, concerts and stadiums ordered by year",
};

static void test_learn(void **state)
{
    struct error err = { 0 };
    struct ids ids = { 0 };
    struct tokenizer *a = tokenizer_from_words(corpus, ARRAY_LEN(corpus), 0, 300, &err);
    struct tokenizer *b = tokenizer_from_words(corpus, ARRAY_LEN(corpus), 0, 300, &err);
    (void)state;

    assert_true(a && b && tokenizer_vocab_size(a) <= 300);
    assert_int_equal(tokenizer_vocab_size(a), tokenizer_vocab_size(b));
    for (int32_t i = 0; i < tokenizer_vocab_size(a); i++)
        assert_string_equal(tokenizer_token(a, i), tokenizer_token(b, i));
    assert_true(tokenizer_id(a, "singer") > 0 && tokenizer_id(a, "concerts") > 0);
    tokenizer_encode(a, "zyxq_7 Concerts!", 16, 0, &ids, NULL); /* all ASCII characters are in the vocabulary */
    for (int64_t i = 0; i < ids.count; i++)
        assert_int_not_equal(ids.items[i], tokenizer_special(a, SPECIAL_UNK));
    char *text = tokenizer_decode(a, ids.items, ids.count, 0, NULL);
    assert_string_equal(text, "zyxq _ 7 concerts!");
    free(text);
    ids_release(&ids);
    tokenizer_close(a);
    tokenizer_close(b);
}

/* Frequent pairs come first; rare characters are left out in favour of words. */
static void test_learn_order(void **state)
{
    static const char *const pairs[] = { "xw zq zq", "zq xw", "zq xw zq" };
    struct error err = { 0 };
    char text[4 * 2000 + 64] = "concert concert concert ";
    const char *texts[] = { text };
    size_t length = strlen(text);
    (void)state;

    struct tokenizer *t = tokenizer_from_words(pairs, ARRAY_LEN(pairs), 0, 256, &err);
    assert_true(t && tokenizer_id(t, "zq") > 0 && tokenizer_id(t, "zq") < tokenizer_id(t, "xw"));
    tokenizer_close(t);
    for (uint32_t cp = 0xA000; cp < 0xA000 + 400; cp++) {
        length += (size_t)utf8_write(text + length, cp);
        text[length++] = ' ';
    }
    t = tokenizer_from_words(texts, 1, 0, 300, &err);
    assert_true(t && tokenizer_vocab_size(t) < 300 && tokenizer_id(t, "concert") > 0);
    tokenizer_close(t);
}

/* Unused tokens have ids, and no text is encoded to them. */
static void test_unused_tokens(void **state)
{
    const char *const texts[] = { "[unused2] of the [unused1]" };
    struct ids ids = { 0 };
    struct error err = { 0 };
    (void)state;

    struct tokenizer *t = tokenizer_from_words(texts, 1, 3, 300, &err);
    assert_non_null(t);
    assert_int_equal(tokenizer_id(t, "[unused2]"), tokenizer_id(t, "[unused0]") + 2);
    assert_int_equal(tokenizer_id(t, "[unused3]"), -1);
    tokenizer_encode(t, texts[0], strlen(texts[0]), 0, &ids, NULL);
    for (int64_t i = 0; i < ids.count; i++)
        assert_null(strstr(tokenizer_token(t, ids.items[i]), "unused1"));
    assert_true(ids.count > 6);
    ids_release(&ids);
    tokenizer_close(t);
}

static void test_longest_word(void **state)
{
    struct tokenizer *t = test_tokenizer("wordpiece/uncased");
    struct ids ids = { 0 };
    char text[202];
    (void)state;

    for (int i = 0; i < 202; i += 2)
        memcpy(text + i, "\xd0\xbc", 2); /* 101 letters of two bytes */
    assert_true(tokenizer_encode(t, text, 200, 0, &ids, NULL) > 1);
    ids.count = 0;
    assert_int_equal(tokenizer_encode(t, text, 202, 0, &ids, NULL), 1);
    assert_int_equal(ids.items[0], tokenizer_special(t, SPECIAL_UNK));
    ids_release(&ids);
    tokenizer_close(t);
}

static void test_learn_bounds(void **state)
{
    struct error err = { 0 };
    (void)state;

    assert_null(tokenizer_from_words(corpus, ARRAY_LEN(corpus), 0, 255, &err));
    assert_error(err, "255", "256");
    assert_int_equal(err.code, EXIT_CODE_USAGE);
    struct tokenizer *t = tokenizer_from_words(NULL, 0, 0, 256, &err);
    assert_true(t && tokenizer_vocab_size(t) > 100 && tokenizer_vocab_size(t) < 256);
    tokenizer_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gold),         cmocka_unit_test(test_every_code_point),
        cmocka_unit_test(test_vocabulary),   cmocka_unit_test(test_specials_stay_text),
        cmocka_unit_test(test_invalid_utf8), cmocka_unit_test(test_hostile_text),
        cmocka_unit_test(test_threads),      cmocka_unit_test(test_longest_word),
        cmocka_unit_test(test_learn),        cmocka_unit_test(test_learn_order),
        cmocka_unit_test(test_learn_bounds), cmocka_unit_test(test_unused_tokens),
    };
    return cmocka_run_group_tests_name("tokenizer", tests, NULL, NULL);
}
