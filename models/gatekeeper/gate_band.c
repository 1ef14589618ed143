#include "models/gatekeeper/gate_band.h"

#include "data/base/json.h"
#include "data/base/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double DOUBT = 0.05;
static const double SURE = 1e-12; /* min distance of the threshold from 0 and 1 */
enum { SHARES = 20, NUMBER = 24 /* bytes of a logit as text */ };

int gate_abstain_read(struct gate_abstain *a, const char *text, struct error *err)
{
    int end = 0;

    *a = (struct gate_abstain){ 0 };
    if (!text)
        return 0;
    if (sscanf(text, "%lf:%lf%n", &a->low, &a->high, &end) == 2 && !text[end] && a->low >= 0 && a->low < a->high &&
        a->high <= 1)
        return 0;
    a->low = a->high = 0;
    if (sscanf(text, "%lf%n", &a->rate, &end) == 1 && !text[end] && a->rate > 0 && a->rate < 0.5)
        return 0;
    return error_set(err, EXIT_CODE_USAGE,
                     "--abstain: expected LOW:HIGH, 0 <= LOW < HIGH <= 1, or a RATE between 0 and 0.5, got \"%.60s\"",
                     text);
}

static double threshold_logit(const struct gate_model *m)
{
    double p = fmin(fmax(m->threshold, SURE), 1 - SURE);
    return log(p / (1 - p));
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

void gate_margin_scores(const struct gate_model *m, double margin, double *low, double *high)
{
    *low = sigmoid(threshold_logit(m) - margin);
    *high = sigmoid(threshold_logit(m) + margin);
}

struct risk_decision *gate_decide(const struct gate_model *m, const double *logit, const uint8_t *label, int n)
{
    struct risk_decision *d = xmalloc((size_t)n * sizeof *d + 1);
    double threshold = threshold_logit(m);

    for (int i = 0; i < n; i++) {
        double distance = (logit[i] - m->shift) / m->temperature - threshold;
        bool yes = gate_probability(m, logit[i]) >= m->threshold;
        d[i] = (struct risk_decision){ fabs(distance), yes == label[i] };
    }
    risk_sort(d, n);
    return d;
}

/* The band that answers the first z questions, and all with the same distance as the last of them. */
static struct gate_band place(const struct gate_model *m, const struct risk_decision *d, int n, int z, double doubt)
{
    struct gate_band b = { .n = n, .answered = z };

    while (b.answered < n && d[b.answered].margin >= d[z - 1].margin)
        b.answered++;
    for (int i = 0; i < b.answered; i++)
        b.wrong += !d[i].right;
    b.bound = stats_binomial_upper(b.wrong, b.answered, doubt);
    gate_margin_scores(m, d[z - 1].margin, &b.low, &b.high);
    return b;
}

/* The band with the largest share whose bound is at most the rate. *least: the smallest bound of all shares. */
static struct gate_band largest(const struct gate_model *m, const struct risk_decision *d, int n, double rate,
                                double *least)
{
    struct gate_band best = { 0 };

    *least = 1;
    for (int i = 1; i <= SHARES; i++) {
        int z = (int)((int64_t)n * i / SHARES);
        if (!z)
            continue;
        struct gate_band b = place(m, d, n, z, DOUBT / SHARES);
        *least = fmin(*least, b.bound);
        if (b.bound <= rate)
            best = b;
    }
    return best;
}

int gate_band_find(struct gate_band *b, const struct gate_model *m, const struct gate_abstain *a, struct error *err)
{
    double least;

    *b = (struct gate_band){ .low = a->low, .high = a->high };
    if (a->rate <= 0)
        return 0;
    if (!m->validation.n)
        return error_set(err, EXIT_CODE_USAGE,
                         "--abstain %g: the model has no validation questions to choose a band with; give "
                         "LOW:HIGH",
                         a->rate);
    struct risk_decision *d = gate_decide(m, m->validation.logit, m->validation.ambiguous, m->validation.n);
    *b = largest(m, d, m->validation.n, a->rate, &least);
    free(d);
    if (b->answered)
        return 0;
    return error_set(err, EXIT_CODE_USAGE,
                     "--abstain %g: the model's %d validation questions do not support this rate; "
                     "expected %.3f or more, or LOW:HIGH",
                     a->rate, m->validation.n, ceil(1000 * least) / 1000);
}

void gate_validation_release(struct gate_validation *v)
{
    free(v->logit);
    free(v->ambiguous);
    *v = (struct gate_validation){ 0 };
}

void gate_validation_keep(struct gate_model *m, const double *logit, const uint8_t *label, int n)
{
    size_t size = (size_t)n;

    gate_validation_release(&m->validation);
    m->validation = (struct gate_validation){ xmalloc(size * sizeof *logit + 1), xmalloc(size + 1), n };
    memcpy(m->validation.logit, logit, size * sizeof *logit);
    memcpy(m->validation.ambiguous, label, size);
}

json_t *gate_validation_json(const struct gate_model *m)
{
    const struct gate_validation *v = &m->validation;
    char *text = xmalloc((size_t)v->n * NUMBER + 1), *end = text;

    for (int i = 0; i < v->n; i++)
        end += snprintf(end, NUMBER, "%s%.9g%c", i ? " " : "", v->logit[i], v->ambiguous[i] ? 'y' : 'n');
    json_t *o = v->n ? json_string(text) : NULL;
    free(text);
    return o;
}

/* Reads "LOGITy" or "LOGITn", followed by a blank or the end. Returns the place after it, or NULL. */
static const char *read_answer(const char *at, double *logit, uint8_t *ambiguous)
{
    char *end;

    *logit = strtod(at, &end);
    if (end == at || !isfinite(*logit) || (*end != 'y' && *end != 'n') || (end[1] && end[1] != ' '))
        return NULL;
    *ambiguous = *end == 'y';
    return end + (end[1] ? 2 : 1);
}

int gate_validation_read(struct gate_model *m, const json_t *meta, const char *where, struct error *err)
{
    const char *text = json_string_value(meta), *at = text;
    size_t most = text ? strlen(text) / 2 : 0; /* an entry has at least two characters, and a blank before the next */
    struct gate_validation *v = &m->validation;

    if (!meta)
        return 0;
    *v = (struct gate_validation){ xmalloc((most + 1) * sizeof *v->logit), xmalloc(most + 1), 0 };
    for (const char *next; at && *at; at = next, v->n++)
        if (!(next = read_answer(at, &v->logit[v->n], &v->ambiguous[v->n])))
            break;
    if (text && !*at)
        return 0;
    return error_set(err, EXIT_CODE_CHECKPOINT, "%s: meta: \"validation\": expected LOGITy or LOGITn, got \"%.20s\"",
                     where, text ? at : json_type_name(meta));
}
