#include "train/detector/gate_trainer.h"

#include "data/base/log.h"
#include "data/corpora/labels.h"
#include "data/synth/practice_domains.h"
#include "models/gatekeeper/gate_band.h"
#include "models/gatekeeper/gate_batch.h"
#include "models/hf/hf_weights.h"
#include "train/detector/gate_data.h"
#include "train/detector/gate_eval.h"
#include "train/detector/gate_report.h"
#include "train/detector/gate_step.h"
#include "train/detector/state_cache.h"
#include "train/run/encoder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { GATE_NOTE = 256 };

/* ---- stages ---- */

const char *gate_stage_name(enum gate_stage s)
{
    static const char *const names[] = { "relevance", "classifier", "joint" };
    return names[s];
}

bool gate_in_stage(const struct gate_trainer *t, enum gate_stage s)
{
    return t->run.state.stage < t->run.n_stages && t->kinds[t->run.state.stage] == s;
}

enum gate_stage gate_stage(const struct gate_trainer *t)
{
    return t->kinds[t->run.state.stage];
}

static void add_stage(struct gate_trainer *t, enum gate_stage kind, int64_t epochs)
{
    const char *name = gate_stage_name(kind);

    t->kinds[t->run.n_stages] = kind;
    t->stages[t->run.n_stages++] = (struct stage){ name, name, epochs };
}

static bool teaches_relevance(const struct gate_split *train)
{
    for (int i = 0; i < train->n; i++)
        if (train->list[i].knows_relevance)
            return true;
    return false;
}

/* Without SQL there is no relevance to teach before the classifier: the encoder then learns with the classifier. */
static void plan_stages(struct gate_trainer *t)
{
    const struct gate_settings *set = t->set;
    bool element = t->model.net.config.encode == ENCODE_ELEMENT;
    bool relevance = teaches_relevance(&t->data.splits[SPLIT_TRAIN]);
    bool taught = relevance || t->linker;
    bool joint = !element || set->embedder == EMBEDDER_JOINT || (set->embedder == EMBEDDER_LINKER && !taught);

    t->run.stages = t->stages;
    t->stock = element && set->embedder == EMBEDDER_STOCK && !t->model.net.config.embedder;
    if (!taught)
        log_info("no training question has SQL: the relevance of elements is not taught%s",
                 element && joint ? ", and the encoder learns beside the classifier" : "");
    else if (element && !t->stock && !t->linker && set->relevance_epochs > 0)
        add_stage(t, STAGE_RELEVANCE, set->relevance_epochs);
    if (set->train.epochs > 0)
        add_stage(t, joint ? STAGE_JOINT : STAGE_FROZEN, set->train.epochs);
}

/* Lists all relevant elements of all training questions. */
static void collect_slots(struct gate_trainer *t, const int *examples, int n)
{
    int cap = 0;

    t->n_slots = 0;
    for (int i = 0; i < n; i++) {
        const struct gate_example *e = &t->data.splits[SPLIT_TRAIN].list[examples[i]];
        for (int node = 0; node < e->item.schema->n_nodes; node++) {
            if (!e->relevant[node])
                continue;
            GROW(t->slots, t->n_slots, cap);
            t->slots[t->n_slots++] = (struct relevant_slot){ examples[i], node };
        }
    }
}

static bool is_label(const struct gate_trainer *t, int i)
{
    return t->labels && t->data.splits[SPLIT_TRAIN].list[i].record->slice == EXAMPLE_CUSTOM;
}

/* Appends labels to n examples of the folder, repeated until they are the chosen fraction of all examples. */
static int add_labels(const struct gate_trainer *t, struct rng *rng, int **list, int n)
{
    const struct gate_split *train = &t->data.splits[SPLIT_TRAIN];
    int *labels = xmalloc((size_t)train->n * sizeof *labels), n_labels = 0;
    double share = t->set->labels_share;

    for (int i = 0; i < train->n; i++)
        if (is_label(t, i))
            labels[n_labels++] = i;
    rng_shuffle(rng, labels, n_labels, sizeof *labels);
    int wanted = n_labels ? (int)(share / (1 - share) * n) : 0;
    *list = xrealloc(*list, ((size_t)n + (size_t)wanted) * sizeof **list);
    for (int k = 0; k < wanted; k++)
        (*list)[n++] = labels[k % n_labels];
    free(labels);
    return n;
}

/* Chooses contrast questions, a fraction of the hard negatives, and labels; cuts the list to max_train after a
 * seeded shuffle. The caller frees the list. */
