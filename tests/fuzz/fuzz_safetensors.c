/* Any bytes as a safetensors file: refused, or every entry can be read to its last byte. */
#include "tests/support/fuzz.h"

#include "models/io/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void read_entry(const struct safetensors *s, const struct safetensors_entry *e)
{
    float *out = xmalloc((size_t)e->size * sizeof *out);
    volatile unsigned char last = 0;
    struct error err;

    if (e->bytes)
        last = e->data[e->bytes - 1];
    (void)last;
    if (safetensors_read_f32(s, e, out, 0, e->size, &err) != 0)
        CHECK(e->dtype == ST_OTHER, "%s: %s", e->name, err.text);
    CHECK(safetensors_find(s, e->name) == e, "%s is not found", e->name);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    struct safetensors s;
    struct error err;
    int fd = memfd_create("fuzz", 0);

    CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size, "no memory file");
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (safetensors_open(&s, path, &err) == 0) {
        for (int i = 0; i < s.n; i++)
            read_entry(&s, &s.entries[i]);
        safetensors_close(&s);
    }
    close(fd);
    return 0;
}
