#include "data/coding/text_decoder.h"

#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#ifdef AMBIT_ZSTD
#include <zstd.h>
#endif

struct text_decoder {
    const struct coding *coding;
    char *name;
    bool whole;    /* the last stream has ended, its checksum was right: here the file may end */
    bool trailing; /* behind the last gzip member, where no other one begins */
    bool warned;   /* of bytes there that are no padding */
    z_stream gzip;
    lzma_stream xz;
#ifdef AMBIT_ZSTD
    ZSTD_DStream *zstd;
#endif
};

/* Each of run's functions returns NULL, or what is wrong. */
struct coding {
    const char *name, *ending, *magic;
    size_t n_magic;
    const char *(*start)(struct text_decoder *d);
    const char *(*run)(struct text_decoder *d, struct coding_bytes *b, bool last);
    void (*end)(struct text_decoder *d);
};

static const char *gzip_start(struct text_decoder *d)
{
    return inflateInit2(&d->gzip, MAX_WBITS + 16) == Z_OK ? NULL : "not enough memory to decode it";
}

/* Passes over bytes behind the last member, as gzip does: zeros fill up a block, others are worth a warning.  A member
 * among them says that the beginning of an earlier one is damaged. */
static const char *gzip_pass_trailing(struct text_decoder *d, struct coding_bytes *b)
{
    static const char member[] = "\x1f\x8b\x08";
    size_t zeros = 0;
    if (memmem(b->from, b->n_from, member, 3))
        return "is damaged";
    while (zeros < b->n_from && !b->from[zeros])
        zeros++;
    if (zeros < b->n_from && !d->warned)
        base_warn("%s: what follows its gzip data is not gzip, and is ignored", d->name);
    d->warned |= zeros < b->n_from;
    b->from += b->n_from;
    b->n_from = 0;
    return NULL;
}

/* Begins with the member behind the one that ended, if there is one. */
static void gzip_next(struct text_decoder *d, const struct coding_bytes *b)
{
    d->trailing = *b->from != 0x1f;
    d->whole = d->trailing;
    if (!d->trailing)
        inflateReset(&d->gzip);
}

static const char *gzip_run(struct text_decoder *d, struct coding_bytes *b, bool last)
{
    z_stream *z = &d->gzip;
    (void)last;
    if (d->whole && b->n_from && !d->trailing)
        gzip_next(d, b);
    if (d->trailing)
        return gzip_pass_trailing(d, b);
    z->next_in = (Bytef *)b->from;
    z->avail_in = (uInt)b->n_from;
    z->next_out = b->to;
    z->avail_out = (uInt)b->n_to;
    int ret = d->whole ? Z_OK : inflate(z, Z_NO_FLUSH);
    *b = (struct coding_bytes){ z->next_in, z->avail_in, z->next_out, z->avail_out };
    d->whole |= ret == Z_STREAM_END;
    if (ret == Z_MEM_ERROR)
        return "not enough memory to decode it";
    return ret == Z_OK || ret == Z_STREAM_END || ret == Z_BUF_ERROR ? NULL : "is damaged";
}

static void gzip_end(struct text_decoder *d)
{
    inflateEnd(&d->gzip);
}

static const char *xz_reason(lzma_ret ret)
{
    switch (ret) {
    case LZMA_OK:
    case LZMA_STREAM_END:
    case LZMA_BUF_ERROR: /* nothing more comes out of what is there */
        return NULL;
    case LZMA_OPTIONS_ERROR:
        return "uses xz features that are not supported";
    case LZMA_MEMLIMIT_ERROR:
        return "wants more than 256 MiB of memory to decode";
    case LZMA_MEM_ERROR:
        return "not enough memory to decode it";
    default:
        return "is damaged";
    }
}

static const char *xz_start(struct text_decoder *d)
{
    return xz_reason(lzma_stream_decoder(&d->xz, (uint64_t)DECODER_MEMORY_MIB << 20, LZMA_CONCATENATED));
}

static const char *xz_run(struct text_decoder *d, struct coding_bytes *b, bool last)
{
    lzma_stream *z = &d->xz;
    z->next_in = b->from;
    z->avail_in = b->n_from;
    z->next_out = b->to;
    z->avail_out = b->n_to;
    lzma_ret ret = lzma_code(z, last ? LZMA_FINISH : LZMA_RUN);
    *b = (struct coding_bytes){ z->next_in, z->avail_in, z->next_out, z->avail_out };
    d->whole = ret == LZMA_STREAM_END;
    return xz_reason(ret);
}

