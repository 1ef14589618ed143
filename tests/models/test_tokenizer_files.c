#include "models/text/tokenizer.h"
#include "models/text/tokenizer_train.h"
#include "tests/support/tokens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char sentence[] = "Zürich: how many students named Đorđe have 2,500.75 naïve cafés? [SEP] NEW2 你好";

static void check_same(const char *dir, const struct tokenizer *wanted)
{
    struct error err = { 0 };
    struct ids a = { 0 }, b = { 0 };
    struct tokenizer *t = tokenizer_open(dir, &err);
    if (!t)
        fail_msg("%s", err.text);

    assert_int_equal(tokenizer_vocab_size(t), tokenizer_vocab_size(wanted));
    for (int i = 0; i < SPECIAL_COUNT; i++)
        assert_int_equal(tokenizer_special(t, (enum special_token)i), tokenizer_special(wanted, (enum special_token)i));
    tokenizer_encode(t, sentence, strlen(sentence), TOKENIZER_MATCH_SPECIALS, &a, NULL);
    tokenizer_encode(wanted, sentence, strlen(sentence), TOKENIZER_MATCH_SPECIALS, &b, NULL);
    assert_int_equal(a.count, b.count);
    assert_memory_equal(a.items, b.items, (size_t)a.count * sizeof(int32_t));
    ids_release(&a);
    ids_release(&b);
    tokenizer_close(t);
}

static void test_save(void **state)
{
    static const char *const models[] = { "wordpiece/cased", "wordpiece/uncased" };
    (void)state;

    for (int i = 0; i < ARRAY_LEN(models); i++) {
        char *dir = test_dir_new();
        struct error err = { 0 };
        struct tokenizer *t = test_tokenizer(models[i]);
        assert_int_equal(tokenizer_save(t, dir, &err), 0);
        check_same(dir, t);
        assert_int_equal(unlink(test_file(dir, "tokenizer.json", NULL)), 0);
        check_same(dir, t); /* vocab.txt and tokenizer_config.json give the same tokenizer */
        tokenizer_close(t);
        test_dir_remove(dir);
    }
}

static void test_save_refused(void **state)
{
    struct tokenizer *t = test_tokenizer("wordpiece/cased");
    struct error err = { 0 };
    char *dir = test_dir_new();
    (void)state;

    assert_int_equal(tokenizer_save(t, test_file(dir, "file", "x"), &err), -1);
    assert_error(err, "file");
    tokenizer_close(t);
    test_dir_remove(dir);
}

static void test_save_learnt(void **state)
{
    static const char *const texts[] = { "How many concerts did each singer give?", "Zürich: singers and concerts" };
    struct error err = { 0 };
    struct tokenizer *t = tokenizer_from_words(texts, ARRAY_LEN(texts), 0, 300, &err);
    char *dir = test_dir_new();
    (void)state;

    assert_non_null(t);
    assert_int_equal(tokenizer_save(t, dir, &err), 0);
    check_same(dir, t);
    tokenizer_close(t);
    test_dir_remove(dir);
}

static const char good_json[] =
    "{\"added_tokens\":[{\"id\":0,\"content\":\"[PAD]\",\"special\":true},{\"id\":7,\"content\":\"<x>\"}],"
    "\"normalizer\":{\"type\":\"BertNormalizer\",\"clean_text\":true,\"handle_chinese_chars\":true,"
    "\"strip_accents\":null,\"lowercase\":true},\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},"
    "\"post_processor\":{\"type\":\"BertProcessing\",\"sep\":[\"[SEP]\",3],\"cls\":[\"[CLS]\",2]},"
    "\"decoder\":{\"type\":\"WordPiece\",\"prefix\":\"##\",\"cleanup\":true},"
    "\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\",\"continuing_subword_prefix\":\"##\","
    "\"max_input_chars_per_word\":100,\"vocab\":{\"[PAD]\":0,\"[UNK]\":1,\"[CLS]\":2,\"[SEP]\":3,\"a\":4,\"b\":5,"
    "\"##b\":6}}}";

