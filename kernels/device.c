#include "kernels/device.h"

#include "kernels/module_path.h"
#include "kernels/trace.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEVICE_NUMBER_MAX = 1023 };

/* Opens the module of "simt", "cuda" or "cuda:N". */
static int module_open(void **module, const char *spec, struct error *err)
{
    char *file = NULL, *looked = NULL, *path;

    CHECK(asprintf(&file, "libambit_%.*s.so", (int)strcspn(spec, ":"), spec) >= 0, "no memory for a path");
    path = module_path(file, &looked);
    *module = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!path)
        error_set(err, EXIT_CODE_DEVICE, "device %s: no %s in %s", spec, file, looked);
    else if (!*module)
        error_set(err, EXIT_CODE_DEVICE, "device %s: %s", spec, dlerror());
    free(file);
    free(looked);
    free(path);
    return *module ? 0 : -1;
}

static int driver_open(struct device *d, const struct driver *driver, int number, struct error *err)
{
    d->driver = driver;
    d->warn = base_warn;
    int rc = driver->open(d, number, err);
    if (rc)
        d->driver = NULL;
    return rc;
}

/* Returns -1 if the module's driver fails, 1 if there is nothing to open. */
static int open_module_device(struct device *d, const char *spec, int number, struct error *err)
{
    void *module = NULL;
    int rc = 1;

    if (module_open(&module, spec, err))
        return rc;
    const struct driver *driver = dlsym(module, "ambit_driver");
    if (!driver) {
        error_set(err, EXIT_CODE_DEVICE, "device %s: %s", spec, dlerror());
        goto out;
    }
    if ((rc = driver_open(d, driver, number, err)))
        goto out;
    d->module = module;
    return 0;
out:
    dlclose(module);
    return rc;
}

bool device_gpu_expected(void)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");

    return (!visible || *visible) && (!access("/dev/nvidiactl", F_OK) || !access("/dev/dxg", F_OK));
}

static int open_best(struct device *d, struct error *err)
{
    struct error why;
    int rc = open_module_device(d, "cuda", 0, &why);

    if (rc == 0)
        return 0;
    if (rc < 0 || device_gpu_expected())
        base_warn("the GPU is not used, the CPU computes: %s", why.text);
    return driver_open(d, &cpu_driver, 0, err);
}

/* Parses the N of cuda:N. */
static int device_number(const char *spec, const char *digits, int *number, struct error *err)
{
    char *end;
    long n = strtol(digits, &end, 10);

    if (*digits < '0' || *digits > '9' || *end || n > DEVICE_NUMBER_MAX)
        return error_set(err, EXIT_CODE_USAGE, "device '%s': expected cuda:N with N from 0 to %d", spec,
                         DEVICE_NUMBER_MAX);
    *number = (int)n;
    return 0;
}

int device_open(struct device *d, const char *spec, struct error *err)
{
    int number = 0;

    *d = (struct device){ 0 };
    trace_open();
    if (!strcmp(spec, "auto"))
        return open_best(d, err);
    if (!strcmp(spec, "cpu"))
        return driver_open(d, &cpu_driver, 0, err);
    if (!strcmp(spec, "simt"))
        return open_module_device(d, spec, 0, err) ? -1 : 0;
    if (!strncmp(spec, "cuda:", 5) && device_number(spec, spec + 5, &number, err))
        return -1;
    if (!strncmp(spec, "cuda:", 5) || !strcmp(spec, "cuda"))
        return open_module_device(d, spec, number, err) ? -1 : 0;
    return error_set(err, EXIT_CODE_USAGE, "expected a device (auto, cpu, cuda, cuda:N or simt), got '%s'", spec);
}

void device_close(struct device *d)
{
    if (d->driver)
        d->driver->close(d);
    if (d->module)
        dlclose(d->module);
    *d = (struct device){ 0 };
}

int device_arena(struct device *d, struct arena *a, size_t bytes, struct error *err)
{
    size_t rounded = (bytes + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
    void *base = d->driver->alloc(d, rounded < bytes ? bytes : rounded, err);

    *a = (struct arena){ 0 };
    if (!base)
        return -1;
    arena_wrap(a, base, rounded);
    return 0;
}

void device_arena_release(struct device *d, struct arena *a)
{
    if (a->base)
        d->driver->free(d, a->base);
    *a = (struct arena){ 0 };
}

void device_upload(struct device *d, struct tensor *t, const void *src)
{
    if (tensor_bytes(t))
        d->driver->upload(d, t->data, src, tensor_bytes(t));
}

void device_download(struct device *d, void *dst, const struct tensor *t)
{
    if (tensor_bytes(t))
        d->driver->download(d, dst, t->data, tensor_bytes(t));
}

void device_download_start(struct device *d, void *dst, const struct tensor *t)
{
    if (tensor_bytes(t))
        d->driver->download_start(d, dst, t->data, tensor_bytes(t));
}
