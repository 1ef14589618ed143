#include "train/detector/gate_step.h"

#include "train/detector/state_cache.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double FOLDER_WEIGHT = 1; /* max weight of a data folder's question in the linguistic losses */

/* Argument of a step_fn: one batch. */
struct gate_step {
    struct gate_trainer *trainer;
    enum gate_stage stage;
    struct gate_item *items;         /* questions of the batch; none in the relevance stage */
    const struct gate_form **forms;  /* schema of each */
    struct gate_distractors **wider; /* [n_questions] distractor tables; NULL where a question has none */
    int n_items, n_questions;        /* n_items: so far; n_questions: of the whole batch */
    float *target;                   /* F32 [items] ambiguous, or [pairs] relevant in the relevance stage */
    int n_target;
    float *pair_target;       /* F32 [candidate pairs] */
    float *duplicates_target; /* F32 [candidate pairs] */
    float *relevance_target;  /* F32 [nodes] */
    /* Weights of these targets; 0: unknown. */
    float *weight, *pair_weight, *duplicates_weight, *relevance_weight;
    float *linguistic_target, *linguistic_weight; /* F32 [items, LINGUISTIC_TYPES] */
    int n_pairs, n_nodes;
    const float *states;     /* frozen stage: [nodes, C] */
    struct gate_sizes sizes; /* padded sizes */
};

/* Random choices depend on the seed and the batch's position only. */
static struct rng batch_rng(const struct gate_trainer *t)
{
    const struct run_state *x = &t->run.state;
    uint64_t key[4] = { t->run.set.seed, (uint64_t)x->stage, (uint64_t)x->epoch, (uint64_t)x->batch };

    return (struct rng){ .seed = hash_bytes(HASH_START, key, sizeof key) };
}

/* Chooses the schema of a question: its own, or sometimes a renamed one. Cached states exist for the former only. */
static const struct gate_form *choose_form(const struct gate_step *s, const struct gate_example *e, struct rng *rng)
{
    bool renamed = rng_uniform(rng) < (float)s->trainer->set->renamed;
    bool own = !renamed || e->n_forms == 1 || s->stage == STAGE_FROZEN;
    return &e->forms[own ? 0 : 1 + rng_below(rng, (uint32_t)e->n_forms - 1)];
}

/* Adds distractor tables to some of the questions; else returns the form itself. */
static const struct gate_form *add_distractors(const struct gate_step *s, const struct gate_example *e,
                                               const struct gate_form *form, struct rng *rng,
                                               struct gate_distractors **wider)
{
    const struct gate_trainer *t = s->trainer;
    uint64_t draw;
    bool turn;

    *wider = NULL;
    if (t->appender.share <= 0)
        return form;
    if (s->stage == STAGE_FROZEN) {
        turn = gate_distractors_fixed(&t->appender, e, &draw);
    } else {
        turn = rng_uniform(rng) < (float)t->appender.share;
        draw = (uint64_t)rng_u32(rng) << 32;
        draw |= rng_u32(rng);
    }
    if (turn)
        *wider = gate_distractors_new(&t->appender, e, form, draw);
    return *wider ? &(*wider)->form : form;
}

/* Samples an element that no gold statement uses: of similar name or in the same table if `hard`, else any. -1:
 * none. */
static int draw_negative(const struct gate_example *e, int positive, bool hard, struct rng *rng)
{
    const struct schema_input *in = e->item.schema;
    int table = schema_input_table(in, positive), chosen = -1;
    uint32_t seen = 0;

    for (int node = 0; node < in->n_nodes; node++) {
        if (e->relevant[node])
            continue;
        if (hard && schema_input_table(in, node) != table && !schema_input_similar(in, node, positive))
            continue;
        if (rng_below(rng, ++seen) == 0) /* reservoir sampling of one */
            chosen = node;
    }
    return chosen < 0 && hard ? draw_negative(e, positive, false, rng) : chosen;
}

static void add_pair(struct gate_step *s, const struct gate_item *item, int node, float target)
{
    text_add_element(&s->trainer->text, item, node);
    s->target[s->n_target++] = target;
}

