#include "models/gatekeeper/gate_triage.h"

#include "data/base/json.h"
#include "data/base/strings.h"
#include "data/base/whole_file.h"
#include "models/gatekeeper/gate_adapter.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The version of the features; a head of another version is refused. */
enum { FEATURE_SET = 4 };

static const float NO_ELEMENT = -10; /* relevance logit of elements beyond the schema's end */
static const double LARGEST = 1e9;   /* of a number in the file */

static void keep_largest(float top[TRIAGE_TOP], float x)
{
    for (int i = 0; i < TRIAGE_TOP; i++)
        if (x > top[i]) {
            float smaller = top[i];
            top[i] = x;
            x = smaller;
        }
}

static bool has_times(const struct schema *s)
{
    for (int i = 0; i < s->n_columns; i++)
        if (s->columns[i].type == COLUMN_TIME)
            return true;
    return false;
}

/* Relevance of the elements. */
static void set_relevance(float *out, const float *relevance, int n_nodes)
{
    double sum = 0;
    int relevant = 0;

    for (int i = 0; i < TRIAGE_TOP; i++)
        out[i] = NO_ELEMENT;
    for (int i = 0; i < n_nodes; i++) {
        keep_largest(out, relevance[i]);
        sum += (double)relevance[i];
        relevant += relevance[i] > 0;
    }
    out[TRIAGE_MEAN] = n_nodes ? (float)(sum / n_nodes) : NO_ELEMENT;
    out[TRIAGE_ELEMENTS] = logf((float)(n_nodes ? n_nodes : 1));
    out[TRIAGE_RELEVANT] = (float)relevant;
}

/* Without a word that can have a label its probability counts as that of LEAST_LOGIT. */
static const float LEAST_LOGIT = -10;

static void set_words(float *out, const struct word_reading *words)
{
    for (int l = 0; l < SPAN_LABELS; l++) {
        double sum = 0, most = 0;
        for (int i = 0; words && i < words->n; i++) {
            sum += words->p[i][1 + l];
            most = fmax(most, words->p[i][1 + l]);
        }
        float logit = (float)log(most / (1 - most));
        out[TRIAGE_LABELLED + l] = (float)sum;
        out[TRIAGE_LABEL + l] = !words ? 0 : fminf(fmaxf(logit, LEAST_LOGIT), -LEAST_LOGIT);
    }
}

void gate_triage_features(float *out, const struct gate_triage_input *in)
{
    const struct gate_result *result = in->result;

    set_relevance(out, in->relevance, in->schema->n_nodes);
    out[TRIAGE_SCORE] = result->score;
    out[TRIAGE_LINGUISTIC] = result->type == LINGUISTIC_NONE ? 0 : result->linguistic;
    out[TRIAGE_TOKENS] = (float)in->n_question;
    for (int k = 0; k < SIA_TYPES; k++)
        out[TRIAGE_PAIR + k] = 0;
    if (result->pair >= 0)
        out[TRIAGE_PAIR + in->schema->pairs[result->pair].type] = 1 / (1 + expf(-result->score));
    out[TRIAGE_TIMES] = has_times(in->schema->schema);
    set_words(out, in->words);
    memcpy(out + TRIAGE_FIRST_SIGN, in->signs->signs, sizeof in->signs->signs);
}

void gate_triage_predict_kinds(const struct gate_triage *t, const float *features, double p[TRIAGE_KINDS])
{
    double largest = -HUGE_VAL, sum = 0;

    for (int k = 0; k < TRIAGE_KINDS; k++) {
        p[k] = t->bias[k];
        for (int i = 0; i < TRIAGE_FEATURES; i++)
            p[k] += t->weight[k][i] * ((double)features[i] - t->mean[i]) / t->scale[i];
        largest = fmax(largest, p[k]);
    }
    for (int k = 0; k < TRIAGE_KINDS; k++)
        sum += p[k] = exp(p[k] - largest);
    for (int k = 0; k < TRIAGE_KINDS; k++)
        p[k] /= sum;
}

void gate_triage_classes(double p[TRIAGE_CLASSES], const double kinds[TRIAGE_KINDS])
{
    for (int c = 0; c < TRIAGE_CLASSES; c++)
        p[c] = 0;
    for (int k = 0; k < TRIAGE_KINDS; k++)
        p[triage_kind_class((enum triage_kind)k)] += kinds[k];
}

