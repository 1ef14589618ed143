/* Part of gate_trainer.h: settings that do not go together. */
#include "models/gate/gate_batch.h"
#include "train/gate/gate_trainer_impl.h"
#include "train/run/encoder.h"

#include <string.h>

static bool says_word(const struct gate_settings *s)
{
    return s->element_text == GATE_TEXT_THESIS || s->relevance_word;
}

/* Names and relevance stand in texts of single elements, and relevance must be known before such a text is. */
static int check_texts(const struct gate_settings *s, struct error *err)
{
    bool pair = s->classifier == CLASSIFIER_PAIR, schema = s->encode != ENCODE_ELEMENT;

    if (s->graph == GRAPH_COMPAT && (schema || pair || s->renamed > 0))
        return error_set(err, EXIT_CODE_USAGE,
                         "--graph compat has one node for all elements of a name: expected --encode element, a "
                         "--classifier other than pair, and --renamed 0");
    if (says_word(s) && (schema || s->embedder == EMBEDDER_JOINT))
        return error_set(err, EXIT_CODE_USAGE,
                         "%s: an element's relevance is known before its text is read: expected --encode element with "
                         "--embedder stock or linker",
                         s->relevance_word ? "--relevance-word" : "--element-text thesis");
    return 0;
}

/* A linker trains nothing that an encoder could begin with, but where that is the embedder. */
static int check_sources(const struct gate_trainer *t, struct error *err)
{
    const struct gate_settings *s = t->set;
    bool apart = says_word(s) && s->features == FEATURES_STATES && s->embedder == EMBEDDER_STOCK;

    if (!t->linker || (apart && t->encoder))
        return 0;
    if (apart)
        return error_set(
            err, EXIT_CODE_USAGE,
            "--linker with --embedder stock: states are of the encoder as it came: expected --encoder, the "
            "folder that the linker was trained from");
    if (s->encode == ENCODE_ELEMENT && s->embedder != EMBEDDER_STOCK && !t->encoder)
        return 0;
    return error_set(err, EXIT_CODE_USAGE,
                     "--linker brings an encoder that reads elements: expected --encode element with --embedder "
                     "linker or joint, and no --encoder");
}

int gate_check_settings(const struct gate_trainer *t, struct error *err)
{
    const struct gate_settings *s = t->set;

    if (s->classifier == CLASSIFIER_PAIR && s->features == FEATURES_RELEVANCE)
        return error_set(
            err, EXIT_CODE_USAGE,
            "--features relevance: --classifier pair reads states; expected gat-mean, gat-cat, gcn, rgcn or "
            "bert-only");
    return check_texts(s, err) || check_sources(t, err) ? -1 : 0;
}

static bool reads_bare(enum graph_mode graph, bool thesis)
{
    return graph == GRAPH_COMPAT || thesis;
}

/* The embedder's encoder is of the linker's sizes. */
static int check_embedder(const struct gate_trainer *t, struct error *err)
{
    struct bert_config bert;
    struct tokenizer *own = encoder_from_folder(t->encoder, 2, &bert, err);
    const struct bert_config *linked = &t->linked.net.config.bert;

    if (!own)
        return -1;
    tokenizer_close(own);
    if (bert.vocab_size == linked->vocab_size && bert.hidden_size == linked->hidden_size &&
        bert.layers == linked->layers && bert.heads == linked->heads &&
        bert.intermediate_size == linked->intermediate_size && bert.max_positions == linked->max_positions &&
        bert.type_vocab_size == linked->type_vocab_size)
        return 0;
    return error_set(err, EXIT_CODE_USAGE,
                     "--encoder %s: expected the encoder that --linker %s was trained from, got "
                     "one of other sizes",
                     t->encoder, t->linker);
}

int gate_check_linker(const struct gate_trainer *t, struct error *err)
{
    const struct gate_model *m = &t->linked;
    bool bare = reads_bare(t->set->graph, t->set->element_text == GATE_TEXT_THESIS);

    if (m->net.config.encode != ENCODE_ELEMENT)
        return error_set(err, EXIT_CODE_USAGE, "--linker %s: expected a run of --encode element, got one of schema",
                         t->linker);
    if (reads_bare(m->graph, m->net.config.texts == TEXTS_THESIS) != bare)
        return error_set(err, EXIT_CODE_USAGE, "--linker %s: expected a run that reads %s, got one that reads %s",
                         t->linker, bare ? "bare names" : "qualified names", bare ? "qualified names" : "bare names");
    return t->encoder ? check_embedder(t, err) : 0;
}

int gate_check_word(const struct gate_trainer *t, struct error *err)
{
    bool taught = t->linker != NULL;

    for (int i = 0; !taught && i < t->data.folds[FOLD_TRAIN].n; i++)
        taught = t->data.folds[FOLD_TRAIN].list[i].knows_relevance && t->set->relevance_epochs > 0;
    if (taught || !gatekeeper_says_word(&t->model.net.config))
        return 0;
    return error_set(err, EXIT_CODE_DATA,
                     "no training question's SQL teaches what is relevant, which texts are to say: expected SQL and "
                     "--relevance-epochs of at least 1, or --linker");
}
