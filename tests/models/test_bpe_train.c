#include "data/base/json.h"
#include "models/text/chat.h"
#include "models/text/tokenizer_train.h"
#include "models/text/vocab.h"
#include "tests/support/tokens.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_TEXTS = 64 };

static int strings_of(const json_t *list, const char *out[MAX_TEXTS])
{
    int n = (int)json_array_size(list);

    assert_true(n <= MAX_TEXTS);
    for (int i = 0; i < n; i++)
        out[i] = json_string_value(json_array_get(list, (size_t)i));
    return n;
}

static enum bpe_preset preset_named(const char *name)
{
    return strcmp(name, "llama") == 0 ? BPE_LLAMA3 : strcmp(name, "qwen") == 0 ? BPE_QWEN2 : BPE_WORDS;
}

static struct tokenizer *learn(const json_t *record)
{
    const char *texts[MAX_TEXTS], *specials[MAX_TEXTS];
    int n = strings_of(json_object_get(record, "texts"), texts);
    struct bpe_options options = { .preset = preset_named(json_string_value(json_object_get(record, "kind"))),
                                   .vocab_size = (int32_t)json_integer_value(json_object_get(record, "vocab_size")),
                                   .specials = specials,
                                   .n_specials = strings_of(json_object_get(record, "specials"), specials) };
    struct error err = { 0 };
    struct tokenizer *t = tokenizer_from_bytes(texts, n, &options, &err);

    if (!t)
        fail_msg("%s", err.text);
    return t;
}

static void check_ids(const struct tokenizer *t, const json_t *record, const char *where)
{
    const char *probe = json_string_value(json_object_get(record, "probe"));
    struct ids ids = { 0 };

    tokenizer_encode(t, probe, strlen(probe), 0, &ids, NULL);
    test_ids(&ids, json_object_get(record, "ids"), where);
    ids_release(&ids);
}

static void check_merges(const char *dir, const json_t *record, const char *where)
{
    struct error err = { 0 };
    json_t *file = json_read_file(test_file(dir, "tokenizer.json", NULL), &err);
    json_t *merges = json_object_get(json_object_get(file, "model"), "merges"),
           *wanted = json_object_get(record, "merges");

    if (!file)
        fail_msg("%s", err.text);
    assert_true(json_array_size(wanted) > 0);
    for (size_t i = 0; i < json_array_size(wanted); i++)
        if (!json_equal(json_array_get(merges, i), json_array_get(wanted, i)))
            fail_msg("%s: merge %zu differs", where, i);
    assert_int_equal(json_array_size(merges), json_array_size(wanted));
    json_decref(file);
}

/* Trained, saved and opened again, each vocabulary equals the one that Hugging Face's tokenizers trains. */
static void test_gold(void **state)
{
    struct error err = { 0 };
    struct json_reader *in = json_reader_open("tests/gold/bpe_train.jsonl", &err);
    json_t *record;
    int n = 0;
    (void)state;

    assert_non_null(in);
    for (; json_reader_next(in, &record, &err) > 0; json_decref(record), n++) {
        char *dir = test_dir_new();
        if (n == 0) { /* the first line names the generator */
            test_dir_remove(dir);
            continue;
        }
        struct tokenizer *t = learn(record);
        assert_int_equal(tokenizer_save(t, dir, &err), 0);
        check_merges(dir, record, json_reader_where(in));
        check_ids(t, record, json_reader_where(in));
        tokenizer_close(t);
        t = tokenizer_open(dir, &err);
        if (!t)
            fail_msg("%s", err.text);
        check_ids(t, record, json_reader_where(in));
        tokenizer_close(t);
        test_dir_remove(dir);
    }
    assert_true(n > 9);
    json_reader_close(in);
}

/* The special tokens come first, and the folder names their roles. */
static void test_specials(void **state)
{
    static const char *const texts[] = { "aa aa" }, *const more[] = { "<|pad|>" };
    static const struct {
        enum bpe_preset preset;
        const char *template, *bos, *eos, *first, *last;
        int merges;
    } presets[] = {
        { BPE_LLAMA3, "llama3-bare", "<|begin_of_text|>", "<|eot_id|>", "<|begin_of_text|>", "<|eot_id|>", 2 },
        { BPE_QWEN2, "chatml-bare", NULL, "<|im_end|>", "<|endoftext|>", "<|im_end|>", 2 },
        { BPE_WORDS, "chatml-bare", NULL, "<|im_end|>", "<|endoftext|>", "<|im_end|>", 1 },
    };
    (void)state;

    for (int i = 0; i < ARRAY_LEN(presets); i++) {
        struct bpe_options options = {
            .preset = presets[i].preset, .vocab_size = 300, .specials = more, .n_specials = 1
        };
        struct error err = { 0 };
        struct chat chat;
        char *dir = test_dir_new();
        struct tokenizer *learnt = tokenizer_from_bytes(texts, 1, &options, &err);
        assert_int_equal(tokenizer_save(learnt, dir, &err), 0);
        assert_int_equal(chat_write(dir, presets[i].template, &err), 0);
        struct tokenizer *t = tokenizer_open(dir, &err);
        if (!t || chat_open(&chat, dir, NULL, t, &err))
            fail_msg("%s", err.text);
        assert_string_equal(chat_name(&chat), presets[i].template);
        assert_string_equal(tokenizer_token(t, 0), presets[i].first);
        assert_int_equal(tokenizer_id(t, "<|pad|>"), tokenizer_id(t, presets[i].last) + 1);
        assert_int_equal(tokenizer_id(t, "!"), tokenizer_id(t, "<|pad|>") + 1);
        assert_int_equal(tokenizer_special(t, SPECIAL_EOS), tokenizer_id(t, presets[i].eos));
        assert_int_equal(tokenizer_special(t, SPECIAL_BOS), presets[i].bos ? tokenizer_id(t, presets[i].bos) : -1);
        assert_int_equal(tokenizer_vocab_size(t),
                         tokenizer_id(t, "<|pad|>") + 1 + 256 + presets[i].merges); /* aa, and aa after a space */
        tokenizer_close(learnt);
        tokenizer_close(t);
        test_dir_remove(dir);
    }
}

