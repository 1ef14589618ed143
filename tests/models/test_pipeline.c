/* The pipeline around a tokenizer's model: gold of Hugging Face's tokenizers, refused files, and bounded growth. */
#include "models/text/text_pattern.h"
#include "tests/support/tokens.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Incremental decoding: the concatenated parts equal the whole text. */
static void check_decoded(const struct tokenizer *t, const struct ids *ids, const json_t *record, const char *where)
{
    struct tokenizer_stream s;
    size_t wanted_length, length, at = 0, n;
    char *wanted = test_from_hex(json_string_value(json_object_get(record, "decoded")), &wanted_length);
    char *text = tokenizer_decode(t, ids->items, ids->count, TOKENIZER_SKIP_SPECIALS, &length);

    if (length != wanted_length || memcmp(text, wanted, length) != 0)
        fail_msg("%s: decoded \"%s\", wanted \"%s\"", where, text, wanted);
    tokenizer_stream_start(&s, t, TOKENIZER_SKIP_SPECIALS);
    for (int64_t i = 0; i <= ids->count; i++, at += n) {
        const char *part = i < ids->count ? tokenizer_stream_next(&s, ids->items[i], &n) : tokenizer_stream_end(&s, &n);
        assert_true(at + n <= length);
        assert_memory_equal(part, wanted + at, n);
    }
    assert_int_equal(at, length);
    tokenizer_stream_release(&s);
    free(wanted);
    free(text);
}

static void check_record(const struct tokenizer *t, const json_t *record, const char *where)
{
    struct ids ids = { 0 };
    struct token_spans spans = { 0 };
    size_t length = test_encode(t, record, &ids, &spans, where);

    check_decoded(t, &ids, record, where);
    for (int64_t i = 0; i < spans.count; i++)
        if (spans.items[i].start >= spans.items[i].end || spans.items[i].end > (int64_t)length)
            fail_msg("%s: span %lld", where, (long long)i);
    ids_release(&ids);
    token_spans_release(&spans);
}

static void test_gold(void **state)
{
    (void)state;
    assert_int_equal(test_gold_records("pipelines", check_record), 18 * 20);
}

static void test_unigram_gold(void **state)
{
    (void)state;
    assert_int_equal(test_gold_records("unigram", check_record), 2 * 200);
}

static struct tokenizer *open_json(const char *dir, const char *json, struct error *err)
{
    test_file(dir, "tokenizer.json", json);
    return tokenizer_open(dir, err);
}

#define BPE(settings)                                                                                                  \
    "\"model\":{\"type\":\"BPE\"," settings "\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},\"merges\":[\"a b\"]}"

static void test_refused_parts(void **state)
{
    static const struct {
        const char *parts, *words[4];
    } cases[] = {
        { "\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"\"}",
          { "normalizer", "precompiled_charsmap", "4-byte units" } },
        { "\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AAA\"}",
          { "normalizer", "precompiled_charsmap", "expected base64" } },
        { "\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"A=AA\"}",
          { "normalizer", "precompiled_charsmap", "expected base64" } },
        { "\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"/////wAAAAA=\"}",
          { "normalizer", "precompiled_charsmap", "got 4294967295 of 8 bytes" } },
        { "\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"BAAAAAAAAAD/\"}",
          { "normalizer", "precompiled_charsmap", "UTF-8" } },
        { "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"},{\"type\":\"Prepend\"}]}",
          { "normalizers[1]", "prepend" } },
        { "\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"(?~a)\"},\"content\":\"\"}",
          { "normalizer", "pattern", "(?~" } },
        { "\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"\\\\p{Elvish}\"},\"content\":\"\"}",
          { "normalizer", "\\p{Elvish}" } },
        { "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"ByteLevel\"},{\"type\":\"NFKC\"},{\"type\":"
          "\"NFKD\"},{\"type\":\"NFKC\"},{\"type\":\"NFKC\"},{\"type\":\"NFKC\"}]}",
          { "normalizer", "a factor of at most 256" } },
        { "\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"__\"}",
          { "pre_tokenizer", "replacement", "one character" } },
        { "\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"last\"}",
          { "prepend_scheme", "always, first or never" } },
        { "\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"_\",\"add_prefix_space\":false}",
          { "add_prefix_space", "never" } },
        { "\"pre_tokenizer\":{\"type\":\"Digits\"}", { "pre_tokenizer", "individual_digits" } },
        { "\"pre_tokenizer\":{\"type\":\"UnicodeScripts\"}", { "got \"UnicodeScripts\"", "WhitespaceSplit" } },
        { "\"decoder\":{\"type\":\"CTC\"}", { "got \"CTC\"", "ByteFallback" } },
        { "\"decoder\":{\"type\":\"Strip\",\"content\":\" \",\"start\":-1,\"stop\":0}", { "decoder", "start" } },
        { "\"decoder\":{\"type\":\"BPEDecoder\",\"suffix\":\"\"}",
          { "decoder", "suffix: expected a text, got an empty one" } },
    };
    char *dir = test_dir_new(), json[1024];
    (void)state;

    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        snprintf(json, sizeof json, "{%s," BPE("") "}", cases[i].parts);
        test_file(dir, "tokenizer.json", json);
        test_refused(dir, cases[i].parts, cases[i].words);
    }
    test_dir_remove(dir);
}

