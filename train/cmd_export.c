#include "data/json.h"
#include "data/log.h"
#include "models/gate_model.h"
#include "models/hf_config.h"
#include "models/hf_weights.h"
#include "train/commands.h"

#include <stdio.h>

struct export_options {
    const char *format, *out;
};

static const struct export_options defaults = { .format = "hf" };

#define AT(field) offsetof(struct export_options, field)

static const struct option table[] = {
    { "format", 0, OPTION_CHOICE, AT(format), "FORMAT", "what to write", "hf", 0, 0, false },
    { "out", 'o', OPTION_STRING, AT(out), "DIR", "the folder to make", NULL, 0, 0, true },
    { 0 },
};

/* Encoder and relevance head as BertForSequenceClassification with one label, whose logit goes through a sigmoid. */
static int write_folder(const struct gate_model *m, const char *dir, struct error *err)
{
    struct hf_config config = { .bert = m->net.config.bert,
                                .classifier_dropout = m->net.config.bert.hidden_dropout,
                                .pad_token_id = tokenizer_special(m->tokenizer, SPECIAL_PAD),
                                .n_labels = 1 };

    snprintf(config.architecture, sizeof config.architecture, "BertForSequenceClassification");
    snprintf(config.problem_type, sizeof config.problem_type, "multi_label_classification");
    return make_dirs(dir, err) || hf_weights_save(&m->params, m->device, dir, &hf_bert_rules, F32, err) ||
                   tokenizer_save(m->tokenizer, dir, err) || hf_config_write(&config, dir, F32, err)
               ? -1
               : 0;
}

static enum exit_code run(const void *options, char *const *operands, int n_operands, struct error *err)
{
    const struct export_options *o = options;
    struct gate_model model = { 0 };
    struct device device;

    (void)n_operands;
    if (device_open(&device, "cpu", err))
        return err->code;
    int rc = gate_model_open(&model, &device, operands[0], err);
    if (rc == 0)
        rc = write_folder(&model, o->out, err);
    if (rc == 0)
        log_info("%s: encoder and relevance head, for transformers' BertForSequenceClassification", o->out);
    gate_model_release(&model);
    device_close(&device);
    return rc ? err->code : EXIT_CODE_OK;
}

const struct command command_export = {
    .name = "export",
    .summary = "writes a trained model in a form that other tools load",
    .operands = "DIR",
    .min_operands = 1,
    .max_operands = 1,
    .options = table,
    .defaults = &defaults,
    .size = sizeof defaults,
    .details = "DIR is what ambit-train gatekeeper left.  With --format hf the encoder and its relevance head become a "
               "Hugging Face folder that transformers opens as BertForSequenceClassification: the sigmoid of its one "
               "logit for (question, element text) is the relevance that ambit-infer detect reports for a model with "
               "--encode element.",
    .run = run,
};
