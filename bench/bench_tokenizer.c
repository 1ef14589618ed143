/* Encodes the records of a file (4 bytes of length, little-endian, then the text) and prints MB/s on one
 * core.  bench/peers/tokenizer.py compares it with Hugging Face's tokenizers. */
#include "data/base/json.h"
#include "data/base/log.h"
#include "models/text/tokenizer.h"

#include <stdlib.h>
#include <string.h>

struct records {
    char *bytes;
    int64_t *starts; /* [count + 1], each text with the 4 bytes of its length before it */
    int64_t count, cap;
};

static void read_records(struct records *r, const char *path)
{
    FILE *f = fopen(path, "rb");
    CHECK(f && fseek(f, 0, SEEK_END) == 0, "cannot read %s", path);
    int64_t size = ftell(f), at = 0;
    rewind(f);
    r->bytes = xmalloc((size_t)size);
    CHECK(fread(r->bytes, 1, (size_t)size, f) == (size_t)size, "cannot read %s", path);
    fclose(f);
    for (;;) {
        GROW(r->starts, r->count, r->cap);
        r->starts[r->count] = at;
        if (at + 4 > size)
            break;
        uint32_t length;
        memcpy(&length, r->bytes + at, 4);
        at += 4 + (int64_t)length;
        CHECK(at <= size, "%s: record %lld is cut off", path, (long long)r->count);
        r->count++;
    }
}

static double encode_all(const struct tokenizer *t, const struct records *r, unsigned flags, struct ids *ids)
{
    double start = now_seconds();
    ids->count = 0;
    for (int64_t i = 0; i < r->count; i++) {
        int64_t from = r->starts[i] + 4;
        tokenizer_encode(t, r->bytes + from, (size_t)(r->starts[i + 1] - from), flags, ids, NULL);
    }
    return now_seconds() - start;
}

/* Writes for each record its number of tokens, then the id, start and end of each token, as 32-bit numbers. */
static void write_tokens(const char *path, const struct tokenizer *t, const struct records *r, unsigned flags)
{
    struct ids ids = { 0 };
    struct token_spans spans = { 0 };
    FILE *f = fopen(path, "wb");

    CHECK(f, "cannot write %s", path);
    for (int64_t i = 0; i < r->count; i++) {
        ids.count = spans.count = 0;
        int64_t from = r->starts[i] + 4;
        int32_t n =
            (int32_t)tokenizer_encode(t, r->bytes + from, (size_t)(r->starts[i + 1] - from), flags, &ids, &spans);
        fwrite(&n, sizeof n, 1, f);
        for (int32_t k = 0; k < n; k++) {
            int32_t token[3] = { ids.items[k], (int32_t)spans.items[k].start, (int32_t)spans.items[k].end };
            fwrite(token, sizeof token, 1, f);
        }
    }
    CHECK(fclose(f) == 0, "cannot write %s", path);
    ids_release(&ids);
    token_spans_release(&spans);
}

static void write_text(FILE *f, const struct tokenizer *t, const struct ids *ids, unsigned flags)
{
    size_t n;
    char *text = tokenizer_decode(t, ids->items, ids->count, flags, &n);
    uint32_t length = (uint32_t)n;

    fwrite(&length, sizeof length, 1, f);
    fwrite(text, 1, n, f);
    free(text);
}

/* Writes each decoded text, with and without special tokens, in the record format of the input. */
static void write_texts(const char *path, const struct tokenizer *t, const struct records *r, unsigned flags)
{
    struct ids ids = { 0 };
    FILE *f = fopen(path, "wb");

    CHECK(f, "cannot write %s", path);
    for (int64_t i = 0; i < r->count; i++) {
        int64_t from = r->starts[i] + 4;
        ids.count = 0;
        tokenizer_encode(t, r->bytes + from, (size_t)(r->starts[i + 1] - from), flags, &ids, NULL);
        write_text(f, t, &ids, 0);
        write_text(f, t, &ids, TOKENIZER_SKIP_SPECIALS);
    }
    CHECK(fclose(f) == 0, "cannot write %s", path);
    ids_release(&ids);
}

int main(int argc, char **argv)
{
    struct error err;
    struct records r = { 0 };
    struct ids ids = { 0 };
    bool specials = argc > 3 && strcmp(argv[argc - 1], "match-specials") == 0;
    unsigned flags = specials ? TOKENIZER_MATCH_SPECIALS : 0;
    double best = 1e9;

    argc -= specials;
    if (argc < 3 || argc > 5) {
        fprintf(stderr, "usage: bench_tokenizer MODEL_DIR RECORDS [TOKENS_OUT [TEXTS_OUT]] [match-specials]\n");
        return EXIT_CODE_USAGE;
    }
    struct tokenizer *t = tokenizer_open(argv[1], &err);
    if (!t) {
        fprintf(stderr, "bench_tokenizer: %s\n", err.text);
        return (int)err.code;
    }
    read_records(&r, argv[2]);
    for (int i = 0; i < 5; i++) {
        double seconds = encode_all(t, &r, flags, &ids);
        best = seconds < best ? seconds : best;
    }
    if (argc > 3)
        write_tokens(argv[3], t, &r, flags);
    if (argc > 4)
        write_texts(argv[4], t, &r, flags);
    double bytes = (double)(r.starts[r.count] - 4 * r.count);
    printf("%lld texts, %.1f MB, %lld tokens: %.1f MB/s, %.2f million tokens/s\n", (long long)r.count, bytes / 1e6,
           (long long)ids.count, bytes / best / 1e6, (double)ids.count / best / 1e6);
    ids_release(&ids);
    free(r.bytes);
    free(r.starts);
    tokenizer_close(t);
    return 0;
}
