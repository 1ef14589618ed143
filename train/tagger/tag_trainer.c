#include "train/tagger/tag_trainer.h"

#include "data/base/log.h"
#include "data/base/option_rows.h"
#include "data/base/stop.h"
#include "data/span/span_count.h"
#include "kernels/kernels.h"
#include "kernels/rng.h"
#include "models/hf/hf_weights.h"
#include "models/io/model_folder.h"
#include "train/tagger/tag_data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct tag_training tag_request_defaults = {
    .device = "auto",
    .seed = 1,
    .settings = {
        .train = TRAIN_TAGGER,
        .scratch = ENCODER_DEFAULTS,
        .hidden = 384,
        .compute = TAG_BF16,
        .dropout = 0.3,
        .grounding = GROUND_SPANS,
        .concept_weight = 1,
        .grounding_weight = 1,
        .meaning_weight = 1,
        .tags_weight = 1,
        .grounding_from = 0.1,
        .grounding_to = 0.3,
        .tags_from = 0,
        .tags_to = 0.1,
        .head_lr = 1e-3,
        .replay = TAG_REPLAY,
        .max_valid = 2000,
    },
};

/* DTE as published (Wang et al. 2023, section 5.1): batches of 35, heads at 1e-4, 100,000 steps in three phases. The
 * phases' borders, the encoder's rate, the warm-up and the smoothing are those of the published code, whose 15,000
 * steps have the phases 0-5,000, 5,000-10,000 and 10,000-15,000. The paper has no loss on the meanings of spans. */
static const char dte[] = "supervision: sql\n"
                          "grounding: erase\n"
                          "hidden: 384\n"
                          "dropout: 0.3\n"
                          "smoothing: 0.05\n"
                          "concept-weight: 1\n"
                          "grounding-weight: 1\n"
                          "meaning-weight: 0\n"
                          "tags-weight: 1\n"
                          "grounding-from: 0.33333\n"
                          "grounding-to: 0.66667\n"
                          "tags-from: 0.66667\n"
                          "tags-to: 1\n"
                          "batch: 35\n"
                          "steps: 100000\n"
                          "lr: 2e-5\n"
                          "head-lr: 1e-4\n"
                          "warmup: 0.02\n"
                          "weight-decay: 0\n"
                          "max-grad-norm: 1\n"
                          "eval-every: 1000\n";

const struct preset tag_presets[] = { { "dte", dte }, { 0 } };

#define AT(field) offsetof(struct tag_training, settings.field)

#define HERE(field) offsetof(struct tag_training, field)

const struct option tag_request_table[] = {
    STRING_OPTION("data", HERE(data), "DIR|FILE", "folder of ambit-data counterfactual; with --init also a file",
                  .required = true, .group = "input"),
    INT_OPTION("max-train", AT(max_train), "N", 0, 1 << 30, "training records of an epoch, 0: all"),
    INT_OPTION("max-valid", AT(max_valid), "N", 1, 1 << 30, "maximum number of records of a validation"),
    OUT_OPTION(HERE(out), "DIR", "folder of checkpoints and the model", .required = true),
    OPTION_ROW(OPTION_CONFIG, "config", HERE(config), .value = "F.yaml", .help = CONFIG_HELP, .letter = 'c',
               .group = "settings"),
    PRESET_OPTION("preset", HERE(preset), "NAME", "dte", "settings of a publication"),
    STRING_OPTION("encoder", HERE(encoder), "HF_DIR", "pretrained BERT (default: a new encoder)", .group = "model"),
    STRING_OPTION("init", HERE(init), "RUN", "trained tagger to continue from"),
    INT_OPTION("replay-records", AT(replay), "N", 0, TAG_REPLAY, "training records of --init to replay"),
    FLAG_OPTION("heads-only", AT(heads_only), "freeze the encoder"),
    INT_OPTION("hidden", AT(hidden), "N", 8, 4096, "channels of concepts and words in the heads"),
    REAL_OPTION("dropout", AT(dropout), "P", 0, 0.9, "dropout of the heads"),
    CHOICE_OPTION("compute", AT(compute), "TYPE", "bf16|f32", "type of the network's products"),
    FLAG_OPTION("published", AT(published), "the seven tags of the published code, without begin and inside"),
    ENCODER_OPTIONS(AT(scratch)),
    TRAIN_OPTIONS(1),
    INT_OPTION("steps", AT(steps), "N", 0, 1 << 30, "optimizer steps, rounded up to whole passes, 0: see --epochs"),
    REAL_OPTION("head-lr", AT(head_lr), "X", 1e-9, 1, "peak learning rate of heads and CRF"),
    INT_OPTION("tokens", AT(train.tokens), "N", 512, 1 << 24,
               "maximum number of tokens encoded at once outside training"),
    CHOICE_OPTION("supervision", AT(supervision), "BY", "spans|sql",
                  "labels: marked words, or the concepts of each question's SQL", .group = "losses"),
    REAL_OPTION("smoothing", AT(smoothing), "X", 0, 0.5, "label smoothing of concepts"),
    CHOICE_OPTION("grounding", AT(grounding), "HOW", "spans|erase|none", "source of the grounding weights"),
    REAL_OPTION("concept-weight", AT(concept_weight), "X", 0, 1e3, "weight of the concept loss"),
    REAL_OPTION("grounding-weight", AT(grounding_weight), "X", 0, 1e3, "weight of the grounding loss"),
    REAL_OPTION("meaning-weight", AT(meaning_weight), "X", 0, 1e3, "weight of the loss on the meanings of spans"),
    REAL_OPTION("tags-weight", AT(tags_weight), "X", 0, 1e3, "weight of the tag loss"),
    REAL_OPTION("grounding-from", AT(grounding_from), "X", 0, 1,
                "fraction of the steps after which the grounding weight rises from 0"),
    REAL_OPTION("grounding-to", AT(grounding_to), "X", 0, 1,
                "fraction of the steps after which the grounding weight is full"),
    REAL_OPTION("tags-from", AT(tags_from), "X", 0, 1, "fraction of the steps after which the tag weight rises from 0"),
    REAL_OPTION("tags-to", AT(tags_to), "X", 0, 1, "fraction of the steps after which the tag weight is full"),
    RUN_OPTIONS,
    { 0 },
};

