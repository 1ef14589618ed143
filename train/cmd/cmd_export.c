/* Part of commands.h: ambit-train export: exports detectors and their encoders; lm_export.h exports language models. */
#include "data/base/json.h"
#include "data/base/log.h"
#include "data/base/option_rows.h"
#include "data/base/out_file.h"
#include "models/gatekeeper/gate_model.h"
#include "models/hf/hf_config.h"
#include "models/hf/hf_weights.h"
#include "models/io/model_folder.h"
#include "models/io/weights.h"
#include "train/cmd/commands.h"
#include "train/lm/lm_export.h"

#include <stdio.h>
#include <string.h>

/* An exported detector is a folder with ambit.h5 (weights, settings, threshold and validation scores) and the
 * tokenizer's files. It contains no optimizer state, no checkpoints, no curves and no local paths. */

/* ---- detectors ---- */

enum { MAX_RUNS = 16 };

/* Files of runs or exported detectors. The first gives settings, threshold and tokenizer. */
struct runs {
    struct hdf5_reader files[MAX_RUNS];
    int n;
};

static void copy_fields(json_t *out, const json_t *meta, const char *const *fields, int n)
{
    for (int i = 0; i < n; i++) {
        json_t *value = json_object_get(meta, fields[i]);
        if (value)
            json_object_set(out, fields[i], value);
    }
}

/* Lists the origin of each run. */
static json_t *origins(const struct runs *r, struct error *err)
{
    static const char *const fields[] = { "version", "commit", "seed", "data_hash", "mean_of" };
    json_t *list = json_array();

    for (int i = 0; i < r->n; i++) {
        json_t *meta = checkpoint_meta(&r->files[i], err), *one = json_object();
        copy_fields(one, meta, fields, ARRAY_LEN(fields));
        json_array_append_new(list, one);
        if (!meta) {
            json_decref(list);
            return NULL;
        }
        json_decref(meta);
    }
    return list;
}

/* Keeps the first run's meta data of origin and use. */
static json_t *kept_meta(const struct runs *r, enum weights_type form, struct error *err)
{
    static const char *const fields[] = { "kind",     "version", "commit", "seed",       "data_hash",
                                          "settings", "note",    "model",  "validation", "mean_of" };
    json_t *meta = checkpoint_meta(&r->files[0], err), *list = r->n > 1 ? origins(r, err) : NULL;

    if (!meta || (r->n > 1 && !list)) {
        json_decref(list);
        json_decref(meta);
        return NULL;
    }
    json_t *kept = json_object();
    copy_fields(kept, meta, fields, ARRAY_LEN(fields));
    if (list)
        json_object_set_new(kept, "mean_of", list);
    json_object_set_new(kept, "weights", json_string(weights_words[form]));
    json_decref(meta);
    return kept;
}

/* Copies the weights from the files, which are F32 even if the model computes in bf16. */
static int write_detector(const struct runs *r, struct gate_model *m, const char *to, enum weights_type form,
                          struct error *err)
{
    json_t *meta = kept_meta(r, form, err);

    if (!meta)
        return -1;
    struct checkpoint c = { .params = &m->params, .meta = meta, .weights = form };
    int rc = checkpoint_copy(to, &c, r->files, r->n, err) || tokenizer_save_json(m->tokenizer, to, err) ? -1 : 0;
    json_decref(meta);
    return rc;
}

static int check_kind(const struct hdf5_reader *file, struct error *err)
{
    json_t *meta = checkpoint_meta(file, err);
    int rc = meta ? model_folder_check_command(meta, "gatekeeper", file->path, err) : -1;

    json_decref(meta);
    return rc;
}

/* Opens folders of runs, or their newest checkpoints. -1 with EXIT_CODE_CHECKPOINT if one is no run of ambit-train
 * gatekeeper. */
static int open_runs(struct runs *r, char *const *dirs, int n, struct error *err)
{
    for (; r->n < n; r->n++)
        if (checkpoint_open(&r->files[r->n], dirs[r->n], err))
            return -1;
    for (int i = 0; i < n; i++)
        if (check_kind(&r->files[i], err))
            return -1;
    return 0;
}

/* Describes a model without the fields that a mean takes from its first run. */
static json_t *structure(const struct gate_model *m)
{
    static const char *const own[] = { "threshold",      "temperature",       "linguistic_temperature",
                                       "hidden_dropout", "attention_dropout", "embedding_dropout",
                                       "dropout",        "compute",           "gat_precision" };
    json_t *o = gate_model_to_json(m);

    for (int i = 0; i < ARRAY_LEN(own); i++)
        json_object_del(o, own[i]);
    return o;
}

static int differs(const char *path, const char *name, const json_t *wanted, const json_t *found, const char *first,
                   struct error *err)
{
    char *a = json_dumps(wanted, JSON_ENCODE_ANY), *b = found ? json_dumps(found, JSON_ENCODE_ANY) : NULL;

