/* Part of commands.h: ambit-data probe. */
#include "data/base/option_rows.h"
#include "data/base/stats.h"
#include "data/cmd/commands.h"
#include "data/span/span_record.h"
#include "data/synth/bag.h"
#include "data/synth/probe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum span_probe { SPAN_PROBE_QUESTION, SPAN_PROBE_TABLE, SPAN_PROBE_EDITED, SPAN_PROBE_WIDTH, SPAN_PROBES };

/* Results for records of edited tables, with a problem of one label (AMB or UNK) or none. */
struct span_probe_report {
    int n, problems; /* of the test records; if n is 0, nothing else is set */
    double auc[SPAN_PROBES];
};

static const char *const names[SPAN_PROBES] = { "question only", "table only", "was edited", "number of columns" };
static const double CHANCE = 0.5, TOLERANCE = 0.02;

/* Records of one split with the indices of their texts, and their scores. */
struct span_sample {
    const struct span_record **list;
    int *texts;
    uint8_t *labels;
    double *scores;
    int n;
};

static bool has_label(const struct span_record *r, enum span_label label)
{
    for (int i = 0; i < r->n_spans; i++)
        if (r->spans[i].label == label)
            return true;
    return false;
}

/* Whether the edits of a type make problems of this label. Requests out of scope are in the question alone. */
static bool kind_makes(const char *kind, enum span_label label)
{
    bool lacks = strstr(kind, "deleted") || strcmp(kind, "calculation") == 0;
    return strcmp(kind, "plain") != 0 && strcmp(kind, "out-of-scope") != 0 && lacks == (label == SPAN_UNK);
}

static void sample_init(struct span_sample *s, const struct span_record_list *l, enum span_label label)
{
    size_t size = (size_t)l->n + 1;

    *s = (struct span_sample){ .list = xcalloc(size, sizeof *s->list), .texts = xcalloc(size, sizeof *s->texts) };
    s->labels = xcalloc(size, sizeof *s->labels);
    s->scores = xcalloc(size, sizeof *s->scores);
    for (int i = 0; i < l->n; i++)
        if (kind_makes(l->items[i].kind, label)) {
            s->labels[s->n] = has_label(&l->items[i], label);
            s->list[s->n++] = &l->items[i];
        }
}

static void sample_release(struct span_sample *s)
{
    free(s->list);
    free(s->texts);
    free(s->labels);
    free(s->scores);
}

/* Names and values of the table in one text; the caller frees. */
static char *table_text(const struct span_record *r)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    CHECK(f, "cannot open a text in memory");
    for (int i = 0; i < r->n_columns; i++) {
        fprintf(f, "%s ", r->columns[i].name);
        for (int v = 0; v < r->columns[i].n_values; v++)
            fprintf(f, "%s ", r->columns[i].values[v]);
    }
    fclose(f);
    return text;
}

static void number_texts(struct bag_texts *t, struct span_sample *s, enum span_probe probe)
{
    for (int i = 0; i < s->n; i++) {
        char *text = probe == SPAN_PROBE_TABLE ? table_text(s->list[i]) : xstrdup(s->list[i]->question);
        s->texts[i] = bag_add(t, text);
        free(text);
    }
}

static void score_words(struct span_sample *train, struct span_sample *test, enum span_probe probe)
{
    struct bag_texts texts = { 0 };
    struct bag_model model;

    number_texts(&texts, train, probe);
    number_texts(&texts, test, probe);
    bag_fit(&model, &texts, train->texts, train->labels, train->n);
    for (int i = 0; i < test->n; i++)
        test->scores[i] = bag_score(&model, &texts, test->texts[i]);
    bag_model_release(&model);
    bag_release(&texts);
}

static void score(struct span_sample *train, struct span_sample *test, enum span_probe probe)
{
    if (probe == SPAN_PROBE_QUESTION || probe == SPAN_PROBE_TABLE) {
        score_words(train, test, probe);
        return;
    }
    for (int i = 0; i < test->n; i++) {
        const json_t *edit = json_object_get(test->list[i]->json, "edit");
        test->scores[i] = probe == SPAN_PROBE_WIDTH ? test->list[i]->n_columns
                                                    : (double)(json_array_size(json_object_get(edit, "deleted")) +
                                                               json_array_size(json_object_get(edit, "added")));
    }
}

/* Fits the learned probes on the train records. Deterministic. */
static void span_probe_run(struct span_probe_report *r, const struct span_record_list *train,
                           const struct span_record_list *test, enum span_label label)
{
    struct span_sample fitted, measured;

    *r = (struct span_probe_report){ 0 };
    sample_init(&fitted, train, label);
    sample_init(&measured, test, label);
    r->n = measured.n;
    for (int i = 0; i < measured.n; i++)
        r->problems += measured.labels[i];
    for (int p = 0; p < SPAN_PROBES && measured.n; p++) {
        score(&fitted, &measured, (enum span_probe)p);
        r->auc[p] = stats_auc((struct scored){ measured.scores, measured.labels, measured.n });
    }
    sample_release(&fitted);
    sample_release(&measured);
}

