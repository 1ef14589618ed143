#include "tests/support/tokens.h"

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
        fail_msg("%s: %lld ids, wanted %zu", where, (long long)ids->count, json_array_size(wanted));
    for (int64_t i = 0; i < ids->count; i++)
        if (ids->items[i] != json_integer_value(json_array_get(wanted, (size_t)i)))
            fail_msg("%s: id %lld is %d, wanted %lld", where, (long long)i, (int)ids->items[i],
                     (long long)json_integer_value(json_array_get(wanted, (size_t)i)));
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