/* ---- opening ---- */

static struct dte_spec spec_of(const struct tag_settings *s, const struct bert_config *bert)
{
    return (struct dte_spec){
        .config = { .bert = *bert, .hidden = (int)s->hidden, .published = s->published, .dropout = (float)s->dropout },
        .dtype = s->compute == TAG_BF16 ? BF16 : F32,
        .temperature = 1
    };
}

/* A new encoder, with a vocabulary of the training questions and their columns. */
static struct tokenizer *scratch_encoder(const struct tag_trainer *t, struct bert_config *bert, struct error *err)
{
    const struct span_record_list *train = &t->data.splits[SPLIT_TRAIN].records;
    const char **texts = NULL;
    int n = 0, cap = 0;

    for (int i = 0; i < train->n; i++) {
        const struct span_record *r = &train->items[i];
        GROW(texts, n, cap);
        texts[n++] = r->question;
        for (int k = 0; k < r->n_columns; k++) {
            GROW(texts, n, cap);
            texts[n++] = r->columns[k].name;
        }
    }
    struct tokenizer *tokenizer = encoder_from_scratch(&t->set->scratch, texts, n, DTE_UNUSED, bert, err);
    free(texts);
    return tokenizer;
}

static int new_model(struct tag_trainer *t, struct error *err)
{
    const struct tag_training *q = t->request;
    struct bert_config bert;
    struct tokenizer *tokenizer =
        q->encoder ? encoder_from_folder(q->encoder, 1, &bert, err) : scratch_encoder(t, &bert, err);
    int kept = 0;

    if (!tokenizer)
        return -1;
    if (bert.kind != CLASSIC_BERT) {
        tokenizer_close(tokenizer);
        return error_set(err, EXIT_CODE_CHECKPOINT,
                         "%s: config.json: model_type: expected \"bert\", which a tagger reads by", q->encoder);
    }
    struct dte_spec spec = spec_of(t->set, &bert);
    if (dte_model_init(&t->model, &t->run.device, &spec, run_optimizer(&t->run, OPTIMIZER_ADAMW), tokenizer, err))
        return -1;
    params_init(&t->model.params, &t->run.device, t->run.set.seed);
    if (!q->encoder)
        return 0;
    return hf_weights_load(&t->model.params, &t->run.device, q->encoder, &hf_bert_rules, HF_ENCODER, &kept, err);
}

