/* Compares vectors of texts with sentence-transformers (gold/make_embed.py), in any batch. Also tests refused
 * folders, and the schema finder. */
#include "data/base/json.h"
#include "data/base/out_file.h"
#include "data/schema/schema_build.h"
#include "models/embed/schema_finder.h"
#include "tests/support/digest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WIDTH = 48, LONGEST = 24, HOST_BYTES = 8 << 20, TOKENS = 4096, TABLES = 9, LONG = 95 };
#define GOLD "tests/gold/embed"

struct world {
    struct device device;
    struct workspace work;
    struct sentence_encoder encoder;
};

static void open_world(struct world *w, int tokens)
{
    struct error err;

    *w = (struct world){ 0 };
    test_device_open(&w->device);
    assert_int_equal(workspace_init(&w->work, &w->device, HOST_BYTES, &err), 0);
    if (sentence_encoder_open(&w->encoder, &w->work, GOLD, tokens, &err))
        fail_msg("%s", err.text);
}

static void close_world(struct world *w)
{
    sentence_encoder_close(&w->encoder);
    workspace_release(&w->work);
    device_close(&w->device);
}

static float *embed(struct world *w, const char *const *texts, int n)
{
    float *vectors = xmalloc((size_t)n * WIDTH * sizeof *vectors);
    struct error err;

    assert_int_equal(sentence_encoder_embed(&w->encoder, vectors, texts, n, &err), 0);
    return vectors;
}

/* Largest difference between a vector and the gold one. */
static double gold_distance(const float *got, const json_t *want)
{
    double most = 0;

    assert_int_equal(json_array_size(want), WIDTH);
    for (int i = 0; i < WIDTH; i++) {
        double d = fabs((double)got[i] - json_real_value(json_array_get(want, (size_t)i)));
        most = d > most || isnan(d) ? d : most;
    }
    return most;
}

static void check_gold(int tokens)
{
    struct error err;
    struct world w;
    json_t *gold = json_read_file("tests/gold/embed.json", &err), *list = json_object_get(gold, "texts");
    const char *texts[16];
    int n = (int)json_array_size(list);

    assert_in_range(n, 9, ARRAY_LEN(texts));
    for (int i = 0; i < n; i++)
        texts[i] = json_string_value(json_array_get(list, (size_t)i));
    open_world(&w, tokens);
    assert_int_equal(sentence_encoder_width(&w.encoder), WIDTH);
    assert_int_equal(w.encoder.longest, LONGEST);
    float *vectors = embed(&w, texts, n);
    for (int i = 0; i < n; i++) {
        double d =
            gold_distance(vectors + (ptrdiff_t)i * WIDTH, json_array_get(json_object_get(gold, "vectors"), (size_t)i));
        if (!(d <= 1e-5))
            fail_msg("\"%s\": %.2e from the gold vector", texts[i], d);
    }
    free(vectors);
    close_world(&w);
    json_decref(gold);
}

static void test_gold(void **state)
{
    (void)state;
    check_gold(TOKENS);
    check_gold(1); /* one text at a time */
    check_gold(2 * LONGEST + 1);
}

/* A folder of links to the gold files, except one, which has the given text or, with NULL, is missing. */
static char *other_folder(const char *but, const char *text)
{
    static const char *const names[] = {
        "config.json",           "model.safetensors",        "modules.json", "tokenizer.json", "tokenizer_config.json",
        "1_Pooling/config.json", "sentence_bert_config.json"
    };
    char *dir = test_dir_new(), *gold = realpath(GOLD, NULL);

    assert_non_null(gold);
    assert_int_equal(make_dirs(test_file(dir, "1_Pooling", NULL), &(struct error){ 0 }), 0);
    for (int i = 0; i < ARRAY_LEN(names); i++) {
        char *from = path_in(gold, names[i]);
        if (strcmp(names[i], but) != 0)
            assert_int_equal(symlink(from, test_file(dir, names[i], NULL)), 0);
        free(from);
    }
    free(gold);
    if (text)
        test_file(dir, but, text);
    return dir;
}

