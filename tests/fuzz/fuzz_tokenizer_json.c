/* Any bytes as tokenizer.json or vocab.txt: refused, or the bytes themselves can be encoded within bounds. */
#include "tests/support/fuzz.h"

#include "models/text/tokenizer_file.h"

#include <stdlib.h>
#include <string.h>

/* Incremental decoding yields the same bytes as decoding at once. */
static void decode_parts(const struct tokenizer *t, const struct ids *ids)
{
    struct tokenizer_stream s;
    size_t length, n, at = 0;
    char *whole = tokenizer_decode(t, ids->items, ids->count, TOKENIZER_SKIP_SPECIALS, &length);

    tokenizer_stream_start(&s, t, TOKENIZER_SKIP_SPECIALS);
    for (int64_t i = 0; i <= ids->count; i++) {
        const char *part = i < ids->count ? tokenizer_stream_next(&s, ids->items[i], &n) : tokenizer_stream_end(&s, &n);
        CHECK(at + n <= length && memcmp(part, whole + at, n) == 0, "part %lld differs", (long long)i);
        at += n;
    }
    CHECK(at == length, "%zu bytes in parts, %zu as a whole", at, length);
    tokenizer_stream_release(&s);
    free(whole);
}

static void use(struct tokenizer *t, const char *text, size_t size)
{
    struct ids ids = { 0 };
    struct token_spans spans = { 0 };

    if (!t)
        return;
    tokenizer_encode(t, text, size, TOKENIZER_MATCH_SPECIALS, &ids, &spans);
    tokenizer_encode(t, text, size, 0, &ids, &spans);
    CHECK(ids.count == spans.count, "%lld ids, %lld spans", (long long)ids.count, (long long)spans.count);
    for (int64_t i = 0; i < ids.count; i++) {
        CHECK(tokenizer_token(t, ids.items[i]), "id %d", (int)ids.items[i]);
        CHECK(spans.items[i].start < spans.items[i].end && spans.items[i].end <= (int64_t)size, "span %lld",
              (long long)i);
    }
    free(tokenizer_decode(t, ids.items, ids.count, 0, NULL));
    decode_parts(t, &ids);
    ids_release(&ids);
    token_spans_release(&spans);
    tokenizer_close(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct tokenizer_folder folder = { .dir = "fuzz" };
    struct error err;
    json_error_t why;
    json_t *root = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, &why);

    if (root)
        use(tokenizer_from_json(root, &folder, &err), (const char *)data, size);
    else
        use(tokenizer_from_lines((const char *)data, size, &folder, &err), (const char *)data, size);
    json_decref(root);
    return 0;
}
