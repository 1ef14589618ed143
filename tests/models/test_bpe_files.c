#include "tests/support/tokens.h"

#include <stdlib.h>
#include <string.h>

/* qwen's vocabulary has "a": 64, "n": 77, "an": 258, and the merges "' s", "Ġ Ġ", "a n". */
static char *good_json(void)
{
    return test_read("tests/gold/bpe/qwen/tokenizer.json");
}

static const struct {
    const char *from, *to, *words[5];
} bad_json[] = {
    { "\"type\":\"NFC\"", "\"type\":\"NFX\"", { "normalizer", "got \"NFX\"", "NFKC" } },
    { "{\"type\":\"NFC\"}", "{\"type\":\"NFC\",\"left\":1}", { "normalizer", "\"left\"" } },
    { "\"version\":\"1.0\"", "\"version\":\"1.0\",\"extra\":1", { "tokenizer.json", "\"extra\"" } },
    { "\"type\":\"Sequence\"", "\"type\":\"Whitespace\"", { "pre_tokenizer", "unknown field \"pretokenizers\"" } },
    { "\"pretokenizers\":[", "\"pretokenizers\":[{},", { "pretokenizers[0]", "type" } },
    { "\"pretokenizers\":[", "\"pretokenizers\":[7,", { "pretokenizers[0]", "expected an object" } },
    { "\"type\":\"Split\"", "\"type\":\"UnicodeScripts\"", { "pretokenizers[0]", "got \"UnicodeScripts\"" } },
    { "\"Isolated\"", "\"Kept\"", { "pretokenizers[0]", "behavior", "Contiguous", "Kept" } },
    { "\"invert\":false", "\"invert\":0", { "pretokenizers[0]", "invert" } },
    { "{\"Regex\":", "{\"Text\":", { "pretokenizers[0]", "Regex" } },
    { "\"(?i:'s", "\"((?i:'s", { "pretokenizers[0]", "pattern", "parenthesis" } },
    { "\"(?i:'s", "\"[a&&b]|(?i:'s", { "pretokenizers[0]", "pattern", "&&" } },
    { "\"add_prefix_space\":false", "\"add_prefix_space\":\"\"", { "pretokenizers[1]", "add_prefix_space" } },
    { "\"use_regex\":false", "\"use_regex\":1", { "pretokenizers[1]", "use_regex" } },
    { "\"use_regex\":false", "\"use_regex\":false,\"new\":0", { "pretokenizers[1]", "\"new\"" } },
    { "\"decoder\":{\"type\":\"ByteLevel\"", "\"decoder\":{\"type\":\"CTC\"", { "decoder", "got \"CTC\"" } },
    { "\"decoder\":{", "\"decoder\":null,\"version\":{", { "line 1" } },
    { "\"dropout\":null", "\"dropout\":0.1", { "model", "dropout" } },
    { "\"dropout\":null", "\"dropout\":null,\"rank\":1", { "model", "\"rank\"" } },
    { "\"byte_fallback\":false", "\"byte_fallback\":1", { "model", "byte_fallback" } },
    { "\"unk_token\":null", "\"unk_token\":7", { "model", "unk_token" } },
    { "\"end_of_word_suffix\":null",
      "\"end_of_word_suffix\":\"<end of the word>\"",
      { "model", "end_of_word_suffix", "16 bytes" } },
    { "\"continuing_subword_prefix\":null", "\"continuing_subword_prefix\":\"##\"", { "merges[0]", "\"##\"" } },
    { "\"ignore_merges\":false", "\"ignore_merges\":0", { "model", "ignore_merges" } },
    { "\"a\":64", "\"a\":65", { "vocab", "both have id 65" } },
    { "\"a\":64", "\"a\":-1", { "vocab", "\"a\"", "-1" } },
    { "\"a\":64", "\"a\":5000000000", { "vocab", "\"a\"", "5000000000" } },
    { "\"a\":64", "\"a\":\"64\"", { "vocab", "\"a\"", "integer" } },
    { "\"a\":64", "\"aa\":64", { "merges", "\"a\" is not in the vocabulary" } },
    { "\"merges\":[", "\"merge\":[", { "model", "\"merge\"" } },
    { "\"merges\":[", "\"merges\":[7,", { "merges[0]", "two tokens" } },
    { "\"merges\":[", "\"merges\":[\"an\",", { "merges[0]", "two tokens" } },
    { "\"merges\":[", "\"merges\":[\"a n d\",", { "merges[0]", "two tokens" } },
    { "\"merges\":[", "\"merges\":[[\"a\"],", { "merges[0]", "two tokens" } },
    { "\"merges\":[", "\"merges\":[[\"a\",\"n\",\"d\"],", { "merges[0]", "two tokens" } },
    { "\"merges\":[", "\"merges\":[[\"a\",5],", { "merges[0]", "two tokens" } },
    { "\"merges\":[", "\"merges\":[\"a nosuch\",", { "merges[0]", "\"nosuch\" is not" } },
    { "\"merges\":[", "\"merges\":[\" a\",", { "merges[0]", "\"\" is not" } },
    { "\"merges\":[", "\"merges\":[[\"\",\"\"],", { "merges[0]", "\"\" is not" } },
    { "\"merges\":[", "\"merges\":[\"an an\",", { "merges[0]", "\"anan\" is not" } },
    { "\"' s\"", "\"' s\",\"zq a\"", { "merges[1]", "\"zq\" is not" } },
    { "\"id\":1000", "\"id\":999", { "added_tokens[0]", "<|endoftext|>", "expected id 1000" } },
    { "\"id\":1001", "\"id\":1003", { "added_tokens[1]", "expected id 1001" } },
    { "\"content\":\"<|im_start|>\"", "\"content\":\"<|endoftext|>\"", { "added_tokens[1]", "expected id 1000" } },
    { "\"content\":\"<|im_start|>\"", "\"content\":5", { "added_tokens[1]", "content" } },
    { "\"normalized\":false", "\"normalized\":\"no\"", { "added_tokens[0]", "normalized" } },
};

