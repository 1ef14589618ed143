#include "infer/detect/detect.h"

#include "data/exec/db_path.h"
#include "data/exec/schema_catalog.h"
#include "data/util/log.h"
#include "data/util/stop.h"
#include "infer/detect/finding.h"

#include <stdlib.h>

enum { GROUP = 64, HOST_BYTES = 64 << 20 };

struct detect_record {
    json_t *json;
    char *error; /* NULL when the record can be scored */
    const char *question;
    struct ids ids;
    int item; /* number among the group's items */
};

struct detector {
    struct device device;
    struct workspace work;
    struct gate_model model;
    struct gate_scorer scorer;
    struct schema_catalog schemas;
    struct schema_input **inputs; /* of every schema that was asked for */
    int n_inputs, inputs_cap;
    struct detect_record group[GROUP];
    int n;
    struct detect_counts *counts;
    bool text; /* lines for people rather than JSONL */
};

static int open_all(struct detector *d, const struct detect_request *q, struct error *err)
{
    if (device_open(&d->device, q->device, err) || workspace_init(&d->work, &d->device, HOST_BYTES, err))
        return -1;
    d->text = q->format == FINDING_TEXT;
    if (schema_catalog_open(&d->schemas, q->schema, q->db, err) ||
        gate_model_open(&d->model, &d->device, q->model, err))
        return -1;
    gate_scorer_init(&d->scorer, &d->model, &d->work, (int)q->tokens);
    return 0;
}

static void close_all(struct detector *d)
{
    gate_scorer_release(&d->scorer);
    for (int i = 0; i < d->n_inputs; i++) {
        schema_input_release(d->inputs[i]);
        free(d->inputs[i]);
    }
    free(d->inputs);
    schema_catalog_close(&d->schemas);
    gate_model_release(&d->model);
    if (d->work.device)
        workspace_release(&d->work);
    if (d->device.driver)
        device_close(&d->device);
}

static const struct schema_input *prepare_schema(struct detector *d, const struct schema *s, struct error *err)
{
    struct schema_input_settings settings = { .graph = d->model.graph,
                                              .pairs = d->model.net.config.classifier == CLASSIFIER_PAIR };
    struct schema_input *in = xcalloc(1, sizeof *in);

    if (schema_input_init(in, s, d->model.tokenizer, &settings, err)) {
        schema_input_release(in);
        free(in);
        return NULL;
    }
    GROW(d->inputs, d->n_inputs, d->inputs_cap);
    return d->inputs[d->n_inputs++] = in;
}

static const struct schema_input *find_schema(struct detector *d, const json_t *record, const char *where,
                                              struct error *err)
{
    const char *db_id = json_get_string(record, "db_id", where, err);
    const struct schema *s = db_id ? schema_catalog_find(&d->schemas, db_id, where, err) : NULL;
    int i = 0;

    if (!s)
        return NULL;
    while (i < d->n_inputs && d->inputs[i]->schema != s)
        i++;
    return i < d->n_inputs ? d->inputs[i] : prepare_schema(d, s, err);
}

/* Turns a record into an item; -1 says why it cannot be scored. */
static int read_item(struct detector *d, struct detect_record *r, struct gate_item *item, const char *where,
                     struct error *err)
{
    if (!(r->question = json_get_string(r->json, "question", where, err)))
        return -1;
    item->schema = find_schema(d, r->json, where, err);
    if (!item->schema)
        return -1;
    if (gate_question_tokens(&r->ids, d->model.tokenizer, r->question, where, err))
        return -1;
    item->text = r->question;
    item->question = r->ids.items;
    item->n_question = (int)r->ids.count;
    return 0;
}

static void add_record(struct detector *d, json_t *json, struct gate_item *items, int *n_items, const char *where)
{
    struct detect_record *r = &d->group[d->n++];
    struct error why = { 0 };

    db_path_name(d->schemas.db, json);
    *r = (struct detect_record){ .json = json, .item = *n_items };
    if (read_item(d, r, &items[*n_items], where, &why))
        r->error = xstrdup(why.text);
    else
        (*n_items)++;
}

