#include "data/util/xz.h"

#include "data/util/whole_file.h"

#include <errno.h>
#include <lzma.h>
#include <string.h>

static const char *reason(lzma_ret ret)
{
    switch (ret) {
    case LZMA_BUF_ERROR:
        return "the file is truncated";
    case LZMA_FORMAT_ERROR:
        return "is not an xz file";
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

struct buffers {
    uint8_t from[1 << 16], to[1 << 16];
};

/* Decodes in to out.  LZMA_STREAM_END, or what went wrong; LZMA_PROG_ERROR stands for a failed read or write. */
static lzma_ret decode(lzma_stream *z, struct buffers *b, FILE *in, FILE *out)
{
    lzma_action action = LZMA_RUN;
    lzma_ret ret = LZMA_OK;

    while (ret == LZMA_OK) {
        if (z->avail_in == 0 && action == LZMA_RUN) {
            z->next_in = b->from;
            z->avail_in = fread(b->from, 1, sizeof b->from, in);
            if (ferror(in))
                return LZMA_PROG_ERROR;
            if (feof(in))
                action = LZMA_FINISH;
        }
        z->next_out = b->to;
        z->avail_out = sizeof b->to;
        ret = lzma_code(z, action);
        size_t n = sizeof b->to - z->avail_out;
        if (fwrite(b->to, 1, n, out) != n)
            return LZMA_PROG_ERROR;
        if (z->total_out > XZ_MAX_BYTES)
            return LZMA_DATA_ERROR;
    }
    return ret;
}

bool xz_is_name(const char *path)
{
    size_t n = strlen(path);
    return n > 3 && strcmp(path + n - 3, ".xz") == 0;
}

FILE *xz_open(const char *path, struct error *err)
{
    lzma_stream z = LZMA_STREAM_INIT;
    FILE *in = whole_file_open(path, XZ_MAX_BYTES, err), *out = in ? tmpfile() : NULL;
    lzma_ret ret = LZMA_PROG_ERROR;
    struct buffers b;

    if (!in)
        return NULL;
    if (out && (ret = lzma_stream_decoder(&z, 256u << 20, LZMA_CONCATENATED)) == LZMA_OK)
        ret = decode(&z, &b, in, out);
    if (ret == LZMA_PROG_ERROR || (ret == LZMA_STREAM_END && fflush(out)))
        error_set(err, EXIT_CODE_DATA, "%s: %s", path, strerror(errno));
    else if (z.total_out > XZ_MAX_BYTES)
        error_set(err, EXIT_CODE_DATA, "%s: holds more than %d bytes", path, XZ_MAX_BYTES);
    else if (ret != LZMA_STREAM_END)
        error_set(err, EXIT_CODE_DATA, "%s: %s", path, reason(ret));
    bool ok = ret == LZMA_STREAM_END && !ferror(out);
    lzma_end(&z);
    fclose(in);
    if (ok) {
        rewind(out);
        return out;
    }
    if (out)
        fclose(out);
    return NULL;
}