static void expect_refused(const char *but, const char *text, const char *word, const char *expected)
{
    char *dir = other_folder(but, text);
    struct error err = { 0 };
    struct world w;

    open_world(&w, TOKENS);
    sentence_encoder_close(&w.encoder);
    assert_int_equal(sentence_encoder_open(&w.encoder, &w.work, dir, TOKENS, &err), -1);
    assert_int_equal(err.code, EXIT_CODE_CHECKPOINT);
    assert_error(err, word, expected);
    close_world(&w);
    test_dir_remove(dir);
}

static void test_refused(void **state)
{
    (void)state;
    expect_refused("1_Pooling/config.json", "{\"pooling_mode\":\"cls\"}", "pooling_mode",
                   "expected \"mean\", got \"cls\"");
    expect_refused("1_Pooling/config.json", "{\"pooling_mode_mean_tokens\":false,\"pooling_mode_cls_token\":true}",
                   "pooling_mode_mean_tokens", "expected true, got false");
    expect_refused("1_Pooling/config.json", "{\"pooling_mode_mean_tokens\":true,\"pooling_mode_max_tokens\":true}",
                   "pooling_mode_max_tokens", "expected false, got true");
    expect_refused("1_Pooling/config.json", "{\"pooling_mode\":", "1_Pooling/config.json", "end of file");
    expect_refused("modules.json", "[{\"type\":\"sentence_transformers.models.Dense\"}]", "modules.json",
                   "expected Transformer, Pooling or Normalize, got \"sentence_transformers.models.Dense\"");
    expect_refused("modules.json", "[7]", "modules.json", "expected Transformer, Pooling or Normalize");
    expect_refused("sentence_bert_config.json", "{\"max_seq_length\":2}", "max_seq_length", "got 2");
    expect_refused("config.json", NULL, "config.json", "No such file");
    expect_refused("config.json", "{\"model_type\":\"llama\"}", "model_type",
                   "expected \"bert\" or \"modernbert\", got \"llama\"");
    expect_refused("tokenizer.json", NULL, "expected tokenizer.json or vocab.txt", "No such file");
    expect_refused("model.safetensors", NULL, "model.safetensors", "");
}

/* Files of older versions, and a folder without settings of sentence-transformers. */
static void test_other_forms(void **state)
{
    char *dir =
        other_folder("1_Pooling/config.json", "{\"word_embedding_dimension\":48,\"pooling_mode_cls_token\":false,"
                                              "\"pooling_mode_mean_tokens\":true}");
    struct error err;
    struct world w;
    (void)state;

    remove(test_file(dir, "sentence_bert_config.json", NULL)); /* the link */
    test_file(dir, "sentence_bert_config.json", "{\"max_seq_length\":11,\"do_lower_case\":false}");
    open_world(&w, TOKENS);
    sentence_encoder_close(&w.encoder);
    assert_int_equal(sentence_encoder_open(&w.encoder, &w.work, dir, TOKENS, &err), 0);
    assert_int_equal(w.encoder.longest, 11);
    sentence_encoder_close(&w.encoder);
    for (int i = 0; i < 2; i++) {
        remove(test_file(dir, i ? "modules.json" : "sentence_bert_config.json", NULL));
        remove(test_file(dir, "1_Pooling/config.json", NULL));
    }
    remove(test_file(dir, "tokenizer_config.json", NULL));
    test_file(dir, "tokenizer_config.json",
              "{\"model_max_length\":1000000000000000019884624838656,\"do_lower_case\":true}");
    assert_int_equal(sentence_encoder_open(&w.encoder, &w.work, dir, TOKENS, &err), 0);
    assert_int_equal(w.encoder.longest, 40);
    close_world(&w);
    test_dir_remove(dir);
}