static void test_bad_json(void **state)
{
    char *dir = test_dir_new(), *good = good_json();
    (void)state;

    for (int i = 0; i < ARRAY_LEN(bad_json); i++) {
        char *bad = test_replaced(good, bad_json[i].from, bad_json[i].to);
        test_file(dir, "tokenizer.json", bad);
        test_refused(dir, bad_json[i].to, bad_json[i].words);
        free(bad);
    }
    free(good);
    test_dir_remove(dir);
}

/* A truncated file is refused; every 97th length is tested. */
static void test_truncated_json(void **state)
{
    static const char *const words[] = { "tokenizer.json", NULL };
    char *dir = test_dir_new(), *text = good_json();
    (void)state;

    for (size_t n = strlen(text) - 2; n > 97; n -= 97) {
        text[n] = '\0';
        test_file(dir, "tokenizer.json", text);
        test_refused(dir, "a cut file", words);
    }
    free(text);
    test_dir_remove(dir);
}

static struct tokenizer *open_with(const char *dir, const char *json, const char *config, struct error *err)
{
    test_file(dir, "tokenizer.json", json);
    test_file(dir, "tokenizer_config.json", config);
    return tokenizer_open(dir, err);
}

static void test_config(void **state)
{
    char *dir = test_dir_new(), *json = good_json();
    struct error err = { 0 };
    (void)state;

    struct tokenizer *t = open_with(dir, json,
                                    "{\"eos_token\":\"<|im_end|>\",\"pad_token\":{\"content\":\"<|endoftext|>\"},"
                                    "\"bos_token\":null,\"add_prefix_space\":false,\"do_lower_case\":5,\"model_max_"
                                    "length\":1000000000000000019884624838656}",
                                    &err);
    assert_non_null(t);
    assert_int_equal(tokenizer_special(t, SPECIAL_EOS), 1002);
    assert_int_equal(tokenizer_special(t, SPECIAL_PAD), 1000);
    assert_int_equal(tokenizer_special(t, SPECIAL_BOS), -1);
    assert_int_equal(tokenizer_special(t, SPECIAL_CLS), -1);
    tokenizer_close(t);
    assert_null(open_with(dir, json, "{\"add_prefix_space\":true}", &err));
    assert_error(err, "tokenizer_config.json", "add_prefix_space");
    assert_null(open_with(dir, json, "{\"eos_token\":\"<end>\"}", &err));
    assert_error(err, "eos_token", "<end>");
    assert_int_equal(err.code, EXIT_CODE_CHECKPOINT);
    free(json);
    test_dir_remove(dir);
}