static void span_probe_print(const struct span_probe_report *r, enum span_label label, FILE *out)
{
    fprintf(out, "%s: %d test records, %d with a problem\n", span_label_name(label), r->n, r->problems);
    for (int p = 0; p < SPAN_PROBES; p++)
        fprintf(out, "  %-18s AUC %.3f\n", names[p], r->auc[p]);
}

/* -1 with EXIT_CODE_DATA if a probe ranks the records better or worse than chance. */
static int span_probe_check(const struct span_probe_report *r, enum span_label label, struct error *err)
{
    for (int p = 0; p < SPAN_PROBES && r->n; p++)
        if (!(fabs(r->auc[p] - CHANCE) <= TOLERANCE))
            return error_set(
                err, EXIT_CODE_DATA,
                "leak: the probe \"%s\" on test records of %s: expected an AUC of %.2f within %.2f, got %.3f", names[p],
                span_label_name(label), CHANCE, TOLERANCE, r->auc[p]);
    return 0;
}

static int probe_label(const struct span_record_list splits[2], enum span_label label, FILE *out, struct error *err)
{
    struct span_probe_report r;

    span_probe_run(&r, &splits[0], &splits[1], label);
    if (r.n)
        span_probe_print(&r, label, out);
    return span_probe_check(&r, label, err);
}

/* Probes DIR/train.jsonl and DIR/test.jsonl. */
static int span_probe_folder(const char *dir, FILE *out, struct error *err)
{
    static const char *const files[] = { "train.jsonl", "test.jsonl" };
    struct span_record_list splits[2] = { { 0 } };
    int rc = 0;

    for (int i = 0; i < ARRAY_LEN(files) && rc == 0; i++) {
        char *path = path_in(dir, files[i]);
        rc = span_records_read(&splits[i], path, err);
        free(path);
    }
    if (rc == 0 && !splits[1].n)
        rc = error_set(err, EXIT_CODE_DATA, "%s/test.jsonl: holds no records", dir);
    if (rc == 0)
        rc = probe_label(splits, SPAN_AMB, out, err);
    if (rc == 0)
        rc = probe_label(splits, SPAN_UNK, out, err);
    for (int i = 0; i < ARRAY_LEN(files); i++)
        span_records_release(&splits[i]);
    return rc ? error_prefix(err, "%s", dir) : 0;
}

struct probe_arguments {
    const char *data;
};

static const struct probe_arguments defaults = { 0 };

#define AT(field) offsetof(struct probe_arguments, field)

static const struct option options[] = {
    STRING_OPTION("data", AT(data), "DIR", "data folder of `contrast`, `practice`, `natural` or `counterfactual`",
                  .required = true, .group = "input"),
    { 0 },
};

static int probe_folder(const struct dataset *d, const char *dir, struct error *err)
{
    int n = 0;

    for (int set = 0; set < PROBE_SETS; set++) {
        struct probe_report r;
        probe_run(&r, d, (enum probe_set)set);
        n += r.n;
        if (r.n)
            probe_print(&r, (enum probe_set)set, stdout);
        if (set == PROBE_CONTRAST && probe_check(&r, err))
            return error_prefix(err, "%s", dir);
    }
    return n ? 0 : error_set(err, EXIT_CODE_DATA, "%s/test.jsonl: holds no examples", dir);
}

/* Tells the two kinds of folders apart: records with marked words contain their tables. */
static bool has_file(const char *dir, const char *name)
{
    char *path = path_in(dir, name);
    bool there = access(path, F_OK) == 0;

    free(path);
    return there;
}

static int probe_dataset(const char *dir, struct error *err)
{
    struct dataset d;

    int rc = dataset_read(&d, dir, err);
    if (rc == 0)
        rc = probe_folder(&d, dir, err);
    dataset_release(&d);
    return rc;
}

static enum exit_code run(const struct call *call, struct error *err)
{
    const struct probe_arguments *a = call->options;
    bool spans = has_file(a->data, "train.jsonl") && !has_file(a->data, "tables.json");

    int rc = spans ? span_probe_folder(a->data, stdout, err) : probe_dataset(a->data, err);
    return rc ? err->code : EXIT_CODE_OK;
}

const struct command command_probe = {
    .name = "probe",
    .summary = "measure how well question or schema alone predict the labels",
    OPTIONS(options, defaults),
    .details = "Prints the AUC of scorers on the test split: the words of the question, the words of the schema, "
               "always ambiguous, \"and or a comma in the question\", and name similarity. If contrast sets reveal "
               "their label to question or schema alone, the exit code is 3. A folder of `counterfactual` is "
               "probed by question, table and edit; the limit is .50 +- .02. Guide: docs/guides/detector-data.md.",
    .examples = { "ambit-data probe --data practice", "ambit-data probe --data contrast" },
    .run = run,
};
