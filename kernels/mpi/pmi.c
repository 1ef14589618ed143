#include "kernels/mpi/pmi.h"

#include "kernels/mpi/rendezvous.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PMI_SUCCESS = 0, PMI_FAIL = -1, NAME_MOST = 64, KEY_MOST = 128, VALUE_MOST = 16384, HOST_MOST = 128 };

/* Pairs of zero-terminated strings: key, value, key, value. */
struct store {
    char *data;
    size_t bytes, cap;
};

/* MPI calls these functions without a context argument, hence one instance per process. */
static struct pmi {
    struct rendezvous met;
    struct store put, known;
    char *hosts; /* [size, HOST_MOST] */
    char failure[1024];
} pmi;

/* --- ranks and their hosts --- */

static int number(const char *name, long least, long most, long *value, struct error *err)
{
    const char *text = getenv(name);
    char *end;

    *value = text ? strtol(text, &end, 10) : 0;
    if (text && *text >= '0' && *text <= '9' && !*end && *value >= least && *value <= most)
        return 0;
    if (!text)
        return error_set(err, EXIT_CODE_USAGE,
                         "WORLD_SIZE is set, %s is not: expected RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as "
                         "torchrun sets them, or a start by mpirun",
                         name);
    return error_set(err, EXIT_CODE_USAGE, "%s: expected a number from %ld to %ld, got '%.40s'", name, least, most,
                     text);
}

static int place(const char **host, char port[8], struct error *err)
{
    const char *store = getenv("TORCHELASTIC_USE_AGENT_STORE");
    /* torchrun itself listens on the given port, so the next one is used */
    int taken = store && !strcmp(store, "True");
    long n;

    if (number("MASTER_PORT", 1, 65535 - taken, &n, err))
        return -1;
    snprintf(port, 8, "%ld", n + taken);
    *host = getenv("MASTER_ADDR");
    if (*host && **host && strlen(*host) < 256)
        return 0;
    return error_set(err, EXIT_CODE_USAGE,
                     "MASTER_ADDR: expected the name or address of the machine of rank 0, got '%.40s'",
                     *host ? *host : "");
}

/* Writes an identifier of a machine and its boot.  Containers have names of their own, and machines may share a
 * name. */
static void this_host(char host[HOST_MOST])
{
    char name[64] = "", boot[40] = "";
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");

    if (f && !fgets(boot, sizeof boot, f))
        boot[0] = 0;
    if (f)
        fclose(f);
    gethostname(name, sizeof name - 1);
    memset(host, 0, HOST_MOST);
    snprintf(host, HOST_MOST, "%s %s", name, boot);
}

static int learn_hosts(struct error *err)
{
    int size = pmi.met.size;
    char mine[HOST_MOST];
    struct rendezvous_words *all = xcalloc((size_t)size, sizeof *all);

    this_host(mine);
    int rc = rendezvous_share(&pmi.met, (struct rendezvous_words){ .data = mine, .bytes = HOST_MOST }, all, err);
    pmi.hosts = xcalloc((size_t)size, HOST_MOST);
    for (int k = 0; !rc && k < size; k++) {
        snprintf(pmi.hosts + (size_t)k * HOST_MOST, HOST_MOST, "%s", all[k].data);
        free(all[k].data);
    }
    free(all);
    return rc;
}

/* Gives MPI a random job family of 15 bits.  The processes of one family on a machine share a folder, so each run draws
 * its own family. */
static int tell_mpi(struct error *err)
{
    char job[16];
    Dl_info self;

    if (!dladdr(&pmi, &self) || !self.dli_fname)
        return error_set(err, EXIT_CODE_DEVICE, "libambit_mpi.so does not know where it lies");
    snprintf(job, sizeof job, "%u", (pmi.met.run & 0x7FFF0000u) | 1u);
    setenv("FLUX_JOB_ID", job, 1);
    setenv("FLUX_PMI_LIBRARY_PATH", self.dli_fname, 1);
    setenv("OMPI_MCA_pmix", "flux", 1);
    return 0;
}