static void test_refused_unigram(void **state)
{
    static const struct {
        const char *model, *words[4];
    } cases[] = {
        { "\"vocab\":[[\"a\",-1]]", { "model", "unk_id" } },
        { "\"unk_id\":null,\"vocab\":[[\"a\",-1]]", { "model", "unk_id" } },
        { "\"unk_id\":1,\"vocab\":[[\"a\",-1]]", { "model", "unk_id", "1" } },
        { "\"unk_id\":0,\"vocab\":[]", { "model: vocab", "1 to 1048576 tokens, got 0" } },
        { "\"unk_id\":0,\"vocab\":{\"a\":-1}", { "model", "vocab" } },
        { "\"unk_id\":0,\"vocab\":[[\"a\",-1],[\"b\"]]", { "vocab[1]", "score" } },
        { "\"unk_id\":0,\"vocab\":[[\"a\",\"-1\"]]", { "vocab[0]", "score" } },
        { "\"unk_id\":0,\"vocab\":[[\"a\",-1],[\"a\",-2]]", { "vocab", "tokens 0 and 1 are both \"a\"" } },
        { "\"unk_id\":0,\"vocab\":[[\"a\",-1]],\"alpha\":0.1", { "model", "unknown field \"alpha\"" } },
    };
    char *dir = test_dir_new(), json[256];
    (void)state;

    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        snprintf(json, sizeof json, "{\"model\":{\"type\":\"Unigram\",%s}}", cases[i].model);
        test_file(dir, "tokenizer.json", json);
        test_refused(dir, cases[i].model, cases[i].words);
    }
    test_dir_remove(dir);
}

/* Refuses a file whose normalizer is `before` n times, then `behind` n times. */
static void check_many(const char *before, const char *behind, int n, const char *says)
{
    char *dir = test_dir_new(), *json = NULL;
    const char *const words[] = { says, NULL };
    size_t size;
    FILE *out = open_memstream(&json, &size);

    fputs("{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"}", out);
    for (int i = 0; i < n; i++)
        fputs(before, out);
    for (int i = 0; i < n; i++)
        fputs(behind, out);
    fputs("]}," BPE("") "}", out);
    fclose(out);
    test_file(dir, "tokenizer.json", json);
    test_refused(dir, before, words);
    free(json);
    test_dir_remove(dir);
}

/* Nesting and lengths of Sequences are bounded. */
static void test_refused_depth(void **state)
{
    (void)state;
    check_many(",{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"}", "]}", 8, "deep");
    check_many(",{\"type\":\"NFC\"}", "", 32, "got 33");
    check_many(",{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Nmt\"},{\"type\":\"Nmt\"}]}", "", 31, "32 steps");
}

static void check_ids(const char *json, const char *text, int n, const int32_t *wanted)
{
    char *dir = test_dir_new();
    struct error err = { 0 };
    struct ids ids = { 0 };
    struct tokenizer *t = open_json(dir, json, &err);

    if (!t)
        fail_msg("%s", err.text);
    tokenizer_encode(t, text, strlen(text), 0, &ids, NULL);
    assert_int_equal(ids.count, n);
    for (int i = 0; i < n; i++)
        assert_int_equal(ids.items[i], wanted[i]);
    ids_release(&ids);
    tokenizer_close(t);
    test_dir_remove(dir);
}