/* An encoder needs [CLS] in the vocabulary. */
static void test_encoder(void **state)
{
    struct error err = { 0 };
    (void)state;

    assert_null(tokenizer_open_encoder("tests/gold/bpe/qwen", 2000, &err));
    assert_error(err, "bpe/qwen", "cls_token");
    assert_int_equal(err.code, EXIT_CODE_CHECKPOINT);
    assert_null(tokenizer_open_encoder("tests/gold/wordpiece/cased", 100, &err));
    assert_error(err, "wordpiece/cased", "100");
    struct tokenizer *t = tokenizer_open_encoder("tests/gold/wordpiece/cased", 10000, &err);
    assert_non_null(t);
    tokenizer_close(t);
}

/* Encodes text with one merge of the valid file replaced. */
static void encode_changed(const char *merge, const char *other_merge, bool ignore_merges, const char *text,
                           struct ids *ids)
{
    char *dir = test_dir_new(), *good = good_json(), *other = test_replaced(good, merge, other_merge);
    char *changed = test_replaced(other, "\"ignore_merges\":false",
                                  ignore_merges ? "\"ignore_merges\":true" : "\"ignore_merges\":null");
    struct error err = { 0 };

    test_file(dir, "tokenizer.json", changed);
    struct tokenizer *t = tokenizer_open(dir, &err);
    if (!t)
        fail_msg("%s", err.text);
    ids->count = 0;
    tokenizer_encode(t, text, strlen(text), 0, ids, NULL);
    tokenizer_close(t);
    free(changed);
    free(other);
    free(good);
    test_dir_remove(dir);
}

/* Both formats of merges, a repeated pair (the later rank counts), and a whole word that merges cannot form. */
static void test_merges(void **state)
{
    struct ids ids = { 0 };
    (void)state;

    encode_changed("\"a n\"", "[\"a\",\"n\"]", false, "an", &ids);
    assert_int_equal(ids.count, 1);
    assert_int_equal(ids.items[0], 258);
    encode_changed("\"a n\",", "", false, "an", &ids);
    assert_int_equal(ids.count, 2);
    encode_changed("\"a n\",", "", true, "an", &ids);
    assert_int_equal(ids.count, 1);
    assert_int_equal(ids.items[0], 258);
    encode_changed("\"n a\"", "\"n a\"", false, "ana", &ids);
    assert_int_equal(ids.items[0], 258);
    encode_changed("\"n a\"", "\"n a\",\"a n\"", false, "ana", &ids);
    assert_int_equal(ids.items[0], 64);
    ids_release(&ids);
}

/* A pattern with exponential backtracking is abandoned, and no byte is lost. */
static void test_hostile_pattern(void **state)
{
    char *dir = test_dir_new(), *good = good_json(), *bad, text[4001];
    struct error err = { 0 };
    struct ids ids = { 0 };
    size_t length;
    (void)state;

    memset(text, 'a', 4000);
    text[4000] = '!';
    bad = test_replaced(good, "\"(?i:'s", "\"(a+a+)+b|(?i:'s");
    test_file(dir, "tokenizer.json", bad);
    struct tokenizer *t = tokenizer_open(dir, &err);
    assert_non_null(t);
    tokenizer_encode(t, text, sizeof text, 0, &ids, NULL);
    char *back = tokenizer_decode(t, ids.items, ids.count, 0, &length);
    assert_int_equal(length, sizeof text);
    assert_memory_equal(back, text, length);
    free(back);
    free(bad);
    free(good);
    ids_release(&ids);
    tokenizer_close(t);
    test_dir_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_json), cmocka_unit_test(test_truncated_json),  cmocka_unit_test(test_config),
        cmocka_unit_test(test_encoder),  cmocka_unit_test(test_hostile_pattern), cmocka_unit_test(test_merges),
    };
    return cmocka_run_group_tests_name("bpe_files", tests, NULL, NULL);
}
