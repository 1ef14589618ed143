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

/* Keeps the meta data of origin and use. */
static json_t *kept_meta(const json_t *meta, enum weights_type form)
{
    static const char *const fields[] = { "kind",     "version", "commit", "seed",      "data_hash",
                                          "settings", "note",    "model",  "validation" };
    json_t *kept = json_object();

    for (int i = 0; i < ARRAY_LEN(fields); i++) {
        json_t *value = json_object_get(meta, fields[i]);
        if (value)
            json_object_set(kept, fields[i], value);
    }
    json_object_set_new(kept, "weights", json_string(weights_words[form]));
    return kept;
}

/* Copies the weights from the file, which are F32 even if the model computes in bf16. */
static int write_detector(const struct hdf5_reader *file, struct gate_model *m, const char *to, enum weights_type form,
                          struct error *err)
{
    json_t *meta = checkpoint_meta(file, err);

    if (!meta)
        return -1;
    struct checkpoint c = { .params = &m->params, .meta = kept_meta(meta, form), .weights = form };
    int rc = checkpoint_copy(to, &c, file, err) || tokenizer_save_json(m->tokenizer, to, err) ? -1 : 0;
    json_decref(c.meta);
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

/* Reads a run's folder, or its newest checkpoint, and writes into the existing folder `to`. -1 with
 * EXIT_CODE_CHECKPOINT if it is no run of ambit-train gatekeeper. */
static int write_gatekeeper(const char *run, const char *to, enum weights_type form, struct error *err)
{
    struct gate_model model = { 0 };
    struct hdf5_reader file;
    struct device device;

    if (checkpoint_open(&file, run, err))
        return -1;
    int rc = check_kind(&file, err) || device_open(&device, "cpu", err) ? -1 : 0;
    if (rc == 0) {
        rc = gate_model_open(&model, &device, file.path, err) || write_detector(&file, &model, to, form, err) ? -1 : 0;
        gate_model_release(&model);
        device_close(&device);
    }
    hdf5_close(&file);
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

static int export_detector(const struct lm_export_request *q, const char *dir, struct error *err)
{
    enum weights_type form = q->weights == NO_WEIGHTS ? WEIGHTS_INT8 : (enum weights_type)q->weights;

    if (check_gatekeeper(q, dir, err) || write_gatekeeper(dir, q->to, form, err))
        return -1;
    log_info("%s: a detector with weights in %s, for --model of ambit-infer detect", q->out, weights_words[form]);
    return 0;
}

static int export_kind(const struct lm_export_request *q, const char *dir, struct error *err)
{
    struct hdf5_reader file;
    int rc = -1;

    if (is_detector(q))
        return export_detector(q, dir, err);
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
    int rc = file ? 0 : out_folder_open(&folder, q.out, err);

    q.to = file ? q.out : folder.tmp;
    if (rc == 0)
        rc = export_kind(&q, call->operands[0], err);
    if (rc == 0 && !file)
        rc = out_folder_commit(&folder, q.force, err);
    out_folder_abort(&folder);
    return rc ? err->code : EXIT_CODE_OK;
}

const struct command command_export = {
    .name = "export",
    .summary = "export a trained model for other tools",
    ONE_OPERAND("DIR"),
    OPTIONS(table, defaults),
    .details =
        "DIR is a folder of ambit-train gatekeeper, infill, reward or seq2seq; of an unfinished run the newest "
        "checkpoint is exported. Formats: detector and hf for gatekeeper; peft, merged and gguf-adapter for adapters; "
        "merged for models with all weights trained. Guide: docs/guides/export.md.",
    .examples = { "ambit-train export runs/gate --format detector -o detector",
                  "ambit-train export runs/infill --format merged --verify -o infill-hf" },
    .run = run,
};