void gate_triage_predict(const struct gate_triage *t, const float *features, double p[TRIAGE_CLASSES])
{
    double kinds[TRIAGE_KINDS];

    gate_triage_predict_kinds(t, features, kinds);
    gate_triage_classes(p, kinds);
}

enum triage_kind gate_triage_kind(const double kinds[TRIAGE_KINDS], enum triage_class class)
{
    int best = -1;

    for (int k = 0; k < TRIAGE_KINDS; k++)
        if (triage_kind_class((enum triage_kind)k) == class && (best < 0 || kinds[k] > kinds[best]))
            best = k;
    return (enum triage_kind)best;
}

double gate_triage_refusal(const double p[TRIAGE_CLASSES])
{
    return p[TRIAGE_UNANSWERABLE] + p[TRIAGE_IMPROPER];
}

enum triage_class gate_triage_refusal_class(const double p[TRIAGE_CLASSES])
{
    return p[TRIAGE_IMPROPER] > p[TRIAGE_UNANSWERABLE] ? TRIAGE_IMPROPER : TRIAGE_UNANSWERABLE;
}

bool triage_class_refused(enum triage_class c)
{
    return c == TRIAGE_UNANSWERABLE || c == TRIAGE_IMPROPER;
}

enum triage_class gate_triage_decide(const struct gate_triage *t, const double p[TRIAGE_CLASSES], bool ambiguous)
{
    enum triage_class refusal = gate_triage_refusal_class(p);

    if (gate_triage_refusal(p) >= t->threshold[refusal])
        return refusal;
    ambiguous = ambiguous || p[TRIAGE_AMBIGUOUS] >= t->threshold[TRIAGE_AMBIGUOUS];
    return ambiguous ? TRIAGE_AMBIGUOUS : TRIAGE_ANSWERABLE;
}

static json_t *numbers_json(const double *x, int n)
{
    json_t *list = json_array();

    for (int i = 0; i < n; i++)
        json_array_append_new(list, json_real(x[i]));
    return list;
}

/* The weights of all kinds: {CLASS: {KIND: [numbers]}}. */
static json_t *weights_json(const struct gate_triage *t)
{
    json_t *all = json_object();

    for (int k = 0; k < TRIAGE_KINDS; k++) {
        const char *class = triage_class_name(triage_kind_class((enum triage_kind)k));
        if (!json_object_get(all, class))
            json_object_set_new(all, class, json_object());
        json_object_set_new(json_object_get(all, class), triage_kind_name((enum triage_kind)k),
                            numbers_json(t->weight[k], TRIAGE_FEATURES));
    }
    return all;
}

static void hash_text_of_words(char text[GATE_HASH_TEXT], const struct gate_words *words)
{
    snprintf(text, GATE_HASH_TEXT, "%016" PRIx64, words->known ? words->hash : 0);
}

int gate_triage_save(const struct gate_triage *t, const struct gate_model *m, const struct gate_words *words,
                     const char *path, struct error *err)
{
    char hash[GATE_HASH_TEXT], words_hash[GATE_HASH_TEXT];
    json_t *thresholds = json_object();

    gate_model_hash_text(hash, m);
    hash_text_of_words(words_hash, words);
    for (int c = TRIAGE_AMBIGUOUS; c < TRIAGE_CLASSES; c++)
        json_object_set_new(thresholds, triage_class_name((enum triage_class)c), json_real(t->threshold[c]));
    json_t *o = json_pack("{s:s, s:s, s:i, s:i, s:o, s:o, s:o, s:o, s:o}", "detector", hash, "words", words_hash,
                          "feature_set", FEATURE_SET, "questions", t->questions, "thresholds", thresholds, "mean",
                          numbers_json(t->mean, TRIAGE_FEATURES), "scale", numbers_json(t->scale, TRIAGE_FEATURES),
                          "weights", weights_json(t), "bias", numbers_json(t->bias, TRIAGE_KINDS));
    int rc = json_write_file(path, o, err);
    json_decref(o);
    return rc;
}

static int read_numbers(double *out, int n, const json_t *o, const char *field, double low, const char *where,
                        struct error *err)
{
    const json_t *list = json_get_array(o, field, where, err);

