#include "data/coding/text_encoder.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#ifdef AMBIT_ZSTD
#include <zstd.h>
#endif

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

/* `run` moves on in b; `last` says that nothing comes behind b->from, and STEP_ENDED that all is written. */
struct text_encoding {
    const char *name;
    bool (*start)(struct text_encoder *e);
    enum encode_step (*run)(struct text_encoder *e, struct coding_bytes *b, bool last);
    void (*end)(struct text_encoder *e);
};

static bool gzip_start(struct text_encoder *e)
{
    enum { MEMORY_LEVEL = 8 };
    return deflateInit2(&e->gzip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, MEMORY_LEVEL,
                        Z_DEFAULT_STRATEGY) == Z_OK;
}

static enum encode_step gzip_run(struct text_encoder *e, struct coding_bytes *b, bool last)
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

static void gzip_end(struct text_encoder *e)
{
    deflateEnd(&e->gzip);
}

static bool xz_start(struct text_encoder *e)
{
    return lzma_easy_encoder(&e->xz, XZ_LEVEL, LZMA_CHECK_CRC64) == LZMA_OK;
}

static enum encode_step xz_run(struct text_encoder *e, struct coding_bytes *b, bool last)
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

static void xz_end(struct text_encoder *e)
{
    lzma_end(&e->xz);
}

#ifdef AMBIT_ZSTD
static bool zstd_start(struct text_encoder *e)
{
    e->zstd = ZSTD_createCStream();
    return e->zstd && !ZSTD_isError(ZSTD_CCtx_setParameter(e->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL)) &&
           !ZSTD_isError(ZSTD_CCtx_setParameter(e->zstd, ZSTD_c_checksumFlag, 1));
}

static enum encode_step zstd_run(struct text_encoder *e, struct coding_bytes *b, bool last)
{
    ZSTD_inBuffer in = { b->from, b->n_from, 0 };
    ZSTD_outBuffer out = { b->to, b->n_to, 0 };
    size_t left = ZSTD_compressStream2(e->zstd, &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
    if (ZSTD_isError(left))
        return STEP_FAILED;
    *b = (struct coding_bytes){ b->from + in.pos, b->n_from - in.pos, b->to + out.pos, b->n_to - out.pos };
    return last && left == 0 ? STEP_ENDED : STEP_MORE;
}

static void zstd_end(struct text_encoder *e)
{
    ZSTD_freeCStream(e->zstd);
}
#else
#define zstd_start NULL
#define zstd_run NULL
#define zstd_end NULL
#endif

static const struct text_encoding encodings[] = {
    { "gzip", gzip_start, gzip_run, gzip_end },
    { "xz", xz_start, xz_run, xz_end },
    { "zstd", zstd_start, zstd_run, zstd_end },
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

/* Compresses n bytes, and what the library kept of earlier ones where they are the last. */
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

/* fopencookie's write: 0 is its failure.  At most OUT_BYTES at a time, which the libraries' counts hold. */
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
                  "%s: this build cannot compress by %s: install lib%s-dev and build again, or expected another ending",
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
