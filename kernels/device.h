/*
 * device.h - the interface to a device that runs kernels: memory, copies, capture, and a table of kernels.
 *
 * `cpu` is linked in.  `cuda` and `simt` are modules, libambit_cuda.so and libambit_simt.so, that are opened at run
 * time.  The programs therefore start on a machine without any NVIDIA file.  Both modules are built from the same
 * sources.
 */
#ifndef KERNELS_DEVICE_H
#define KERNELS_DEVICE_H

#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The functions that a device implements.  A module exports one as `const struct driver ambit_driver`. */
struct driver {
    const char *name;
    const struct kernels *kernels;
    /* Fills d->state, d->description, d->total_memory and d->free_memory.  Returns 0, -1 on an error, or 1 if this
     * machine has no such device.  The spec `auto` passes over such a device without a warning. */
    int (*open)(struct device *d, int number, struct error *err);
    void (*close)(struct device *d);
    /* Allocates device memory aligned to ARENA_ALIGN.  Returns NULL with EXIT_CODE_MEMORY. */
    void *(*alloc)(struct device *d, size_t bytes, struct error *err);
    void (*free)(struct device *d, void *p);
    /* Copy in stream order.  `download` waits for its copy; `upload` has read src when it returns. */
    void (*upload)(struct device *d, void *dst, const void *src, size_t bytes);
    void (*download)(struct device *d, void *dst, const void *src, size_t bytes);
    void (*sync)(struct device *d);
    /* Starts a copy in stream order and returns at once.  dst is written, and must stay valid, until download_finish.
     */
    void (*download_start)(struct device *d, void *dst, const void *src, size_t bytes);
    /* Waits until all started copies have arrived, except the `left` newest. */
    void (*download_finish)(struct device *d, int left);
    /* Kernels between begin and end are recorded and do not run, and copies are refused; `replay` runs the kernels.
     * capture_end returns NULL if memory is missing.  If capture_begin is NULL, steps run eagerly. */
    void (*capture_begin)(struct device *d);
    void *(*capture_end)(struct device *d);
    void (*replay)(struct device *d, void *captured);
    void (*capture_free)(struct device *d, void *captured);
};

/*
 * Counters of device work since the device was opened.  A replay counts as one, whatever number of kernels it launches.
 * Captured work is counted when it is replayed.  The cpu counts nothing.
 */
struct device_counts {
    int64_t launches, replays;
    int64_t uploads, upload_bytes, downloads, download_bytes;
    int64_t syncs; /* times the host waited for the device; each download is one, unless it is started early */
};

struct device {
    const struct driver *driver;
    void *state;  /* owned by the driver */
    void *module; /* the handle of dlopen, NULL for the cpu */
    char description[128];
    size_t total_memory, free_memory;
    bool packs[2]; /* for F32 and BF16: products keep a copy of a frozen matrix in a private layout, one for each
                      orientation (as stored, transposed) that they read */
    bool sums_dq;  /* the backward of causal attention in BF16 sums dq in step memory, for heads of up to CAUSAL_SUM_DIM
                      channels */
    bool early_launch;   /* a kernel may start before the one before it has ended (ptx.cuh, dependency_wait) */
    int multiprocessors; /* number of a GPU's multiprocessors, or the number that simt emulates; launch shapes may
                            depend on it, results do not */
    struct device_counts counts;
    void (*warn)(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* base_warn of the program */
};

extern const struct driver cpu_driver;

/* Opens the device that spec names: auto | cpu | cuda | cuda:N | simt.  auto takes cuda if it opens, else the cpu, and
 * warns if there is a GPU that does not open.  Returns 0, or -1 with EXIT_CODE_DEVICE, or EXIT_CODE_USAGE for another
 * spec. */
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
/* Starts such a download.  The host may run the next step before driver.download_finish, which ends the download. */
void device_download_start(struct device *d, void *dst, const struct tensor *t);

#ifdef __cplusplus
}
#endif
#endif