static int choose_examples(const struct gate_trainer *t, int **out)
{
    const struct gate_split *train = &t->data.splits[SPLIT_TRAIN];
    struct rng rng = { .seed = t->run.set.seed ^ UINT64_C(0x73616d706c65) };
    int n = 0;

    *out = xmalloc((size_t)train->n * sizeof **out);
    for (int i = 0; i < train->n; i++)
        if (!is_label(t, i) && (train->list[i].record->slice != EXAMPLE_HARD_NEGATIVE ||
                                rng_uniform(&rng) < (float)t->set->hard_negatives))
            (*out)[n++] = i;
    n = add_labels(t, &rng, out, n);
    rng_shuffle(&rng, *out, n, sizeof **out);
    return t->set->max_train && t->set->max_train < n ? (int)t->set->max_train : n;
}

static int64_t question_tokens(const struct gate_trainer *t, const struct gate_item *item)
{
    const struct token_table *element = &item->schema->element;
    bool whole = t->model.net.config.encode == ENCODE_SCHEMA;

    return (int64_t)item->n_question * (whole ? 1 : element->n) + element->start[element->n];
}

static int64_t slot_tokens(const struct gate_item *item, int node)
{
    const struct token_table *element = &item->schema->element;
    return item->n_question + element->start[node + 1] - element->start[node];
}

static void count_tokens(struct gate_trainer *t, enum gate_stage stage)
{
    const struct gate_split *train = &t->data.splits[SPLIT_TRAIN];
    int n = stage == STAGE_RELEVANCE ? t->n_slots : train->n;

    t->tokens = xrealloc(t->tokens, (size_t)(n + 1) * sizeof *t->tokens);
    for (int i = 0; i < n; i++)
        t->tokens[i] = stage == STAGE_RELEVANCE ? slot_tokens(&train->list[t->slots[i].example].item, t->slots[i].node)
                                                : question_tokens(t, &train->list[i].item);
    t->run.sampler.tokens = t->tokens;
}

/* -1 when there is nothing to sample from. */
static int make_sampler(struct gate_trainer *t, enum gate_stage stage, struct error *err)
{
    int *pool, n = choose_examples(t, &pool);
    uint64_t seed = t->run.set.seed + UINT64_C(0x10001) * (uint64_t)(t->run.state.stage + 1);

    sampler_release(&t->run.sampler);
    if (!n) {
        free(pool);
        return error_set(err, EXIT_CODE_DATA, "no record to train on: all are hard negatives, and hard-negatives is 0");
    }
    if (stage != STAGE_RELEVANCE) {
        sampler_init(&t->run.sampler, seed, pool, n, (int)t->set->train.batch);
    } else {
        collect_slots(t, pool, n);
        pool = xrealloc(pool, (size_t)t->n_slots * sizeof *pool);
        for (int i = 0; i < t->n_slots; i++)
            pool[i] = i;
        int pairs = (int)(t->set->relevance_batch / (1 + t->set->negatives));
        sampler_init(&t->run.sampler, seed, pool, t->n_slots, pairs > 0 ? pairs : 1);
    }
    free(pool);
    count_tokens(t, stage);
    return t->run.sampler.n ? 0 : error_set(err, EXIT_CODE_DATA, "no training record's SQL touches any table");
}

static bool in_encoder(const struct param *p)
{
    return bert_owns(p->name);
}

static bool in_relevance(const struct param *p)
{
    return strncmp(p->name, "bert.pooler.", 12) == 0 || strncmp(p->name, "head.", 5) == 0 ||
           strcmp(p->name, "classifier.weight") == 0 || strcmp(p->name, "classifier.bias") == 0;
}

/* True for parameters of the encoder and the relevance head. */
static bool reads_element(const struct param *p)
{
    return in_encoder(p) || in_relevance(p);
}

/* Chooses the parameters that a stage trains, and their learning rates relative to the schedule. */
static void choose_params(struct gate_trainer *t, enum gate_stage stage)
{
    const struct gate_settings *set = t->set;

    for (int i = 0; i < t->model.params.n; i++) {
        struct param *p = &t->model.params.list[i];
        bool reader = reads_element(p), head = t->stock && in_relevance(p);
        p->t->needs_grad = p->t->grad && (stage == STAGE_JOINT || reader == (stage == STAGE_RELEVANCE) ||
                                          head); /* an embedder has no gradient */
        p->lr_scale = stage == STAGE_JOINT && !reader ? (float)(set->head_lr / set->train.lr) : 1.0f;
    }
}

/* Gradients are zero between steps, whatever the memory held. A new stage starts without moments. */
static void zero_state(struct gate_trainer *t, bool fresh)
{
    for (int i = 0; i < t->model.params.n; i++) {
        struct param *p = &t->model.params.list[i];
        struct tensor *all[] = { p->t->grad, p->state[0], p->state[1] };
        for (int k = 0; p->t->grad && k < (fresh ? ARRAY_LEN(all) : 1); k++)
            t->run.device.driver->kernels->fill(&t->run.work.ctx, all[k], 0.0f);
    }
}