    if (!list)
        return -1;
    if (json_array_size(list) != (size_t)n)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"%s\": expected %d numbers, got %zu", where, field, n,
                         json_array_size(list));
    for (int i = 0; i < n; i++) {
        const json_t *x = json_array_get(list, (size_t)i);
        out[i] = json_is_number(x) ? json_number_value(x) : NAN;
        if (!(out[i] >= low && out[i] <= LARGEST))
            return error_set(err, EXIT_CODE_DATA, "%s: field \"%s\"[%d]: expected a number from %g to %g", where, field,
                             i, low, LARGEST);
    }
    return 0;
}

static int check_base(const struct gate_model *m, const json_t *o, const char *path, struct error *err)
{
    const char *hash = json_get_string(o, "detector", path, err);
    int64_t set;

    if (!hash || json_get_int(o, "feature_set", 1, INT32_MAX, &set, path, err))
        return -1;
    if (set != FEATURE_SET)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: field \"feature_set\": expected %d, got %lld; remove the file, or train it again with "
                         "ambit-train triage",
                         path, FEATURE_SET, (long long)set);
    return gate_model_check_hash(m, hash, "a head", "; remove the file, or train it again with ambit-train triage",
                                 path, err);
}

static int check_words(const struct gate_words *words, const json_t *o, const char *path, struct error *err)
{
    const char *hash = json_get_string(o, "words", path, err);
    char own[GATE_HASH_TEXT];

    hash_text_of_words(own, words);
    if (!hash || strcmp(hash, own) == 0)
        return hash ? 0 : -1;
    return error_set(
        err, EXIT_CODE_DATA,
        "%s: expected a head that was trained beside the head for words with hash %s (0: none), got %.32s; "
        "remove the file, or train it again with ambit-train triage",
        path, own, hash);
}

static int read_thresholds(struct gate_triage *t, const json_t *o, const char *path, struct error *err)
{
    const json_t *all = json_get_object(o, "thresholds", path, err);

    for (int c = TRIAGE_AMBIGUOUS; c < TRIAGE_CLASSES; c++)
        if (!all || json_get_real(all, triage_class_name((enum triage_class)c), 0, 2, &t->threshold[c], path, err))
            return -1;
    return 0;
}

static int read_weights(struct gate_triage *t, const json_t *o, const char *path, struct error *err)
{
    const json_t *all = json_get_object(o, "weights", path, err);

    for (int k = 0; k < TRIAGE_KINDS; k++) {
        const char *class = triage_class_name(triage_kind_class((enum triage_kind)k));
        const json_t *of = all ? json_get_object(all, class, path, err) : NULL;
        if (!of ||
            read_numbers(t->weight[k], TRIAGE_FEATURES, of, triage_kind_name((enum triage_kind)k), -LARGEST, path, err))
            return -1;
    }
    return 0;
}

static int read_head(struct gate_triage *t, const struct gate_model *m, const struct gate_words *words, const json_t *o,
                     const char *path, struct error *err)
{
    int64_t questions;

    if (check_base(m, o, path, err) || check_words(words, o, path, err) ||
        json_get_int(o, "questions", 1, INT32_MAX, &questions, path, err) || read_thresholds(t, o, path, err) ||
        read_numbers(t->mean, TRIAGE_FEATURES, o, "mean", -LARGEST, path, err) ||
        read_numbers(t->scale, TRIAGE_FEATURES, o, "scale", 1e-6, path, err) ||
        read_numbers(t->bias, TRIAGE_KINDS, o, "bias", -LARGEST, path, err) || read_weights(t, o, path, err))
        return -1;
    t->questions = (int)questions;
    char *text = json_text(o, JSON_EXACT);
    t->hash = hash_text(HASH_START, text);
    free(text);
    t->known = true;
    return 0;
}

int gate_triage_open(struct gate_triage *t, const struct gate_model *m, const struct gate_words *words, const char *dir,
                     struct error *err)
{
    char *path = path_in(dir, TRIAGE_HEAD_FILE);
    int rc = 0;

    *t = (struct gate_triage){ 0 };
    if (access(path, F_OK) == 0) {
        json_t *o = json_read_file(path, err);
        rc = o ? read_head(t, m, words, o, path, err) : -1;
        json_decref(o);
    }
    if (rc)
        err->code = EXIT_CODE_CHECKPOINT;
    free(path);
    return rc;
}