/* Opens the tagger of --init. Its sizes override the settings. */
static int trained_model(void *trainer, const struct model_file *f, struct device *device, struct error *err)
{
    struct tag_trainer *t = trainer;
    struct dte_spec spec;

    if (dte_spec_from_json(f->model, &spec, f->reader.path, err))
        return -1;
    struct tokenizer *tokenizer = tokenizer_open_encoder(f->dir, spec.config.bert.vocab_size, err);
    if (!tokenizer || dte_model_init(&t->model, device, &spec, run_optimizer(&t->run, OPTIMIZER_ADAMW), tokenizer, err))
        return -1;
    params_init(&t->model.params, device, t->run.set.seed);
    struct params weights = params_without_state(&t->model.params);
    int rc = model_file_load(f, &weights, device, err);
    params_release(&weights);
    return rc ? -1 : tag_data_replay(&t->data, f->dir, (int)t->set->replay, err);
}

static int open_model(struct tag_trainer *t, struct error *err)
{
    struct run *r = &t->run;
    const char *from = t->request->init;

    if (from ? model_file_read(from, "tag", trained_model, t, &r->device, err) : new_model(t, err))
        return -1;
    struct param_arenas arenas = { &t->model.host, &t->model.data, run_optimizer(&t->run, OPTIMIZER_ADAMW) };
    r->params = &t->model.params;
    r->model_bytes = t->model.data.used;
    r->recompute = &t->model.net.bert.checkpointed;
    snprintf(r->hint, sizeof r->hint, "a smaller batch (now %lld) would fit", (long long)t->set->train.batch);
    return run_take(r, &arenas, err);
}

static void tell_data(const struct tag_trainer *t)
{
    const struct tag_split *train = &t->data.splits[SPLIT_TRAIN];

    for (enum data_split f = 0; f < SPLITS; f++)
        log_info("%s: %d records", split_name(f), t->data.splits[f].own);
    if (train->records.n > train->own)
        log_info("replay: %d records of %s", train->records.n - train->own, t->request->init);
    if (train->wide)
        log_info("%d training records left out: their columns do not fit into one sequence", train->wide);
    if (!t->data.splits[SPLIT_VALID].n)
        log_info("no validation records: temperature and threshold stay those of %s, and the last weights are taken",
                 t->request->init);
}

/* Whether some training record has the concepts of its SQL, which then teach the keywords. */
static bool has_sql(const struct tag_trainer *t)
{
    const struct span_record_list *train = &t->data.splits[SPLIT_TRAIN].records;

    for (int i = 0; i < train->n; i++)
        if (train->items[i].has_sql)
            return true;
    return false;
}

static int check_supervision(const struct tag_trainer *t, struct error *err)
{
    const struct span_record_list *train = &t->data.splits[SPLIT_TRAIN].records;

    for (int i = 0; i < train->n && t->set->supervision == SUPERVISED_BY_SQL; i++)
        if (!train->items[i].has_sql)
            return error_set(err, EXIT_CODE_DATA,
                             "%s: record %d (id %s): expected the field \"concepts\" with the concepts of its SQL; "
                             "--supervision spans learns from marked words alone",
                             t->request->data, i + 1, train->items[i].id);
    return 0;
}

static void close_trainer(void *trainer)
{
    struct tag_trainer *t = trainer;

    free(t->tokens);
    tag_data_release(&t->data);
    dte_model_release(&t->model);
}

/* Example numbers. With replay, own examples are repeated until they are a quarter. */
static int *make_pool(const struct tag_split *f, int *n)
{
    int own = 0, *pool;

    while (own < f->n && f->list[own].record < f->records.items + f->own)
        own++;
    int times = own && (f->n - own) / 3 > own ? (f->n - own) / 3 / own : 1;
    pool = xmalloc((size_t)(*n = f->n + own * (times - 1)) * sizeof *pool);
    for (int i = 0; i < *n; i++)
        pool[i] = i < own * times ? i % own : i - own * (times - 1);
    return pool;
}

static void count_tokens(struct tag_trainer *t)
{
    const struct tag_split *train = &t->data.splits[SPLIT_TRAIN];

    t->tokens = xrealloc(t->tokens, (size_t)(train->n + 1) * sizeof *t->tokens);
    for (int i = 0; i < train->n; i++)
        t->tokens[i] = train->list[i].item.windows[0].tokens.count;
    t->run.sampler.tokens = t->tokens;
}

static void make_sampler(struct tag_trainer *t)
{
    int n, *pool = make_pool(&t->data.splits[SPLIT_TRAIN], &n);
    struct rng rng = { .seed = t->run.set.seed ^ UINT64_C(0x746167) };

    rng_shuffle(&rng, pool, n, sizeof *pool);
    if (t->set->max_train && t->set->max_train < n)
        n = (int)t->set->max_train;
    sampler_release(&t->run.sampler);
    sampler_init(&t->run.sampler, t->run.set.seed, pool, n, (int)t->set->train.batch);
    count_tokens(t);
    free(pool);
}

