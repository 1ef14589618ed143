#include "models/tagger/dte_reading.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool dte_value_covers(const struct dte_item *item, const struct tag_concept *value, int word)
{
    const struct tag_question *q = item->question;
    const struct dte_word *w = &item->words[word];

    for (int i = 0; i < q->n_values; i++) {
        const struct tag_value *v = &q->values[i];
        if (v->column == value->column && strcmp(v->text, value->value) == 0 && w->end > v->start && w->start < v->end)
            return true;
    }
    return false;
}

const char *dte_concept_name(const struct dte_item *item, const struct tag_concept *concept)
{
    const struct span_column *c = &item->question->columns[concept->column];
    return concept->kind == TAG_COLUMN ? c->name : c->table ? c->table : "";
}

bool dte_ends_with_mark(const struct dte_item *item)
{
    static const char *const marks[] = { ".", "?", "。", "．", "？" };
    const struct dte_word *last = &item->words[item->n_words - 1];
    const char *text = item->question->question + last->from;
    size_t n = (size_t)(last->to - last->from);

    for (int i = 0; i < ARRAY_LEN(marks); i++)
        if (n == strlen(marks[i]) && memcmp(text, marks[i], n) == 0)
            return true;
    return false;
}

static void raise_to(float *most, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        most[i] = fmaxf(most[i], x[i]);
}

/* Index of a concept in the reading: a new one, except for a table that another window has too. */
static int place_of(struct dte_reading *r, const struct tag_concept *concept)
{
    for (int i = 0; i < r->n_concepts && concept->kind == TAG_TABLE; i++)
        if (r->concepts[i].kind == TAG_TABLE &&
            strcmp(dte_concept_name(r->item, &r->concepts[i]), dte_concept_name(r->item, concept)) == 0)
            return i;
    r->concepts[r->n_concepts] = *concept;
    return r->n_concepts++;
}

static void softmax(float *to, const float *score, int n, int kept)
{
    double most = -INFINITY, sum = 0;

    for (int i = 0; i < n; i++)
        most = fmax(most, (double)score[i]);
    for (int i = 0; i < n; i++)
        sum += exp((double)score[i] - most);
    for (int i = 0; i < kept; i++)
        to[i] = (float)(exp((double)score[i] - most) / sum);
}

/* Copies row k of the window to concept `to` of the reading, or merges it. */
static void put_concept(struct dte_reading *r, const struct dte_window_scores *s, int k, int to, float *grounding)
{
    int words = r->n_words;
    const float *score = s->score + k * (words + 1);

    softmax(grounding, score, words + 1, words);
    raise_to(&r->concept[to], &s -> concept[k], 1);
    raise_to(&r->grounding[to * words], grounding, words);
    if (to >= DTE_KEYWORDS)
        raise_to(&r->meaning[(to - DTE_KEYWORDS) * words], score, words);
}

void dte_reading_add(struct dte_reading *r, int window, const struct dte_window_scores *s)
{
    const struct dte_window *w = &r->item->windows[window];
    float *grounding = xmalloc((size_t)r->n_words * sizeof *grounding);

    for (int k = 0; k < DTE_KEYWORDS; k++)
        put_concept(r, s, k, k, grounding);
    for (int i = 0; i < w->n_entities; i++)
        put_concept(r, s, DTE_KEYWORDS + i, DTE_KEYWORDS + place_of(r, &w->entities[i].concept), grounding);
    for (int i = 0; i < r->n_words * r->n_tags; i++)
        r->emission[i] += s->emission[i] / (float)r->item->n_windows;
    free(grounding);
}

static float *zeros(int64_t rows, int64_t cols)
{
    return xcalloc((size_t)rows * (size_t)cols, sizeof(float));
}

void dte_reading_init(struct dte_reading *r, const struct dte_item *item, int tags, bool keywords)
{
    int most = 0, words = item->n_words;

    for (int i = 0; i < item->n_windows; i++)
        most += item->windows[i].n_entities;
    *r = (struct dte_reading){ .item = item,
                               .n_words = words,
                               .n_tags = tags,
                               .keywords = keywords,
                               .concepts = xcalloc((size_t)most, sizeof *r->concepts),
                               .concept = zeros(1, DTE_KEYWORDS + most),
                               .grounding = zeros(DTE_KEYWORDS + most, words),
                               .meaning = zeros(most, words),
                               .emission = zeros(words, tags) };
    for (int64_t i = 0; i < (int64_t)most * words; i++)
        r->meaning[i] = -INFINITY;
}

/* Until now, `meaning` holds the scores of the pairs. */
void dte_reading_finish(struct dte_reading *r)
{
    float *column = xmalloc((size_t)r->n_concepts * sizeof *column);

    for (int q = 0; q < r->n_words; q++) {
        for (int k = 0; k < r->n_concepts; k++)
            column[k] = r->meaning[k * r->n_words + q];
        softmax(column, column, r->n_concepts, r->n_concepts);
        for (int k = 0; k < r->n_concepts; k++)
            r->meaning[k * r->n_words + q] = column[k];
    }
    for (int k = 0; k < r->n_concepts; k++)
    r->concepts[k].score = (double)r->concept[DTE_KEYWORDS + k];
    free(column);
}

void dte_reading_release(struct dte_reading *r)
{
    free(r->concepts);
    free(r->concept);
    free(r->grounding);
    free(r->meaning);
    free(r->emission);
    *r = (struct dte_reading){ 0 };
}