static void fill(float *x, int n, float value)
{
    for (int i = 0; i < n; i++)
        x[i] = value;
}

/* Samples the pairs of one slot. Pairs are added only if the slot is in this rank's partition. Returns their number. */
static int add_slot(struct gate_step *s, const struct relevant_slot *slot, bool own, struct rng *rng)
{
    const struct gate_trainer *t = s->trainer;
    const struct gate_example *e = &t->data.splits[SPLIT_TRAIN].list[slot->example];
    struct gate_item item = e->item;
    int n = 1;

    item.schema = choose_form(s, e, rng)->schema;
    if (own)
        add_pair(s, &item, slot->node, 1);
    for (int k = 0; k < (int)t->set->negatives; k++) {
        int node = draw_negative(e, slot->node, rng_u32(rng) & 1, rng);
        if (node >= 0 && own)
            add_pair(s, &item, node, 0);
        n += node >= 0;
    }
    return n;
}

/* Samples for all slots of the batch, so that the samples of one slot do not depend on the ranks. Pairs of this
 * rank's partition are added. */
static void init_relevance(struct gate_step *s, const struct batch_partition *b)
{
    struct gate_trainer *t = s->trainer;
    struct rng rng = batch_rng(t);
    int negatives = (int)t->set->negatives, n = b->end - b->first, pairs = 0;

    s->target = xmalloc((size_t)(n * (1 + negatives)) * sizeof *s->target);
    s->weight = xmalloc((size_t)(n * (1 + negatives)) * sizeof *s->weight);
    for (int i = 0; i < b->n; i++)
        pairs += add_slot(s, &t->slots[b->examples[i]], i >= b->first && i < b->end, &rng);
    fill(s->weight, s->n_target, 1.0f / (float)pairs);
}

/* Losses are means over the questions of the batch. */
static float weight_of(const struct gate_step *s, double weight)
{
    return (float)weight / (float)s->n_questions;
}

/* A clear question is a negative for all linguistic types. An ambiguous one is known for its own type only;
 * linguistic types are exclusive (Saparina and Lapata 2024, section 3). A data folder's questions were not checked
 * for linguistic ambiguity ("the singers of each country" has scope ambiguity), so they weigh little. */
static void add_kinds(struct gate_step *s, const struct example *e, int item)
{
    bool known = !e->ambiguous || e->linguistic != LINGUISTIC_NONE;
    double own = s->trainer->set->linguistic_weight,
           weight = e->slice == EXAMPLE_CUSTOM ? own : fmin(own, FOLDER_WEIGHT);

    for (int k = 0; k < LINGUISTIC_TYPES; k++) {
        int at = item * LINGUISTIC_TYPES + k;
        s->linguistic_target[at] = e->ambiguous && (int)e->linguistic == k + 1;
        s->linguistic_weight[at] = known ? weight_of(s, weight) : 0;
    }
}

static struct gate_item item_on(const struct gate_example *e, const struct gate_form *form)
{
    struct gate_item item = form->appended ? gate_distractors_item(e, form->appended) : e->item;

    item.schema = form->schema;
    return item;
}

static void add_question(struct gate_step *s, const struct gate_example *e, const struct gate_form *form)
{
    bool other = s->trainer->model.net.config.linguistic && e->record->linguistic != LINGUISTIC_NONE;
    bool lost = e->pair >= 0 && form->pair < 0; /* distractors displaced the true pair: no candidate is meant */

    add_kinds(s, e->record, s->n_items);
    s->items[s->n_items++] = item_on(e, form);
    s->forms[s->n_target] = form;
    s->weight[s->n_target] = lost || (other && e->record->ambiguous) ? 0 : weight_of(s, 1);
    s->target[s->n_target++] = e->record->ambiguous;
    for (int i = 0; i < form->schema->n_nodes; i++) {
        s->relevance_weight[s->n_nodes] = e->knows_relevance ? weight_of(s, s->trainer->set->relevance_weight) : 0;
        int own = gate_form_own(form, e, i);
        s->relevance_target[s->n_nodes++] = own >= 0 && e->relevant[own];
    }
}