/* Opens data, model and encoder, with initial weights. */
static int open_trainer(void *trainer, struct error *err)
{
    struct tag_trainer *t = trainer;

    if (tag_data_read(&t->data, t->request->data, t->request->init != NULL, err) || open_model(t, err) ||
        check_supervision(t, err) || dte_tagger_init(&t->tagger, &t->model, &t->run.work, t->set->train.tokens, err) ||
        tag_data_pack(&t->data, &t->tagger.layout, err))
        return -1;
    t->run.data_hash = t->data.hash;
    t->model.spec.keywords |= has_sql(t);
    make_sampler(t);
    if (t->set->steps)
        t->stage.epochs = (t->set->steps + run_batches(&t->run) - 1) / run_batches(&t->run);
    tell_data(t);
    return 0;
}

static bool in_encoder(const struct param *p)
{
    return strncmp(p->name, "bert.", 5) == 0;
}

/* Gradients are zero between steps, whatever the memory held. A fresh run starts without moments. */
static void start_params(struct tag_trainer *t, bool fresh)
{
    for (int i = 0; i < t->model.params.n; i++) {
        struct param *p = &t->model.params.list[i];
        struct tensor *all[] = { p->t->grad, p->state[0], p->state[1] };
        p->t->needs_grad = !t->set->heads_only || !in_encoder(p);
        p->lr_scale = in_encoder(p) ? 1 : (float)(t->set->head_lr / t->set->train.lr);
        for (int k = 0; k < (fresh ? ARRAY_LEN(all) : 1); k++)
            t->run.device.driver->kernels->fill(&t->run.work.ctx, all[k], 0.0f);
    }
}

static int start_stage(void *trainer, bool fresh, struct error *err)
{
    struct tag_trainer *t = trainer;
    const struct tag_settings *set = t->set;

    (void)err;
    make_sampler(t);
    int64_t total = run_stage_steps(&t->run);
    struct schedule schedule = { .lr = (float)set->train.lr,
                                 .warmup = (int64_t)(set->train.warmup * (double)total),
                                 .total = total,
                                 .form = SCHEDULE_LINEAR };
    run_plan(&t->run, schedule, set->train.decay, set->train.clip);
    start_params(t, fresh);
    if (fresh)
        workspace_seed(&t->run.work, t->run.set.seed, 0);
    return 0;
}

/* ---- a step ---- */

/* Argument of a step_fn: one sequence and one target for each example of the batch. */
struct tagger_step {
    struct tag_trainer *trainer;
    struct dte_sequence *sequences;
    struct dte_target *targets;
    const struct dte_target **list;
    struct dte_weights weights;
    int n;
};

/* Rises linearly from 0 to 1 between two fractions of the steps. */
static double rise(double at, double from, double to)
{
    return at >= to ? 1 : at <= from ? 0 : (at - from) / (to - from);
}

struct dte_weights tag_weights(const struct tag_settings *s, double at)
{
    double ground = s->grounding == GROUND_NONE ? 0 : s->grounding_weight;

    return (struct dte_weights){ .concept = s->concept_weight,
                                 .grounding = ground * rise(at, s->grounding_from, s->grounding_to),
                                 .meaning = s->meaning_weight,
                                 .tags = s->tags_weight * rise(at, s->tags_from, s->tags_to) };
}

/* Label smoothing: positive labels of concepts are below 1. */
static void smooth(struct dte_target *t, int concepts, double smoothing)
{
    for (int k = 0; k < concepts; k++)
    t->concept[k] *= (float)(1 - smoothing);
}

static struct dte_supervision supervision_of(const struct tag_trainer *t, const struct span_record *r)
{
    return (struct dte_supervision){ .spans = r->spans,
                                     .n_spans = r->n_spans,
                                     .sql = r->has_sql ? &r->sql : NULL,
                                     .by_sql = t->set->supervision == SUPERVISED_BY_SQL };
}

static void init_target(struct dte_target *target, const struct tag_trainer *t, int example)
{
    const struct tag_example *e = &t->data.splits[SPLIT_TRAIN].list[example];
    struct dte_supervision by = supervision_of(t, e->record);

    dte_target_init(target, &e->item, 0, &by, &t->model.spec.config);
}

/* Of examples [from, end) of the batch. */
static double count_links(const struct tag_trainer *t, const struct batch_partition *b, int from, int end)
{
    double links = 0;

    for (int i = from; i < end; i++) {
        struct dte_target target;
        init_target(&target, t, b->examples[i]);
        links += target.links;
        dte_target_release(&target);
    }
    return links;
}

