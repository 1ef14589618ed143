#include "data/base/json.h"
#include "models/engine/constraints.h"
#include "tests/support/tokens.h"

#include <stdlib.h>
#include <string.h>

static const int32_t stops[] = { 5 };

/* A constraint file, and one compiled constraint. line NULL: no file. */
struct fixture {
    char *dir;
    struct tokenizer *t;
    struct constraints *c;
    struct automaton_host a;
};

static void open_lines(struct fixture *f, const char *lines)
{
    struct error err = { 0 };

    f->dir = test_dir_new();
    f->c = constraints_open(test_file(f->dir, "c.jsonl", lines), &err);
    if (!f->c)
        fail_msg("%s", err.text);
}

static void close_all(struct fixture *f)
{
    automaton_release(&f->a);
    constraints_close(f->c);
    tokenizer_close(f->t);
    test_dir_remove(f->dir);
}

static void compile(struct fixture *f, const char *tokenizer, const char *lines)
{
    struct error err = { 0 };

    open_lines(f, lines);
    f->t = test_tokenizer(tokenizer);
    if (constraints_compile(f->c, 0, f->t, stops, 1, &f->a, &err))
        fail_msg("%s", err.text);
}

/* Collects the text of every path, and checks that its tokens are the tokenizer's. NULL after the last. */
static void check_paths(const struct fixture *f, int32_t state, struct ids *path, json_t *texts)
{
    const struct automaton_host *a = &f->a;

    for (int32_t e = a->first[state]; e < a->first[state + 1]; e++) {
        if (a->token[e] != stops[0]) {
            ids_push(path, a->token[e]);
            check_paths(f, a->next[e], path, texts);
            path->count--;
            continue;
        }
        struct ids own = { 0 };
        size_t length;
        char *text = tokenizer_decode(f->t, path->items, path->count, 0, &length);
        assert_int_equal(tokenizer_encode(f->t, text, length, 0, &own, NULL), path->count);
        assert_memory_equal(own.items, path->items, (size_t)own.count * sizeof *own.items);
        json_object_set_new(texts, text, json_true());
        ids_release(&own);
        free(text);
    }
}

/* Checks that the constraint allows exactly these texts, separated by '|', with both tokenizers. */
static void check_texts(const char *line, const char *wanted)
{
    static const char *const tokenizers[] = { "bpe/llama", "bpe/qwen" };

    for (int i = 0; i < ARRAY_LEN(tokenizers); i++) {
        struct fixture f = { 0 };
        struct ids path = { 0 };
        json_t *texts = json_object();
        char *rest = xstrdup(wanted), *at = rest;
        size_t n = 0;
        compile(&f, tokenizers[i], line);
        check_paths(&f, 0, &path, texts);
        for (const char *text; (text = strsep(&at, "|")); n++)
            if (!json_object_get(texts, text))
                fail_msg("%s does not allow \"%s\"", line, text);
        assert_int_equal(json_object_size(texts), n);
        free(rest);
        json_decref(texts);
        ids_release(&path);
        close_all(&f);
    }
}

static void test_answers(void **state)
{
    (void)state;
    check_texts("{\"answers\": [\"yes\"]}", "yes");
    check_texts("{\"answers\": [\" name\", \"name\", \"name of\", \"na\", \"name\"]}", " name|name|name of|na");
    check_texts("{\"answers\": [\"\xe2\x98\x83\", \"a\\nb\", \"{x}\"]}", "\xe2\x98\x83|a\nb|{x}");
}

static void test_templates(void **state)
{
    (void)state;
    check_texts("{\"template\": \"select 1\"}", "select 1");
    check_texts("{\"template\": \"{a}\", \"slots\": {\"a\": [\"x\", \"x\", \"y\"]}}", "x|y");
    check_texts("{\"template\": \"select {c} from {t}\", \"slots\": {\"c\": [\"name\", \"age\"], \"t\": [\"singer\"]}}",
                "select name from singer|select age from singer");
    check_texts("{\"template\": \"{c}, {c}\", \"slots\": {\"c\": [\"a\", \"b\"]}}", "a, a|a, b|b, a|b, b");
    check_texts("{\"template\": \"{{{a}}}: {{}}\", \"slots\": {\"a\": [\"x\"]}}", "{x}: {}");
}

