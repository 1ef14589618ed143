/* Part of tagger.h: the strategy without a model. */
#include "data/util/log.h"
#include "data/util/sums.h"
#include "infer/tag/tag.h"
#include "infer/tag/tagger.h"

#include <stdlib.h>

static int tag_all(void *self, struct tag_answer *answers, char **errors, const struct tag_question *questions, int n,
                   struct error *err)
{
    (void)errors, (void)err;
    for (int i = 0; i < n; i++)
        heuristic_tag(&answers[i], self, &questions[i]);
    return 0;
}

static int tune(struct heuristic *h, const char *path, struct error *err)
{
    struct span_record_list records = { 0 };
    int rc = span_records_read(&records, path, err);

    if (rc == 0) {
        double reached = heuristic_tune(h, records.items, records.n);
        log_info(
            "%s: %d records, F1 less twice the false alarms %.3f with --name %g --value %g --margin %g --unknown %g",
            path, records.n, reached, h->name, h->value, h->margin, h->unknown);
    }
    span_records_release(&records);
    return rc;
}

int tagger_open_heuristic(struct tagger *t, const struct tag_request *q, struct error *err)
{
    struct heuristic *h = xmalloc(sizeof *h);

    *h = q->heuristic;
    *t = (struct tagger){ .self = h, .tag = tag_all, .close = free };
    if (q->tune && tune(h, q->tune, err))
        return -1;
    t->key = hash_bytes(sum_text(HASH_START, "heuristic"), h, sizeof *h);
    return 0;
}
