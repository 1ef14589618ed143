/* Part of dte_decode.h: the ETA form, spans out of the greedy linker's links. */
#include "models/tagger/dte_decode_impl.h"

#include "models/tagger/dte_linker.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char dte_unknown_column[] = "unknown";

/* Mean over words [from, to). */
static double mean(const float *x, int from, int to)
{
    double sum = 0;

    for (int q = from; q < to; q++)
        sum += x[q];
    return sum / (to - from);
}

/* Scores of the concepts that words [from, to) are grounded by, -1 of the others; `own` is their link. */
static double *score_grounded(const struct dte_reading *r, int from, int to, int own)
{
    double *scores = xmalloc((size_t)r->n_concepts * sizeof *scores);

    for (int k = 0; k < r->n_concepts; k++) {
        double g = mean(r->grounding + (DTE_KEYWORDS + k) * r->n_words, from, to);
        bool same_kind = (r->concepts[k].kind == TAG_VALUE) == (r->concepts[own].kind == TAG_VALUE);
        scores[k] = same_kind && g >= dte_link_threshold ? g : -1;
    }
    scores[own] = fmax(scores[own], 0);
    return scores;
}

static bool is_unknown(const struct dte_reading *r, int k)
{
    return r->concepts[k].kind == TAG_COLUMN &&
           strcmp(dte_concept_name(r->item, &r->concepts[k]), dte_unknown_column) == 0;
}

/* The span of words [from, to), all linked to concept k. */
static void link_words(struct tag_span *span, const struct dte_reading *r, int from, int to, int k, int most)
{
    const struct dte_word *words = r->item->words;

    *span = (struct tag_span){ .start = words[from].start, .end = words[to - 1].end, .label = SPAN_UNK };
    if (is_unknown(r, k))
        return;
    double *scores = score_grounded(r, from, to, k);
    span->n_alternatives = dte_take_best(&span->alternatives, scores, r, most, 0);
    span->label = span->n_alternatives > 1 ? SPAN_AMB : r->concepts[k].kind == TAG_VALUE ? SPAN_VAL : SPAN_COL;
    free(scores);
}

void dte_decode_eta(struct tag_answer *a, const struct dte_reading *r, const struct dte_decode_settings *s)
{
    struct dte_term *terms = xmalloc((size_t)r->n_words * sizeof *terms);
    int words = r->n_words - dte_ends_with_mark(r->item);

    *a = (struct tag_answer){ .spans = xcalloc((size_t)r->n_words, sizeof *a->spans) };
    dte_link(terms, r);
    for (int q = 0, to; q < words; q = to) {
        double confidence = terms[q].confidence;
        for (to = q + 1; to < words && terms[to].concept == terms[q].concept; to++)
            confidence += terms[to].confidence;
        if (terms[q].concept < DTE_KEYWORDS)
            continue;
        struct tag_span *span = &a->spans[a->n_spans++];
        link_words(span, r, q, to, terms[q].concept - DTE_KEYWORDS, s->most);
        span->probability = confidence / (to - q);
    }
    free(terms);
}