static void test_bad_json(void **state)
{
    static const struct {
        const char *from, *to, *words[5];
    } cases[] = {
        { "\"[UNK]\":1", "\"unk\":1", { "model", "unk_token", "[UNK]" } },
        { "\"[SEP]\":3", "\"[sep]\":3", { "post_processor", "[SEP]" } },
        { "\"b\":5", "\"b\":4", { "vocab", "both have id 4" } },
        { "\"b\":5", "\"b\":9", { "vocab", "\"b\"", "without holes" } },
        { "\"b\":5", "\"b\":-1", { "vocab", "\"b\"", "-1" } },
        { "\"b\":5", "\"b\":\"5\"", { "vocab", "\"b\"", "integer" } },
        { "\"b\":5", "\"b\":5.0", { "vocab", "\"b\"", "integer" } },
        { "\"b\":5", "\"b\":99999999999999", { "vocab", "\"b\"", "99999999999999" } },
        { "\"b\":5", "\"a\":5", { "tokenizer.json", "line 1" } },
        { "\"b\":5", "\"\\u0000\":5", { "tokenizer.json", "line 1" } },
        { "\"vocab\":{", "\"vocab\":[{", { "tokenizer.json" } },
        { "\"vocab\":", "\"words\":", { "model", "vocab" } },
        { "\"type\":\"WordPiece\",\"unk", "\"type\":\"Unigram\",\"unk", { "model", "unknown field \"unk_token\"" } },
        { "\"unk_token\":\"[UNK]\"", "\"unk_token\":7", { "model", "unk_token" } },
        { "per_word\":100", "per_word\":0", { "max_input_chars_per_word", "0" } },
        { "per_word\":100", "per_word\":1000000000", { "max_input_chars_per_word", "1000000000" } },
        { "prefix\":\"##\",\"max", "prefix\":\"##################\",\"max", { "continuing_subword_prefix" } },
        { "\"type\":\"WordPiece\",\"unk",
          "\"type\":\"WordLevel\",\"unk",
          { "model", "\"BPE\" or \"Unigram\"", "a WordLevel model" } },
        { "\"BertNormalizer\"", "\"NFC\"", { "normalizer", "unknown field \"clean_text\"" } },
        { "\"BertNormalizer\"", "\"Precompiled\"", { "normalizer", "unknown field \"clean_text\"" } },
        { "\"normalizer\":{", "\"normal\":{", { "unknown field \"normal\"" } },
        { "\"lowercase\":true", "\"lowercase\":1", { "normalizer", "lowercase" } },
        { "\"strip_accents\":null", "\"strip_accents\":\"no\"", { "normalizer", "strip_accents" } },
        { "\"BertPreTokenizer\"", "\"ByteLevel\"", { "pre_tokenizer", "add_prefix_space" } },
        { "{\"type\":\"WordPiece\",\"prefix", "{\"type\":\"ByteLevel\",\"prefix", { "decoder", "\"prefix\"" } },
        { "\"sep\":[\"[SEP]\",3]", "\"sep\":[\"a\",4]", { "post_processor", "[SEP]" } },
        { "\"BertProcessing\"", "\"RobertaProcessing\"", { "post_processor", "RobertaProcessing" } },
        { "\"id\":7", "\"id\":8", { "added_tokens[1]", "<x>", "expected id 7, the next free one, got 8" } },
        { "\"id\":0", "\"id\":1", { "added_tokens[0]", "[PAD]", "expected id 0, which the vocabulary has, got 1" } },
        { "\"content\":\"<x>\"", "\"content\":\"\"", { "added_tokens[1]", "empty" } },
        { "\"id\":7,\"content\":\"<x>\"", "\"id\":0,\"content\":\"[PAD]\"", { "added_tokens[1]", "twice" } },
        { "\"content\":\"<x>\"", "\"content\":\"\\u200b\",\"normalized\":true", { "token 7", "normalisation" } },
        { "\"special\":true", "\"special\":\"yes\"", { "added_tokens[0]", "special" } },
        { "\"added_tokens\":[", "\"added_tokens\":{}, \"version\":[", { "added_tokens" } },
    };
    char *dir = test_dir_new();
    struct error err = { 0 };
    (void)state;

    test_file(dir, "tokenizer.json", good_json);
    struct tokenizer *t = tokenizer_open(dir, &err);
    if (!t)
        fail_msg("%s", err.text);
    tokenizer_close(t);
    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        char *bad = test_replaced(good_json, cases[i].from, cases[i].to);
        test_file(dir, "tokenizer.json", bad);
        test_refused(dir, cases[i].to, cases[i].words);
        free(bad);
    }
    test_dir_remove(dir);
}

/* A truncated file is refused. */
static void test_truncated_json(void **state)
{
    static const char *const words[] = { "tokenizer.json", NULL };
    char *dir = test_dir_new(), cut[sizeof good_json];
    (void)state;

    for (size_t n = 0; n < strlen(good_json); n++) {
        memcpy(cut, good_json, n);
        cut[n] = '\0';
        test_file(dir, "tokenizer.json", cut);
        test_refused(dir, "a cut file", words);
    }
    test_dir_remove(dir);
}