/* Tables with a few columns, the last with LONG. Names are words of the gold vocabulary. */
static void build(struct schema *s)
{
    static const char *const words[] = { "singer", "concert", "student", "professor", "faculty",
                                         "class",  "city",    "order",   "list" };
    struct schema_build b;
    char name[32];

    schema_build_init(&b, "wide");
    for (int t = 0; t < TABLES; t++) {
        int table = schema_build_table(&b, words[t], NULL), n = t == TABLES - 1 ? LONG : t; /* the first has none */
        for (int i = 0; i < n; i++) {
            snprintf(name, sizeof name, "%s_%c%c", words[(t * 5 + i) % TABLES], 'a' + i % 26, 'a' + i / 26);
            schema_build_column(&b, table, name, NULL, COLUMN_TEXT);
        }
    }
    schema_build_finish(&b, s);
    schema_build_release(&b);
}

/* The mean over texts of columns [first, first + n) after the table's name, as schema_finder.h defines it. */
static void add_text(struct world *w, double sum[WIDTH], const struct schema *s, int table, int first, int n, double by)
{
    char text[4096];
    const char *list[] = { text };
    int at = snprintf(text, sizeof text, "%s", s->tables[table].text);

    for (int i = first; i < first + n; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "%s%s", i == first ? ": " : ", ", s->columns[i].text);
    float *v = embed(w, list, 1);
    for (int c = 0; c < WIDTH; c++)
        sum[c] += by * (double)v[c];
    free(v);
}

static float cosine(struct world *w, const struct schema *s, int table, const float *question)
{
    const struct schema_table *t = &s->tables[table];
    double sum[WIDTH] = { 0 }, product = 0, length = 0;
    int pieces = (t->n_columns + 39) / 40;

    add_text(w, sum, s, table, 0, 0, 1);
    for (int i = 0; i < pieces; i++) {
        int n = t->n_columns - 40 * i;
        add_text(w, sum, s, table, t->first_column + 40 * i, n < 40 ? n : 40, 1.0 / pieces);
    }
    for (int c = 0; c < WIDTH; c++) {
        product += sum[c] * (double)question[c];
        length += sum[c] * sum[c];
    }
    product /= sqrt(length);
    return product > 0 ? (float)product : 0;
}

/* The finder's part equals that of the search by words, with table scores that are computed here. */
static void test_finder(void **state)
{
    static const char *const questions[] = { "Which professors teach a class?", "all of the singers", "zebra" };
    struct schema s;
    struct error err;
    struct world w;
    int changed = 0;
    (void)state;

    build(&s);
    open_world(&w, TOKENS);
    size_t n = (size_t)(s.n_tables + s.n_columns);
    struct schema_finder *finder = schema_finder_open(&s, &w.encoder, &err),
                         *words = schema_finder_open(&s, NULL, &err);
    struct schema_search *search = schema_search_open(&s);
    bool *got = xcalloc(n, sizeof *got), *want = xcalloc(n, sizeof *want);
    for (int q = 0; q < ARRAY_LEN(questions); q++) {
        float more[TABLES], *vector = embed(&w, &questions[q], 1);
        for (int t = 0; t < TABLES; t++)
            more[t] = cosine(&w, &s, t, vector);
        schema_finder_best(finder, questions[q], vector, 16, got);
        schema_search_best(search, questions[q], more, 16, want);
        assert_memory_equal(got, want, n * sizeof *got);
        schema_finder_best(words, questions[q], NULL, 16, got);
        changed += memcmp(got, want, n * sizeof *got) != 0;
        schema_search_best(search, questions[q], NULL, 16, want);
        assert_memory_equal(got, want, n * sizeof *got);
        free(vector);
    }
    assert_true(changed > 0);
    free(got);
    free(want);
    schema_search_close(search);
    schema_finder_close(finder);
    schema_finder_close(words);
    close_world(&w);
    schema_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gold),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_other_forms),
        cmocka_unit_test(test_finder),
    };
    return test_devices(tests, ARRAY_LEN(tests));
}
