#include "models/tagger/dte_linker.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 3 /* max words linked to a concept by rank */, NEAR = 1 /* words that a run may grow by */ };
static const double LEAST_CONCEPT = 0.5;
static const double LEAST_CONTAINED = 0.1,
                    LEAST_GROWN = 0.05; /* min grounding of words that the column's name contains */
const double dte_link_threshold = 0.2;

struct linking {
    const struct dte_reading *r;
    bool *contained; /* [concepts, words] the name of the table or column contains the word */
    struct dte_term *terms;
};

char (*dte_word_stems(const struct dte_item *item))[SPOKEN_STEM]
{
    char(*stems)[SPOKEN_STEM] = xcalloc((size_t)item->n_words, sizeof *stems);
    struct spoken s;

    spoken_read(&s, item->question->question);
    for (int q = 0, i = 0; q < item->n_words; q++) {
        while (i < s.n && s.words[i].to <= item->words[q].from)
            i++;
        if (i < s.n && s.words[i].from < item->words[q].to)
            memcpy(stems[q], s.words[i].stem, SPOKEN_STEM);
    }
    return stems;
}

static double grounding(const struct linking *l, int k, int q)
{
    return l->r->grounding[k * l->r->n_words + q];
}

static const struct tag_concept *entity(const struct linking *l, int k)
{
    return k < DTE_KEYWORDS ? NULL : &l->r->concepts[k - DTE_KEYWORDS];
}

static bool is_value(const struct linking *l, int k)
{
    return k >= DTE_KEYWORDS && entity(l, k)->kind == TAG_VALUE;
}

/* Whether a name contains a word. Parts of a name of one word count too. */
static bool has_word(const struct spoken *name, const char *stem)
{
    return spoken_find(name, stem) || (name->n == 1 && strlen(stem) > 1 && strstr(name->words[0].stem, stem));
}

static void find_contained(struct linking *l)
{
    char(*stems)[SPOKEN_STEM] = dte_word_stems(l->r->item);
    int words = l->r->n_words;
    struct spoken name;

    l->contained = xcalloc((size_t)(DTE_KEYWORDS + l->r->n_concepts) * (size_t)words, sizeof *l->contained);
    for (int k = DTE_KEYWORDS; k < DTE_KEYWORDS + l->r->n_concepts; k++) {
        if (is_value(l, k))
            continue;
        spoken_read(&name, dte_concept_name(l->r->item, entity(l, k)));
        for (int q = 0; q < words; q++)
            l->contained[k * words + q] = has_word(&name, stems[q]);
    }
    free(stems);
}

static bool is_meant(const struct linking *l, int k)
{
    return l->r->concept[k] >= LEAST_CONCEPT;
}

static void offer(struct linking *l, int q, int k, double confidence)
{
    if (confidence > l->terms[q].confidence)
        l->terms[q] = (struct dte_term){ k, confidence };
}

static void link_value(struct linking *l, int k)
{
    for (int q = 0; q < l->r->n_words; q++)
        if (dte_value_covers(l->r->item, entity(l, k), q))
            offer(l, q, k, l->r->concept[k]);
}

static bool value_of_column_is_meant(const struct linking *l, int k)
{
    if (k < DTE_KEYWORDS || entity(l, k)->kind != TAG_COLUMN)
        return false;
    for (int v = DTE_KEYWORDS; v < DTE_KEYWORDS + l->r->n_concepts; v++)
        if (is_value(l, v) && entity(l, v)->column == entity(l, k)->column && is_meant(l, v))
            return true;
    return false;
}

/* Number of words with a higher grounding; of equal words the first is higher. */
static int rank_of(const struct linking *l, int k, int q)
{
    int rank = 0;

    for (int i = 0; i < l->r->n_words; i++)
        rank += grounding(l, k, i) > grounding(l, k, q) || (i < q && grounding(l, k, i) >= grounding(l, k, q));
    return rank;
}

static void link_other(struct linking *l, int k)
{
    double least = fmax(2.0 / l->r->n_words, dte_link_threshold);
    bool by_value = value_of_column_is_meant(l, k);

    for (int q = 0; q < l->r->n_words; q++) {
        double g = grounding(l, k, q);
        bool own = l->contained[k * l->r->n_words + q];
        bool high = g >= least && rank_of(l, k, q) < RANKS;
        if ((high && (own || !by_value)) || (own && g > LEAST_CONTAINED))
            offer(l, q, k, l->r->concept[k] * g);
    }
}

/* Whether the unlinked word q joins the run beside it, which was `distance` words away before the pass. Tables and
 * columns take words that their names contain; other concepts take one word. */
static bool grows(const struct linking *l, int k, int q, int distance)
{
    if (k < DTE_KEYWORDS || is_value(l, k))
        return grounding(l, k, q) >= dte_link_threshold && distance <= NEAR;
    return l->contained[k * l->r->n_words + q] && grounding(l, k, q) >= fmax(LEAST_GROWN, 1.0 / l->r->n_words);
}

static void grow(struct linking *l, int step)
{
    int n = l->r->n_words, distance = 0;

    for (int q = step > 0 ? 1 : n - 2; q >= 0 && q < n; q += step) {
        const struct dte_term *beside = &l->terms[q - step];
        distance++;
        if (l->terms[q].concept >= 0 || beside->concept < 0)
            distance = 0;
        else if (grows(l, beside->concept, q, distance))
            l->terms[q] =
                (struct dte_term){ beside->concept, l->r->concept[beside->concept] * grounding(l, beside->concept, q) };
    }
}

static void linking_init(struct linking *l, struct dte_term *terms, const struct dte_reading *r)
{
    *l = (struct linking){ .r = r, .terms = terms };
    find_contained(l);
    for (int q = 0; q < r->n_words; q++)
        terms[q] = (struct dte_term){ .concept = -1 };
}

void dte_link(struct dte_term *terms, const struct dte_reading *r)
{
    struct linking l;

    linking_init(&l, terms, r);
    for (int k = r->keywords ? 0 : DTE_KEYWORDS; k < DTE_KEYWORDS + r->n_concepts; k++)
        if (is_meant(&l, k))
            (is_value(&l, k) ? link_value : link_other)(&l, k);
    grow(&l, 1);
    grow(&l, -1);
    free(l.contained);
}