/* Turns means over a partition into its part of the means over the batch. */
static void share_weights(struct tagger_step *s, const struct batch_partition *b)
{
    double share = (double)s->n / b->n, links = 0;

    for (int i = 0; i < s->n; i++)
        links += s->targets[i].links;
    double others = count_links(s->trainer, b, 0, b->first) + count_links(s->trainer, b, b->end, b->n);
    s->weights.concept *= share;
    s->weights.grounding *= share;
    s->weights.tags *= share;
    s->weights.meaning *= others > 0 ? links / (links + others) : 1;
}

static void init(struct tagger_step *s, struct tag_trainer *t)
{
    struct batch_partition b = run_batch(&t->run);
    int n = b.end - b.first;
    double at = (double)t->run.state.step / (double)run_stage_steps(&t->run);

    *s = (struct tagger_step){ .trainer = t, .n = n, .weights = tag_weights(t->set, at) };
    s->sequences = xcalloc((size_t)n, sizeof *s->sequences);
    s->targets = xcalloc((size_t)n, sizeof *s->targets);
    s->list = xcalloc((size_t)n, sizeof *s->list);
    for (int i = 0; i < n; i++) {
        const int example = b.examples[b.first + i];
        s->sequences[i] = (struct dte_sequence){ .item = &t->data.splits[SPLIT_TRAIN].list[example].item };
        s->list[i] = &s->targets[i];
        init_target(&s->targets[i], t, example);
    }
    share_weights(s, &b);
}

static void release(struct tagger_step *s)
{
    for (int i = 0; i < s->n; i++)
        dte_target_release(&s->targets[i]);
    free(s->sequences);
    free(s->targets);
    free(s->list);
}

/* The example that contains the sequence's item. */
static const struct tag_example *example_of(const struct dte_sequence *s)
{
    return (const struct tag_example *)(const void *)((const char *)s->item - offsetof(struct tag_example, item));
}

/* Grounding by erasure with the current weights: all erased copies of the batch are read at once. */
static int ground_by_erasing(struct tagger_step *s, struct error *err)
{
    struct dte_tagger *tagger = &s->trainer->tagger;
    struct dte_sequences all = { 0 };
    int *first = xmalloc((size_t)(s->n + 1) * sizeof *first);

    for (int i = 0; i < s->n; i++) {
        first[i] = all.n;
        GROW(all.items, all.n, all.cap);
        all.items[all.n++] = s->sequences[i];
        dte_erasures(&all, s->sequences[i].item, 0);
    }
    first[s->n] = all.n;
    struct dte_sizes z = dte_sizes_of(all.items, all.n);
    float *p = xmalloc((size_t)(z.entities + z.sequences * DTE_KEYWORDS) * sizeof *p), *at = p;
    int rc = dte_probabilities(tagger, all.items, all.n, p, err);
    for (int i = 0; i < s->n && rc == 0; i++) {
        const struct tag_example *e = example_of(&s->sequences[i]);
        int concepts = DTE_KEYWORDS + e->item.windows[0].n_entities, runs = first[i + 1] - first[i] - 1;
        float *awake = xmalloc((size_t)concepts * (size_t)e->item.n_words * sizeof *awake);
        dte_awake(awake, &e->item, concepts, at, all.items + first[i] + 1, runs, at + concepts);
        struct dte_supervision by = supervision_of(s->trainer, e->record);
        dte_target_ground(&s->targets[i], &e->item, 0, &by, awake);
        at += (int64_t)concepts * (runs + 1);
        free(awake);
    }
    free(p);
    free(all.items);
    free(first);
    return rc;
}

static void ground_by_spans(struct tagger_step *s)
{
    for (int i = 0; i < s->n; i++) {
        const struct tag_example *e = example_of(&s->sequences[i]);
        struct dte_supervision by = supervision_of(s->trainer, e->record);
        dte_target_ground(&s->targets[i], &e->item, 0, &by, NULL);
    }
}

/* Without marked words, tags of columns and values follow from the network's current links. */
static int link_tags(struct tagger_step *s, struct error *err)
{
    struct dte_reading *readings = xcalloc((size_t)s->n, sizeof *readings);
    const struct dte_item **items = xmalloc((size_t)s->n * sizeof *items);

    for (int i = 0; i < s->n; i++)
        items[i] = s->sequences[i].item;
    int rc = dte_read(&s->trainer->tagger, items, s->n, readings, err);
    for (int i = 0; i < s->n && rc == 0; i++) {
        const struct tag_example *e = example_of(&s->sequences[i]);
        struct dte_supervision by = supervision_of(s->trainer, e->record);
        dte_target_link(&s->targets[i], &readings[i], &by, &s->trainer->model.spec.config);
    }
    for (int i = 0; i < s->n; i++)
        dte_reading_release(&readings[i]);
    free(readings);
    free(items);
    return rc;
}