/* Reads the timeout for other ranks.  Machines may start minutes apart. */
static int patience(long *seconds, struct error *err)
{
    static const char name[] = "AMBIT_RANKS_TIMEOUT";

    *seconds = RENDEZVOUS_SECONDS;
    return getenv(name) ? number(name, 1, 86400, seconds, err) : 0;
}

int pmi_open(int size, struct error *err)
{
    const char *host;
    char port[8];
    long rank, seconds;

    if (size > RENDEZVOUS_RANKS_MAX)
        return error_set(err, EXIT_CODE_USAGE, "WORLD_SIZE: expected at most %d ranks without mpirun or srun, got %d",
                         RENDEZVOUS_RANKS_MAX, size);
    if (number("RANK", 0, size - 1, &rank, err) || place(&host, port, err) || patience(&seconds, err) ||
        rendezvous_open(&pmi.met, host, port, (int)rank, size, (int)seconds, err))
        return -1;
    if (learn_hosts(err) == 0 && tell_mpi(err) == 0)
        return 0;
    pmi_close();
    return -1;
}

void pmi_close(void)
{
    rendezvous_close(&pmi.met);
    free(pmi.put.data);
    free(pmi.known.data);
    free(pmi.hosts);
    pmi = (struct pmi){ 0 };
}

/* --- the interface for MPI: the part of PMI-1 that Open MPI's component for Flux uses --- */

#define EXPORT __attribute__((visibility("default")))

EXPORT int PMI_Init(int *spawned);
EXPORT int PMI_Initialized(int *initialized);
EXPORT int PMI_Finalize(void);
EXPORT int PMI_Abort(int code, const char *text);
EXPORT int PMI_Get_size(int *size);
EXPORT int PMI_Get_rank(int *rank);
EXPORT int PMI_Get_universe_size(int *size);
EXPORT int PMI_Get_appnum(int *number);
EXPORT int PMI_Get_clique_size(int *size);
EXPORT int PMI_Get_clique_ranks(int *ranks, int length);
EXPORT int PMI_KVS_Get_my_name(char *name, int length);
EXPORT int PMI_KVS_Get_name_length_max(int *length);
EXPORT int PMI_KVS_Get_key_length_max(int *length);
EXPORT int PMI_KVS_Get_value_length_max(int *length);
EXPORT int PMI_KVS_Put(const char *name, const char *key, const char *value);
EXPORT int PMI_KVS_Commit(const char *name);
EXPORT int PMI_KVS_Get(const char *name, const char *key, char *value, int length);
EXPORT int PMI_Barrier(void);

static int give(int *to, int value)
{
    *to = value;
    return PMI_SUCCESS;
}

int PMI_Init(int *spawned)
{
    *spawned = 0;
    return pmi.met.size ? PMI_SUCCESS : PMI_FAIL;
}

int PMI_Initialized(int *initialized)
{
    return give(initialized, pmi.met.size > 0);
}

int PMI_Finalize(void)
{
    return PMI_SUCCESS;
}

/* Ends the process after an MPI error.  The other ranks notice the missing heartbeats (beat.h) or the closed socket. */
int PMI_Abort(int code, const char *text)
{
    if (pmi.failure[0])
        fprintf(stderr, "error: %s\n", pmi.failure);
    else if (text && *text)
        fprintf(stderr, "error: MPI: %s\n", text);
    _exit(code);
}

int PMI_Get_size(int *size)
{
    return give(size, pmi.met.size);
}

int PMI_Get_rank(int *rank)
{
    return give(rank, pmi.met.rank);
}

int PMI_Get_universe_size(int *size)
{
    return give(size, pmi.met.size);
}

int PMI_Get_appnum(int *number)
{
    return give(number, 0);
}

