#include "data/base/json.h"
#include "models/text/chat.h"
#include "tests/support/tokens.h"

#include <stdlib.h>
#include <string.h>

struct fixture {
    struct tokenizer *llama, *qwen;
};

static void check_mask(const struct chat_mask *mask, const json_t *wanted, const char *where)
{
    if (mask->count != (int64_t)json_array_size(wanted))
        fail_msg("%s: a mask of %lld, wanted %zu", where, (long long)mask->count, json_array_size(wanted));
    for (int64_t i = 0; i < mask->count; i++)
        if (mask->items[i] != json_integer_value(json_array_get(wanted, (size_t)i)))
            fail_msg("%s: mask of token %lld is %d", where, (long long)i, mask->items[i]);
}

/* Counts tokens with ids of at least `first`; in the small vocabularies these are added tokens. */
static int count_added(const struct ids *ids, int32_t first)
{
    int n = 0;
    for (int64_t i = 0; i < ids->count; i++)
        n += ids->items[i] >= first;
    return n;
}

static int count_marks(const struct chat_text *text)
{
    int n = 0;
    for (int64_t i = 0; i < text->count; i++)
        n += text->spans[i].special >= 0;
    return n;
}

/* The published template has a known fingerprint and this name. */
static void check_fingerprint(const json_t *record, const char *where)
{
    const char *digits = json_string_value(json_object_get(record, "fingerprint"));
    const char *found = chat_name_of(strtoull(digits, NULL, 16));

    if (!found || strcmp(found, json_string_value(json_object_get(record, "template"))) != 0)
        fail_msg("%s: fingerprint %s is that of %s", where, digits, found ? found : "no template");
}

static void check_record(const struct fixture *f, const json_t *record, const char *where)
{
    const char *model = json_string_value(json_object_get(record, "model"));
    const struct tokenizer *t = strcmp(model, "llama") == 0 ? f->llama : f->qwen;
    struct chat_messages messages = { 0 };
    struct chat_text text = { 0 };
    struct chat_mask mask = { 0 };
    struct ids ids = { 0 };
    struct error err = { 0 };
    struct chat c;

    check_fingerprint(record, where);
    assert_int_equal(chat_open(&c, "", json_string_value(json_object_get(record, "template")), t, &err), 0);
    assert_int_equal(chat_read(&messages, json_object_get(record, "messages"), where, &err), 0);
    chat_render(&c, &messages, json_is_true(json_object_get(record, "prompt")), &text);
    if (strcmp(text.text, json_string_value(json_object_get(record, "text"))) != 0)
        fail_msg("%s: rendered\n%s\nwanted\n%s", where, text.text, json_string_value(json_object_get(record, "text")));
    chat_encode(t, &text, &ids, &mask);
    if (json_object_get(record, "ids")) {
        test_ids(&ids, json_object_get(record, "ids"), where);
        check_mask(&mask, json_object_get(record, "mask"), where);
    }
    assert_int_equal(count_added(&ids, 1000), count_marks(&text)); /* special tokens in messages remain text */
    ids_release(&ids);
    chat_mask_release(&mask);
    chat_text_release(&text);
    chat_messages_release(&messages);
}

static void test_gold(void **state)
{
    struct fixture f = { test_tokenizer("bpe/llama"), test_tokenizer("bpe/qwen") };
    struct error err = { 0 };
    struct json_reader *r = json_reader_open("tests/gold/chat.jsonl", &err);
    json_t *record;
    int n = 0;
    (void)state;

    assert_non_null(r);
    for (int rc; (rc = json_reader_next(r, &record, &err)) != 0;) {
        assert_int_equal(rc, 1);
        if (json_object_get(record, "model")) {
            check_record(&f, record, json_reader_where(r));
            n++;
        }
        json_decref(record);
    }
    assert_int_equal(n, 210);
    json_reader_close(r);
    tokenizer_close(f.llama);
    tokenizer_close(f.qwen);
}