/* A custom label that names two elements does not say that other pairs are not duplicated. */
static void add_pair_target(struct gate_step *s, const struct gate_example *e, int item, int p)
{
    const struct gate_form *form = s->forms[item];
    const struct schema_pair *pair = &form->schema->pairs[p];
    bool duplicates = gate_form_duplicated(form, e, pair->u, pair->v), lost = e->pair >= 0 && form->pair < 0;

    bool knows_duplicates = duplicates || e->record->slice != EXAMPLE_CUSTOM;
    s->pair_weight[s->n_pairs] = e->knows_pairs && !lost ? weight_of(s, s->trainer->set->pair_weight) : 0;
    s->duplicates_weight[s->n_pairs] = knows_duplicates ? weight_of(s, s->trainer->set->duplicates_weight) : 0;
    s->pair_target[s->n_pairs] = s->target[item] > 0 && gate_form_meant(form, e, p);
    s->duplicates_target[s->n_pairs++] = duplicates;
}

static void add_pair_targets(struct gate_step *s, const int *batch)
{
    const struct gate_split *split = &s->trainer->data.splits[SPLIT_TRAIN];
    size_t n = 0;

    for (int i = 0; i < s->n_items; i++)
        n += (size_t)s->items[i].schema->n_pairs;
    s->pair_target = xmalloc(n * sizeof *s->pair_target);
    s->duplicates_target = xmalloc(n * sizeof *s->duplicates_target);
    s->pair_weight = xmalloc(n * sizeof *s->pair_weight);
    s->duplicates_weight = xmalloc(n * sizeof *s->duplicates_weight);
    for (int i = 0; i < s->n_items; i++)
        for (int p = 0; p < s->items[i].schema->n_pairs; p++)
            add_pair_target(s, &split->list[batch[i]], i, p);
}

/* Adds each question with its schema as one sequence, or each element as a sequence. */
static void add_texts(struct gate_step *s, const struct gate_item *items, const struct batch_partition *b,
                      struct rng *rng)
{
    struct gate_trainer *t = s->trainer;

    for (int i = 0; i < b->n; i++) {
        bool own = i >= b->first && i < b->end;
        if (t->model.net.config.encode != ENCODE_SCHEMA)
            for (int node = 0; own && node < items[i].schema->n_nodes; node++)
                text_add_element(&t->text, &items[i], node);
        else if (own)
            text_add_schema(&t->text, &items[i], t->set->shuffle_schema ? rng : NULL);
        else if (t->set->shuffle_schema)
            text_skip_schema(&items[i], rng);
    }
}

/* Chooses the forms of all questions of the batch. Returns the number of elements in this rank's partition. */
static size_t choose_forms(struct gate_step *s, const struct batch_partition *b, const struct gate_form **forms,
                           struct rng *rng)
{
    size_t nodes = 0;

    s->n_questions = b->n;
    s->wider = xcalloc((size_t)b->n, sizeof *s->wider);
    for (int i = 0; i < b->n; i++) {
        const struct gate_example *e = &s->trainer->data.splits[SPLIT_TRAIN].list[b->examples[i]];
        forms[i] = add_distractors(s, e, choose_form(s, e, rng), rng, &s->wider[i]);
        if (i >= b->first && i < b->end)
            nodes += (size_t)forms[i]->schema->n_nodes;
    }
    return nodes;
}

static void make_room(struct gate_step *s, size_t n, size_t nodes)
{
    s->items = xmalloc(n * sizeof *s->items);
    s->target = xmalloc(n * sizeof *s->target);
    s->weight = xmalloc(n * sizeof *s->weight);
    s->forms = xmalloc(n * sizeof *s->forms);
    s->linguistic_target = xmalloc(n * LINGUISTIC_TYPES * sizeof *s->linguistic_target);
    s->linguistic_weight = xmalloc(n * LINGUISTIC_TYPES * sizeof *s->linguistic_weight);
    s->relevance_target = xmalloc(nodes * sizeof *s->relevance_target);
    s->relevance_weight = xmalloc(nodes * sizeof *s->relevance_weight);
}

