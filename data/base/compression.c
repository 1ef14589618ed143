#include "data/base/compression.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#ifdef AMBIT_ZSTD
#include <zstd.h>
#endif

struct text_decoder {
    const struct coding *coding;
    char *name;
    bool whole;    /* the last stream has ended with a correct checksum, so the file may end here */
    bool trailing; /* behind the last gzip member, where no other member starts */
    bool warned;   /* has warned of trailing bytes that are not padding */
    z_stream gzip;
    lzma_stream xz;
#ifdef AMBIT_ZSTD
    ZSTD_DStream *zstd;
#endif
};

/* Each `run` returns NULL, or a description of the error. */
struct coding {
    const char *name, *ending, *magic;
    size_t n_magic;
    const char *(*start)(struct text_decoder *d);
    const char *(*run)(struct text_decoder *d, struct coding_bytes *b, bool last);
    void (*end)(struct text_decoder *d);
};

static const char *gzip_decode_start(struct text_decoder *d)
{
    return inflateInit2(&d->gzip, MAX_WBITS + 16) == Z_OK ? NULL : "not enough memory to decode it";
}

/* Skips the bytes behind the last member, as gzip does.  Zeros are padding; other bytes cause a warning.  If a member
 * starts among them, the start of an earlier member is damaged. */
static const char *gzip_pass_trailing(struct text_decoder *d, struct coding_bytes *b)
{
    static const char member[] = "\x1f\x8b\x08";
    size_t zeros = 0;
    if (memmem(b->from, b->n_from, member, 3))
        return "is damaged";
    while (zeros < b->n_from && !b->from[zeros])
        zeros++;
    if (zeros < b->n_from && !d->warned)
        base_warn("%s: ignoring the bytes behind its gzip data, which are not gzip", d->name);
    d->warned |= zeros < b->n_from;
    b->from += b->n_from;
    b->n_from = 0;
    return NULL;
}

/* Starts decoding the next member if there is one. */
static void gzip_next(struct text_decoder *d, const struct coding_bytes *b)
{
    d->trailing = *b->from != 0x1f;
    d->whole = d->trailing;
    if (!d->trailing)
        inflateReset(&d->gzip);
}

static const char *gzip_decode(struct text_decoder *d, struct coding_bytes *b, bool last)
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

static void gzip_decode_end(struct text_decoder *d)
{
    inflateEnd(&d->gzip);
}

static const char *xz_reason(lzma_ret ret)
{
    switch (ret) {
    case LZMA_OK:
    case LZMA_STREAM_END:
    case LZMA_BUF_ERROR: /* the input at hand yields no more output */
        return NULL;
    case LZMA_OPTIONS_ERROR:
        return "uses xz features that are not supported";
    case LZMA_MEMLIMIT_ERROR:
        return "needs more than 256 MiB of memory to decode";
    case LZMA_MEM_ERROR:
        return "not enough memory to decode it";
    default:
        return "is damaged";
    }
}

static const char *xz_decode_start(struct text_decoder *d)
{
    return xz_reason(lzma_stream_decoder(&d->xz, (uint64_t)DECODER_MEMORY_MIB << 20, LZMA_CONCATENATED));
}

static const char *xz_decode(struct text_decoder *d, struct coding_bytes *b, bool last)
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

static void xz_decode_end(struct text_decoder *d)
{
    lzma_end(&d->xz);
}

#ifdef AMBIT_ZSTD
static const char *zstd_decode_start(struct text_decoder *d)
{
    d->zstd = ZSTD_createDStream(); /* it refuses windows above 128 MiB itself */
    return d->zstd ? NULL : "not enough memory to decode it";
}

static const char *zstd_decode(struct text_decoder *d, struct coding_bytes *b, bool last)
{
    ZSTD_inBuffer in = { b->from, b->n_from, 0 };
    ZSTD_outBuffer out = { b->to, b->n_to, 0 };
    (void)last;
    if (d->whole && !b->n_from)
        return NULL;
    size_t ret = ZSTD_decompressStream(d->zstd, &out, &in);
    *b = (struct coding_bytes){ b->from + in.pos, b->n_from - in.pos, b->to + out.pos, b->n_to - out.pos };
    d->whole = ret == 0;
    return ZSTD_isError(ret) ? "is damaged, or needs more than 128 MiB of memory to decode" : NULL;
}