/* Text around a slot, adjacent slots, texts with blanks, and texts that are prefixes of others. */
static void test_seams(void **state)
{
    (void)state;
    check_texts("{\"template\": \"count({c}) - t1.{c}\", \"slots\": {\"c\": [\"name\", \"singer\"]}}",
                "count(name) - t1.name|count(name) - t1.singer|count(singer) - t1.name|count(singer) - t1.singer");
    check_texts("{\"template\": \"x {t}.{c} y\", \"slots\": {\"t\": [\"ab\", \"a\"], \"c\": [\"b\", \"bc\"]}}",
                "x ab.b y|x ab.bc y|x a.b y|x a.bc y");
    check_texts("{\"template\": \"in {p} before 3\", \"slots\": {\"p\": [\"New\", \"New York\", \"New York before\"]}}",
                "in New before 3|in New York before 3|in New York before before 3");
    check_texts("{\"template\": \"select {d} {c}\", \"slots\": {\"d\": [\"\", \"distinct\"], \"c\": [\"name\"]}}",
                "select  name|select distinct name");
    check_texts("{\"template\": \"select{d} {c}\", \"slots\": {\"d\": [\"\", \" distinct\"], \"c\": [\"name\"]}}",
                "select name|select distinct name");
    check_texts("{\"template\": \"{a} {b} c\", \"slots\": {\"a\": [\"x \", \"y\"], \"b\": [\" z\", \"\\n\"]}}",
                "x   z c|x  \n c|y  z c|y \n c");
}

/* Each alternative has its own slots. A text of two alternatives counts once, and one text may be a prefix of
 * another. */
static void test_alternatives(void **state)
{
    (void)state;
    check_texts("{\"alternatives\": [{\"template\": \"select {c} from a\", \"slots\": {\"c\": [\"name\", \"age\"]}},"
                " {\"template\": \"select {c} from b\", \"slots\": {\"c\": [\"age\", \"singer\"]}}]}",
                "select name from a|select age from a|select age from b|select singer from b");
    check_texts("{\"alternatives\": [{\"template\": \"{c}\", \"slots\": {\"c\": [\"name\", \"name of\"]}},"
                " {\"template\": \"name of singer\"}, {\"template\": \"name of\"}]}",
                "name|name of|name of singer");
}

/* A blank belongs to the word after it: 40 x 40 texts from tables of 80. */
static void test_product(void **state)
{
    struct fixture f = { 0 };
    json_t *names = json_array();
    (void)state;

    for (int i = 0; i < 40; i++)
        json_array_append_new(names, json_sprintf("%c%c", 'a' + i % 20, 'x' + i / 20));
    json_t *line = json_pack("{s:s, s:{s:O, s:o}}", "template", "{a} and {b} end", "slots", "a", names, "b", names);
    char *text = json_dumps(line, JSON_COMPACT);
    compile(&f, "bpe/qwen", text);
    assert_true(f.a.n_edges < 4 * 80);
    json_t *texts = json_object();
    struct ids path = { 0 };
    check_paths(&f, 0, &path, texts);
    assert_int_equal(json_object_size(texts), 1600);
    json_decref(texts);
    json_decref(line);
    ids_release(&path);
    free(text);
    close_all(&f);
}

static int find(const struct constraints *c, const char *record, struct error *err)
{
    json_t *o = json_loads(record, 0, NULL);
    int i = constraints_find(c, o, err);

    json_decref(o);
    return i;
}

static void test_by_id(void **state)
{
    struct fixture f = { 0 };
    struct error err = { 0 };
    (void)state;

    open_lines(&f, "{\"answers\": [\"a\"], \"id\": \"x\"}\n"
                   "{\"id\": 7, \"note\": 1, \"answers\": [\"a\"]}\n"
                   "{\"answers\": [\"b\"]}\n"
                   "{\"id\": \"y\", \"template\": \"b\"}\n");
    assert_int_equal(constraints_count(f.c), 3);
    assert_int_equal(find(f.c, "{\"id\": \"x\"}", &err), 0);
    assert_int_equal(find(f.c, "{\"id\": \"7\"}", &err), 0); /* 7 and "7" are one id, with the same constraint as x */
    assert_int_equal(find(f.c, "{\"id\": 3}", &err), 1);     /* by line number */
    assert_int_equal(find(f.c, "{\"id\": \"y\"}", &err), 2);
    assert_int_equal(find(f.c, "{\"id\": \"z\"}", &err), -1);
    assert_int_equal(err.code, EXIT_CODE_DATA);
    assert_error(err, "c.jsonl: no line has the id \"z\"");
    assert_true(constraints_key(f.c, 0) != constraints_key(f.c, 1));
    close_all(&f);
}

