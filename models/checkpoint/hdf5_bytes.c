/* Part of hdf5_format.h: bytes of the file and the numbers in them. */
#include "models/checkpoint/hdf5_format_impl.h"
#include "models/checkpoint/hdf5_seal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct hdf5_bytes hdf5_take_bytes(struct hdf5_bytes *b, size_t n)
{
    struct hdf5_bytes taken = { b->p, n, false };

    if (n > b->n) {
        b->ended = true;
        b->n = 0;
        return (struct hdf5_bytes){ b->p, 0, true };
    }
    b->p += n;
    b->n -= n;
    return taken;
}

uint64_t hdf5_take(struct hdf5_bytes *b, int n)
{
    struct hdf5_bytes taken = hdf5_take_bytes(b, (size_t)n);
    uint64_t x = 0;

    for (size_t i = taken.n; i-- > 0;)
        x = x << 8 | taken.p[i];
    return x;
}

int64_t hdf5_take_place(struct hdf5_bytes *b)
{
    uint64_t x = hdf5_take(b, 8);

    return x > INT64_MAX ? -1 : (int64_t)x;
}

bool hdf5_take_text(struct hdf5_bytes *b, const char *text)
{
    struct hdf5_bytes taken = hdf5_take_bytes(b, strlen(text));

    return !taken.ended && memcmp(taken.p, text, taken.n) == 0;
}

int hdf5_fail(struct hdf5_file *f, const char *fault)
{
    if (!f->fault)
        f->fault = fault;
    return -1;
}

void hdf5_allow(struct hdf5_file *f, int times)
{
    f->left = f->bytes > INT64_MAX / times ? INT64_MAX : times * f->bytes;
    f->fault = NULL;
}

static int read_fully(int fd, unsigned char *out, size_t n, int64_t at)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = pread(fd, out + done, n - done, (off_t)(at + (int64_t)done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return -1;
        done += (size_t)got;
    }
    return 0;
}

unsigned char *hdf5_load(struct hdf5_file *f, int64_t at, int64_t n)
{
    if (at < 0 || n <= 0 || at > f->bytes || n > f->bytes - at) {
        hdf5_fail(f, "a part of it lies outside the file");
        return NULL;
    }
    if (n > f->left) {
        hdf5_fail(f, "its parts lie upon each other");
        return NULL;
    }
    f->left -= n;
    unsigned char *p = xmalloc((size_t)n);
    if (read_fully(f->fd, p, (size_t)n, SEAL_BYTES + at) == 0)
        return p;
    free(p);
    hdf5_fail(f, "cannot be read");
    return NULL;
}
