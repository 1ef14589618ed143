/* Part of tag_trainer.h: the batches and their losses. */
#include "kernels/kernels.h"
#include "train/tag/tag_trainer_impl.h"

#include <stdlib.h>

/* The argument of a step_fn: one sequence and one target for each example of the batch. */
struct tagger_step {
    struct tag_trainer *trainer;
    struct dte_sequence *sequences;
    struct dte_target *targets;
    const struct dte_target **list;
    struct dte_weights weights;
    int n;
};

/* From 0 to 1 between two shares of the steps. */
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

/* Labels of concepts that are meant stay below 1. */
static void smooth(struct dte_target *t, int concepts, double smoothing)
{
    for (int k = 0; k < concepts; k++)
    t->concept[k] *= (float)(1 - smoothing);
}

static void init_target(struct dte_target *target, const struct tag_trainer *t, int example)
{
    const struct tag_example *e = &t->data.folds[FOLD_TRAIN].list[example];

    dte_target_init(target, &e->item, 0, e->record->spans, e->record->n_spans, &t->model.spec.config);
}

/* Of the examples from..end of the batch. */
static double count_links(const struct tag_trainer *t, const struct batch_part *b, int from, int end)
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

/* Means over a part become its share of the means over the batch. */
static void share_weights(struct tagger_step *s, const struct batch_part *b)
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
    struct batch_part b = run_batch(&t->run);
    int n = b.end - b.first;
    double at = (double)t->run.state.step / (double)run_stage_steps(&t->run);

    *s = (struct tagger_step){ .trainer = t, .n = n, .weights = tag_weights(t->set, at) };
    s->sequences = xcalloc((size_t)n, sizeof *s->sequences);
    s->targets = xcalloc((size_t)n, sizeof *s->targets);
    s->list = xcalloc((size_t)n, sizeof *s->list);
    for (int i = 0; i < n; i++) {
        const int example = b.examples[b.first + i];
        s->sequences[i] = (struct dte_sequence){ .item = &t->data.folds[FOLD_TRAIN].list[example].item };
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

/* The record of a sequence. */
static const struct tag_example *example_of(const struct dte_sequence *s)
{
    return (const struct tag_example *)(const void *)((const char *)s->item - offsetof(struct tag_example, item));
}

/* How much each word carries of each concept, now: all erased copies of the batch are read at once. */
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
        dte_target_ground(&s->targets[i], &e->item, 0, e->record->spans, e->record->n_spans, awake);
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
        dte_target_ground(&s->targets[i], &e->item, 0, e->record->spans, e->record->n_spans, NULL);
    }
}

/* The published code's tags of columns and values are what its own links say, now. */
static int tag_by_links(struct tagger_step *s, struct error *err)
{
    struct dte_reading *readings = xcalloc((size_t)s->n, sizeof *readings);
    const struct dte_item **items = xmalloc((size_t)s->n * sizeof *items);

    for (int i = 0; i < s->n; i++)
        items[i] = s->sequences[i].item;
    int rc = dte_read(&s->trainer->tagger, items, s->n, readings, err);
    for (int i = 0; i < s->n && rc == 0; i++) {
        const struct tag_example *e = example_of(&s->sequences[i]);
        dte_target_link(&s->targets[i], &readings[i], e->record->spans, e->record->n_spans,
                        &s->trainer->model.spec.config);
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
    if (rc == 0 && t->set->compat && s.weights.tags > 0)
        rc = tag_by_links(&s, err);
    for (int i = 0; i < s.n; i++)
        smooth(&s.targets[i], DTE_KEYWORDS + s.sequences[i].item->windows[0].n_entities, t->set->smoothing);
    c->recording = c->training = true;
    ranks_last(&t->run);
    if (rc == 0)
        rc = workspace_step(&t->run.work, run_step_of, &s, err);
    release(&s);
    return rc;
}

void tag_measure(void *trainer, struct measurement *m)
{
    struct tag_trainer *t = trainer;
    struct tagger_step s;

    init(&s, t);
    struct dte_sizes z = dte_sizes_of(s.sequences, s.n);
    struct extent e = { { z.tokens, z.sequences, z.rows, z.words, z.entities, z.pairs, z.meanings } };
    measurement_add(m, &e, run_step_of, &s);
    release(&s);
}
