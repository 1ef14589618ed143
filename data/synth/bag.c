#include "data/synth/bag.h"

#include "kernels/rng.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PASSES = 6 };
static const double RATE = 0.1, DECAY = 1e-5;

static void add_word(struct bag_texts *t, int text, const char *word)
{
    int before = t->words.n, id = strings_add(&t->words, word);

    if (id == before) {
        GROW(t->newest, before, t->newest_cap);
        t->newest[id] = -1;
    }
    if (t->newest[id] == text)
        return;
    t->newest[id] = text;
    GROW(t->ids, t->n_ids, t->ids_cap);
    t->ids[t->n_ids++] = id;
}

int bag_add(struct bag_texts *t, const char *text)
{
    char *copy = xstrdup(text);
    int at = t->n++;

    while (t->n + 1 > t->first_cap) {
        t->first_cap = t->first_cap ? 2 * t->first_cap : 256;
        t->first = xrealloc(t->first, (size_t)t->first_cap * sizeof *t->first);
    }
    t->first[at] = t->n_ids;
    for (char *p = copy; *p;) {
        char *start = p;
        for (; isalnum((unsigned char)*p) || (unsigned char)*p >= 0x80; p++)
            *p = (char)tolower((unsigned char)*p);
        bool end = !*p;
        *p = 0;
        if (p > start)
            add_word(t, at, start);
        p += !end;
    }
    t->first[t->n] = t->n_ids;
    free(copy);
    return at;
}

void bag_release(struct bag_texts *t)
{
    strings_release(&t->words);
    free(t->newest);
    free(t->ids);
    free(t->first);
    *t = (struct bag_texts){ 0 };
}

double bag_score(const struct bag_model *m, const struct bag_texts *t, int text)
{
    double z = m->weight[m->n_words];
    for (int i = t->first[text]; i < t->first[text + 1]; i++)
        z += t->ids[i] < m->n_words ? m->weight[t->ids[i]] : 0;
    return 1 / (1 + exp(-z));
}

/* One AdaGrad step for a weight: the step size shrinks with the sum of squared gradients. */
static void step(double *weight, double *seen, double gradient)
{
    gradient += DECAY * *weight;
    *seen += gradient * gradient;
    *weight -= RATE * gradient / sqrt(*seen + 1e-10);
}

static void fit_one(struct bag_model *m, double *seen, const struct bag_texts *t, int text, uint8_t label)
{
    double gradient = bag_score(m, t, text) - label;
    for (int i = t->first[text]; i < t->first[text + 1]; i++)
        step(&m->weight[t->ids[i]], &seen[t->ids[i]], gradient);
    step(&m->weight[m->n_words], &seen[m->n_words], gradient);
}

void bag_fit(struct bag_model *m, const struct bag_texts *t, const int *texts, const uint8_t *labels, int n)
{
    size_t size = (size_t)t->words.n + 1;
    double *seen = xcalloc(size, sizeof *seen);
    int *order = xmalloc((size_t)n * sizeof *order);
    struct rng rng = { .seed = 1 };

    *m = (struct bag_model){ .weight = xcalloc(size, sizeof *m->weight), .n_words = t->words.n };
    for (int i = 0; i < n; i++)
        order[i] = i;
    for (int pass = 0; pass < PASSES; pass++) {
        rng_shuffle(&rng, order, n, sizeof *order);
        for (int i = 0; i < n; i++)
            fit_one(m, seen, t, texts[order[i]], labels[order[i]]);
    }
    free(seen);
    free(order);
}

void bag_model_release(struct bag_model *m)
{
    free(m->weight);
    *m = (struct bag_model){ 0 };
}
