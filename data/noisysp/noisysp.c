#include "data/noisysp/noisysp.h"

#include "data/util/log.h"
#include "data/util/records.h"

struct conversion {
    struct out_file out;
    bool write;
    struct noisysp_counts *counts;
    int64_t n; /* of the record before */
};

static json_t *read_example(const struct conversion *k, const json_t *example, const char *where, struct error *err)
{
    struct span_record r;
    json_t *record = noisysp_read(example, k->n, where, err);

    if (!record || span_record_init(&r, json_incref(record), where, err)) { /* refuses what no record may be */
        json_decref(record);
        return NULL;
    }
    span_record_release(&r);
    return record;
}

static json_t *write_example(json_t *record, const char *where, struct error *err)
{
    struct span_record r;

    if (span_record_init(&r, json_incref(record), where, err))
        return NULL;
    json_t *example = noisysp_write(&r);
    span_record_release(&r);
    return example;
}

static int put(struct conversion *k, const json_t *o, struct error *err)
{
    if (k->write)
        fputs(k->counts->records ? "," : "[", k->out.f);
    k->counts->records++;
    return json_write_line(&k->out, o, err);
}

/* A record_fn. */
static int convert(void *user, json_t *record, const char *where, struct error *err)
{
    struct conversion *k = user;
    struct error bad = { 0 };

    k->n++;
    if (!k->write && json_is_false(json_object_get(record, "value_resolved"))) {
        k->counts->unresolved++;
        return 0;
    }
    json_t *o = k->write ? write_example(record, where, &bad) : read_example(k, record, where, &bad);
    if (!o) {
        k->counts->failed++;
        log_warn("left out: %s", bad.text);
        return 0;
    }
    int rc = put(k, o, err);
    json_decref(o);
    return rc;
}

int noisysp_convert(const struct noisysp_request *q, struct noisysp_counts *counts, struct error *err)
{
    struct conversion k = { .write = q->to == NOISYSP_TO_PUBLISHED,
                            .counts = counts,
                            .n = q->shard.range.some ? q->shard.range.first : 0 };

    *counts = (struct noisysp_counts){ 0 };
    if (out_file_open(&k.out, q->out, err))
        return -1;
    int rc = records_each_in_range(q->in, q->form, &q->shard.range, convert, &k, err);
    if (rc == 0 && k.write)
        fputs(counts->records ? "]\n" : "[]\n", k.out.f);
    if (rc == 0)
        rc = out_file_commit(&k.out, err);
    out_file_abort(&k.out);
    return rc;
}