static void run_step_of(struct ctx *c, void *step)
{
    struct tagger_step *s = step;
    struct tag_trainer *t = s->trainer;
    struct dte_text text;
    struct dte_labels labels;

    dte_text_build(c, s->sequences, s->n, &t->model.spec.config, t->tagger.layout.unk, &text);
    dte_labels_build(c, s->sequences, s->list, s->n, &s->weights, &labels);
    struct tensor *loss = dte_loss(c, &t->model.net, &text, &labels);
    struct destination total = { t->run.loss_total, true };
    RUN(c, accumulate, total, loss);
    tape_backward(c, loss);
}

int tag_step(void *trainer, struct error *err)
{
    struct tag_trainer *t = trainer;
    struct ctx *c = &t->run.work.ctx;
    struct tagger_step s;
    int rc = 0;

    init(&s, t);
    if (t->set->grounding == GROUND_SPANS)
        ground_by_spans(&s);
    else if (s.weights.grounding > 0)
        rc = ground_by_erasing(&s, err);
    if (rc == 0 && t->set->supervision == SUPERVISED_BY_SQL && s.weights.tags > 0)
        rc = link_tags(&s, err);
    for (int i = 0; i < s.n; i++)
        smooth(&s.targets[i], DTE_KEYWORDS + s.sequences[i].item->windows[0].n_entities, t->set->smoothing);
    c->recording = c->training = true;
    if (rc == 0)
        rc = workspace_step(&t->run.work, run_step_of, &s, err);
    release(&s);
    return rc;
}

static void measure_batch(void *trainer, struct measurement *m)
{
    struct tag_trainer *t = trainer;
    struct tagger_step s;

    init(&s, t);
    struct dte_sizes z = dte_sizes_of(s.sequences, s.n);
    struct extent e = { { z.tokens, z.sequences, z.rows, z.words, z.entities, z.pairs, z.meanings } };
    measurement_add(m, &e, run_step_of, &s);
    release(&s);
}

/* ---- evaluation ---- */

enum { EVAL_GROUP = 64 }; /* questions answered at once */

/* Predictions for the first n examples of a split, which the caller releases. 1 when a signal asked to stop. */
static int answer_fold(struct tag_trainer *t, enum data_split split, int n, struct tag_answer *answers,
                       struct error *err)
{
    struct dte_item items[EVAL_GROUP];

    for (int i = 0, some; i < n; i += some) {
        some = n - i < EVAL_GROUP ? n - i : EVAL_GROUP;
        if (stop_requested())
            return 1;
        for (int k = 0; k < some; k++)
            items[k] = t->data.splits[split].list[i + k].item;
        if (dte_tag(&t->tagger, items, some, answers + i, err))
            return -1;
    }
    return 0;
}

static int count_split(struct tag_trainer *t, enum data_split split, int n, struct span_counts *counts,
                       struct error *err)
{
    struct tag_answer *answers = xcalloc((size_t)n + 1, sizeof *answers);
    int rc = answer_fold(t, split, n, answers, err);

    *counts = (struct span_counts){ 0 };
    for (int i = 0; i < n; i++) {
        if (rc == 0)
            span_count(counts, t->data.splits[split].list[i].record, &answers[i]);
        tag_answer_release(&answers[i]);
    }
    free(answers);
    return rc;
}