static void init_questions(struct gate_step *s, const struct batch_partition *b)
{
    struct gate_trainer *t = s->trainer;
    const int *batch = b->examples + b->first;
    int n = b->end - b->first;
    struct rng rng = batch_rng(t);
    const struct gate_form **forms = xmalloc((size_t)b->n * sizeof *forms);
    struct gate_item *all = xmalloc((size_t)b->n * sizeof *all);

    make_room(s, (size_t)n, choose_forms(s, b, forms, &rng));
    for (int i = 0; i < b->n; i++) {
        const struct gate_example *e = &t->data.splits[SPLIT_TRAIN].list[b->examples[i]];
        all[i] = item_on(e, forms[i]);
        if (i >= b->first && i < b->end)
            add_question(s, e, forms[i]);
    }
    add_pair_targets(s, batch);
    if (s->stage == STAGE_FROZEN)
        s->states = state_cache_gather(t->cache, batch, n);
    else
        add_texts(s, all, b, &rng);
    free(all);
    free(forms);
}

static void release(struct gate_step *s)
{
    for (int i = 0; s->wider && i < s->n_questions; i++)
        gate_distractors_free(s->wider[i]);
    free(s->wider);
    free(s->items);
    free(s->forms);
    free(s->target);
    free(s->pair_target);
    free(s->duplicates_target);
    free(s->relevance_target);
    free(s->weight);
    free(s->pair_weight);
    free(s->duplicates_weight);
    free(s->relevance_weight);
    free(s->linguistic_target);
    free(s->linguistic_weight);
}

/* n floats, padded with zeros to the length of the logits. */
static struct tensor *vector(struct ctx *c, const float *values, int n, const struct tensor *logits)
{
    int64_t padded = tensor_size(logits);
    return op_reshape(c, batch_f32_padded(c, values, n, padded, 1, F32), 1, &padded);
}

static struct tensor *loss_of(struct ctx *c, struct tensor *logits, const float *target, const float *weight, int n,
                              float pos_weight)
{
    struct tensor *t = vector(c, target, n, logits);
    return op_bce(c, logits, t, vector(c, weight, n, logits), pos_weight, 1);
}

/* Relevance loss of n elements. */
static struct tensor *relevance_term(struct ctx *c, const struct gate_step *s, struct tensor *logits,
                                     const float *target, const float *weight, int n)
{
    if (s->trainer->set->relevance_loss == RELEVANCE_MSE)
        return gatekeeper_squared_error(c, logits, vector(c, target, n, logits), vector(c, weight, n, logits));
    return loss_of(c, logits, target, weight, n, 1);
}

static struct tensor *add_loss(struct ctx *c, struct tensor *sum, struct tensor *loss)
{
    return sum ? op_add(c, sum, loss) : loss;
}

static struct tensor *relevance_loss(struct ctx *c, const struct gate_step *s)
{
    const struct gatekeeper *g = &s->trainer->model.net;
    struct gate_text text;

    gate_text_build(c, &s->trainer->text, &g->config.bert, &text);
    struct tensor *logits = gatekeeper_relevance(c, g, gatekeeper_states(c, g, &text));
    return relevance_term(c, s, logits, s->target, s->weight, s->n_target);
}

/* In the compute type, as the encoder wrote them. */
static struct tensor *cached_states(struct ctx *c, const struct gate_step *s, int64_t nodes)
{
    const struct gatekeeper *g = &s->trainer->model.net;
    return batch_f32_padded(c, s->states, s->n_nodes, nodes, g->config.bert.hidden_size, g->relevance_w->dtype);
}

static struct tensor *encoded_states(struct ctx *c, const struct gate_step *s)
{
    const struct gatekeeper *g = &s->trainer->model.net;
    struct gate_text text;

    gate_text_build(c, &s->trainer->text, &g->config.bert, &text);
    return gatekeeper_states(c, g, &text);
}

/* Pair losses: the pair that makes the question ambiguous, and all duplicated pairs. */
static struct tensor *pair_loss(struct ctx *c, const struct gate_step *s, const struct gate_scores *scores)
{
    struct tensor *loss = loss_of(c, scores->pair, s->pair_target, s->pair_weight, s->n_pairs, 1);