    error_set(err, EXIT_CODE_CHECKPOINT,
              "%s: model: %s: expected %s as in %s, got %s; a mean needs models of one structure", path, name, a, first,
              b ? b : "nothing");
    free(a);
    free(b);
    return -1;
}

static int check_structure(const struct gate_model *m, const char *path, const struct gate_model *first,
                           const char *first_path, struct error *err)
{
    json_t *wanted = structure(first), *found = structure(m), *value;
    const char *name;
    int rc = 0;

    json_object_foreach(wanted, name, value)
    {
        const json_t *other = json_object_get(found, name);
        if (rc == 0 && !json_equal(value, other))
            rc = differs(path, name, value, other, first_path, err);
    }
    json_decref(found);
    json_decref(wanted);
    return rc;
}

static int check_vocabulary(const struct gate_model *m, const char *path, const struct gate_model *first,
                            const char *first_path, struct error *err)
{
    int32_t n = tokenizer_vocab_size(first->tokenizer);

    if (tokenizer_vocab_size(m->tokenizer) != n)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: expected a vocabulary of %d tokens as in %s, got %d", path, n,
                         first_path, tokenizer_vocab_size(m->tokenizer));
    for (int32_t id = 0; id < n; id++) {
        const char *a = tokenizer_token(first->tokenizer, id), *b = tokenizer_token(m->tokenizer, id);
        if (a != b && (!a || !b || strcmp(a, b)))
            return error_set(err, EXIT_CODE_CHECKPOINT, "%s: token %d: expected \"%s\" as in %s, got \"%s\"", path, id,
                             a ? a : "", first_path, b ? b : "");
    }
    return 0;
}

/* Checks that a run's weights can be added to the first one's. */
static int check_alike(struct device *device, const char *path, const struct gate_model *first, const char *first_path,
                       struct error *err)
{
    struct gate_model m = { 0 };
    int rc = gate_model_open(&m, device, path, err);

    if (rc == 0)
        rc = check_structure(&m, path, first, first_path, err) || check_vocabulary(&m, path, first, first_path, err)
                 ? -1
                 : 0;
    gate_model_release(&m);
    return rc;
}

/* Writes the mean of the runs' weights into the existing folder `to`. */
static int write_mean(const struct runs *r, const char *to, enum weights_type form, struct error *err)
{
    struct gate_model model = { 0 };
    struct device device;

    if (device_open(&device, "cpu", err))
        return -1;
    int rc = gate_model_open(&model, &device, r->files[0].path, err);
    for (int i = 1; i < r->n && rc == 0; i++)
        rc = check_alike(&device, r->files[i].path, &model, r->files[0].path, err);
    if (rc == 0)
        rc = write_detector(r, &model, to, form, err);
    gate_model_release(&model);
    device_close(&device);
    return rc;
}

static int write_gatekeeper(char *const *dirs, int n, const char *to, enum weights_type form, struct error *err)
{
    struct runs r = { 0 };
    int rc = open_runs(&r, dirs, n, err) || write_mean(&r, to, form, err) ? -1 : 0;

    for (int i = 0; i < r.n; i++)
        hdf5_close(&r.files[i]);
    return rc;
}

/* ---- the command ---- */

enum { NO_WEIGHTS = -1 };

static const struct lm_export_request defaults = { .format = "hf", .weights = NO_WEIGHTS };

#define AT(field) offsetof(struct lm_export_request, field)

static const struct option table[] = {
    STRING_OPTION("base", AT(base), "HF_DIR", "base of the adapter (default: the path in the run)", .group = "input"),
    OUT_OPTION(AT(out), "OUT", "new folder; with gguf-adapter a file", .required = true),
    WORD_OPTION("format", AT(format), "FORMAT", "hf|detector|peft|merged|gguf-adapter", "format"),
    CHOICE_OPTION("weights", AT(weights), "TYPE", WEIGHTS_WORDS, "detector: type of matrices (default int8)"),
    FLAG_OPTION("verify", AT(verify), "load the result and compare its logits"),
    FORCE_OPTION(AT(force)),
    { 0 },
};

static bool is_detector(const struct lm_export_request *q)
{
    return !strcmp(q->format, "detector");
}

static const char *architecture(const struct gate_model *m)
{
    return m->net.config.bert.kind == MODERN_BERT ? "ModernBertForSequenceClassification"
                                                  : "BertForSequenceClassification";
}

/* Writes encoder and relevance head as a classifier with one label and a sigmoid. */
static int write_folder(const struct gate_model *m, const char *dir, struct error *err)
{
    struct hf_config config = { .bert = m->net.config.bert,
                                .classifier_dropout = m->net.config.bert.hidden_dropout,
                                .pad_token_id = tokenizer_special(m->tokenizer, SPECIAL_PAD),
                                .n_labels = 1 };

    snprintf(config.architecture, sizeof config.architecture, "%s", architecture(m));
    snprintf(config.problem_type, sizeof config.problem_type, "multi_label_classification");
    const struct hf_rules *rules = hf_encoder_rules(config.bert.kind);
    return hf_weights_save(&m->params, m->device, dir, rules, F32, err) || tokenizer_save(m->tokenizer, dir, err) ||
                   hf_config_write(&config, dir, F32, err)
               ? -1
               : 0;
}

