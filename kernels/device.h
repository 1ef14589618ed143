/*
 * device.h - a place that runs kernels: memory, copies, capture, and a filled struct kernels.
 *
 * `cpu` is linked in.  `cuda` and `simt` are modules, libambit_cuda.so and libambit_simt.so, opened at run time, so the
 * programs start on a machine without any NVIDIA file.  Both are built from the same sources.
 */
#ifndef KERNELS_DEVICE_H
#define KERNELS_DEVICE_H

#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a device implements.  A module exports one as `const struct driver ambit_driver`. */
struct driver {
    const char *name;
    const struct kernels *kernels;
    /* Fills d->state, d->description, d->total_memory and d->free_memory.  -1; 1 where this machine has no such device,
     * which auto passes over without a word. */
    int (*open)(struct device *d, int number, struct error *err);
    void (*close)(struct device *d);
    /* Device memory aligned to ARENA_ALIGN.  Returns NULL with EXIT_CODE_MEMORY. */
    void *(*alloc)(struct device *d, size_t bytes, struct error *err);
    void (*free)(struct device *d, void *p);
    /* Copies in stream order; download waits for it, upload has read src when it returns. */
    void (*upload)(struct device *d, void *dst, const void *src, size_t bytes);
    void (*download)(struct device *d, void *dst, const void *src, size_t bytes);
    void (*sync)(struct device *d);
    /* Kernels between begin and end are recorded, not run, and copies refused; replay runs them.  end gives NULL where
     * there is no memory for them.  Where capture is NULL, steps run eagerly. */
    void (*capture_begin)(struct device *d);
    void *(*capture_end)(struct device *d);
    void (*replay)(struct device *d, void *captured);
    void (*capture_free)(struct device *d, void *captured);
};

/*
 * What a device was asked to do since it was opened.  A replay is one, whatever it launches, and what is captured is
 * counted when it is replayed.  The cpu counts nothing.
 */
struct device_counts {
    int64_t launches, replays;
    int64_t uploads, upload_bytes, downloads, download_bytes;
    int64_t syncs; /* times the host waited for the device, as each download does */
};

struct device {
    const struct driver *driver;
    void *state;  /* the driver's */
    void *module; /* what dlopen gave, NULL for the cpu */
    char description[128];
    size_t total_memory, free_memory;
    bool packs[2]; /* F32, BF16: products keep a copy of a frozen matrix in a layout of their own, for each way (as it
                      is, transposed) that they read it */
    bool sums_dq;  /* the backward of causal attention in BF16 sums dq, of heads up to CAUSAL_SUM_DIM, in step memory */
    int multiprocessors; /* of a GPU, or those that simt plays: the shape of a launch may depend on them, no result does
                          */
    struct device_counts counts;
    void (*warn)(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* the program's base_warn, for modules */
};

extern const struct driver cpu_driver;

/* spec: auto | cpu | cuda | cuda:N | simt.  auto takes cuda where it opens, else the cpu,
 * and warns when there is a GPU that does not open.  -1 with EXIT_CODE_DEVICE. */
int device_open(struct device *d, const char *spec, struct error *err);
void device_close(struct device *d);
/* Returns whether this machine has an NVIDIA driver and its GPUs are not hidden. */
bool device_gpu_expected(void);

/* Allocates a device arena of `bytes` bytes; device_arena_release frees it.  Returns 0, or -1 with EXIT_CODE_MEMORY. */
int device_arena(struct device *d, struct arena *a, size_t bytes, struct error *err);
void device_arena_release(struct device *d, struct arena *a);

/* Copy a whole tensor.  The host buffer is contiguous and has the tensor's element type. */
void device_upload(struct device *d, struct tensor *t, const void *src);
void device_download(struct device *d, void *dst, const struct tensor *t);

#ifdef __cplusplus
}
#endif
#endif