static void test_bad_lines(void **state)
{
    static const struct {
        const char *vocab, *config, *specials, *words[4];
    } cases[] = {
        { NULL, NULL, NULL, { "expected tokenizer.json or vocab.txt" } },
        { "", NULL, NULL, { "vocab.txt", "empty" } },
        { "[PAD]\n[CLS]\n[SEP]\na\n", NULL, NULL, { "vocab.txt", "[UNK]" } },
        { "[PAD]\n[UNK]\n[CLS]\na\n", NULL, NULL, { "sep_token", "[SEP]" } },
        { "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\na\n", NULL, NULL, { "vocab.txt", "tokens 4 and 5", "\"a\"" } },
        { "[PAD]\n[UNK]\n[CLS]\n[SEP]\n\xff\n", NULL, NULL, { "vocab.txt", "line 5", "UTF-8" } },
        { "[PAD]\n[UNK]\n[CLS]\n[SEP]\n", "{\"do_lower_case\":1}", NULL, { "tokenizer_config.json", "do_lower_case" } },
        { "[PAD]\n[UNK]\n[CLS]\n[SEP]\n", "[]", NULL, { "tokenizer_config.json", "object" } },
        { "[PAD]\n[UNK]\n[CLS]\n[SEP]\n", "{", NULL, { "tokenizer_config.json", "line 1" } },
        { "[PAD]\n[UNK]\n[CLS]\n[SEP]\n", "{\"cls_token\":3}", NULL, { "tokenizer_config.json", "cls_token" } },
        { "[PAD]\n[UNK]\n[CLS]\n[SEP]\n", NULL, "{\"cls_token\":\"<s>\"}", { "cls_token", "<s>" } },
        { "[PAD]\n[UNK]\n[CLS]\n[SEP]\n", NULL, "{\"cls_token\":{}}", { "special_tokens_map.json", "content" } },
        { "[PAD]\n[UNK]\n[CLS]\n[SEP]\n",
          "{\"added_tokens_decoder\":{\"x\":{\"content\":\"a\"}}}",
          NULL,
          { "added_tokens_decoder", "\"x\"" } },
        { "[PAD]\n[UNK]\n[CLS]\n[SEP]\n", "{\"added_tokens_decoder\":[]}", NULL, { "added_tokens_decoder" } },
        { "[PAD]\n[UNK]\n[CLS]\n[SEP]\n",
          "{\"added_tokens_decoder\":{\"9\":{\"content\":\"a\"}}}",
          NULL,
          { "\"a\": expected id 4", "got 9" } },
    };
    (void)state;

    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        char *dir = test_dir_new();
        if (cases[i].vocab)
            test_file(dir, "vocab.txt", cases[i].vocab);
        if (cases[i].config)
            test_file(dir, "tokenizer_config.json", cases[i].config);
        if (cases[i].specials)
            test_file(dir, "special_tokens_map.json", cases[i].specials);
        test_refused(dir, cases[i].words[0], cases[i].words);
        test_dir_remove(dir);
    }
}

static void test_long_line(void **state)
{
    static const char *const words[] = { "vocab.txt", "line 1", NULL };
    char *dir = test_dir_new(), *text = xcalloc(1, 2000);
    (void)state;

    memset(text, 'a', 1999);
    test_file(dir, "vocab.txt", text);
    test_refused(dir, "a long line", words);
    free(text);
    test_dir_remove(dir);
}

/* tokenizer_config.json decides on case, accents and Chinese characters; vocab.txt may have Windows line ends. */
static void test_config(void **state)
{
    char *dir = test_dir_new();
    struct error err = { 0 };
    struct ids ids = { 0 };
    (void)state;

    test_file(dir, "vocab.txt", "[PAD]\r\n<unk>\r\n[CLS]\r\n[SEP]\r\n\xc3\xa9\r\nA\r\n##\xe4\xb8\xad");
    test_file(dir, "tokenizer_config.json",
              "{\"do_lower_case\":false,\"strip_accents\":false,\"tokenize_chinese_chars\":false,"
              "\"unk_token\":{\"content\":\"<unk>\"}}");
    struct tokenizer *t = tokenizer_open(dir, &err);
    if (!t)
        fail_msg("%s", err.text);
    assert_int_equal(tokenizer_encode(t, "A\xe4\xb8\xad \xc3\xa9 a", 9, 0, &ids, NULL), 4);
    assert_int_equal(ids.items[0], 5);
    assert_int_equal(ids.items[1], 6);
    assert_int_equal(ids.items[2], 4);
    assert_int_equal(ids.items[3], 1);
    assert_int_equal(tokenizer_special(t, SPECIAL_UNK), 1);
    assert_int_equal(tokenizer_special(t, SPECIAL_MASK), -1);
    ids_release(&ids);
    tokenizer_close(t);
    test_dir_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_save),      cmocka_unit_test(test_save_learnt),    cmocka_unit_test(test_save_refused),
        cmocka_unit_test(test_bad_json),  cmocka_unit_test(test_truncated_json), cmocka_unit_test(test_bad_lines),
        cmocka_unit_test(test_long_line), cmocka_unit_test(test_config),
    };
    return cmocka_run_group_tests_name("tokenizer_files", tests, NULL, NULL);
}