/* The type of a model without "type", and characters without a token. */
static void test_models(void **state)
{
    (void)state;
    check_ids("{\"model\":{\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},\"merges\":[\"a b\"]}}", "abb?a", 3,
              (int32_t[]){ 2, 1, 0 });
    check_ids("{" BPE("\"unk_token\":\"b\",") "}", "a??", 2, (int32_t[]){ 2, 1 }); /* the unknown token merges too */
    check_ids("{" BPE("\"unk_token\":\"b\",\"fuse_unk\":true,") "}", "a??", 1, (int32_t[]){ 2 });
    check_ids("{\"model\":{\"vocab\":{\"\\u00e9\":0,\"<0xC3>\":1,\"<0xA8>\":2},\"merges\":[],\"byte_fallback\":true}}",
              "\xc3\xa9\xc3\xa8", 3, (int32_t[]){ 0, 1, 2 });
    check_ids("{\"model\":{\"unk_token\":\"u\",\"continuing_subword_prefix\":\"##\",\"max_input_chars_per_word\":9,"
              "\"vocab\":{\"u\":0,\"a\":1,\"##b\":2}}}",
              "abb", 3, (int32_t[]){ 1, 2, 2 });
    check_ids("{\"model\":{\"vocab\":{\"a</w>\":0,\"b\":1,\"ba</w>\":2,\"a\":3},\"merges\":[\"b a</w>\"],"
              "\"end_of_word_suffix\":\"</w>\"}}",
              "aba", 2, (int32_t[]){ 3, 2 });
}

/* Time and memory are linear for a line of a megabyte without separators. */
static void test_long_line(void **state)
{
    static const char *const parts[] = { "a", "the quick ", " ", "\xe6\x97\xa5", "e\xcc\x81", "\xf0\x9f\x98\x80", "1" };
    enum { N = 1 << 20 };
    struct tokenizer *t = test_tokenizer("pipelines/llama2");
    char *text = xmalloc(N);
    struct ids ids = { 0 };
    struct token_spans spans = { 0 };
    time_t start = time(NULL);
    (void)state;

    for (int i = 0; i < ARRAY_LEN(parts); i++) {
        size_t n = strlen(parts[i]), length = N / n * n;
        for (size_t at = 0; at < length; at += n)
            memcpy(text + at, parts[i], n);
        ids.count = spans.count = 0;
        assert_true(tokenizer_encode(t, text, length, 0, &ids, &spans) > 0);
        char *back = tokenizer_decode(t, ids.items, ids.count, 0, &n);
        assert_int_equal(n, length);
        assert_memory_equal(back, text, length);
        free(back);
    }
    assert_true(time(NULL) - start < 60);
    free(text);
    ids_release(&ids);
    token_spans_release(&spans);
    tokenizer_close(t);
}

/* Incomplete characters are kept as bytes on request. */
static void test_exact_bytes(void **state)
{
    struct tokenizer *t = test_tokenizer("pipelines/llama2");
    int32_t ids[] = { tokenizer_id(t, "a"), tokenizer_id(t, "<0xF0>"), tokenizer_id(t, "<0x9F>") };
    char *exact = tokenizer_decode(t, ids, 3, TOKENIZER_EXACT_BYTES, NULL),
         *text = tokenizer_decode(t, ids, 3, 0, NULL);
    (void)state;

    assert_string_equal(exact, "a\xf0\x9f");
    assert_string_equal(text, "a\xef\xbf\xbd\xef\xbf\xbd");
    free(exact);
    free(text);
    tokenizer_close(t);
}

/* White space that rstrip takes may contain the start of the next added token. */
static void test_added_tokens_that_overlap(void **state)
{
    static const char json[] =
        "{\"added_tokens\":[{\"id\":2,\"content\":\"<x>\",\"rstrip\":true},{\"id\":3,\"content\":\" a\"},"
        "{\"id\":4,\"content\":\" b\",\"lstrip\":true}],"
        "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1},\"merges\":[]}}";
    static const char text[] = "a<x>  a<x> ba<x> ";
    static const int32_t wanted[] = { 0, 2, 3, 2, 4, 0, 2 };
    static const struct token_span places[] = { { 0, 1 },   { 1, 6 },   { 5, 7 },  { 7, 11 },
                                                { 11, 12 }, { 12, 13 }, { 13, 17 } };
    char *dir = test_dir_new();
    struct error err = { 0 };
    struct ids ids = { 0 };
    struct token_spans spans = { 0 };
    struct tokenizer *t = open_json(dir, json, &err);
    (void)state;

    if (!t)
        fail_msg("%s", err.text);
    tokenizer_encode(t, text, strlen(text), TOKENIZER_MATCH_SPECIALS, &ids, &spans);
    assert_int_equal(ids.count, ARRAY_LEN(wanted));
    assert_memory_equal(ids.items, wanted, sizeof wanted);
    assert_memory_equal(spans.items, places, sizeof places);
    ids_release(&ids);
    free(spans.items);
    tokenizer_close(t);
    test_dir_remove(dir);
}

