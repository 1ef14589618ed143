/* Layouts: Gemma's and Mistral's as transformers renders them (gold/make_chat_pieces.py), and valid and invalid files
 * of users. */
#include "data/base/json.h"
#include "models/text/chat.h"
#include "tests/support/tokens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The example of docs/reference/chat-templates.md. */
#define START "{\"start\":[{\"token\":\"<bos>\"}],"
#define USER                                                                                                           \
    "\"user\":{\"before\":[{\"token\":\"<start_of_turn>\"},\"user\\n\"],\"after\":[{\"token\":\"<end_of_turn>\"},\"\\n\"]},"
#define ASSISTANT                                                                                                      \
    "\"assistant\":{\"before\":[{\"token\":\"<start_of_turn>\"},\"model\\n\"],"                                        \
    "\"after\":[{\"token\":\"<end_of_turn>\"},\"\\n\"]}"
#define GEMMA START "\"join\":\"\\n\\n\",\"trim\":true," USER ASSISTANT "}"

static void check_mask(const struct chat_mask *mask, const json_t *wanted, const char *where)
{
    assert_int_equal(mask->count, json_array_size(wanted));
    for (int64_t i = 0; i < mask->count; i++)
        if (mask->items[i] != json_integer_value(json_array_get(wanted, (size_t)i)))
            fail_msg("%s: mask of token %lld is %d", where, (long long)i, mask->items[i]);
}

static void check_rendered(const struct chat *c, const struct tokenizer *t, const json_t *record, const char *where)
{
    struct chat_messages messages = { 0 };
    struct chat_text text = { 0 };
    struct chat_mask mask = { 0 };
    struct ids ids = { 0 };
    struct error err = { 0 };

    assert_int_equal(chat_read(&messages, json_object_get(record, "messages"), where, &err), 0);
    chat_render(c, &messages, json_is_true(json_object_get(record, "prompt")), &text);
    assert_string_equal(text.text, json_string_value(json_object_get(record, "text")));
    chat_encode(t, &text, &ids, &mask);
    test_ids(&ids, json_object_get(record, "ids"), where);
    check_mask(&mask, json_object_get(record, "mask"), where);
    ids_release(&ids);
    chat_mask_release(&mask);
    chat_text_release(&text);
    chat_messages_release(&messages);
}

/* Renders a record by the published name, and Gemma's by a user's file too. */
static void check_record(const json_t *record, const char *file, const char *where)
{
    const char *name = json_string_value(json_object_get(record, "template"));
    const char *digits = json_string_value(json_object_get(record, "fingerprint"));
    bool gemma = !strcmp(name, "gemma");
    struct tokenizer *t = test_tokenizer(gemma ? "chat/gemma" : "pipelines/llama2");
    const char *found = chat_name_of(strtoull(digits, NULL, 16));
    struct error err = { 0 };
    struct chat c;

    assert_non_null(found);
    assert_string_equal(found, name);
    for (int i = 0; i < 1 + gemma; i++) {
        assert_int_equal(chat_open(&c, "", i ? file : name, t, &err), 0);
        assert_int_equal(chat_end(&c), tokenizer_id(t, gemma ? "<end_of_turn>" : "</s>"));
        check_rendered(&c, t, record, where);
        chat_release(&c);
    }
    tokenizer_close(t);
}

static char *file_in(const char *dir, const char *text)
{
    size_t size = strlen(dir) + 16;
    char *path = xmalloc(size);

    test_file(dir, "own.json", text);
    snprintf(path, size, "%s/own.json", dir);
    return path;
}

static void test_gold(void **state)
{
    struct error err = { 0 };
    struct json_reader *r = json_reader_open("tests/gold/chat_pieces.jsonl", &err);
    char *dir = test_dir_new(), *file = file_in(dir, GEMMA);
    json_t *record;
    int n = 0;
    (void)state;

    assert_non_null(r);
    for (int rc; (rc = json_reader_next(r, &record, &err)) != 0; n++) {
        assert_int_equal(rc, 1);
        if (json_object_get(record, "model"))
            check_record(record, file, json_reader_where(r));
        json_decref(record);
    }
    assert_int_equal(n, 37);
    json_reader_close(r);
    test_dir_remove(dir);
    free(file);
}

static int open_text(struct chat *c, const char *text, struct error *err)
{
    struct tokenizer *t = test_tokenizer("chat/gemma");
    char *dir = test_dir_new(), *file = file_in(dir, text);
    int rc = chat_open(c, "", file, t, err);

    test_dir_remove(dir);
    free(file);
    tokenizer_close(t);
    return rc;
}