static void xz_end(struct text_decoder *d)
{
    lzma_end(&d->xz);
}

#ifdef AMBIT_ZSTD
static const char *zstd_start(struct text_decoder *d)
{
    d->zstd = ZSTD_createDStream(); /* which refuses windows above 128 MiB by itself */
    return d->zstd ? NULL : "not enough memory to decode it";
}

static const char *zstd_run(struct text_decoder *d, struct coding_bytes *b, bool last)
{
    ZSTD_inBuffer in = { b->from, b->n_from, 0 };
    ZSTD_outBuffer out = { b->to, b->n_to, 0 };
    (void)last;
    if (d->whole && !b->n_from)
        return NULL;
    size_t ret = ZSTD_decompressStream(d->zstd, &out, &in);
    *b = (struct coding_bytes){ b->from + in.pos, b->n_from - in.pos, b->to + out.pos, b->n_to - out.pos };
    d->whole = ret == 0;
    return ZSTD_isError(ret) ? "is damaged, or wants more than 128 MiB of memory to decode" : NULL;
}

static void zstd_end(struct text_decoder *d)
{
    ZSTD_freeDStream(d->zstd);
}
#else
#define zstd_start NULL
#define zstd_run NULL
#define zstd_end NULL
#endif

static const struct coding codings[] = {
    { "gzip", ".gz", "\x1f\x8b", 2, gzip_start, gzip_run, gzip_end },
    { "xz", ".xz", "\xfd\x37zXZ", 6, xz_start, xz_run, xz_end }, /* with the 0 that ends it */
    { "zstd", ".zst", "\x28\xb5\x2f\xfd", 4, zstd_start, zstd_run, zstd_end },
};

const struct coding *coding_of_name(const char *path)
{
    for (int i = 0; i < ARRAY_LEN(codings); i++)
        if (text_ends_with(path, codings[i].ending))
            return &codings[i];
    return NULL;
}

const struct coding *coding_of_bytes(const unsigned char *bytes, size_t n)
{
    for (int i = 0; i < ARRAY_LEN(codings); i++)
        if (n >= codings[i].n_magic && memcmp(bytes, codings[i].magic, codings[i].n_magic) == 0)
            return &codings[i];
    return NULL;
}

bool coding_may_begin(const unsigned char *bytes, size_t n)
{
    for (int i = 0; i < ARRAY_LEN(codings); i++)
        if (n < codings[i].n_magic && memcmp(bytes, codings[i].magic, n) == 0)
            return true;
    return false;
}

const char *coding_name(const struct coding *c)
{
    return c->name;
}

const char *coding_ending(const struct coding *c)
{
    return c ? c->ending : "";
}

struct text_decoder *text_decoder_new(const struct coding *c, const char *name, struct error *err)
{
    if (!c->start) {
        error_set(err, EXIT_CODE_FAILURE,
                  "%s: compressed by %s, which this build cannot read: install lib%s-dev and build again, or give what "
                  "%s -dc writes",
                  name, c->name, c->name, c->name);
        return NULL;
    }
    struct text_decoder *d = xcalloc(1, sizeof *d);
    d->coding = c;
    d->name = xstrdup(name);
    const char *wrong = c->start(d);
    if (!wrong)
        return d;
    error_set(err, EXIT_CODE_MEMORY, "%s: %s", name, wrong);
    text_decoder_free(d);
    return NULL;
}

int text_decoder_run(struct text_decoder *d, struct coding_bytes *b, bool last, struct error *err)
{
    size_t n_from = b->n_from, n_to = b->n_to;
    const char *wrong = d->coding->run(d, b, last);
    if (!wrong && last && b->n_from == n_from && b->n_to == n_to && !d->whole)
        wrong = "the file is truncated";
    if (wrong)
        return error_set(err, EXIT_CODE_DATA, "%s: %s", d->name, wrong);
    return !(last && d->whole && b->n_from == 0 && b->n_to == n_to);
}

void text_decoder_free(struct text_decoder *d)
{
    if (!d)
        return;
    if (d->coding->end)
        d->coding->end(d);
    free(d->name);
    free(d);
}
