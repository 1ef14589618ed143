/* Config files: values by declared type, messages with line and column, rejected files, and writing. */
#include "tests/support/support.h"

#include "data/base/yaml.h"

#include <stdlib.h>
#include <string.h>

struct settings {
    bool amp;
    const char *encoder, *mode;
    int64_t batch_size;
    double lr, graph_dropout, graph_lr;
    const char *config;
    int pool;
};

#define FIELD(f) .offset = offsetof(struct settings, f)
static const struct option table[] = {
    { .name = "encoder", .type = OPTION_STRING, FIELD(encoder) },
    { .name = "mode", .type = OPTION_WORD, FIELD(mode), .choices = "joint|frozen" },
    { .name = "batch-size", .type = OPTION_INT, FIELD(batch_size), .low = 1, .high = 4096 },
    { .name = "lr", .type = OPTION_REAL, FIELD(lr), .low = OPTION_ABOVE_ZERO, .high = HUGE_VAL },
    { .name = "amp", .type = OPTION_FLAG, FIELD(amp) },
    { .name = "graph-dropout", .type = OPTION_REAL, FIELD(graph_dropout), .low = 0, .high = 1 },
    { .name = "graph-lr", .type = OPTION_REAL, FIELD(graph_lr) },
    { .name = "pool", .type = OPTION_CHOICE, FIELD(pool), .choices = "mean|sum" },
    { .name = "config", .type = OPTION_CONFIG, FIELD(config) },
    { .name = NULL },
};

static void values_by_declared_type(void **state)
{
    (void)state;
    struct settings s = { .batch_size = 8, .graph_dropout = 0.5 };
    struct texts texts = { 0 };
    struct error err = { 0 };
    bool seen[9] = { false };
    const char text[] = "# a comment\nlr: 1e-4\nencoder: no # a name, not false\nbatch_size: \"16\"\namp: on\n"
                        "graph:\n  lr: 2\n  dropout: .1\nmode: frozen\npool: sum\n";
    int rc = yaml_read_text("t.yaml", text, strlen(text), table, &s, seen, &texts, &err);
    if (rc)
        fail_msg("%s", err.text);
    assert_true(s.lr == 1e-4 && s.graph_lr == 2 && s.graph_dropout == 0.1 && s.amp);
    assert_string_equal(s.encoder, "no");
    assert_string_equal(s.mode, "frozen");
    assert_int_equal(s.batch_size, 16);
    assert_int_equal(s.pool, 1);
    assert_null(s.config);
    for (int i = 0; i < 8; i++)
        assert_true(seen[i]);
    texts_release(&texts);
}

static void nothing_set_is_nothing_changed(void **state)
{
    (void)state;
    const char *const files[] = { "", "# only a comment\n", "---\n{}\n...\n", "\xef\xbb\xbflr: 3\n" };
    for (int i = 0; i < ARRAY_LEN(files); i++) {
        struct settings s = { .lr = 3, .batch_size = 9 };
        struct texts texts = { 0 };
        struct error err = { 0 };
        assert_int_equal(yaml_read_text("t", files[i], strlen(files[i]), table, &s, NULL, &texts, &err), 0);
        assert_true(s.lr == 3 && s.batch_size == 9 && !s.encoder);
        texts_release(&texts);
    }
}