static int check_gatekeeper(const struct lm_export_request *q, const char *dir, struct error *err)
{
    bool known = !strcmp(q->format, "hf") || is_detector(q);

    if (!known || q->base || q->verify)
        return error_set(err, EXIT_CODE_USAGE,
                         "%s: a model of ambit-train gatekeeper: expected --format hf or detector, without --base and "
                         "--verify",
                         dir);
    return 0;
}

/* Exports the encoder for other tools. */
static int export_encoder(const struct lm_export_request *q, const char *dir, struct error *err)
{
    struct gate_model model = { 0 };
    struct device device;

    if (device_open(&device, "cpu", err))
        return -1;
    int rc = gate_model_open(&model, &device, dir, err);
    if (rc == 0)
        rc = write_folder(&model, q->to, err);
    if (rc == 0)
        log_info("%s: encoder and relevance head, for transformers' %s", q->out, architecture(&model));
    gate_model_release(&model);
    device_close(&device);
    return rc;
}

static int export_detector(const struct lm_export_request *q, char *const *dirs, int n, struct error *err)
{
    enum weights_type form = q->weights == NO_WEIGHTS ? WEIGHTS_INT8 : (enum weights_type)q->weights;

    if (check_gatekeeper(q, dirs[0], err) || write_gatekeeper(dirs, n, q->to, form, err))
        return -1;
    if (n > 1)
        log_info("%s: the mean of %d models", q->out, n);
    log_info("%s: a detector with weights in %s, for --model of ambit-infer detect", q->out, weights_words[form]);
    return 0;
}

static int export_kind(const struct lm_export_request *q, char *const *dirs, int n, struct error *err)
{
    const char *dir = dirs[0];
    struct hdf5_reader file;
    int rc = -1;

    if (is_detector(q))
        return export_detector(q, dirs, n, err);
    if (checkpoint_open(&file, dir, err))
        return -1;
    json_t *meta = checkpoint_meta(&file, err);
    const char *kind = meta ? json_get_string(meta, "kind", file.path, err) : NULL;
    if (kind && (!strcmp(kind, "infill") || !strcmp(kind, "reward") || !strcmp(kind, "seq2seq")))
        rc = lm_export(q, &file, meta, err);
    else if (kind && !strcmp(kind, "gatekeeper"))
        rc = check_gatekeeper(q, dir, err) ? -1 : export_encoder(q, dir, err);
    else if (kind)
        error_set(err, EXIT_CODE_CHECKPOINT, "%s: kind: expected gatekeeper, infill, reward or seq2seq, got \"%s\"",
                  file.path, kind);
    json_decref(meta);
    hdf5_close(&file);
    return rc;
}

static enum exit_code run(const struct call *call, struct error *err)
{
    struct lm_export_request q = *(const struct lm_export_request *)call->options;
    struct out_folder folder = { 0 };
    bool file = strcmp(q.format, "gguf-adapter") == 0;

    if (q.weights != NO_WEIGHTS && !is_detector(&q))
        return usage_error(err, "--weights: expected --format detector, whose matrices it is about, got %s", q.format);
    if (call->n_operands > 1 && !is_detector(&q))
        return usage_error(err, "--format %s: expected one DIR, got %d; --format detector writes the mean of several",
                           q.format, call->n_operands);
    int rc = file ? 0 : out_folder_open(&folder, q.out, err);

    q.to = file ? q.out : folder.tmp;
    if (rc == 0)
        rc = export_kind(&q, call->operands, call->n_operands, err);
    if (rc == 0 && !file)
        rc = out_folder_commit(&folder, q.force, err);
    out_folder_abort(&folder);
    return rc ? err->code : EXIT_CODE_OK;
}

const struct command command_export = {
    .name = "export",
    .summary = "export a trained model for other tools",
    .operands = "DIR...",
    .min_operands = 1,
    .max_operands = MAX_RUNS,
    OPTIONS(table, defaults),
    .details =
        "DIR is a folder of ambit-train gatekeeper, infill, reward or seq2seq; of an unfinished run the newest "
        "checkpoint is exported. Formats: detector and hf for gatekeeper; peft, merged and gguf-adapter for adapters; "
        "merged for models with all weights trained.\n\n"
        "Several folders with --format detector: the mean of their weights (model soup, Wortsman et al. 2022), computed "
        "in f32. They need one structure and one vocabulary. Threshold, temperatures, validation questions and settings "
        "are those of the first folder. Guide: docs/guides/export.md.",
    .examples = { "ambit-train export runs/gate --format detector -o detector",
                  "ambit-train export runs/infill --format merged --verify -o infill-hf" },
    .run = run,
};