/* Refused lines, and words of the messages. */
static const struct {
    const char *line, *words[4];
} refused_lines[] = {
    { "", { "c.jsonl: expected a constraint on each line, got none" } },
    { "{\"answers\": [\"a\"", { "line 1" } },
    { "{\"id\": 1}", { "line 1: expected one of \"answers\", \"template\" and \"alternatives\", got none" } },
    { "{\"answers\": [\"a\"], \"template\": \"b\"}", { "line 1: expected", "got more" } },
    { "{\"alternatives\": []}", { "line 1: alternatives: expected a list of templates, got an empty one" } },
    { "{\"alternatives\": {}}", { "line 1: alternatives: expected a list of templates, got an object" } },
    { "{\"alternatives\": [\"a\"]}", { "line 1: alternatives[0]: expected an object, got a string" } },
    { "{\"alternatives\": [{\"template\": \"a\"}, {\"template\": \"\"}]}",
      { "line 1: alternatives[1]: template: expected a text" } },
    { "{\"alternatives\": [{\"template\": \"{a}\", \"slots\": {\"a\": [\"b\"]}}, {\"template\": \"{a}\"}]}",
      { "alternatives[1]: template: the slot {a} has no list" } },
    { "{\"alternatives\": [{\"template\": \"a\"}], \"slots\": {}}", { "slots: expected with", "\"alternatives\"" } },
    { "{\"answers\": [\"a\"], \"slots\": {}}", { "line 1: slots: expected with \"template\", got with \"answers\"" } },
    { "{\"answers\": \"a\"}", { "line 1: answers: expected a list of texts, got a string" } },
    { "{\"answers\": []}", { "line 1: answers: expected at least one text, got an empty list" } },
    { "{\"answers\": [\"a\", 3]}", { "line 1: answers[1]: expected a text, got an integer" } },
    { "{\"answers\": [\"a\", \"\"]}", { "line 1: answers[1]: expected a text, got an empty one" } },
    { "{\"template\": [\"a\"]}", { "line 1: field \"template\": expected a string, got an array" } },
    { "{\"template\": \"\"}", { "line 1: template: expected a text, got an empty one" } },
    { "{\"template\": \"a {b\", \"slots\": {\"b\": [\"c\"]}}", { "template: the brace at byte 2 is not closed" } },
    { "{\"template\": \"{a{b}\", \"slots\": {\"b\": [\"c\"]}}", { "template: the brace at byte 0 is not closed" } },
    { "{\"template\": \"ab} c\"}", { "template: the brace at byte 2 closes no slot" } },
    { "{\"template\": \"a {b}\"}", { "template: the slot {b} has no list in \"slots\"" } },
    { "{\"template\": \"a {}\", \"slots\": {\"b\": [\"c\"]}}", { "template: the slot {} has no list" } },
    { "{\"template\": \"a {b}\", \"slots\": [\"b\"]}", { "slots: expected an object, got an array" } },
    { "{\"template\": \"a {b}\", \"slots\": {\"b\": \"c\"}}", { "slots.b: expected a list of texts, got a string" } },
    { "{\"template\": \"a {b}\", \"slots\": {\"b\": []}}", { "slots.b: expected at least one text" } },
    { "{\"template\": \"a {b}\", \"slots\": {\"b\": [null]}}", { "slots.b[0]: expected a text, got null" } },
    { "{\"template\": \"a {b}\", \"slots\": {\"b\": [\"c\"], \"d\": [\"e\"]}}",
      { "slots.d: the template has no slot of this name" } },
    { "{\"id\": [], \"answers\": [\"a\"]}", { "line 1", "id" } },
    { "{\"answers\": [\"a\"]}\n{\"id\": \"1\", \"answers\": [\"b\"]}", { "line 2: the id \"1\" is also on line 1" } },
    { "yes\nno\n", { "line 1", "'[' or '{' expected near 'yes'" } },
};

static void test_refused_lines(void **state)
{
    char *dir = test_dir_new();
    struct error err = { 0 };
    (void)state;

    for (int i = 0; i < ARRAY_LEN(refused_lines); i++) {
        struct constraints *c = constraints_open(test_file(dir, "c.jsonl", refused_lines[i].line), &err);
        if (c)
            fail_msg("%s was taken", refused_lines[i].line);
        assert_int_equal(err.code, EXIT_CODE_DATA);
        test_error(&err, __FILE__, __LINE__, refused_lines[i].words);
        assert_error(err, "c.jsonl");
    }
    assert_null(constraints_open(test_file(dir, "none.jsonl", NULL), &err));
    assert_int_equal(err.code, EXIT_CODE_DATA);
    assert_error(err, "none.jsonl");
    test_dir_remove(dir);
}

