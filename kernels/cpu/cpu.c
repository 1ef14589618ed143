#include "kernels/cpu/gemm.h"
#include "kernels/device.h"

#include <cblas.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { COPY_BLOCK = 1 << 17 /* bytes that a thread copies at a time */, HUGE_PAGE = 1 << 21 };

const struct kernels cpu_kernels = {
#define KERNEL_ROW(name, args) .name = cpu_##name,
    KERNEL_LIST(KERNEL_ROW)
#undef KERNEL_ROW
};

void cpu_set_site(struct ctx *c, struct tensor *rng, const struct tensor *site)
{
    (void)c;
    ((int32_t *)rng->data)[3] = *(const int32_t *)site->data;
}

/* Returns the number after `key` in a "key: value" file of /proc, or -1. */
static long long proc_number(const char *path, const char *key)
{
    char line[256];
    long long value = -1;
    FILE *f = fopen(path, "re");

    if (!f)
        return -1;
    while (value < 0 && fgets(line, sizeof line, f))
        if (!strncmp(line, key, strlen(key)))
            value = strtoll(line + strlen(key), NULL, 10);
    fclose(f);
    return value;
}

static void cpu_model(char *out, size_t size)
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "re");

    snprintf(out, size, "CPU");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, "model name", 10) && strchr(line, ':')) {
            snprintf(out, size, "%s", strchr(line, ':') + 2);
            out[strcspn(out, "\n")] = '\0';
            break;
        }
    if (f)
        fclose(f);
}

/*
 * Fixes the number of threads.  oneDNN splits a product over the threads that OpenMP promises and skips the parts of
 * missing threads.  The number is therefore constant (OMP_DYNAMIC would lower it) and within OMP_THREAD_LIMIT.
 * OpenBLAS gets the same number of threads, unless its user chose one.  OpenBLAS has one number for the whole process,
 * so a guest leaves it as it is.
 */
static void fix_threads(void)
{
    omp_set_dynamic(0);
    if (omp_get_max_threads() > omp_get_thread_limit())
        omp_set_num_threads(omp_get_thread_limit());
    if (!base_is_guest && !getenv("OPENBLAS_NUM_THREADS") && !getenv("GOTO_NUM_THREADS"))
        openblas_set_num_threads(omp_get_max_threads());
}

static int cpu_open(struct device *d, int number, struct error *err)
{
    char model[64];
    long long free_kib = proc_number("/proc/meminfo", "MemAvailable:");

    (void)number;
    (void)err;
    cpu_model(model, sizeof model);
    fix_threads();
    snprintf(d->description, sizeof d->description, "%s, %d threads, %s", model, omp_get_max_threads(), gemm_library());
    d->total_memory = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    d->free_memory = free_kib >= 0 ? (size_t)free_kib << 10 : d->total_memory;
    d->state = gemm_cache_new();
    for (enum dtype dtype = F32; dtype <= BF16; dtype++)
        d->packs[dtype] = gemm_packs(d->state, dtype);
    return 0;
}

static void cpu_close(struct device *d)
{
    gemm_cache_free(d->state);
}

/* Allocates memory.  A block stores its size one cache line before its start, so that freeing it drops packed copies of
 * its contents.  Large blocks request huge pages: weights of gigabytes then take hundreds of page faults, not a
 * million. */
static void *cpu_alloc(struct device *d, size_t bytes, struct error *err)
{
    size_t align = bytes < HUGE_PAGE ? ARENA_ALIGN : HUGE_PAGE;
    size_t rounded = (bytes + ARENA_ALIGN + align - 1) / align * align;
    char *p = rounded >= bytes ? aligned_alloc(align, rounded) : NULL;

    (void)d;
    if (!p) {
        error_set(err, EXIT_CODE_MEMORY, "not enough memory for %zu MiB", bytes >> 20);
        return NULL;
    }
    if (align == HUGE_PAGE)
        madvise(p, rounded, MADV_HUGEPAGE); /* a kernel without huge pages works too */
    memcpy(p, &bytes, sizeof bytes);
    return p + ARENA_ALIGN;
}

static void cpu_free(struct device *d, void *p)
{
    char *block = (char *)p - ARENA_ALIGN;
    size_t bytes;

    memcpy(&bytes, block, sizeof bytes);
    gemm_cache_forget(d->state, p, bytes);
    free(block);
}

static void cpu_upload(struct device *d, void *dst, const void *src, size_t bytes)
{
    gemm_cache_forget(d->state, dst, bytes);
#pragma omp parallel for schedule(static) if (bytes > COPY_BLOCK)
    for (size_t at = 0; at < bytes; at += COPY_BLOCK)
        memcpy((char *)dst + at, (const char *)src + at, bytes - at < COPY_BLOCK ? bytes - at : COPY_BLOCK);
}

static void cpu_download(struct device *d, void *dst, const void *src, size_t bytes)
{
    (void)d;
    memcpy(dst, src, bytes);
}

static void cpu_sync(struct device *d)
{
    (void)d;
}

static void cpu_download_finish(struct device *d, int left)
{
    (void)d;
    (void)left;
}

const struct driver cpu_driver = {
    .name = "cpu",
    .kernels = &cpu_kernels,
    .open = cpu_open,
    .close = cpu_close,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .upload = cpu_upload,
    .download = cpu_download,
    .sync = cpu_sync,
    .download_start = cpu_download,
    .download_finish = cpu_download_finish,
};
