/* Any bytes as a checkpoint under a valid header: refused, or every tensor can be read. */
#include "tests/support/fuzz.h"

#include "models/io/hdf5.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void read_tensor(const struct hdf5_reader *r, const struct hdf5_tensor *t)
{
    size_t bytes = (size_t)hdf5_tensor_size(t) * hdf5_type_size(t->type);
    unsigned char *out = xmalloc(bytes);
    struct error err = { 0 };

    CHECK(hdf5_find(r, t->name) == t, "%s is not found", t->name);
    if (hdf5_get(r, t, out, NULL, &err))
        CHECK(err.code == EXIT_CODE_CHECKPOINT && *err.text, "%s: no error", t->name);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    struct hdf5_reader r;
    struct error err = { 0 };
    int fd = memfd_create("fuzz", 0);

    CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size, "no memory file");
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (size >= HDF5_HEADER_BYTES && hdf5_header_write(fd, path, &err) == 0 && hdf5_open(&r, path, &err) == 0) {
        for (int i = 0; i < r.n; i++)
            read_tensor(&r, &r.tensors[i]);
        hdf5_close(&r);
    }
    close(fd);
    return 0;
}