/* A run of one letter yields tokens of bounded length. */
static void test_long_tokens(void **state)
{
    enum { LONG = 5000 };
    char *text = xcalloc(LONG + 1, 1);
    const char *texts[] = { text };
    struct bpe_options options = { .preset = BPE_LLAMA3, .vocab_size = 400 };
    struct error err = { 0 };
    struct ids ids = { 0 };
    (void)state;

    memset(text, 'a', LONG);
    struct tokenizer *t = tokenizer_from_bytes(texts, 1, &options, &err);
    if (!t)
        fail_msg("%s", err.text);
    assert_true(tokenizer_encode(t, text, LONG, 0, &ids, NULL) <= 10);
    for (int64_t i = 0; i < ids.count; i++)
        assert_true(strlen(tokenizer_token(t, ids.items[i])) <= VOCAB_MAX_TOKEN);
    ids_release(&ids);
    tokenizer_close(t);
    free(text);
}

static bool holds(const struct ids *all, const struct ids *part)
{
    for (int64_t i = 0; i + part->count <= all->count; i++)
        if (memcmp(all->items + i, part->items, (size_t)part->count * sizeof *part->items) == 0)
            return true;
    return false;
}

/* A name has the same tokens after a space, in SQL and in the plural. */
static void test_words(void **state)
{
    static const char *const texts[] = { "select t1.singer, count(singer) from name as t1", "the singer : singer_id" };
    static const char *const places[] = { "t1.singer = 3", "max(singer)", "singers : name", "first_singer",
                                          "\"singer\"" };
    struct bpe_options options = { .preset = BPE_WORDS, .vocab_size = 290 };
    struct error err = { 0 };
    struct tokenizer *t = tokenizer_from_bytes(texts, ARRAY_LEN(texts), &options, &err);
    struct ids name = { 0 };
    (void)state;

    tokenizer_encode(t, "singer", 6, 0, &name, NULL);
    for (int i = 0; i < ARRAY_LEN(places); i++) {
        struct ids ids = { 0 };
        tokenizer_encode(t, places[i], strlen(places[i]), 0, &ids, NULL);
        if (!holds(&ids, &name))
            fail_msg("\"%s\" does not hold the tokens of \"singer\"", places[i]);
        ids_release(&ids);
    }
    ids_release(&name);
    tokenizer_close(t);
}

/* Constrained decoding works word by word, and a word starts with its space. */
static void test_blanks(void **state)
{
    static const char *const texts[] = { "gym | select t1.a , count(*) = 3", "gym | select t1.a , count(*) = 3" };
    struct bpe_options options = { .preset = BPE_WORDS, .vocab_size = 400 };
    struct error err = { 0 };
    struct tokenizer *t = tokenizer_from_bytes(texts, ARRAY_LEN(texts), &options, &err);
    struct ids ids = { 0 };
    (void)state;

    tokenizer_encode(t, texts[0], strlen(texts[0]), 0, &ids, NULL);
    for (int64_t i = 0; i < ids.count; i++) {
        char *said = tokenizer_decode(t, &ids.items[i], 1, TOKENIZER_EXACT_BYTES, NULL);
        if (strrchr(said, ' ') > said)
            fail_msg("one token is \"%s\"", said);
        free(said);
    }
    ids_release(&ids);
    tokenizer_close(t);
}

static void test_bad_options(void **state)
{
    static char long_one[VOCAB_MAX_TOKEN + 2];
    const struct {
        const char *special;
        int32_t size;
        const char *words[3];
    } cases[] = {
        { NULL, 260, { "expected 261 to 1000000 tokens, got 260" } },
        { "<|x|>", 261, { "expected 262 to 1000000 tokens, got 261" } },
        { NULL, 1000001, { "got 1000001" } },
        { "", 300, { "\"\"", "empty" } },
        { "<|eot_id|>", 300, { "<|eot_id|>", "twice" } },
        { "PAD", 300, { "\"PAD\"", "plain text" } },
        { " the", 300, { "\" the\"", "plain text" } },
        { "a<\n>", 300, { "line break" } },
        { long_one, 300, { "too long" } },
    };
    (void)state;

    memset(long_one, '|', sizeof long_one - 1);
    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        struct bpe_options options = { BPE_LLAMA3, cases[i].size, &cases[i].special, cases[i].special != NULL };
        struct error err = { 0 };
        assert_null(tokenizer_from_bytes(NULL, 0, &options, &err));
        test_error(&err, __FILE__, __LINE__, cases[i].words);
        assert_int_equal(err.code, EXIT_CODE_USAGE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gold),  cmocka_unit_test(test_specials), cmocka_unit_test(test_long_tokens),
        cmocka_unit_test(test_words), cmocka_unit_test(test_blanks),   cmocka_unit_test(test_bad_options),
    };
    return cmocka_run_group_tests_name("bpe_train", tests, NULL, NULL);
}