    return op_add(c, loss, loss_of(c, scores->duplicates, s->duplicates_target, s->duplicates_weight, s->n_pairs, 1));
}

static struct tensor *linguistic_loss(struct ctx *c, const struct gate_step *s, struct tensor *logits)
{
    int64_t n = tensor_size(logits);

    logits = op_reshape(c, logits, 1, &n);
    return loss_of(c, logits, s->linguistic_target, s->linguistic_weight, s->n_items * LINGUISTIC_TYPES, 1);
}

/* Mean over questions; sums over elements for relevance, and over candidate pairs for pair losses. */
static struct tensor *question_loss(struct ctx *c, const struct gate_step *s)
{
    const struct gate_settings *set = s->trainer->set;
    const struct gatekeeper *g = &s->trainer->model.net;
    bool frozen = s->stage == STAGE_FROZEN;
    struct tensor *loss = NULL;
    struct gate_graph graph;

    gate_graph_build(c, s->items, s->n_items, &g->config, &graph);
    struct tensor *x = frozen ? cached_states(c, s, graph.graph.nodes) : encoded_states(c, s);
    if (set->relevance_weight > 0 && (!frozen || s->trainer->stock))
        loss =
            relevance_term(c, s, gatekeeper_relevance(c, g, x), s->relevance_target, s->relevance_weight, s->n_nodes);
    struct gate_scores scores = gatekeeper_classify(c, g, x, &graph);
    loss = add_loss(c, loss, loss_of(c, scores.score, s->target, s->weight, s->n_target, (float)set->pos_weight));
    if (scores.linguistic)
        loss = op_add(c, loss, linguistic_loss(c, s, scores.linguistic));
    return scores.pair ? op_add(c, loss, pair_loss(c, s, &scores)) : loss;
}

static void run_step_of(struct ctx *c, void *step)
{
    struct gate_step *s = step;
    struct tensor *loss = s->stage == STAGE_RELEVANCE ? relevance_loss(c, s) : question_loss(c, s);
    struct destination total = { s->trainer->run.loss_total, true };

    RUN(c, accumulate, total, loss);
    tape_backward(c, loss);
}

/* Fills the step and the trainer's text builder for the current batch. */
static void init(struct gate_step *s, struct gate_trainer *t)
{
    struct batch_partition b = run_batch(&t->run);

    *s = (struct gate_step){ .trainer = t, .stage = gate_stage(t) };
    text_builder_reset(&t->text, &t->model.layout);
    if (s->stage == STAGE_RELEVANCE)
        init_relevance(s, &b);
    else
        init_questions(s, &b);
    s->sizes = gate_sizes_of(s->items, s->n_items);
    if (!t->run.work.ctx.buckets)
        return;
    s->sizes = gate_sizes_padded(s->sizes);
    if (t->text.n_nodes)
        text_builder_pad(&t->text, s->items ? s->sizes.nodes : gate_nodes_padded(t->text.n_nodes));
}

int gate_step(void *trainer, struct error *err)
{
    struct gate_trainer *t = trainer;
    struct gate_step s;

    init(&s, t);
    int rc = workspace_step(&t->run.work, run_step_of, &s, err);
    release(&s);
    return rc;
}

static struct extent extent_of(const struct gate_step *s)
{
    const struct text_builder *text = &s->trainer->text;
    const struct gate_sizes *n = &s->sizes;

    return (struct extent){ { text->tokens.n, text->lengths.n, text->rows.n, n->items, n->nodes, n->pairs, n->edges } };
}

/* The frozen stage needs little memory, and its states do not exist yet. */
void gate_measure_step(void *trainer, struct measurement *m)
{
    struct gate_trainer *t = trainer;
    struct gate_step s;

    if (gate_in_stage(t, STAGE_FROZEN))
        return;
    init(&s, t);
    struct extent e = extent_of(&s);
    measurement_add(m, &e, run_step_of, &s);
    release(&s);
}
