#include "kernels/collective.h"

#include "kernels/module_path.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RANKS_MAX = 1 << 16 };

/* Variables of MPI's and Slurm's launchers with the number of ranks.  The first one that is set counts. */
static const char *const sizes[] = { "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "PMI_SIZE" };

static const char *launcher(void)
{
    for (int i = 0; i < ARRAY_LEN(sizes); i++)
        if (getenv(sizes[i]))
            return sizes[i];
    return NULL;
}

/* Reads the number of ranks from the variable. */
static int expected_size(const char *name, int *size, struct error *err)
{
    const char *text = getenv(name);
    char *end;
    long n = text ? strtol(text, &end, 10) : 0;

    if (!text || *text < '0' || *text > '9' || *end || n < 1 || n > RANKS_MAX)
        return error_set(err, EXIT_CODE_USAGE, "%s: expected a number of ranks from 1 to %d, got '%.40s'", name,
                         RANKS_MAX, text ? text : "");
    *size = (int)n;
    return 0;
}

static int module_open(const struct transport **transport, const char *name, int size, struct error *err)
{
    static const char file[] = "libambit_mpi.so";
    char *looked = NULL, *path = module_path(file, &looked);
    /* libraries that MPI opens look up MPI's symbols in the global scope */
    void *module = path ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : NULL;

    *transport = module ? dlsym(module, "ambit_transport") : NULL;
    if (!path)
        error_set(
            err, EXIT_CODE_DEVICE,
            "%s=%d: ranks need %s, which is not in %s; it is in the package ambit-mpi, or built where libopenmpi-dev is",
            name, size, file, looked);
    else if (!*transport)
        error_set(err, EXIT_CODE_DEVICE, "%s=%d: ranks need MPI (apt-get install openmpi-bin): %s", name, size,
                  dlerror());
    free(looked);
    free(path);
    return *transport ? 0 : -1;
}

/* torchrun describes its processes in other variables and does not start MPI.  They would all train alone. */
static int refuse_torchrun(const char *name, struct error *err)
{
    static const char variable[] = "WORLD_SIZE";
    int size = 1;

    if (!getenv(variable) || (name && !getenv("TORCHELASTIC_RUN_ID")))
        return 0;
    if (expected_size(variable, &size, err))
        return -1;
    return size == 1
               ? 0
               : error_set(err, EXIT_CODE_USAGE,
                           "%s=%d: expected ranks that mpirun, or srun with --mpi=pmix, has started, got those of "
                           "torchrun",
                           variable, size);
}

int collective_open(struct collective *c, struct error *err)
{
    const char *name = launcher();
    int size = 1;

    *c = (struct collective){ .size = 1 };
    if (refuse_torchrun(name, err) || (name && expected_size(name, &size, err)))
        return -1;
    if (size == 1)
        return 0;
    const struct transport *transport;
    struct collective all = { .size = size };
    if (module_open(&transport, name, size, err) || transport->open(&all, err))
        return -1;
    all.transport = transport;
    *c = all;
    if (c->size == size)
        return 0;
    return error_set(err, EXIT_CODE_USAGE,
                     "%s says %d ranks, MPI sees %d: expected a start by mpirun, or by srun with --mpi=pmix", name,
                     size, c->size);
}

void collective_close(struct collective *c)
{
    if (c->transport)
        c->transport->close(c);
    *c = (struct collective){ .size = 1 };
}

void collective_abort(struct collective *c, enum exit_code code)
{
    c->transport->abort(c, code);
    _exit((int)code);
}

static int note(struct collective *c, int rc)
{
    c->broken = c->broken || rc;
    return rc;
}

int collective_gather(struct collective *c, void *all, const void *mine, size_t bytes, struct error *err)
{
    return note(c, c->transport->gather(c, all, mine, bytes, err));
}

int collective_exchange(struct collective *c, void *in, const void *out, size_t bytes, struct error *err)
{
    return note(c, c->transport->exchange(c, in, out, bytes, err));
}

int collective_send(struct collective *c, int to, const void *data, size_t bytes, struct error *err)
{
    return note(c, c->transport->send(c, to, data, bytes, err));
}

int collective_receive(struct collective *c, int from, void *data, size_t bytes, struct error *err)
{
    return note(c, c->transport->receive(c, from, data, bytes, err));
}

void collective_wait_note(const struct collective *c)
{
    if (c->waiting)
        c->waiting(c->waiting_arg);
}
