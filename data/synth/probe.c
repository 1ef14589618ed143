#include "data/synth/probe.h"

#include "data/base/stats.h"
#include "data/schema/schema.h"
#include "data/synth/bag.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LIKELY = 10, MAX_TRIGRAMS = 128, MIN_STEM = 4, NAME_BYTES = 256 };

bool probe_and_comma(const char *question)
{
    bool apart = true;

    for (const char *p = question; *p; p++) {
        if (*p == ',')
            return true;
        if (apart && strncasecmp(p, "and", 3) == 0 && !isalnum((unsigned char)p[3]))
            return true;
        apart = !isalnum((unsigned char)*p);
    }
    return false;
}

/* Returns the length of the word at p. */
static size_t word_length(const char *p)
{
    size_t n = 0;
    while (isalnum((unsigned char)p[n]))
        n++;
    return n;
}

/* Compares words by their first characters, short words as a whole: "singers" mentions "singer". */
static bool same_word(const char *a, size_t n, const char *b, size_t m)
{
    if (n < MIN_STEM || m < MIN_STEM)
        return n == m && strncasecmp(a, b, n) == 0;
    size_t min = n < m ? n : m, max = n < m ? m : n;
    return max - min <= 3 && strncasecmp(a, b, min > MIN_STEM ? min - 1 : min) == 0;
}

static bool mentions(const char *question, const char *word, size_t n)
{
    for (const char *p = question; *p;) {
        size_t m = word_length(p);
        if (m && same_word(p, m, word, n))
            return true;
        p += m ? m : 1;
    }
    return false;
}

/* Returns the share of a name's words that the question contains. */
static double likelihood(const char *question, const char *text)
{
    int words = 0, found = 0;

    for (const char *p = text; *p;) {
        size_t n = word_length(p);
        words += n > 0;
        found += n && mentions(question, p, n);
        p += n ? n : 1;
    }
    return words ? (double)found / words : 0;
}

struct likely {
    const char *text;
    double p;
};

/* Keeps the LIKELY most likely names, best first. Earlier elements win ties. */
static void keep_likely(struct likely *list, int *n, const char *question, const char *text)
{
    struct likely x = { text, likelihood(question, text) };
    int at = *n;

    if (x.p <= 0)
        return;
    while (at > 0 && list[at - 1].p < x.p)
        at--;
    if (at == LIKELY)
        return;
    int tail = (*n < LIKELY ? *n : LIKELY - 1) - at;
    memmove(list + at + 1, list + at, (size_t)tail * sizeof *list);
    list[at] = x;
    *n += *n < LIKELY;
}

/* Lists the distinct trigrams of " name ". */
static int trigrams(uint32_t *out, const char *text)
{
    char padded[NAME_BYTES + 3] = " ";
    size_t n = strlen(text) < NAME_BYTES ? strlen(text) : NAME_BYTES;
    int count = 0;

    memcpy(padded + 1, text, n);
    padded[n + 1] = ' ';
    for (size_t i = 0; i < n && count < MAX_TRIGRAMS; i++) {
        const unsigned char *p = (const unsigned char *)padded + i;
        uint32_t gram = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
        bool seen = false;
        for (int k = 0; k < count; k++)
            seen |= out[k] == gram;
        if (!seen)
            out[count++] = gram;
    }
    return count;
}

/* Returns the shared trigrams divided by all trigrams. */
static double similarity(const char *a, const char *b)
{
    uint32_t x[MAX_TRIGRAMS], y[MAX_TRIGRAMS];
    int n = trigrams(x, a), m = trigrams(y, b), shared = 0;

    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            shared += x[i] == y[j];
    return n + m ? (double)shared / (n + m - shared) : 0;
}

double probe_name_similarity(const char *question, const struct schema *s)
{
    struct likely list[LIKELY];
    int n = 0;
    double best = 0;

    for (int t = 0; t < s->n_tables; t++)
        keep_likely(list, &n, question, s->tables[t].text);
    for (int c = 0; c < s->n_columns; c++)
        keep_likely(list, &n, question, s->columns[c].text);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) {
            double x = similarity(list[i].text, list[j].text) * list[i].p * list[j].p;
            best = x > best ? x : best;
        }
    return best;
}

static const char *const probe_names[PROBES] = { "question only", "schema only", "always yes", "and/comma rule",
                                                 "name similarity" };

static const char *const set_names[PROBE_SETS] = { "contrast sets", "ambiguous examples and hard negatives",
                                                   "labels of Skadborg and Mortensen", "custom data set" };