/* A saved tokenizer opens again as the same. */
static void test_saved(void **state)
{
    static const char *const names[] = { "pipelines/bart",  "pipelines/deepseek", "pipelines/llama2",
                                         "pipelines/clip",  "pipelines/bert",     "pipelines/pieces",
                                         "pipelines/words", "unigram/t5",         "unigram/fallback" };
    static const char text[] = "  Hello, it's 2,500.75 \xe6\x97\xa5 caf\xc3\xa9\n";
    (void)state;

    for (int i = 0; i < ARRAY_LEN(names); i++) {
        char *dir = test_dir_new();
        struct error err = { 0 };
        struct ids a = { 0 }, b = { 0 };
        struct tokenizer *t = test_tokenizer(names[i]);
        assert_int_equal(tokenizer_save(t, dir, &err), 0);
        struct tokenizer *again = tokenizer_open(dir, &err);
        if (!again)
            fail_msg("%s: %s", names[i], err.text);
        tokenizer_encode(t, text, strlen(text), TOKENIZER_MATCH_SPECIALS, &a, NULL);
        tokenizer_encode(again, text, strlen(text), TOKENIZER_MATCH_SPECIALS, &b, NULL);
        assert_int_equal(a.count, b.count);
        assert_memory_equal(a.items, b.items, (size_t)a.count * sizeof *a.items);
        char *first = tokenizer_decode(t, a.items, a.count, 0, NULL);
        char *second = tokenizer_decode(again, a.items, a.count, 0, NULL);
        assert_string_equal(first, second);
        free(first);
        free(second);
        ids_release(&a);
        ids_release(&b);
        tokenizer_close(t);
        tokenizer_close(again);
        test_dir_remove(dir);
    }
}

static void check_cut(const char *pattern, enum cut_behavior behavior, const char *text, const char *wanted)
{
    struct error err = { 0 };
    struct text_pattern p = { .regex = regex_open(pattern, &err) };
    struct cut c = { 0 };
    char found[128] = "";

    if (!p.regex)
        fail_msg("%s", err.text);
    cut_start(&c, &p, behavior, false, text, (int64_t)strlen(text));
    for (int64_t start, stop; cut_next(&c, &start, &stop);)
        snprintf(found + strlen(found), sizeof found - strlen(found), "%.*s|", (int)(stop - start), text + start);
    cut_end(&c);
    assert_string_equal(found, wanted);
    text_pattern_release(&p);
}

