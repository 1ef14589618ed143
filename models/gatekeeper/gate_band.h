/*
 * gate_band.h - between which scores a detector had better say nothing.
 *
 * A band is given, or chosen so that at most a given share of what is answered outside it is wrong (selection with
 * guaranteed risk: Geifman and El-Yaniv, "Selective classification for deep neural networks", 2017), on the validation
 * questions that training kept with the model.  They are ordered by their distance from the threshold, in logits.  Of
 * the surest 5 %, 10 % ... 100 % each has the exact binomial bound of its errors (Clopper and Pearson 1934) at .05 / 20
 * (Bonferroni over the 20 shares, as in Angelopoulos et al., "Learn then test", 2021); the largest share whose bound is
 * at most the rate is answered.  So it holds with 95 % of questions that are drawn like those of validation, each by
 * itself: on other databases no more than these resemble them.  That the threshold was chosen on the same questions is
 * not counted.
 */
#ifndef MODELS_GATEKEEPER_GATE_BAND_H
#define MODELS_GATEKEEPER_GATE_BAND_H

#include "data/base/risk_coverage.h"
#include "models/gatekeeper/gate_model.h"

/* The value of --abstain: LOW:HIGH, or a RATE. */
#define GATE_ABSTAIN_WORDS "LOW:HIGH|RATE"
#define GATE_ABSTAIN_ADAPTED "--abstain: a rate is of the detector as it was trained; expected LOW:HIGH with --adapt"
struct gate_abstain {
    double low, high; /* of a band that is given, else both 0 */
    double rate;      /* 0: a band is given */
};
/* text NULL: neither.  -1 with EXIT_CODE_USAGE. */
int gate_abstain_read(struct gate_abstain *a, const char *text, struct error *err);

struct gate_band {
    double low, high;       /* scores between them are unsure, the ends are not */
    int n, answered, wrong; /* validation questions, those outside the band, and those of them that are wrong */
    double bound;           /* of the share that is wrong, with 95 % */
};
/* The band that a (not neither) asks for.  -1 with EXIT_CODE_USAGE where the model keeps no validation questions, or no
 * band is known to be as good as the rate: the message has the least rate that can be had. */
int gate_band_find(struct gate_band *b, const struct gate_model *m, const struct gate_abstain *a, struct error *err);

/* The decisions for n logits, the surest first, with their distances from the threshold in logits; the caller frees. */
struct risk_decision *gate_decide(const struct gate_model *m, const double *logit, const uint8_t *label, int n);
/* The scores that are less than a margin away from the threshold. */
void gate_margin_scores(const struct gate_model *m, double margin, double *low, double *high);

void gate_validation_release(struct gate_validation *v);
/* Copies n validation questions into the model. */
void gate_validation_keep(struct gate_model *m, const double *logit, const uint8_t *label, int n);
/* A checkpoint's meta of them, "LOGITy LOGITn ...": NULL where there are none; and back, from NULL too. */
json_t *gate_validation_json(const struct gate_model *m);
int gate_validation_read(struct gate_model *m, const json_t *meta, const char *where, struct error *err);

#endif