static void set_schedule(struct gate_trainer *t, enum gate_stage stage)
{
    const struct gate_settings *set = t->set;
    double lr = stage == STAGE_RELEVANCE ? set->relevance_lr : stage == STAGE_JOINT ? set->train.lr : set->head_lr;
    int64_t total = run_stage_steps(&t->run);
    struct schedule schedule = { .lr = (float)lr,
                                 .warmup = (int64_t)(set->train.warmup * (double)total),
                                 .total = total,
                                 .form = set->schedule == GATE_COSINE ? SCHEDULE_COSINE : SCHEDULE_LINEAR };

    run_plan(&t->run, schedule, set->train.decay, set->train.clip);
}

static int start_stage(void *trainer, bool fresh, struct error *err)
{
    struct gate_trainer *t = trainer;
    enum gate_stage stage = gate_stage(t);

    if (make_sampler(t, stage, err))
        return -1;
    choose_params(t, stage);
    set_schedule(t, stage);
    zero_state(t, fresh);
    if (fresh)
        workspace_seed(&t->run.work, t->run.set.seed + (uint64_t)t->run.state.stage, 0);
    return 0;
}

/* Examples that are scored in validations between epochs. */
static int validation_examples(const struct gate_split *valid, int *out)
{
    int n = 0;

    for (int i = 0; i < valid->n; i++)
        if (valid->list[i].record->slice != EXAMPLE_HARD_NEGATIVE)
            out[n++] = i;
    return n;
}

/* Caches the states of a frozen encoder. After a signal it returns early, and no step may follow. */
static int prepare_states(void *trainer, struct error *err)
{
    struct gate_trainer *t = trainer;
    const struct gate_split *train = &t->data.splits[SPLIT_TRAIN], *valid = &t->data.splits[SPLIT_VALID];
    char path[4096];

    if (!gate_in_stage(t, STAGE_FROZEN))
        return 0;
    snprintf(path, sizeof path, "%s%s", t->states ? t->states : t->run.set.out, t->states ? "" : "/states");
    state_cache_close(t->cache);
    state_cache_close(t->valid_cache);
    t->valid_cache = NULL;
    int *examples, n = choose_examples(t, &examples);
    t->cache = state_cache_open(path, &t->scorer, train, &t->appender, examples, n, err);
    examples = xrealloc(examples, (size_t)valid->n * sizeof *examples);
    n = validation_examples(valid, examples);
    if (t->cache)
        t->valid_cache = state_cache_open(path, &t->scorer, valid, NULL, examples, n, err);
    free(examples);
    return t->valid_cache ? 0 : -1;
}

/* ---- checks of settings ---- */

static bool says_word(const struct gate_settings *s)
{
    return s->element_text == GATE_TEXT_PUBLISHED || s->relevance_word;
}

/* Merged names and relevance words need texts of single elements, and relevance must be known before the text is. */
static int check_texts(const struct gate_settings *s, struct error *err)
{
    bool pair = s->classifier == CLASSIFIER_PAIR, schema = s->encode != ENCODE_ELEMENT;

    if (s->graph == GRAPH_REPRODUCTION && (schema || pair || s->renamed > 0))
        return error_set(err, EXIT_CODE_USAGE,
                         "graph: reproduction merges elements of one name: expected --encode element, a "
                         "--classifier other than pair, and --renamed 0");
    if (says_word(s) && (schema || s->embedder == EMBEDDER_JOINT))
        return error_set(
            err, EXIT_CODE_USAGE,
            "%s: an element's relevance must be known before its text is read: expected --encode element with "
            "--embedder stock or linker",
            s->relevance_word ? "relevance-word" : "element-text: published");
    return 0;
}