/* A completion that starts with a line break: the token that also covers the head's break is not part of it. */
static void test_seam(void **state)
{
    struct tokenizer *t = test_tokenizer("bpe/qwen");
    struct chat_message turns[] = { { "user", "a" }, { "assistant", "\nb" } };
    struct chat_messages messages = { turns, 2, 2 };
    struct chat_text text = { 0 };
    struct chat_mask mask = { 0 };
    struct ids ids = { 0 };
    struct error err = { 0 };
    struct chat c;
    (void)state;

    assert_int_equal(chat_open(&c, "", "chatml-bare", t, &err), 0);
    assert_string_equal(chat_name(&c), "chatml-bare");
    assert_int_equal(chat_end(&c), tokenizer_id(t, "<|im_end|>"));
    chat_render(&c, &messages, false, &text);
    chat_encode(t, &text, &ids, &mask);
    int64_t end = ids.count - 2; /* <|im_end|> and the line break after it */
    assert_int_equal(ids.items[end], chat_end(&c));
    assert_int_equal(ids.items[end - 2], tokenizer_id(t, "\xc4\x8a\xc4\x8a"));
    assert_int_equal(mask.items[end - 2], 0);
    assert_int_equal(mask.items[end - 1], 1);
    assert_int_equal(mask.items[end], 1);
    assert_int_equal(mask.items[end + 1], 0);
    ids_release(&ids);
    chat_mask_release(&mask);
    chat_text_release(&text);
    tokenizer_close(t);
}

static int open_folder(const char *config, const char *jinja, const char *name, struct error *err)
{
    struct tokenizer *t = test_tokenizer("bpe/qwen");
    char *dir = test_dir_new();
    struct chat c;

    if (config)
        test_file(dir, "tokenizer_config.json", config);
    if (jinja)
        test_file(dir, "chat_template.jinja", jinja);
    int rc = chat_open(&c, dir, name, t, err);
    test_dir_remove(dir);
    tokenizer_close(t);
    return rc;
}

static void test_no_template(void **state)
{
    static const struct {
        const char *config, *jinja, *name;
        int code;
        const char *words[3];
    } cases[] = {
        { NULL, NULL, NULL, EXIT_CODE_CHECKPOINT, { "tokenizer_config.json", "chat_template.jinja" } },
        { "{}", NULL, NULL, EXIT_CODE_CHECKPOINT, { "tokenizer_config.json", "chat_template.jinja" } },
        { "{", NULL, NULL, EXIT_CODE_CHECKPOINT, { "tokenizer_config.json", "line 1" } },
        { "{\"chat_template\":7}", NULL, NULL, EXIT_CODE_CHECKPOINT, { "no chat_template" } },
        { "{\"model_max_length\":1000000000000000019884624838656,\"chat_template\":\"a\"}",
          NULL,
          NULL,
          EXIT_CODE_CHECKPOINT,
          { "af63dc4c8601ec8c", "chatml" } },
        { "{\"chat_template\":[{\"name\":\"default\",\"template\":\"a\"}]}",
          NULL,
          NULL,
          EXIT_CODE_CHECKPOINT,
          { "af63dc4c8601ec8c" } },
        { "{\"chat_template\":[{\"name\":\"tools\",\"template\":\"a\"}]}",
          NULL,
          NULL,
          EXIT_CODE_CHECKPOINT,
          { "no chat_template" } },
        { "{\"chat_template\":\"b\"}", "a\n", NULL, EXIT_CODE_CHECKPOINT, { ".jinja", "af63dc4c8601ec8c" } },
        { NULL, NULL, "vicuna", EXIT_CODE_USAGE, { "vicuna", "llama3" } },
        { NULL, NULL, "llama3", EXIT_CODE_CHECKPOINT, { "<|eot_id|>", "llama3" } },
    };
    (void)state;

    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = { 0 };
        assert_int_equal(open_folder(cases[i].config, cases[i].jinja, cases[i].name, &err), -1);
        test_error(&err, __FILE__, __LINE__, cases[i].words);
        assert_int_equal(err.code, cases[i].code);
    }
}

static void test_bad_messages(void **state)
{
    static const struct {
        const char *list, *words[3];
    } cases[] = {
        { "[]", { "line 3", "messages" } },
        { "{}", { "messages" } },
        { "[{\"role\":\"user\"}]", { "messages[0]", "content" } },
        { "[{\"content\":\"a\"}]", { "messages[0]", "role" } },
        { "[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"tool\",\"content\":\"a\"}]", { "messages[1]", "tool" } },
        { "[{\"role\":\"user\",\"content\":[]}]", { "messages[0]", "content" } },
        { "[7]", { "messages[0]" } },
    };
    (void)state;

    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        struct chat_messages m = { 0 };
        struct error err = { 0 };
        json_t *list = json_loads(cases[i].list, 0, NULL);
        assert_int_equal(chat_read(&m, list, "line 3", &err), -1);
        test_error(&err, __FILE__, __LINE__, cases[i].words);
        assert_int_equal(err.code, EXIT_CODE_DATA);
        json_decref(list);
        chat_messages_release(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gold),
        cmocka_unit_test(test_seam),
        cmocka_unit_test(test_no_template),
        cmocka_unit_test(test_bad_messages),
    };
    return cmocka_run_group_tests_name("chat", tests, NULL, NULL);
}