static bool is_here(int k)
{
    return !strcmp(pmi.hosts + (size_t)k * HOST_MOST, pmi.hosts + (size_t)pmi.met.rank * HOST_MOST);
}

int PMI_Get_clique_size(int *size)
{
    *size = 0;
    for (int k = 0; k < pmi.met.size; k++)
        *size += is_here(k);
    return PMI_SUCCESS;
}

int PMI_Get_clique_ranks(int *ranks, int length)
{
    int n = 0;

    for (int k = 0; k < pmi.met.size && n < length; k++)
        if (is_here(k))
            ranks[n++] = k;
    return PMI_SUCCESS;
}

int PMI_KVS_Get_my_name(char *name, int length)
{
    snprintf(name, (size_t)length, "ambit");
    return PMI_SUCCESS;
}

int PMI_KVS_Get_name_length_max(int *length)
{
    return give(length, NAME_MOST);
}

int PMI_KVS_Get_key_length_max(int *length)
{
    return give(length, KEY_MOST);
}

int PMI_KVS_Get_value_length_max(int *length)
{
    return give(length, VALUE_MOST);
}

static void append(struct store *s, const char *data, size_t bytes)
{
    if (s->bytes + bytes > s->cap) {
        s->cap = 2 * s->cap + bytes;
        s->data = xrealloc(s->data, s->cap);
    }
    memcpy(s->data + s->bytes, data, bytes);
    s->bytes += bytes;
}

int PMI_KVS_Put(const char *name, const char *key, const char *value)
{
    size_t k = strlen(key) + 1, v = strlen(value) + 1;

    (void)name;
    if (k > KEY_MOST || v > VALUE_MOST || pmi.put.bytes + k + v > RENDEZVOUS_BYTES_MAX)
        return PMI_FAIL;
    append(&pmi.put, key, k);
    append(&pmi.put, value, v);
    return PMI_SUCCESS;
}

int PMI_KVS_Commit(const char *name)
{
    (void)name;
    return PMI_SUCCESS;
}

int PMI_KVS_Get(const char *name, const char *key, char *value, int length)
{
    const char *end = pmi.known.data + pmi.known.bytes;

    (void)name;
    for (const char *at = pmi.known.data; at < end;) {
        const char *v = at + strlen(at) + 1;
        if (!strcmp(at, key) && (int)strlen(v) < length)
            return memcpy(value, v, strlen(v) + 1), PMI_SUCCESS;
        at = v + strlen(v) + 1;
    }
    return PMI_FAIL;
}

/* Returns whether the words are whole pairs, so that a search stops at their end. */
static bool are_pairs(const struct rendezvous_words *w)
{
    int ends = 0;

    for (uint32_t i = 0; i < w->bytes; i++)
        ends += !w->data[i];
    return ends % 2 == 0 && (!w->bytes || !w->data[w->bytes - 1]);
}

static int share_puts(struct rendezvous_words *all, struct error *err)
{
    if (rendezvous_share(&pmi.met, (struct rendezvous_words){ .data = pmi.put.data, .bytes = (uint32_t)pmi.put.bytes },
                         all, err))
        return -1;
    pmi.put.bytes = 0;
    int rc = 0;
    for (int k = 0; k < pmi.met.size; k++) {
        if (are_pairs(&all[k]))
            append(&pmi.known, all[k].data, all[k].bytes);
        else
            rc = error_set(err, EXIT_CODE_FAILURE, "rank %d: expected pairs of strings of its MPI, got other bytes", k);
        free(all[k].data);
    }
    return rc;
}

int PMI_Barrier(void)
{
    struct rendezvous_words *all = xcalloc((size_t)pmi.met.size, sizeof *all);
    struct error err;
    int rc = share_puts(all, &err);

    if (rc)
        snprintf(pmi.failure, sizeof pmi.failure, "%s", err.text);
    free(all);
    return rc ? PMI_FAIL : PMI_SUCCESS;
}