static void test_regex(void **state)
{
    static const struct {
        const char *pattern, *text, *wanted;
    } cases[] = {
        { "b+", "abba", "a|bb|a|" },
        { "\\s+", "a \xe1\xa0\x8e b", "a| |\xe1\xa0\x8e| |b|" }, /* U+180E is not white space */
        { "[^\\s]+", "a\xe1\xa0\x8e b", "a\xe1\xa0\x8e| |b|" },
        { "\\S+", "a\xe1\xa0\x8e b", "a\xe1\xa0\x8e| |b|" },
        { "[\\S]+", "a\xe1\xa0\x8e\xe3\x80\x80!", "a\xe1\xa0\x8e|\xe3\x80\x80|!|" },
        { "[]x]+", "a]x[", "a|]x|[|" },
        { "[^]\\s]+", "a] b", "a|] |b|" },
        { "\\\\s", "a\\s s", "a|\\s| s|" },
        { "\\p{L}+", "1\xf0\xb1\x8d\x90z", "1|\xf0\xb1\x8d\x90z|" }, /* a letter of Unicode 15 */
        { "(a|b)(c)", "xacbc", "x|ac|bc|" },
        { "x*", "axb", "a|x|b|" },                  /* empty matches cut too */
        { "a$", "a\na", "a|\n|a|" },                /* the end of every line */
        { "^", "a\nb", "a\n|b|" },                  /* the start of every line */
        { "(?m:a.b)", "a\nb", "a\nb|" },            /* option m of Oniguruma is s of PCRE2 */
        { "\\h+", "g0fF!", "g|0fF|!|" },            /* hexadecimal digits */
        { "\\w+", "a_\xc2\xb2-", "a_\xc2\xb2|-|" }, /* includes superscripts */
        { "[a-c[x-z]]+", "abxq", "abx|q|" },        /* nested sets */
        { " ?[^(\\s|[.,])]+", "a (b|c.d", "a| (|b|||c|.|d|" },
        { "[\\w]+", "a\xc2\xb2", "a|\xc2\xb2|" }, /* sets exclude superscripts */
        { "[^\\W\\d]+", "a1_b", "a|1|_b|" },
        { "[\\W1]+", "a1!b", "a|1!|b|" },
        { "\\d{1,3}+", "12345", "12345|" }, /* a repeated interval, not a possessive one */
        { "\\bb", "b ab b", "b| ab |b|" },
        { "\\p{Han}+", "a\xe6\x97\xa5\xe3\x81\x82", "a|\xe6\x97\xa5|\xe3\x81\x82|" },
    };
    static const char *const refused[][2] = {
        { "(a", "parenthesis" },
        { "[a", "missing ]" },
        { "[a&&b]", "&&" },
        { "\\p{Elvish}", "Elvish" },
        { "\\X", "\\X" },
        { "[[:alpha:]]", "[:" },
        { "a(?i)b", "(?i)" },
        { "(?~a)", "(?~" },
        { "a{2,3}+", "{2,3}+" },
        { "a{,3}", "{," },
        { "[a\\Q]", "\\Q" },
        { "(*UTF)a", "(*" },
        { "[a[^b\\W]]", "complement" },
        { "\\p{L", "\\p" },
    };
    struct error err = { 0 };
    (void)state;

    for (int i = 0; i < ARRAY_LEN(cases); i++)
        check_cut(cases[i].pattern, CUT_ISOLATED, cases[i].text, cases[i].wanted);
    for (int i = 0; i < ARRAY_LEN(refused); i++) {
        assert_null(regex_open(refused[i][0], &err));
        assert_error(err, "pattern", refused[i][1]);
        assert_int_equal(err.code, EXIT_CODE_CHECKPOINT);
    }
}

static void test_longest_pattern(void **state)
{
    char *longer = xcalloc(1, REGEX_MAX_PATTERN + 2);
    struct error err = { 0 };
    (void)state;

    memset(longer, 'a', REGEX_MAX_PATTERN + 1);
    assert_null(regex_open(longer, &err));
    assert_error(err, "4097", "4096");
    free(longer);
}

/* The example in the documentation of Hugging Face's tokenizers. */
static void test_behaviors(void **state)
{
    static const char text[] = "the-final--countdown";
    (void)state;

    check_cut("-", CUT_REMOVED, text, "the|final|countdown|");
    check_cut("-", CUT_ISOLATED, text, "the|-|final|-|-|countdown|");
    check_cut("-", CUT_MERGED_WITH_PREVIOUS, text, "the-|final-|-|countdown|");
    check_cut("-", CUT_MERGED_WITH_NEXT, text, "the|-final|-|-countdown|");
    check_cut("-", CUT_CONTIGUOUS, text, "the|-|final|--|countdown|");
    check_cut("-", CUT_MERGED_WITH_NEXT, "-", "-|");
    check_cut("-", CUT_REMOVED, "--", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gold),
        cmocka_unit_test(test_unigram_gold),
        cmocka_unit_test(test_refused_parts),
        cmocka_unit_test(test_refused_unigram),
        cmocka_unit_test(test_refused_depth),
        cmocka_unit_test(test_models),
        cmocka_unit_test(test_long_line),
        cmocka_unit_test(test_exact_bytes),
        cmocka_unit_test(test_added_tokens_that_overlap),
        cmocka_unit_test(test_saved),
        cmocka_unit_test(test_regex),
        cmocka_unit_test(test_behaviors),
        cmocka_unit_test(test_longest_pattern),
    };
    return cmocka_run_group_tests_name("pipeline", tests, NULL, NULL);
}
