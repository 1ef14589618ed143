/* Part of ranks.h: the ways between the devices of ranks, where they have any. */
#include "data/util/log.h"
#include "train/run/run_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { OPENING_SECONDS = 120, OPENING_MOST = 86400, OPENING_POLL_US = 1000 };

/* Why the first rank that has failed did so; NULL: none has.  -1 when there was no meeting. */
static int meet(struct run *r, int rc, const struct error *why, const char **failed, struct error *err)
{
    struct rank_note note = { .rc = rc };

    if (rc)
        snprintf(note.text, sizeof note.text, "%s", why->text);
    if (ranks_meet(r, note, err))
        return -1;
    *failed = NULL;
    for (int i = 0; i < r->ranks.all.size && !*failed; i++)
        *failed = r->ranks.notes[i].rc ? r->ranks.notes[i].text : NULL;
    return 0;
}

/* How long links may take to open, where the environment says. */
static int opening_seconds(int *seconds, struct error *err)
{
    static const char name[] = "AMBIT_NCCL_TIMEOUT";
    const char *text = getenv(name);
    char *end;

    if (!text)
        return 0;
    long n = strtol(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || n < 1 || n > OPENING_MOST)
        return error_set(err, EXIT_CODE_USAGE, "%s: expected seconds from 1 to %d, got '%.40s'", name, OPENING_MOST,
                         text);
    *seconds = (int)n;
    return 0;
}

/* 0 once they are open, else `failed` and why.  -1 with err when a rank is lost, which others would wait for. */
static int wait_until_open(struct run *r, const struct links *links, int seconds, int *failed, struct error *why,
                           struct error *err)
{
    double end = now_seconds() + seconds;

    while ((*failed = links->opened(&r->device, why)) > 0) {
        if (collective_look(&r->ranks.all, err))
            return -1;
        if (now_seconds() > end) {
            *failed = error_set(why, EXIT_CODE_DEVICE, "NCCL did not connect all ranks within %d seconds", seconds);
            return 0;
        }
        usleep(OPENING_POLL_US);
    }
    return 0;
}

/* By the name that rank 0 has made. */
static int open_by_name(struct run *r, const struct links *links, const char *name, int seconds, const char **failed,
                        struct error *err)
{
    struct ranks *x = &r->ranks;
    struct error why;
    char *names = xmalloc((size_t)x->all.size * LINKS_NAME);
    int rc = collective_gather(&x->all, names, name, LINKS_NAME, err);

    if (rc == 0) {
        int closed = links->open(&r->device, names, x->all.rank, x->all.size, &why);
        rc = closed ? 0 : wait_until_open(r, links, seconds, &closed, &why, err);
        if (rc == 0)
            rc = meet(r, closed, &why, failed, err);
    }
    free(names);
    return rc;
}

/* -1 when a rank ends; where links do not open x->links stays NULL, which is warned of. */
int ranks_open_links(struct run *r, struct error *err)
{
    const struct links *links = links_of(&r->device);
    char name[LINKS_NAME] = { 0 };
    const char *failed;
    struct error why;
    int seconds = OPENING_SECONDS;

    if (r->ranks.all.size < 2 || !links)
        return 0;
    if (opening_seconds(&seconds, err))
        return -1;
    if (meet(r, links->name(&r->device, name, &why), &why, &failed, err))
        return -1;
    if (!failed && open_by_name(r, links, name, seconds, &failed, err))
        return -1;
    if (!failed) {
        r->ranks.links = links;
        return 0;
    }
    log_warn("gradients go through the host: %s", failed);
    links->close(&r->device);
    return 0;
}

void ranks_unlink(struct run *r)
{
    struct ranks *x = &r->ranks;

    if (x->links)
        x->links->close(&r->device);
    if (x->memory.base) {
        device_arena_release(&r->device, &x->memory);
        x->in = x->out = NULL;
    }
    x->links = NULL;
}