static double ratio(int64_t part, int64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

static double f1_of(const struct span_counts *n)
{
    double f1 = span_f1(n->label[COUNT_PROBLEM].exact, n->label[COUNT_PROBLEM].gold, n->label[COUNT_PROBLEM].exact,
                        n->label[COUNT_PROBLEM].tagged);
    return isnan(f1) ? 0 : f1;
}

/* The F1 of spans minus twice the false alarm rate on answerable questions. */
static double score_of(const struct span_counts *n)
{
    return f1_of(n) - 2 * ratio(n->alarmed, n->answerable);
}

/* Number of records in a validation. */
static int n_validated(const struct tag_trainer *t)
{
    int n = t->data.splits[SPLIT_VALID].n;
    return n > t->set->max_valid ? (int)t->set->max_valid : n;
}

static int validate_spans(void *trainer, struct validation *v, struct error *err)
{
    struct tag_trainer *t = trainer;
    struct span_counts n;
    if (!n_validated(t))
        return 0;
    int rc = count_split(t, SPLIT_VALID, n_validated(t), &n, err);

    if (rc)
        return rc;
    double f1 = f1_of(&n), alarms = ratio(n.alarmed, n.answerable),
           linked = ratio(n.linked_all[SPAN_AMB], n.linkable[SPAN_AMB]);
    v->list[v->n++] = (struct metric){ "valid_span_f1", f1 };
    v->list[v->n++] = (struct metric){ "valid_alarms", alarms };
    v->list[v->n++] = (struct metric){ "valid_linked", linked };
    v->score = score_of(&n);
    v->final = true;
    snprintf(v->text, sizeof v->text, "span F1 %.4f, alarms %.4f, linked %.4f", f1, alarms, linked);
    return 0;
}

static int report_test(struct tag_trainer *t, struct error *err)
{
    struct span_counts n;
    if (!t->data.splits[SPLIT_TEST].n)
        return 0;
    int rc = count_split(t, SPLIT_TEST, t->data.splits[SPLIT_TEST].n, &n, err);

    if (rc)
        return rc;
    printf("test: %lld AMB and UNK spans, F1 %.4f, alarms of 100 answerable %.2f, both linked %.4f of %lld AMB\n",
           (long long)n.label[COUNT_PROBLEM].gold, f1_of(&n), 100 * ratio(n.alarmed, n.answerable),
           ratio(n.linked_all[SPAN_AMB], n.linkable[SPAN_AMB]), (long long)n.linkable[SPAN_AMB]);
    json_t *metrics = json_pack("{s:f, s:f, s:f}", "span_f1", f1_of(&n), "false_alarms", ratio(n.alarmed, n.answerable),
                                "both_linked", ratio(n.linked_all[SPAN_AMB], n.linkable[SPAN_AMB]));
    rc = run_log_test(&t->run, metrics, err);
    json_decref(metrics);
    return rc;
}

/* ---- calibration ---- */

static const double temperatures[] = { 0.5, 0.7, 0.85, 1, 1.25, 1.6, 2, 2.5, 3.2, 4 };

static const double thresholds[] = { 0, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95 };

static const double ALIKE = 0.01; /* scores closer than this count as equal */

static const double LEAST = 1e-6; /* min probability, so that one mistake does not dominate */

/* Scores of validation records, which are read once and answered by many settings. */
struct valid_readings {
    struct dte_reading *list;
    struct tag_answer *answers; /* by the newest settings */
    int n;
};

static void release_answers(struct valid_readings *r)
{
    for (int i = 0; i < r->n; i++)
        tag_answer_release(&r->answers[i]);
}

static void readings_release(struct valid_readings *r)
{
    release_answers(r);
    for (int i = 0; i < r->n; i++)
        dte_reading_release(&r->list[i]);
    free(r->answers);
    free(r->list);
}

/* Reads the first n validation records. 1 when a signal asked to stop. The caller releases the readings. */
static int read_valid(struct valid_readings *r, struct tag_trainer *t, int n, struct error *err)
{
    const struct dte_item *items[EVAL_GROUP];

    *r = (struct valid_readings){ xcalloc((size_t)n + 1, sizeof *r->list), xcalloc((size_t)n + 1, sizeof *r->answers),
                                  n };
    for (int i = 0, some; i < n; i += some) {
        some = n - i < EVAL_GROUP ? n - i : EVAL_GROUP;
        if (stop_requested())
            return 1;
        for (int k = 0; k < some; k++)
            items[k] = &t->data.splits[SPLIT_VALID].list[i + k].item;
        if (dte_tag_read(&t->tagger, items, some, r->list + i, err))
            return -1;
    }
    return 0;
}

static void answer_valid(struct valid_readings *r, const struct tag_trainer *t)
{
    release_answers(r);
    dte_answer(&t->tagger, r->list, r->n, r->answers);
}

/* Mean negative log-likelihood of the questions' problem labels. */
static double problem_nll(struct valid_readings *r, const struct tag_trainer *t)
{
    double nll = 0;

    answer_valid(r, t);
    for (int i = 0; i < r->n; i++) {
        bool problem = span_record_is_problem(t->data.splits[SPLIT_VALID].list[i].record);
        double p = fmin(fmax(r->answers[i].problem, LEAST), 1 - LEAST);
        nll -= log(problem ? p : 1 - p) / r->n;
    }
    return nll;
}

static double valid_score(struct valid_readings *r, const struct tag_trainer *t)
{
    struct span_counts counts = { 0 };

    answer_valid(r, t);
    for (int i = 0; i < r->n; i++)
        span_count(&counts, t->data.splits[SPLIT_VALID].list[i].record, &r->answers[i]);
    return score_of(&counts);
}

/* Chooses the highest threshold with a score close to the best, because unseen tables cause more false alarms. */
static void choose_threshold(struct valid_readings *r, struct tag_trainer *t)
{
    double scores[ARRAY_LEN(thresholds)], best = -INFINITY;

    for (int i = 0; i < ARRAY_LEN(thresholds); i++) {
        t->tagger.settings.threshold = thresholds[i];
        scores[i] = valid_score(r, t);
        best = fmax(best, scores[i]);
    }
    for (int i = 0; i < ARRAY_LEN(thresholds); i++)
        if (scores[i] >= best - ALIKE)
            t->model.spec.threshold = thresholds[i];
}

static void choose_temperature(struct valid_readings *r, struct tag_trainer *t)
{
    double least = INFINITY;

    t->tagger.settings.threshold = 0;
    for (int i = 0; i < ARRAY_LEN(temperatures); i++) {
        t->tagger.settings.temperature = temperatures[i];
        double nll = problem_nll(r, t);
        if (nll < least) {
            least = nll;
            t->model.spec.temperature = temperatures[i];
        }
    }
    t->tagger.settings.temperature = t->model.spec.temperature;
}

/* Fits temperature and threshold to the first n validation records. 1 when a signal asked to stop. */
static int calibrate(struct tag_trainer *t, int n, struct error *err)
{
    struct dte_decode_settings *s = &t->tagger.settings;
    struct valid_readings r;
    int rc = read_valid(&r, t, n, err);

    if (rc == 0) {
        choose_temperature(&r, t);
        choose_threshold(&r, t);
        s->threshold = t->model.spec.threshold;
        log_info("calibrated on %d validation records: temperature %g, threshold %g", n, s->temperature, s->threshold);
    }
    readings_release(&r);
    return rc;
}

/* ---- the trainer ---- */

static void describe(const void *trainer, json_t *meta)
{
    const struct tag_trainer *t = trainer;
    const struct tag_training *q = t->request;

    json_object_set_new(meta, "encoder", json_string(q->init ? q->init : q->encoder ? q->encoder : "from scratch"));
    json_object_set_new(meta, "model", dte_spec_to_json(&t->model.spec));
}

static int save_beside(void *trainer, const char *dir, struct error *err)
{
    const struct tag_trainer *t = trainer;
    return tokenizer_save(t->model.tokenizer, dir, err) ? -1 : tag_data_save_replay(&t->data, dir, err);
}

/* Calibrates on the validation split and evaluates the test split. */
static int finish(void *trainer, struct error *err)
{
    struct tag_trainer *t = trainer;

    for (int i = 0; i < t->model.params.n; i++) { /* results are then rounded exactly as in ambit-infer */
        t->model.params.list[i].t->needs_grad = false;
        t->model.params.list[i].t->frozen = true;
    }
    int n = n_validated(t), rc = n ? calibrate(t, n, err) : 0;
    return rc ? rc : report_test(t, err);
}

static const char *const same[] = { "encoder", NULL };

static const struct trainer functions = {
    .kind = "tag",
    .part = "step",
    .lowest = -3,
    .same = same,
    .open = open_trainer,
    .close = close_trainer,
    .enter_stage = start_stage,
    .step = tag_step,
    .measure = measure_batch,
    .validate = validate_spans,
    .describe = describe,
    .save_beside = save_beside,
    .finish = finish,
};

int tag_train(const struct tag_training *q, struct error *err)
{
    struct tag_trainer t = { .request = q,
                             .set = &q->settings,
                             .stage = { "train", "training", q->settings.train.epochs } };

    if (q->settings.supervision == SUPERVISED_BY_SQL && q->settings.grounding == GROUND_SPANS)
        return error_set(err, EXIT_CODE_USAGE,
                         "--supervision sql and --grounding spans cannot be used together: expected --grounding erase, "
                         "which needs no marked words");
    if (q->init && q->encoder)
        return error_set(err, EXIT_CODE_USAGE, "--init brings its own encoder: expected no --encoder beside it");
    t.run = (struct run){ .trainer = &functions, .self = &t, .stages = &t.stage, .n_stages = 1 };
    t.run.set = RUN_SETTINGS(q, tag_request_table);
    return run_train(&t.run, err);
}
