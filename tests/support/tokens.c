#include "tests/support/tokens.h"

#include "data/base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tokenizer *test_tokenizer(const char *name)
{
    char path[256];
    struct error err = { 0 };
    snprintf(path, sizeof path, "tests/gold/%s", name);
    struct tokenizer *t = tokenizer_open(path, &err);
    if (!t)
        fail_msg("%s", err.text);
    return t;
}

char *test_from_hex(const char *hex, size_t *length)
{
    char *bytes = xcalloc(1, strlen(hex) / 2 + 1);
    *length = strlen(hex) / 2;
    for (size_t i = 0; i < *length; i++) {
        unsigned value;
        assert_int_equal(sscanf(hex + 2 * i, "%2x", &value), 1);
        bytes[i] = (char)value;
    }
    return bytes;
}

void test_ids(const struct ids *ids, const json_t *wanted, const char *where)
{
    if (ids->count != (int64_t)json_array_size(wanted))
        fail_msg("%s: %lld ids, expected %zu", where, (long long)ids->count, json_array_size(wanted));
    for (int64_t i = 0; i < ids->count; i++)
        if (ids->items[i] != json_integer_value(json_array_get(wanted, (size_t)i)))
            fail_msg("%s: id %lld is %d, expected %lld", where, (long long)i, (int)ids->items[i],
                     (long long)json_integer_value(json_array_get(wanted, (size_t)i)));
}

size_t test_encode(const struct tokenizer *t, const json_t *record, struct ids *ids, struct token_spans *spans,
                   const char *where)
{
    struct ids plain = { 0 };
    size_t length;
    unsigned flags = json_is_true(json_object_get(record, "specials")) ? TOKENIZER_MATCH_SPECIALS : 0;
    char *text = test_from_hex(json_string_value(json_object_get(record, "hex")), &length);

    int64_t n = tokenizer_encode(t, text, length, flags, ids, spans);
    assert_int_equal(n, ids->count);
    assert_int_equal(spans->count, ids->count);
    tokenizer_encode(t, text, length, flags, &plain, NULL);
    test_ids(ids, json_object_get(record, "ids"), where);
    test_ids(&plain, json_object_get(record, "ids"), where);
    ids_release(&plain);
    free(text);
    return length;
}

int test_gold_records(const char *folder, test_record_fn *check)
{
    struct tokenizer *t = NULL;
    struct error err = { 0 };
    char path[256], of[256] = "";
    json_t *record;
    int n = 0;

    snprintf(path, sizeof path, "tests/gold/%s.jsonl", folder);
    struct json_reader *r = json_reader_open(path, &err);
    assert_non_null(r);
    for (int rc; (rc = json_reader_next(r, &record, &err)) != 0; json_decref(record)) {
        assert_int_equal(rc, 1);
        const char *model = json_string_value(json_object_get(record, "model"));
        if (!model)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, model);
        if (strcmp(path, of) != 0) {
            tokenizer_close(t);
            t = test_tokenizer(path);
            memcpy(of, path, sizeof of);
        }
        check(t, record, json_reader_where(r));
        n++;
    }
    json_reader_close(r);
    tokenizer_close(t);
    return n;
}

char *test_replaced(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    if (!at)
        fail_msg("the good file does not hold %s", from);
    size_t size = strlen(text) + strlen(to) + 1;
    char *out = xmalloc(size);
    snprintf(out, size, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return out;
}

void test_refused(const char *dir, const char *what, const char *const *words)
{
    struct error err = { 0 };
    struct tokenizer *t = tokenizer_open(dir, &err);
    if (t)
        fail_msg("accepted: %s", what);
    if (err.code != EXIT_CODE_CHECKPOINT)
        fail_msg("exit code %d for %s: %s", err.code, what, err.text);
    for (; *words; words++)
        if (!strstr(err.text, *words))
            fail_msg("%s: \"%s\" does not say %s", what, err.text, *words);
}
