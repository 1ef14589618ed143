#include "data/clarify/candidates_impl.h"

#include "data/util/stop.h"

#include <math.h>

static candidates_source *const sources[] = {
    [CANDIDATES_PLAIN] = candidates_of_records,
    [CANDIDATES_AMBIQT] = candidates_of_ambiqt,
    [CANDIDATES_DFPL] = candidates_of_dfpl,
    [CANDIDATES_AMBROSIA] = candidates_of_ambrosia,
};

/* What a record must have beside its candidates. */
static int check(const json_t *record, const char *where, struct error *err)
{
    const json_t *golds = json_object_get(record, "gold"), *gold;
    size_t i;

    if (!json_get_string(record, "db_id", where, err) || !json_get_string(record, "question", where, err))
        return -1;
    if (golds && !json_get_array(record, "gold", where, err))
        return -1;
    json_array_foreach(golds, i, gold)
    {
        if (!json_is_string(gold))
            return error_set(err, EXIT_CODE_DATA, "%s: gold[%zu] is not a string", where, i);
    }
    return 0;
}

/* Candidates beyond the k-th are dropped; where probabilities stand, what is left is made to sum to 1. */
static void cut(json_t *record, int64_t k)
{
    json_t *items = json_object_get(record, "candidates"), *item;
    double sum = 0;
    size_t i;

    if (!json_is_array(items) || (int64_t)json_array_size(items) <= k)
        return;
    while ((int64_t)json_array_size(items) > k)
        json_array_remove(items, json_array_size(items) - 1);
    json_array_foreach(items, i, item)
    {
        sum += json_number_value(json_object_get(item, "p"));
    }
    json_array_foreach(items, i, item)
    {
        if (json_object_get(item, "p") && sum > 0)
            json_object_set_new(item, "p", json_real(json_number_value(json_object_get(item, "p")) / sum));
    }
    json_object_del(record, "reserve");
}

static int weigh(struct candidates_sink *s, json_t *record, const char *where, struct error *err)
{
    struct candidate_list list = { 0 };

    int rc = check(record, where, err);
    if (rc == 0)
        cut(record, s->request->k);
    if (rc == 0)
        rc = candidate_list_read(&list, record, where, err);
    if (rc == 0 && s->request->calibration)
        calibration_apply(&s->calibration, &list);
    for (int i = 0; i < list.n && rc == 0; i++) {
        json_t *items = json_object_get(record, "candidates"), *item = json_array_get(items, (size_t)i);
        if (json_is_string(item)) {
            json_array_set_new(items, (size_t)i, json_pack("{s:O}", "sql", item));
            item = json_array_get(items, (size_t)i);
        }
        json_object_del(item, "logprob");
        json_object_set_new(item, "p", json_real(list.p[i]));
    }
    if (rc == 0 && list.reserve > 0)
        json_object_set_new(record, "reserve", json_real(list.reserve));
    s->counts->candidates += rc == 0 ? list.n : 0;
    candidate_list_release(&list);
    return rc;
}

int candidates_emit_error(struct candidates_sink *s, json_t *id, struct error *err)
{
    json_t *o = json_pack("{s:o?, s:o}", "id", id, "error", json_message(err->text));

    *err = (struct error){ 0 };
    s->counts->records++;
    s->counts->failed++;
    int rc = json_write_line(&s->out, o, err);
    json_decref(o);
    return rc;
}

int candidates_emit(struct candidates_sink *s, json_t *record, const char *where, struct error *err)
{
    int rc;

    if (weigh(s, record, where, err)) {
        rc = candidates_emit_error(s, json_incref(json_object_get(record, "id")), err);
    } else {
        s->counts->records++;
        rc = json_write_line(&s->out, record, err);
    }
    json_decref(record);
    return rc;
}

struct record_reader *candidates_open(const struct candidates_request *q, struct error *err)
{
    return record_reader_open_range(q->file, q->form, &q->shard.range, err);
}

int candidates_of_records(struct candidates_sink *s, struct error *err)
{
    struct record_reader *in = candidates_open(s->request, err);
    int rc = in ? 1 : -1;

    while (rc > 0 && !stop_requested()) {
        json_t *record = NULL;
        int got = record_reader_next(in, &record, err);
        if (got == 0) {
            rc = 0;
            break;
        }
        if (got < 0 && record_reader_failed(in)) {
            rc = -1;
            break;
        }
        if (got < 0 ? candidates_emit_error(s, json_integer(record_reader_number(in)), err)
                    : candidates_emit(s, record, record_reader_where(in), err))
            rc = -1;
    }
    if (in)
        record_reader_close(in);
    return rc;
}

int candidates_write(const struct candidates_request *q, struct candidates_counts *counts, struct error *err)
{
    struct candidates_sink s = { .request = q, .counts = counts };

    if (q->calibration && calibration_read(&s.calibration, q->calibration, err))
        return -1;
    if (out_file_open(&s.out, q->out, err))
        return -1;
    int rc = sources[q->from](&s, err);
    if (rc == 0)
        rc = out_file_commit(&s.out, err);
    out_file_abort(&s.out);
    return rc;
}
