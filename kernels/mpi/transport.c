/*
 * The transport over MPI.
 *
 * Every operation is a non-blocking call of MPI and a loop that tests it. While it waits, the loop calls c->waiting.
 * The caller thus acts on signals meanwhile. There is one operation at a time, and only the thread that opened the
 * transport calls it (MPI_THREAD_FUNNELED). The state lives from open to close and belongs to the collective.
 */
#include "kernels/mpi/transport.h"

#include <mpi.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* A waiting call polls without a pause for this long, in seconds, and then sleeps between polls.  It never yields.
 * Linux charges a yield with the rest of the time slice, so a thousand yields beside busy processes wait as long. */
static const double LOOKING = 100e-6;
enum { SLEEP_US = 50 };

struct mpi_state {
    MPI_Comm comm;
    MPI_Request request; /* request of the waiting call */
};

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int fail(int code, struct error *err)
{
    char text[MPI_MAX_ERROR_STRING];
    int n;

    MPI_Error_string(code, text, &n);
    return error_set(err, EXIT_CODE_FAILURE, "MPI: %s", text);
}

/* Waits until the current request is done. */
static int wait_here(struct collective *c, struct error *err)
{
    struct mpi_state *s = c->state;
    double start = seconds();
    int done = 0;

    for (;;) {
        int code = MPI_Test(&s->request, &done, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS)
            return fail(code, err);
        if (done)
            return 0;
        if (c->waiting)
            c->waiting(c->waiting_arg);
        if (seconds() - start > LOOKING)
            usleep(SLEEP_US);
    }
}

static int start(struct error *err)
{
    /* With more ranks than cores, Open MPI would yield at every poll. */
    setenv("OMPI_MCA_mpi_yield_when_idle", "0", 0);
    int given, code = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &given);

    return code == MPI_SUCCESS ? 0 : fail(code, err);
}

/* Returns the number of this rank among those of the same machine, which selects its GPU. */
static int local_rank(MPI_Comm comm)
{
    MPI_Comm machine;
    int rank;

    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
    MPI_Comm_rank(machine, &rank);
    MPI_Comm_free(&machine);
    return rank;
}

static int open_ranks(struct collective *c, struct error *err)
{
    if (start(err))
        return -1;
    struct mpi_state *s = c->state = xcalloc(1, sizeof *s);
    /* Messages of a communicator of its own never mix with those of another library in the process. */
    MPI_Comm_dup(MPI_COMM_WORLD, &s->comm);
    MPI_Comm_set_errhandler(s->comm, MPI_ERRORS_RETURN); /* the default ends the process without a message of ours */
    MPI_Comm_rank(s->comm, &c->rank);
    MPI_Comm_size(s->comm, &c->size);
    c->local_rank = local_rank(s->comm);
    return 0;
}

static void abort_ranks(struct collective *c, enum exit_code code)
{
    const struct mpi_state *s = c->state;

    MPI_Abort(s->comm, (int)code);
}

static void close_ranks(struct collective *c)
{
    struct mpi_state *s = c->state;
    struct error err;

    /* All ranks arrive here before any of them ends MPI. The wait sleeps between polls, and a failure ends all ranks.
     */
    MPI_Ibarrier(s->comm, &s->request);
    c->waiting = NULL;
    if (wait_here(c, &err))
        abort_ranks(c, err.code);
    MPI_Comm_free(&s->comm);
    MPI_Finalize();
    free(s);
}

static int gather(struct collective *c, void *all, const void *mine, size_t bytes, struct error *err)
{
    struct mpi_state *s = c->state;
    int n = (int)bytes, code = MPI_Iallgather(mine, n, MPI_BYTE, all, n, MPI_BYTE, s->comm, &s->request);

    return code == MPI_SUCCESS ? wait_here(c, err) : fail(code, err);
}

static int exchange(struct collective *c, void *in, const void *out, size_t bytes, struct error *err)
{
    struct mpi_state *s = c->state;
    int n = (int)bytes, code = MPI_Ialltoall(out, n, MPI_BYTE, in, n, MPI_BYTE, s->comm, &s->request);

    return code == MPI_SUCCESS ? wait_here(c, err) : fail(code, err);
}

/* MPI counts bytes in an int. Longer messages are cut, at the same places by sender and receiver. */
enum { MESSAGE = 1 << 30 };

static int send(struct collective *c, int to, const void *data, size_t bytes, struct error *err)
{
    struct mpi_state *s = c->state;

    for (size_t at = 0; at < bytes; at += MESSAGE) {
        int n = (int)(bytes - at < MESSAGE ? bytes - at : MESSAGE);
        int code = MPI_Isend((const char *)data + at, n, MPI_BYTE, to, 0, s->comm, &s->request);
        if (code != MPI_SUCCESS ? fail(code, err) : wait_here(c, err))
            return -1;
    }
    return 0;
}

static int receive(struct collective *c, int from, void *data, size_t bytes, struct error *err)
{
    struct mpi_state *s = c->state;

    for (size_t at = 0; at < bytes; at += MESSAGE) {
        int n = (int)(bytes - at < MESSAGE ? bytes - at : MESSAGE);
        int code = MPI_Irecv((char *)data + at, n, MPI_BYTE, from, 0, s->comm, &s->request);
        if (code != MPI_SUCCESS ? fail(code, err) : wait_here(c, err))
            return -1;
    }
    return 0;
}

const struct transport ambit_transport = {
    .open = open_ranks,
    .close = close_ranks,
    .abort = abort_ranks,
    .gather = gather,
    .exchange = exchange,
    .send = send,
    .receive = receive,
};