static void check_text(const char *form, bool prompt, const char *wanted)
{
    struct chat_message turns[] = {
        { "system", " Be brief. " }, { "user", "a" }, { "assistant", "b" }, { "user", "c" }
    };
    struct chat_messages messages = { turns, ARRAY_LEN(turns), ARRAY_LEN(turns) };
    struct chat_text text = { 0 };
    struct error err = { 0 };
    struct chat c;

    if (open_text(&c, form, &err))
        fail_msg("%s", err.text);
    chat_render(&c, &messages, prompt, &text);
    assert_string_equal(text.text, wanted);
    chat_text_release(&text);
    chat_release(&c);
}

/* The system message before the first user message, in a turn of its own, and without any text around it. */
static void test_system(void **state)
{
    (void)state;
    check_text(GEMMA, true,
               "<bos><start_of_turn>user\nBe brief.\n\na<end_of_turn>\n<start_of_turn>model\nb<end_of_turn>\n"
               "<start_of_turn>user\nc<end_of_turn>\n<start_of_turn>model\n");
    check_text("{\"system\":{\"before\":[\"S:\"],\"after\":[\"\\n\"]},\"user\":{\"before\":[\"U:\"]},"
               "\"assistant\":{\"after\":[{\"token\":\"</s>\"}]}}",
               true, "S: Be brief. \nU:ab</s>U:c");
    check_text("{\"system\":{},\"user\":{},\"trim\":true,\"assistant\":{\"after\":[{\"token\":\"</s>\"}]}}", false,
               "Be brief.ab</s>c");
}

/* The hash of the file's bytes identifies a user's template. */
static void test_name(void **state)
{
    struct error err = { 0 };
    struct chat a, b;
    (void)state;

    assert_int_equal(open_text(&a, GEMMA, &err), 0);
    assert_int_equal(open_text(&b, GEMMA " ", &err), 0);
    assert_int_equal(strncmp(chat_name(&a), "pieces-", 7), 0);
    assert_string_not_equal(chat_name(&a), chat_name(&b));
    chat_release(&a);
    chat_release(&b);
}

static void test_refused_files(void **state)
{
    static const struct {
        const char *text;
        int code;
        const char *words[4];
    } cases[] = {
        { "", EXIT_CODE_DATA, { "own.json" } },
        { "[]", EXIT_CODE_DATA, { "own.json", "object" } },
        { "{\"user\":{}," ASSISTANT "}", EXIT_CODE_DATA, { "system", "join" } },
        { "{\"join\":\"\",\"system\":{},\"user\":{}," ASSISTANT "}", EXIT_CODE_DATA, { "system", "either" } },
        { "{\"join\":7,\"user\":{}," ASSISTANT "}", EXIT_CODE_DATA, { "join", "text" } },
        { "{\"join\":\"\"," ASSISTANT "}", EXIT_CODE_DATA, { "user, assistant", "both" } },
        { "{\"join\":\"\",\"user\":{},\"assistant\":{}}", EXIT_CODE_DATA, { "assistant", "ends an answer" } },
        { "{\"join\":\"\",\"user\":{},\"assistant\":{\"after\":[\"</s>\"]}}", EXIT_CODE_DATA, { "ends an answer" } },
        { "{\"join\":\"\",\"user\":[]," ASSISTANT "}", EXIT_CODE_DATA, { "user", "before" } },
        { "{\"join\":\"\",\"user\":{\"then\":[]}," ASSISTANT "}", EXIT_CODE_DATA, { "user", "after" } },
        { "{\"join\":\"\",\"user\":{\"before\":\"x\"}," ASSISTANT "}", EXIT_CODE_DATA, { "user", "list" } },
        { "{\"join\":\"\",\"user\":{\"before\":[7]}," ASSISTANT "}", EXIT_CODE_DATA, { "user", "token" } },
        { "{\"join\":\"\",\"user\":{\"before\":[{\"token\":\"<s>\",\"id\":1}]}," ASSISTANT "}",
          EXIT_CODE_DATA,
          { "user" } },
        { "{\"join\":\"\",\"trim\":1,\"user\":{}," ASSISTANT "}", EXIT_CODE_DATA, { "trim" } },
        { "{\"join\":\"\",\"tools\":[],\"user\":{}," ASSISTANT "}", EXIT_CODE_DATA, { "tools", "start, system" } },
        { START "\"join\":\"\",\"user\":{\"before\":[{\"token\":\"<|im_start|>\"}]}," ASSISTANT "}",
          EXIT_CODE_CHECKPOINT,
          { "own.json", "<|im_start|>", "vocabulary" } },
    };
    (void)state;

    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = { 0 };
        struct chat c;
        if (open_text(&c, cases[i].text, &err) == 0)
            fail_msg("taken: %s", cases[i].text);
        test_error(&err, __FILE__, __LINE__, cases[i].words);
        assert_int_equal(err.code, cases[i].code);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gold),
        cmocka_unit_test(test_system),
        cmocka_unit_test(test_name),
        cmocka_unit_test(test_refused_files),
    };
    return cmocka_run_group_tests_name("chat_pieces", tests, NULL, NULL);
}