/* A linker replaces the encoder, except where that one is the embedder. */
static int check_sources(const struct gate_trainer *t, struct error *err)
{
    const struct gate_settings *s = t->set;
    bool apart = says_word(s) && s->features == FEATURES_STATES && s->embedder == EMBEDDER_STOCK;

    if (t->init && (t->encoder || t->linker))
        return error_set(err, EXIT_CODE_USAGE,
                         "--init and %s cannot be used together: the detector that --init names has an encoder",
                         t->encoder ? "--encoder" : "--linker");
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

/* check_settings, check_linker and check_init: -1 with EXIT_CODE_USAGE if settings, or the model of --linker or
 * --init, contradict each other. check_word: -1 with EXIT_CODE_DATA if texts contain a relevance that nothing teaches.
 */
static int check_settings(const struct gate_trainer *t, struct error *err)
{
    const struct gate_settings *s = t->set;

    if (s->classifier == CLASSIFIER_PAIR && s->features == FEATURES_RELEVANCE)
        return error_set(
            err, EXIT_CODE_USAGE,
            "features: relevance: --classifier pair reads states; expected gat-mean, gat-cat, gcn, rgcn or "
            "bert-only");
    return check_texts(s, err) || check_sources(t, err) ? -1 : 0;
}

static bool reads_bare(enum graph_mode graph, bool published)
{
    return graph == GRAPH_REPRODUCTION || published;
}

/* The embedder must have the linker's sizes. */
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

static int check_linker(const struct gate_trainer *t, struct error *err)
{
    const struct gate_model *m = &t->linked;
    bool bare = reads_bare(t->set->graph, t->set->element_text == GATE_TEXT_PUBLISHED);

    if (m->net.config.encode != ENCODE_ELEMENT)
        return error_set(err, EXIT_CODE_USAGE, "--linker %s: expected a run of --encode element, got one of schema",
                         t->linker);
    if (reads_bare(m->graph, m->net.config.texts == TEXTS_PUBLISHED) != bare)
        return error_set(err, EXIT_CODE_USAGE, "--linker %s: expected a run that reads %s, got one that reads %s",
                         t->linker, bare ? "bare names" : "qualified names", bare ? "qualified names" : "bare names");
    return t->encoder ? check_embedder(t, err) : 0;
}

/* Sizes come from the detector. Its classifier and graph must be those of the options, which the data is read by.
 * Frozen or cached states are not continued: only --encode schema is. */
static int check_init(const struct gate_trainer *t, struct error *err)
{
    const struct gate_model *m = &t->linked;

    if (m->net.config.encode != ENCODE_SCHEMA || t->set->encode != ENCODE_SCHEMA)
        return error_set(err, EXIT_CODE_USAGE, "--init %s: expected a detector and a run of --encode schema", t->init);
    if (m->net.config.classifier != t->set->classifier || m->graph != t->set->graph)
        return error_set(err, EXIT_CODE_USAGE,
                         "--init %s: expected the --classifier and --graph with which the detector was trained",
                         t->init);
    return 0;
}

static int check_word(const struct gate_trainer *t, struct error *err)
{
    bool taught = t->linker != NULL;

    for (int i = 0; !taught && i < t->data.splits[SPLIT_TRAIN].n; i++)
        taught = t->data.splits[SPLIT_TRAIN].list[i].knows_relevance && t->set->relevance_epochs > 0;
    if (taught || !gatekeeper_says_word(&t->model.net.config))
        return 0;
    return error_set(err, EXIT_CODE_DATA,
                     "no training question's SQL teaches what is relevant, which texts are to say: expected SQL and "
                     "--relevance-epochs of at least 1, or --linker");
}

/* ---- opening ---- */

static enum gate_texts texts_of(const struct gate_settings *s)
{
    if (s->element_text == GATE_TEXT_PUBLISHED)
        return TEXTS_PUBLISHED;
    return s->relevance_word ? TEXTS_RELEVANCE : TEXTS_QUALIFIED;
}

static struct gatekeeper_config network_of(const struct gate_settings *s, const struct bert_config *bert,
                                           bool linguistic)
{
    struct gatekeeper_config config = {
        .linguistic = linguistic,
        .bert = *bert,
        .encode = s->encode,
        .classifier = s->classifier,
        .features = s->features,
        .texts = texts_of(s),
        .random_edges = (float)s->random_edges,
        .pool = s->pool,
        .gat_precision = s->gat_precision,
        .gat_hidden = (int)s->gat_hidden,
        .gat_layers = (int)s->gat_layers,
        .gat_heads = (int)s->gat_heads,
        .edge_types = SCHEMA_EDGE_TYPES,
        .pair_hidden = (int)s->pair_hidden,
        .pair_features = GATE_PAIR_FEATURES,
        .dropout = (float)s->dropout,
    };
    config.embedder = gatekeeper_says_word(&config) && s->embedder == EMBEDDER_STOCK;
    return config;
}

/* A new encoder, with a vocabulary of the training questions and the names of their schemas. */
static struct tokenizer *scratch_encoder(const struct gate_trainer *t, struct bert_config *bert, struct error *err)
{
    const struct dataset *d = &t->records;
    const struct example_list *train = &d->splits[SPLIT_TRAIN];
    const char **texts = NULL;
    bool *used = xcalloc((size_t)d->schemas.n, sizeof *used);
    int n = 0, cap = 0;

    for (int i = 0; i < train->n; i++) {
        GROW(texts, n, cap);
        texts[n++] = train->items[i].question;
        used[schema_find(&d->schemas, train->items[i].db_id) - d->schemas.schemas] = true;
        for (int k = 0; k < train->items[i].n_renamed; k++)
            used[schema_find(&d->schemas, train->items[i].renamed[k]) - d->schemas.schemas] = true;
    }
    for (int i = 0; i < d->schemas.n; i++) {
        const struct schema *s = &d->schemas.schemas[i];
        for (int k = 0; used[i] && k < s->n_tables + s->n_columns; k++) {
            GROW(texts, n, cap);
            texts[n++] = k < s->n_tables ? s->tables[k].text : s->columns[k - s->n_tables].text;
        }
    }
    struct tokenizer *tokenizer = encoder_from_scratch(&t->set->scratch, texts, n, 0, bert, err);
    free(texts);
    free(used);
    return tokenizer;
}

/* Opens the model of --linker or --init. Its weights are copied after this run's model was made. */
static struct tokenizer *linked_encoder(struct gate_trainer *t, struct bert_config *bert, struct error *err)
{
    if (gate_model_open(&t->linked, &t->run.device, t->init ? t->init : t->linker, err))
        return NULL;
    struct tokenizer *tokenizer = t->linked.tokenizer;
    t->linked.tokenizer = NULL;
    *bert = t->linked.net.config.bert;
    if ((t->init ? check_init(t, err) : check_linker(t, err)) == 0)
        return tokenizer;
    tokenizer_close(tokenizer);
    return NULL;
}

static void copy_param(struct gate_trainer *t, struct param *to, const struct param *from)
{
    float *values = xmalloc((size_t)tensor_size(from->t) * sizeof *values);

    param_download(from, &t->run.device, values);
    param_upload(to, &t->run.device, values);
    free(values);
}

/* Copies encoder and relevance head of --linker, or all parameters of --init. */
static void take_linked(struct gate_trainer *t)
{
    for (int i = 0; i < t->linked.params.n; i++) {
        const struct param *from = &t->linked.params.list[i];
        struct param *to = t->init || reads_element(from) ? params_find(&t->model.params, from->name) : NULL;
        if (to)
            copy_param(t, to, from);
    }
    gate_model_release(&t->linked);
}

/* Copies the pretrained encoder, before training. */
static void take_embedder(struct gate_trainer *t)
{
    char name[256];

    for (int i = 0; i < t->model.params.n; i++) {
        struct param *to = &t->model.params.list[i];
        if (strncmp(to->name, GATE_EMBEDDER, strlen(GATE_EMBEDDER)) != 0)
            continue;
        snprintf(name, sizeof name, "%s%s", bert_prefix(&t->model.net.config.bert), to->name + strlen(GATE_EMBEDDER));
        const struct param *from = params_find(&t->model.params, name);
        CHECK(from, "no encoder's %s", name);
        copy_param(t, to, from);
    }
}

/* True if a training question has a linguistic type as its label. */
static bool teaches_linguistic(const struct gate_trainer *t)
{
    const struct example_list *train = &t->records.splits[SPLIT_TRAIN];

    for (int i = 0; t->set->classifier == CLASSIFIER_PAIR && i < train->n; i++)
        if (train->items[i].linguistic != LINGUISTIC_NONE)
            return true;
    return false;
}

/* Returns the network of --init, with a head for linguistic ambiguity if this run teaches it. */
static struct gatekeeper_config continued_network(const struct gate_trainer *t)
{
    struct gatekeeper_config config = t->linked.net.config;

    config.dropout = (float)t->set->dropout;
    config.linguistic |= teaches_linguistic(t);
    return config;
}

static int init_model(struct gate_trainer *t, struct error *err)
{
    struct run *r = &t->run;
    struct bert_config bert;
    struct tokenizer *tokenizer = t->linker || t->init ? linked_encoder(t, &bert, err)
                                  : t->encoder         ? encoder_from_folder(t->encoder, 2, &bert, err)
                                                       : scratch_encoder(t, &bert, err);

    if (!tokenizer)
        return -1;
    struct gatekeeper_config config = t->init ? continued_network(t) : network_of(t->set, &bert, teaches_linguistic(t));
    enum dtype dtype = t->set->compute == GATE_BF16 ? BF16 : F32;
    enum optimizer optimizer = run_optimizer(r, OPTIMIZER_ADAMW);
    size_t bytes = gate_model_bytes(&config, dtype, optimizer);
    if (r->device.free_memory && bytes > r->device.free_memory) {
        tokenizer_close(tokenizer);
        return error_set(err, EXIT_CODE_MEMORY, "the model with its optimizer needs %zu MiB, %s has %zu MiB free",
                         bytes >> 20, r->device.description, r->device.free_memory >> 20);
    }
    if (gate_model_init(&t->model, &r->device, &config, dtype, t->set->graph, optimizer, tokenizer, err))
        return -1;
    struct param_arenas arenas = { &t->model.host, &t->model.data, optimizer };
    r->params = &t->model.params;
    r->model_bytes = t->model.data.used;
    r->recompute = &t->model.net.bert.checkpointed;
    snprintf(r->hint, sizeof r->hint, "a smaller batch (now %lld) would fit", (long long)t->set->train.batch);
    return run_take(r, &arenas, err);
}

/* The pair head needs a candidate pair to predict ambiguity. */
static void warn_of_pairless(const struct gate_trainer *t)
{
    const struct gate_split *train = &t->data.splits[SPLIT_TRAIN];
    int n = 0;

    for (int i = 0; i < train->n; i++)
        n += train->list[i].record->ambiguous && !train->list[i].item.schema->n_pairs;
    if (n && t->set->classifier == CLASSIFIER_PAIR)
        log_warn("%d ambiguous training questions are about databases without two elements that are alike: of them "
                 "--classifier pair learns nothing, gat-mean does",
                 n);
}

static int read_examples(struct gate_trainer *t, struct error *err)
{
    t->reading = (struct gate_data_settings){ .tokenizer = t->model.tokenizer,
                                              .layout = &t->model.layout,
                                              .net = &t->model.net.config,
                                              .input = gate_model_input(&t->model, true) };
    if (gate_data_init(&t->data, &t->records, &t->reading, err))
        return -1;
    double distractors =
        t->model.graph == GRAPH_REPRODUCTION ? 0 : t->set->distractors; /* merged nodes belong to all databases */
    distractor_source_init(&t->appender, &t->data, &t->reading, distractors, t->run.set.seed);
    for (int f = 0; f < SPLITS; f++)
        if (t->model.graph == GRAPH_REPRODUCTION)
            log_info("%s: %d questions", split_name((enum data_split)f), t->data.splits[f].n);
        else
            log_info("%s: %d questions, %d ambiguous ones whose alternatives are no candidate pair",
                     split_name((enum data_split)f), t->data.splits[f].n, t->data.splits[f].lost_pairs);
    warn_of_pairless(t);
    t->run.data_hash = t->data.hash;
    return 0;
}

/* Few of many candidate pairs are meant, so the initial probability of all of them together is small. */
static void set_pair_prior(struct gate_trainer *t)
{
    struct param *bias = params_find(&t->model.params, "pair.twins.score.bias");
    const float prior = -5;

    if (bias)
        param_upload(bias, &t->run.device, &prior);
}

static int load_encoder(struct gate_trainer *t, struct error *err)
{
    int kept = 0;

    params_init(&t->model.params, &t->run.device, t->run.set.seed);
    set_pair_prior(t);
    const struct hf_rules *rules = hf_encoder_rules(t->model.net.config.bert.kind);
    if (t->encoder && hf_weights_load(&t->model.params, &t->run.device, t->encoder, rules, HF_ENCODER, &kept, err))
        return -1;
    if (t->encoder)
        log_info("encoder: %s, %d parameters of the relevance head start from random values", t->encoder, kept);
    if (t->model.net.config.embedder)
        take_embedder(t);
    if (t->linker || t->init)
        take_linked(t);
    return 0;
}

/* Labels of the published data set have questions that occur in train and in test. */
static int check_folds(const struct gate_trainer *t, struct error *err)
{
    struct error fault = { 0 };

    if (dataset_check_splits(&t->records, &fault) == 0)
        return 0;
    for (int f = SPLIT_VALID; f < SPLITS; f++) {
        int questions = dataset_overlap(&t->records, (enum data_split)f, false),
            databases = dataset_overlap(&t->records, (enum data_split)f, true);
        if (questions || databases)
            log_warn("%s: of %d questions %d stand in train too, and %d are about databases that do",
                     split_name((enum data_split)f), t->records.splits[f].n, questions, databases);
    }
    if (t->set->allow_overlap)
        return 0;
    return error_set(err, fault.code, "%s; --allow-overlap trains on them", fault.text);
}

static int read_labels(const struct gate_trainer *t, struct dataset *d, const char *path, struct error *err)
{
    struct labels_request labels = { .path = path,
                                     .db = t->db,
                                     .format_in = t->format_in,
                                     .label_field = t->label_field,
                                     .seed = (int64_t)t->run.set.seed };

    return labels_read(d, &labels, err);
}

static int join_labels(struct gate_trainer *t, struct error *err)
{
    struct dataset labels = { 0 };
    int rc = read_labels(t, &labels, t->labels, err) || dataset_join(&t->records, &labels, err);

    dataset_release(&labels);
    return rc ? -1 : 0;
}

/* True if the first line of a file has a mixture's field. */
static bool names_folders(const char *path)
{
    char line[4096] = "";
    FILE *f = fopen(path, "r");
    bool found = f && fgets(line, sizeof line, f) && strstr(line, "\"data\"");

    if (f)
        fclose(f);
    return found;
}

static int read_mixture(struct gate_trainer *t, struct error *err)
{
    if (!names_folders(t->data_folder))
        return error_set(err, EXIT_CODE_USAGE,
                         "%s is no folder of ambit-data contrast or practice; own labels need --db", t->data_folder);
    if (mixture_read(&t->mixture, &t->records, t->data_folder, t->run.set.seed, err))
        return -1;
    for (int i = 0; i < t->mixture.n; i++)
        if (t->mixture.parts[i].left_out)
            log_info("%s: %d questions left out, since an earlier folder has their database, or the question, in "
                     "another split",
                     t->mixture.parts[i].name, t->mixture.parts[i].left_out);
    return 0;
}

static int read_records(struct gate_trainer *t, struct error *err)
{
    struct stat st;

    if (t->labels && !t->db)
        return error_set(err, EXIT_CODE_USAGE, "--labelled %s: expected --db, the databases that they are about",
                         t->labels);
    if (t->db && !t->labels)
        return read_labels(t, &t->records, t->data_folder, err);
    bool file = stat(t->data_folder, &st) == 0 && !S_ISDIR(st.st_mode);
    if (file ? read_mixture(t, err) : dataset_read(&t->records, t->data_folder, err))
        return -1;
    if (t->labels && join_labels(t, err))
        return -1;
    return check_folds(t, err);
}

/* Opens data, model and encoder, with initial weights. */
static int open_trainer(void *trainer, struct error *err)
{
    struct gate_trainer *t = trainer;

    if (check_settings(t, err) || read_records(t, err) || init_model(t, err) || read_examples(t, err) ||
        check_word(t, err))
        return -1;
    gate_scorer_init(&t->scorer, &t->model, &t->run.work, (int)t->set->train.tokens);
    plan_stages(t);
    return load_encoder(t, err);
}

static void close_trainer(void *trainer)
{
    struct gate_trainer *t = trainer;

    state_cache_close(t->cache);
    state_cache_close(t->valid_cache);
    free(t->slots);
    free(t->tokens);
    text_builder_release(&t->text);
    gate_scorer_release(&t->scorer);
    distractor_source_release(&t->appender);
    gate_data_release(&t->data);
    dataset_release(&t->records);
    mixture_release(&t->mixture);
    gate_model_release(&t->model);
    gate_model_release(&t->linked);
}

static bool is_practice(const char *db)
{
    for (int i = 0; practice_domain(i); i++)
        if (strcmp(practice_domain(i)->name, db) == 0)
            return true;
    return false;
}

/* Writes a note about labels that the training data lacked; "" for none. */
static void describe_limits(const struct gate_split *train, char text[GATE_NOTE])
{
    int practice = 0, own = 0, pairs = 0, relevance = 0;

    for (int i = 0; i < train->n; i++) {
        const struct example *e = train->list[i].record;
        practice += e->slice != EXAMPLE_CUSTOM && is_practice(e->source_db);
        own += e->slice == EXAMPLE_CUSTOM;
        pairs += train->list[i].pair >= 0;
        relevance += train->list[i].knows_relevance;
    }
    *text = 0;
    if (practice == train->n)
        snprintf(
            text, GATE_NOTE,
            "this detector learned from made-up practice data alone: it knows little English and "
            "small schemas only; ambit-train gatekeeper makes a better one of a pretrained --encoder and --labelled "
            "of your own");
    else if (own == train->n)
        snprintf(text, GATE_NOTE, "this detector learned from %d labelled questions%s%s", own,
                 pairs ? "" : "; which alternatives it names was not taught",
                 relevance ? "" : "; the relevance of elements was not taught");
}

/* ---- the trainer ---- */

/* Mean average precision over the folders of a mixture, so that small folders count as much as large ones. NAN
 * without folders. */
static double validate_parts(struct gate_trainer *t, const struct gate_answers *a, struct validation *v)
{
    double sum = 0;
    int n = 0;

    for (int i = 0; i < t->mixture.n; i++) {
        struct gate_part_score s = gate_answers_of_part(a, t->mixture.parts[i].name);
        if (!isfinite(s.ap))
            continue;
        v->list[v->n++] = (struct metric){ t->mixture.parts[i].metric, s.ap };
        log_info("%s: AP %.4f, both alternatives named %.3f", t->mixture.parts[i].name, s.ap, s.named);
        sum += s.ap;
        n++;
    }
    return n ? sum / n : NAN;
}

/* The score is average precision: of ambiguity, or of relevance in the relevance stage. If all questions have the
 * same label it is the mean likelihood of the labels. */
static int validate(void *trainer, struct validation *v, struct error *err)
{
    struct gate_trainer *t = trainer;
    enum gate_stage stage = gate_stage(t);
    struct gate_answers a;
    int rc = gate_eval(t, SPLIT_VALID, false, &a, err);

    if (rc)
        return rc;
    double relevance = stats_average_precision(gate_answers_relevance(&a));
    double auc = stats_auc(gate_answers_scored(&a)), nll = stats_nll(gate_answers_scored(&a), 1);
    double score = isfinite(auc) ? stats_average_precision(gate_answers_scored(&a)) : exp(-nll), f1;
    double parts = stage == STAGE_RELEVANCE ? NAN : validate_parts(t, &a, v);
    score = isfinite(parts) ? parts : score;
    stats_best_f1(gate_answers_scored(&a), &f1);
    gate_answers_release(&a);
    if (stage != STAGE_FROZEN && isfinite(relevance))
        v->list[v->n++] = (struct metric){ "valid_relevance_ap", relevance };
    if (stage != STAGE_RELEVANCE)
        v->list[v->n++] = (struct metric){ isfinite(auc) ? "valid_ap" : "valid_likelihood", score };
    v->final = stage != STAGE_RELEVANCE;
    bool by_f1 = v->final && t->set->select == GATE_BY_F1;
    if (by_f1)
        v->list[v->n++] = (struct metric){ "valid_f1", f1 };
    v->score = by_f1 ? f1 : v->final ? score : relevance;
    snprintf(v->text, sizeof v->text, "%s %.4f%s",
             by_f1                        ? "F1"
             : isfinite(auc) || !v->final ? "AP"
                                          : "likelihood",
             v->score, v->final ? "" : " of relevance");
    return 0;
}

/* The source of the first weights. */
static const char *source(const struct gate_trainer *t)
{
    return t->init ? t->init : t->linker ? t->linker : t->encoder ? t->encoder : "from scratch";
}

static void describe(const void *trainer, json_t *meta)
{
    const struct gate_trainer *t = trainer;
    char note[GATE_NOTE];

    describe_limits(&t->data.splits[SPLIT_TRAIN], note);
    if (*note)
        json_object_set_new(meta, "note", json_string(note));
    json_object_set_new(meta, "encoder", json_string(source(t)));
    json_object_set_new(meta, "model", gate_model_to_json(&t->model));
    json_t *validation = gate_validation_json(&t->model);
    if (validation)
        json_object_set_new(meta, "validation", validation);
}

static int save_tokenizer(void *trainer, const char *dir, struct error *err)
{
    const struct gate_trainer *t = trainer;
    return tokenizer_save(t->model.tokenizer, dir, err);
}

/* Without gradients, results are rounded exactly as in ambit-infer. */
static void freeze(struct params *p)
{
    for (int i = 0; i < p->n; i++) {
        p->list[i].t->needs_grad = false;
        p->list[i].t->frozen = true;
    }
}

/* Calibrates on the validation split and evaluates the test split. */
static int finish(void *trainer, struct error *err)
{
    struct gate_trainer *t = trainer;
    struct gate_answers a = { 0 }, hard_negatives = { 0 };

    freeze(&t->model.params);
    if (t->run.n_stages && t->kinds[t->run.n_stages - 1] == STAGE_RELEVANCE) {
        log_info("no classifier was trained: there is nothing to calibrate or to test");
        return 0;
    }
    int rc = gate_eval(t, SPLIT_VALID, false, &a, err);
    if (rc == 0)
        rc = gate_eval(t, SPLIT_VALID, true, &hard_negatives, err);
    if (rc == 0) {
        gate_calibrate(&t->model, &a, &hard_negatives, t->set->false_alarms);
        gate_validation_keep(&t->model, a.logit, a.label, a.n);
    }
    gate_answers_release(&a);
    gate_answers_release(&hard_negatives);
    return rc ? rc : gate_report(t, err);
}

static const char *const same[] = { "encoder", NULL };

static const struct trainer gatekeeper = {
    .kind = "gatekeeper",
    .part = "step",
    .lowest = -1,
    .same = same,
    .open = open_trainer,
    .close = close_trainer,
    .enter_stage = start_stage,
    .prepare = prepare_states,
    .step = gate_step,
    .measure = gate_measure_step,
    .validate = validate,
    .describe = describe,
    .save_beside = save_tokenizer,
    .finish = finish,
};

void gate_trainer_init(struct gate_trainer *t, const struct gate_request *q)
{
    *t = (struct gate_trainer){
        .set = &q->settings,
        .data_folder = q->data,
        .labels = q->labels,
        .db = q->db,
        .format_in = q->format_in,
        .label_field = q->label_field,
        .encoder = q->encoder,
        .init = q->init,
        .linker = q->linker,
        .states = q->states,
    };
    t->run = (struct run){ .trainer = &gatekeeper, .self = t };
    t->run.set = RUN_SETTINGS(q, gate_request_table);
}

int gate_train(const struct gate_request *q, struct error *err)
{
    struct gate_trainer t;

    gate_trainer_init(&t, q);
    return run_train(&t.run, err);
}