enum { PARTS = 5 };

static const double CHANCE = 0.5, TOLERANCE = 0.01;

/* Examples of one split with text indices, labels and scores of one probe. */
struct probe_sample {
    const struct example **list;
    int *texts;
    uint8_t *labels;
    double *scores;
    int n;
};

static bool belongs(const struct example *e, enum probe_set set)
{
    switch (set) {
    case PROBE_CONTRAST:
        return e->slice == EXAMPLE_CONTRAST;
    case PROBE_PRESENCE:
        return e->slice == EXAMPLE_HARD_NEGATIVE || (e->slice == EXAMPLE_CONTRAST && e->ambiguous);
    case PROBE_GATEKEEPER:
        return e->slice == EXAMPLE_SKADBORG_MORTENSEN;
    default:
        return e->slice == EXAMPLE_CUSTOM;
    }
}

static void sample_open(struct probe_sample *s, int max)
{
    size_t size = (size_t)max;

    *s = (struct probe_sample){ .list = xcalloc(size, sizeof *s->list), .texts = xcalloc(size, sizeof *s->texts) };
    s->labels = xcalloc(size, sizeof *s->labels);
    s->scores = xcalloc(size, sizeof *s->scores);
}

static void sample_add(struct probe_sample *s, const struct example *e)
{
    s->labels[s->n] = e->ambiguous;
    s->list[s->n++] = e;
}

static void sample_init(struct probe_sample *s, const struct example_list *l, enum probe_set set)
{
    sample_open(s, l->n);
    for (int i = 0; i < l->n; i++)
        if (belongs(&l->items[i], set))
            sample_add(s, &l->items[i]);
}

static void sample_release(struct probe_sample *s)
{
    free(s->list);
    free(s->texts);
    free(s->labels);
    free(s->scores);
}

/* Returns all names of a schema as one text. The caller frees it. */
static char *schema_text(const struct schema *s)
{
    size_t size = 1, n = 0;

    for (int t = 0; t < s->n_tables; t++)
        size += strlen(s->tables[t].text) + 1;
    for (int c = 0; c < s->n_columns; c++)
        size += strlen(s->columns[c].text) + 1;
    char *text = xcalloc(size, 1);
    for (int i = 0; i < s->n_tables + s->n_columns; i++) {
        const char *name = i < s->n_tables ? s->tables[i].text : s->columns[i - s->n_tables].text;
        size_t length = strlen(name);
        memcpy(text + n, name, length);
        n += length;
        text[n++] = ' ';
    }
    return text;
}

static void number_questions(struct bag_texts *t, struct probe_sample *s)
{
    for (int i = 0; i < s->n; i++)
        s->texts[i] = bag_add(t, s->list[i]->question);
}

/* Adds each schema once. number[] is its text index plus 1, 0 before. */
static void number_schemas(struct bag_texts *t, struct probe_sample *s, const struct schema_set *set, int *number)
{
    for (int i = 0; i < s->n; i++) {
        const struct schema *schema = schema_find(set, s->list[i]->db_id);
        int *at = &number[schema - set->schemas];
        if (!*at) {
            char *text = schema_text(schema);
            *at = bag_add(t, text) + 1;
            free(text);
        }
        s->texts[i] = *at - 1;
    }
}

static void score_words(struct probe_sample *train, struct probe_sample *test, const struct schema_set *schemas)
{
    struct bag_texts texts = { 0 };
    struct bag_model model;
    int *number = schemas ? xcalloc((size_t)schemas->n, sizeof *number) : NULL;

    for (int pass = 0; pass < 2; pass++) {
        struct probe_sample *s = pass ? test : train;
        if (schemas)
            number_schemas(&texts, s, schemas, number);
        else
            number_questions(&texts, s);
    }
    bag_fit(&model, &texts, train->texts, train->labels, train->n);
    for (int i = 0; i < test->n; i++)
        test->scores[i] = bag_score(&model, &texts, test->texts[i]);
    bag_model_release(&model);
    bag_release(&texts);
    free(number);
}

static void score_names(struct probe_sample *s, const struct schema_set *schemas)
{
    for (int i = 0; i < s->n; i++)
        s->scores[i] = probe_name_similarity(s->list[i]->question, schema_find(schemas, s->list[i]->db_id));
}

static struct scored scored(const struct probe_sample *s)
{
    return (struct scored){ s->scores, s->labels, s->n };
}