/* Letters a, b, c and the blank. "a b" is one token, which no published tokenizer has. */
static const char odd_tokenizer[] =
    "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"c\": 2, \" \": 3, \"a \": 4, \"a b\": 5,"
    " \"<unk>\": 6}, \"merges\": [[\"a\", \" \"], [\"a \", \"b\"]]%s}, \"decoder\": {\"type\": \"Fuse\"}}";

static const struct {
    const char *more, *line, *words[4];
} refused_texts[] = {
    { "",
      "{\"answers\": [\"a\", \"cxyc\"]}",
      { "line 1: answers[1]: the tokenizer cannot spell \"cxyc\": it decodes as \"cc\"" } },
    { ", \"unk_token\": \"<unk>\"",
      "{\"answers\": [\"xa\"]}",
      { "answers[0]: the tokenizer cannot spell \"xa\": it decodes as \"<unk>a\"" } },
    { "", "{\"answers\": [\"x\"]}", { "answers[0]: the tokenizer cannot spell \"x\": it decodes as \"\"" } },
    { "",
      "{\"template\": \"c {s}\", \"slots\": {\"s\": [\"c\", \"cd\"]}}",
      { "slots.s[1]: the tokenizer cannot spell \"c cd\": it decodes as \"c c\"" } },
    { "", "{\"template\": \"c d\"}", { "template: the tokenizer cannot spell \"c d\"" } },
    { "",
      "{\"template\": \"c {s} b\", \"slots\": {\"s\": [\"c\", \"a\"]}}",
      { "slots.s[1]: \" a\"", "crosses the border" } },
    { "",
      "{\"template\": \"a {s}\", \"slots\": {\"s\": [\"c\", \"b\"]}}",
      { "template: \"a\"", "crosses the border" } },
    { "", "{\"answers\": [\"c\", \"ca b\"]}", { "answers[1]: \"ca b\" contains the stop token 5" } },
    { "",
      "{\"template\": \"{a}\", \"slots\": {\"a\": [\"\", \"b\"]}}",
      { "line 1: expected texts with at least one token" } },
};

static void test_refused_texts(void **state)
{
    (void)state;
    for (int i = 0; i < ARRAY_LEN(refused_texts); i++) {
        struct fixture f = { 0 };
        struct error err = { 0 };
        char json[1024];
        open_lines(&f, refused_texts[i].line);
        snprintf(json, sizeof json, odd_tokenizer, refused_texts[i].more);
        test_file(f.dir, "tokenizer.json", json);
        f.t = tokenizer_open(f.dir, &err);
        if (!f.t)
            fail_msg("%s", err.text);
        if (constraints_compile(f.c, 0, f.t, stops, 1, &f.a, &err) == 0)
            fail_msg("%s was taken", refused_texts[i].line);
        assert_int_equal(err.code, EXIT_CODE_DATA);
        test_error(&err, __FILE__, __LINE__, refused_texts[i].words);
        assert_error(err, "c.jsonl: line 1: ");
        close_all(&f);
    }
}

/* Adjacent slots are multiplied out: 5,000 x 5,000 texts are too many. */
static void test_too_many(void **state)
{
    struct fixture f = { 0 };
    struct error err = { 0 };
    json_t *names = json_array();
    (void)state;

    for (int i = 0; i < 5000; i++)
        json_array_append_new(names, json_sprintf("n%d", i));
    json_t *line = json_pack("{s:s, s:{s:o}}", "template", "{a}.{a}", "slots", "a", names);
    char *text = json_dumps(line, JSON_COMPACT);
    open_lines(&f, text);
    f.t = test_tokenizer("bpe/qwen");
    assert_int_equal(constraints_compile(f.c, 0, f.t, stops, 1, &f.a, &err), -1);
    assert_int_equal(err.code, EXIT_CODE_DATA);
    assert_error(err, "line 1: the texts of the template's words have more than 16777216 bytes",
                 "separate slots by blanks");
    json_decref(line);
    free(text);
    close_all(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),       cmocka_unit_test(test_templates),     cmocka_unit_test(test_seams),
        cmocka_unit_test(test_alternatives),  cmocka_unit_test(test_product),       cmocka_unit_test(test_by_id),
        cmocka_unit_test(test_refused_lines), cmocka_unit_test(test_refused_texts), cmocka_unit_test(test_too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