static void zstd_decode_end(struct text_decoder *d)
{
    ZSTD_freeDStream(d->zstd);
}
#else
#define zstd_decode_start NULL
#define zstd_decode NULL
#define zstd_decode_end NULL
#endif

static const struct coding codings[] = {
    { "gzip", ".gz", "\x1f\x8b", 2, gzip_decode_start, gzip_decode, gzip_decode_end },
    { "xz", ".xz", "\xfd\x37zXZ", 6, xz_decode_start, xz_decode, xz_decode_end }, /* the NUL is the sixth byte */
    { "zstd", ".zst", "\x28\xb5\x2f\xfd", 4, zstd_decode_start, zstd_decode, zstd_decode_end },
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
        error_set(
            err, EXIT_CODE_FAILURE,
            "%s: compressed by %s, which this build cannot read: install lib%s-dev and build again, or decompress it "
            "with %s -d",
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

enum { OUT_BYTES = 1 << 16, XZ_LEVEL = 6, ZSTD_LEVEL = 3 };

struct text_encoder {
    const struct text_encoding *encoding;
    int fd;
    z_stream gzip;
    lzma_stream xz;
#ifdef AMBIT_ZSTD
    ZSTD_CStream *zstd;
#endif
    unsigned char out[OUT_BYTES];
};

enum encode_step { STEP_FAILED, STEP_MORE, STEP_ENDED };

/* `run` advances in b.  `last`: no input follows b->from.  STEP_ENDED: all output is written. */
struct text_encoding {
    const char *name;
    bool (*start)(struct text_encoder *e);
    enum encode_step (*run)(struct text_encoder *e, struct coding_bytes *b, bool last);
    void (*end)(struct text_encoder *e);
};

static bool gzip_encode_start(struct text_encoder *e)
{
    enum { MEMORY_LEVEL = 8 };
    return deflateInit2(&e->gzip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, MEMORY_LEVEL,
                        Z_DEFAULT_STRATEGY) == Z_OK;
}

static enum encode_step gzip_encode(struct text_encoder *e, struct coding_bytes *b, bool last)
{
    z_stream *z = &e->gzip;
    z->next_in = (Bytef *)(uintptr_t)b->from;
    z->avail_in = (uInt)b->n_from;
    z->next_out = b->to;
    z->avail_out = (uInt)b->n_to;
    int ret = deflate(z, last ? Z_FINISH : Z_NO_FLUSH);
    *b = (struct coding_bytes){ z->next_in, z->avail_in, z->next_out, z->avail_out };
    if (ret == Z_STREAM_END)
        return STEP_ENDED;
    return ret == Z_OK || ret == Z_BUF_ERROR ? STEP_MORE : STEP_FAILED;
}

static void gzip_encode_end(struct text_encoder *e)
{
    deflateEnd(&e->gzip);
}

static bool xz_encode_start(struct text_encoder *e)
{
    return lzma_easy_encoder(&e->xz, XZ_LEVEL, LZMA_CHECK_CRC64) == LZMA_OK;
}

static enum encode_step xz_encode(struct text_encoder *e, struct coding_bytes *b, bool last)
{
    lzma_stream *z = &e->xz;
    z->next_in = b->from;
    z->avail_in = b->n_from;
    z->next_out = b->to;
    z->avail_out = b->n_to;
    lzma_ret ret = lzma_code(z, last ? LZMA_FINISH : LZMA_RUN);
    *b = (struct coding_bytes){ z->next_in, z->avail_in, z->next_out, z->avail_out };
    if (ret == LZMA_STREAM_END)
        return STEP_ENDED;
    return ret == LZMA_OK || ret == LZMA_BUF_ERROR ? STEP_MORE : STEP_FAILED;
}

static void xz_encode_end(struct text_encoder *e)
{
    lzma_end(&e->xz);
}

#ifdef AMBIT_ZSTD
static bool zstd_encode_start(struct text_encoder *e)
{
    e->zstd = ZSTD_createCStream();
    return e->zstd && !ZSTD_isError(ZSTD_CCtx_setParameter(e->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL)) &&
           !ZSTD_isError(ZSTD_CCtx_setParameter(e->zstd, ZSTD_c_checksumFlag, 1));
}

static enum encode_step zstd_encode(struct text_encoder *e, struct coding_bytes *b, bool last)
{
    ZSTD_inBuffer in = { b->from, b->n_from, 0 };
    ZSTD_outBuffer out = { b->to, b->n_to, 0 };
    size_t left = ZSTD_compressStream2(e->zstd, &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
    if (ZSTD_isError(left))
        return STEP_FAILED;
    *b = (struct coding_bytes){ b->from + in.pos, b->n_from - in.pos, b->to + out.pos, b->n_to - out.pos };
    return last && left == 0 ? STEP_ENDED : STEP_MORE;
}

static void zstd_encode_end(struct text_encoder *e)
{
    ZSTD_freeCStream(e->zstd);
}
#else
#define zstd_encode_start NULL
#define zstd_encode NULL
#define zstd_encode_end NULL
#endif

static const struct text_encoding encodings[] = {
    { "gzip", gzip_encode_start, gzip_encode, gzip_encode_end },
    { "xz", xz_encode_start, xz_encode, xz_encode_end },
    { "zstd", zstd_encode_start, zstd_encode, zstd_encode_end },
};

static int write_all(int fd, const unsigned char *bytes, size_t n)
{
    while (n) {
        ssize_t wrote = write(fd, bytes, n);
        if (wrote < 0 && errno != EINTR)
            return -1;
        bytes += wrote > 0 ? wrote : 0;
        n -= wrote > 0 ? (size_t)wrote : 0;
    }
    return 0;
}

/* Compresses n bytes.  With `last`, also flushes the bytes that the library has buffered. */
static int encode(struct text_encoder *e, const char *text, size_t n, bool last)
{
    struct coding_bytes b = { .from = (const unsigned char *)text, .n_from = n };
    enum encode_step step = STEP_MORE;

    while (step == STEP_MORE && (b.n_from || last)) {
        b.to = e->out;
        b.n_to = sizeof e->out;
        step = e->encoding->run(e, &b, last);
        if (step == STEP_FAILED)
            errno = ENOMEM;
        if (step == STEP_FAILED || write_all(e->fd, e->out, sizeof e->out - b.n_to))
            return -1;
    }
    return 0;
}

/* The write function of fopencookie, which reports failure by 0.  It passes at most OUT_BYTES at a time, since the
 * libraries count bytes in 32 bits. */
static ssize_t write_text(void *of, const char *text, size_t n)
{
    size_t done = 0;

    while (done < n) {
        size_t part = n - done < OUT_BYTES ? n - done : OUT_BYTES;
        if (encode(of, text + done, part, false))
            return 0;
        done += part;
    }
    return (ssize_t)n;
}

static int close_text(void *of)
{
    struct text_encoder *e = of;
    int rc = encode(e, NULL, 0, true), why = errno;

    e->encoding->end(e);
    free(e);
    errno = why;
    return rc;
}

static const struct text_encoding *encoding_of(const struct coding *c)
{
    for (int i = 0; i < ARRAY_LEN(encodings); i++)
        if (strcmp(encodings[i].name, coding_name(c)) == 0 && encodings[i].start)
            return &encodings[i];
    return NULL;
}

bool text_encoder_has(const struct coding *c)
{
    return encoding_of(c) != NULL;
}

FILE *text_encoder_open(const struct coding *c, int fd, const char *name, struct error *err)
{
    static const cookie_io_functions_t functions = { .write = write_text, .close = close_text };
    const struct text_encoding *encoding = encoding_of(c);

    if (!encoding) {
        error_set(err, EXIT_CODE_FAILURE,
                  "%s: this build cannot compress by %s: install lib%s-dev and build again, or choose another ending",
                  name, coding_name(c), coding_name(c));
        return NULL;
    }
    struct text_encoder *e = xcalloc(1, sizeof *e);
    e->encoding = encoding;
    e->fd = fd;
    FILE *f = encoding->start(e) ? fopencookie(e, "w", functions) : NULL;
    if (f)
        return f;
    encoding->end(e);
    free(e);
    error_set(err, EXIT_CODE_MEMORY, "%s: not enough memory to compress by %s", name, coding_name(c));
    return NULL;
}