/* Scores the test sample and returns the decision threshold. */
static double score(struct probe_sample *train, struct probe_sample *test, const struct dataset *d, enum probe probe)
{
    double f1, threshold = 0.5;

    if (probe == PROBE_QUESTION || probe == PROBE_SCHEMA)
        score_words(train, test, probe == PROBE_SCHEMA ? &d->schemas : NULL);
    else if (probe == PROBE_NAMES) {
        score_names(train, &d->schemas);
        threshold = stats_best_f1(scored(train), &f1);
        score_names(test, &d->schemas);
    } else
        for (int i = 0; i < test->n; i++)
            test->scores[i] = probe == PROBE_ALWAYS || probe_and_comma(test->list[i]->question);
    return threshold;
}

/* Scores the test sample and returns its confusion matrix at the decision threshold. */
static struct confusion decide(struct probe_sample *train, struct probe_sample *test, const struct dataset *d,
                               enum probe probe)
{
    double threshold = score(train, test, d, probe);

    return stats_confusion(scored(test), threshold);
}

/* Takes the examples of one part, or of all other parts. places: their indices in `all`. */
static void take_part(struct probe_sample *s, int *places, const struct probe_sample *all, int part, bool others)
{
    sample_open(s, all->n);
    for (int i = 0; i < all->n; i++) {
        const char *question = all->list[i]->question;
        bool own = (int)(hash_bytes(HASH_START, question, strlen(question)) % PARTS) == part;
        if (own == others)
            continue;
        places[s->n] = i;
        sample_add(s, all->list[i]);
    }
}

/* Scores each part with probes fitted on the others. */
static struct confusion score_parts(struct probe_sample *all, const struct dataset *d, enum probe probe)
{
    int *places = xcalloc((size_t)all->n, sizeof *places);
    struct confusion sum = { 0 };

    for (int part = 0; part < PARTS; part++) {
        struct probe_sample train, test;
        take_part(&train, places, all, part, true);
        take_part(&test, places, all, part, false);
        struct confusion c = decide(&train, &test, d, probe);
        sum = (struct confusion){ sum.tp + c.tp, sum.fp + c.fp, sum.fn + c.fn, sum.tn + c.tn };
        for (int i = 0; i < test.n; i++)
            all->scores[places[i]] = test.scores[i];
        sample_release(&train);
        sample_release(&test);
    }
    free(places);
    return sum;
}

void probe_run(struct probe_report *r, const struct dataset *d, enum probe_set set)
{
    struct probe_sample train, test;

    *r = (struct probe_report){ 0 };
    sample_init(&train, &d->splits[SPLIT_TRAIN], set);
    sample_init(&test, &d->splits[SPLIT_TEST], set);
    r->n = test.n;
    for (int i = 0; i < test.n; i++)
        r->ambiguous += test.labels[i];
    for (int p = 0; p < PROBES && test.n; p++) {
        struct confusion yes =
            set == PROBE_OWN ? score_parts(&test, d, (enum probe)p) : decide(&train, &test, d, (enum probe)p);
        r->ap[p] = stats_average_precision(scored(&test));
        r->auc[p] = stats_auc(scored(&test));
        r->f1[p] = stats_metric(yes, STATS_F1);
    }
    sample_release(&train);
    sample_release(&test);
}

void probe_print(const struct probe_report *r, enum probe_set set, FILE *out)
{
    fprintf(out, "%s: %d test examples, %d ambiguous (prevalence %.3f)\n", set_names[set], r->n, r->ambiguous,
            r->n ? (double)r->ambiguous / r->n : 0);
    fprintf(out, "  %-16s %6s %6s %6s\n", "probe", "AP", "AUC", "F1");
    for (int p = 0; p < PROBES; p++)
        fprintf(out, "  %-16s %6.3f %6.3f %6.3f\n", probe_names[p], r->ap[p], r->auc[p], r->f1[p]);
}

int probe_check(const struct probe_report *contrast, struct error *err)
{
    for (int p = PROBE_QUESTION; p <= PROBE_SCHEMA && contrast->n; p++)
        if (!(fabs(contrast->auc[p] - CHANCE) <= TOLERANCE))
            return error_set(
                err, EXIT_CODE_DATA,
                "leak: probe \"%s\" on the contrast sets of the test split: expected an AUC of %.2f within %.2f, got %.3f",
                probe_names[p], CHANCE, TOLERANCE, contrast->auc[p]);
    return 0;
}