static int write_finding(struct detector *d, const struct finding *f, struct out_file *out, struct error *err)
{
    d->counts->records++;
    d->counts->failed += f->error != NULL;
    d->counts->ambiguous += f->ambiguous;
    if (d->text) {
        finding_print(out->f, f);
        return 0;
    }
    json_t *o = finding_json(f);
    int rc = o ? json_write_line(out, o, err) : error_set(err, EXIT_CODE_DATA, "record cannot be written as JSON");
    json_decref(o);
    return rc;
}

static int write_group(struct detector *d, const struct gate_item *items, const struct gate_result *results,
                       const float *relevance, struct out_file *out, struct error *err)
{
    int rc = 0;

    for (int i = 0; rc == 0 && i < d->n; i++) {
        const struct detect_record *r = &d->group[i];
        struct finding f = { .id = json_object_get(r->json, "id"), .error = r->error, .question = r->question };
        if (!r->error) {
            finding_fill(&f, &d->model, &items[r->item], &results[r->item], relevance);
            relevance += f.n_elements;
        }
        rc = write_finding(d, &f, out, err);
        finding_release(&f);
    }
    return rc;
}

static int score_group(struct detector *d, const struct gate_item *items, int n, struct out_file *out,
                       struct error *err)
{
    struct gate_result results[GROUP];
    size_t nodes = (size_t)gate_nodes(items, n), width = (size_t)d->model.net.config.bert.hidden_size;
    float *relevance = xmalloc(nodes * sizeof *relevance), *states = xmalloc(nodes * width * sizeof *states);
    int rc = gate_encode(&d->scorer, items, n, states, relevance, err) ||
             gate_classify(&d->scorer, items, n, states, results, err) ||
             write_group(d, items, results, relevance, out, err);

    free(relevance);
    free(states);
    return rc ? -1 : 0;
}

static void clear_group(struct detector *d)
{
    for (int i = 0; i < d->n; i++) {
        json_decref(d->group[i].json);
        ids_release(&d->group[i].ids);
        free(d->group[i].error);
    }
    d->n = 0;
}

/* 1 while there may be more. */
static int run_group(struct detector *d, struct record_reader *in, struct out_file *out, struct error *err)
{
    struct gate_item items[GROUP];
    int n = 0, rc = 1;

    while (d->n < GROUP) {
        json_t *json = NULL;
        struct error bad = { 0 };
        rc = record_reader_next(in, &json, &bad);
        if (rc == 0)
            break;
        if (rc > 0) {
            add_record(d, json, items, &n, record_reader_where(in));
            continue;
        }
        if (record_reader_failed(in)) {
            *err = bad;
            return -1;
        }
        d->group[d->n++] = (struct detect_record){ .json = json_pack("{s:I}", "id", record_reader_number(in)),
                                                   .error = xstrdup(bad.text) };
    }
    int failed = score_group(d, items, n, out, err);
    clear_group(d);
    return failed ? -1 : rc != 0;
}

int detect(const struct detect_request *q, const char *input, struct detect_counts *counts, struct error *err)
{
    struct detector *d = xcalloc(1, sizeof *d);
    struct out_file out = { 0 };
    struct record_reader *in = NULL;
    struct progress progress;
    int rc = -1;

    stop_install();
    d->counts = counts;
    if (open_all(d, q, err) || !(in = record_reader_open(input, q->form, err)) || out_file_open(&out, q->out, err))
        goto out;
    progress_start(&progress, "detecting", "questions", 0);
    do {
        rc = run_group(d, in, &out, err);
        progress_update(&progress, counts->records, (double)counts->records, NULL);
    } while (rc == 1 && !stop_requested());
    progress_end(&progress);
    if (rc == 0)
        rc = out_file_commit(&out, err);
out:
    out_file_abort(&out);
    if (in)
        record_reader_close(in);
    clear_group(d);
    close_all(d);
    free(d);
    return rc;
}