static void mistakes_have_a_place(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        { "amp: true\nlr: -1\n", "t.yaml:2:5: lr: expected > 0, got -1", "" },
        { "lr: fast\n", "t.yaml:1:5: lr: expected a number, got 'fast'", "" },
        { "batch_size: 1.5\n", "t.yaml:1:13: batch-size: expected an integer, got '1.5'", "" },
        { "batch-size: 5000\n", "expected 1 to 4096, got 5000", "" },
        { "mode: frosen\n", "expected one of joint|frozen", "did you mean 'frozen'?" },
        { "pool: men\n", "pool: expected one of mean|sum, got 'men'", "did you mean 'mean'?" },
        { "amp: maybe\n", "expected true or false", "" },
        { "bacth-size: 3\n", "t.yaml:1:1: unknown key 'bacth-size', did you mean 'batch-size'?", "" },
        { "graph:\n  lrr: 3\n", "t.yaml:2:3: unknown key 'graph-lrr', did you mean 'graph-lr'?", "" },
        { "config: other.yaml\n", "unknown key 'config'", "" },
        { "lr: 1\nlr: 2\n", "t.yaml:2:1: lr: set twice", "" },
        { "graph-lr: 1\ngraph: {lr: 2}\n", "graph-lr: set twice", "" },
        { "lr:\n", "lr: expected a value", "" },
        { "encoder: ~\n", "encoder: expected a value", "" },
        { "lr: [1, 2]\n", "t.yaml:1:5: lr: expected one value, got a list", "" },
        { "lr: {a: 1}\n", "lr: expected one value, got a mapping", "" },
        { "graph: 3\n", "graph: expected a mapping below it", "" },
        { "graph: {graph: {lr: 1}}\n", "unknown key 'graph-graph'", "" },
        { "? {a: 1}\n: 2\n", "unexpected mapping", "" },
        { "- lr\n", "unexpected list", "" },
        { "just words\n", "expected a mapping", "" },
        { "lr: &a 1\ngraph: {lr: *a}\n", "t.yaml:1:5: anchors and tags are not allowed", "" },
        { "encoder: *a\n", "alias", "" },
        { "lr: !!float 1\n", "anchors and tags are not allowed", "" },
        { "lr: 1\n---\nlr: 2\n", "expected one document, got a second one", "" },
        { "encoder: \"a\\0b\"\n", "encoder: holds a zero byte", "" },
        { "encoder: 'open\n", "t.yaml:", "found unexpected end of stream" },
        { "lr: 1\n\tamp: true\n", "t.yaml:2", "" },
        { "lr: \xff\n", "byte", "UTF-8" },
        { "? \"\"\n: 1\n", "expected a word", "" },
    };
    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        struct settings s = { 0 };
        struct texts texts = { 0 };
        struct error err = { 0 };
        int rc = yaml_read_text("t.yaml", cases[i][0], strlen(cases[i][0]), table, &s, NULL, &texts, &err);
        if (rc != -1 || err.code != EXIT_CODE_USAGE)
            fail_msg("case %d: %s is taken", i, cases[i][0]);
        assert_error(err, cases[i][1], cases[i][2]);
        texts_release(&texts);
    }
}

static void nesting_without_end_is_refused_quickly(void **state)
{
    (void)state;
    size_t n = YAML_MAX_BYTES;
    char *text = xmalloc(n);
    for (int c = 0; c < 2; c++) {
        struct settings s = { 0 };
        struct texts texts = { 0 };
        struct error err = { 0 };
        memset(text, c ? '[' : '{', n);
        assert_int_equal(yaml_read_text("t", text, n, table, &s, NULL, &texts, &err), -1);
        texts_release(&texts);
    }
    free(text);
}

static void files_are_bounded_and_named(void **state)
{
    (void)state;
    char *dir = test_dir_new();
    struct settings s = { 0 };
    struct texts texts = { 0 };
    struct error err = { 0 };
    assert_int_equal(yaml_read(test_file(dir, "none.yaml", NULL), table, &s, NULL, &texts, &err), -1);
    assert_error(err, "none.yaml", "No such file");
    assert_int_equal(yaml_read(dir, table, &s, NULL, &texts, &err), -1);
    assert_error(err, dir, "expected a file");
    char *text = xmalloc(YAML_MAX_BYTES + 2);
    memset(text, '#', YAML_MAX_BYTES + 1);
    text[YAML_MAX_BYTES + 1] = '\0';
    assert_int_equal(yaml_read(test_file(dir, "big.yaml", text), table, &s, NULL, &texts, &err), -1);
    assert_error(err, "big.yaml", "expected at most");
    free(text);
    texts_release(&texts);
    test_dir_remove(dir);
}

static void written_values_are_read_back(void **state)
{
    (void)state;
    char *dir = test_dir_new();
    const char *path = test_file(dir, "saved.yaml", NULL);
    struct settings a = {
        true, "caf\xc3\xa9: #1 \"quoted\"\n\xf0\x9f\x98\x80 no", NULL, 7, 1.0 / 3, 0.1, 5e-324, "x", 1
    };
    struct settings b = { 0 };
    struct texts texts = { 0 };
    struct error err = { 0 };
    assert_int_equal(yaml_write(path, table, &a, &err), 0);
    if (yaml_read(path, table, &b, NULL, &texts, &err))
        fail_msg("%s", err.text);
    assert_string_equal(b.encoder, a.encoder);
    assert_null(b.mode);
    assert_int_equal(b.pool, 1);
    assert_null(b.config);
    assert_true(b.amp && b.batch_size == 7 && b.lr == a.lr && b.graph_dropout == 0.1 && b.graph_lr == 5e-324);
    a.encoder = "\xff";
    assert_int_equal(yaml_write(path, table, &a, &err), -1);
    assert_error(err, "encoder", "UTF-8");
    texts_release(&texts);
    test_dir_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_by_declared_type),     cmocka_unit_test(nothing_set_is_nothing_changed),
        cmocka_unit_test(mistakes_have_a_place),       cmocka_unit_test(nesting_without_end_is_refused_quickly),
        cmocka_unit_test(files_are_bounded_and_named), cmocka_unit_test(written_values_are_read_back),
    };
    return cmocka_run_group_tests_name("yaml", tests, NULL, NULL);
}
