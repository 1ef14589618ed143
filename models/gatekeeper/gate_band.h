/*
 * gate_band.h - chooses the band of scores in which a detector abstains.
 *
 * A band is given, or chosen so that at most a given rate of the answered questions is wrong (selection with
 * guaranteed risk, Geifman and El-Yaniv 2017). The choice uses the validation questions that training stored in the
 * model, ordered by the distance of their logits from the threshold.
 *
 * For each of the most certain 5 %, 10 %, ..., 100 %, the exact binomial bound of the error rate is taken (Clopper and
 * Pearson 1934). Its level is .05 / 20, since the band is chosen among 20 shares (Bonferroni, as in Angelopoulos et al.
 * 2021, "Learn then test"). The band answers the largest share whose bound is at most the rate.
 *
 * The guarantee holds with 95 % confidence for independent questions from the distribution of the validation
 * questions. For other databases it is only approximate. It ignores that the threshold was chosen on the same
 * questions.
 */
#ifndef MODELS_GATEKEEPER_GATE_BAND_H
#define MODELS_GATEKEEPER_GATE_BAND_H

#include "data/base/risk_coverage.h"
#include "models/gatekeeper/gate_model.h"

/* Values of --abstain: LOW:HIGH, or a RATE. */
#define GATE_ABSTAIN_WORDS "LOW:HIGH|RATE"
#define GATE_ABSTAIN_ADAPTED "--abstain RATE and --adapter cannot be used together; give --abstain LOW:HIGH"
struct gate_abstain {
    double low, high; /* a given band; else both are 0 */
    double rate;      /* max error rate; 0: a band is given */
};
/* text NULL: no abstention. -1 with EXIT_CODE_USAGE. */
int gate_abstain_read(struct gate_abstain *a, const char *text, struct error *err);

struct gate_band {
    double low, high;       /* scores strictly between them are uncertain */
    int n, answered, wrong; /* number of validation questions; outside the band; wrong ones outside the band */
    double bound;           /* upper bound of the error rate, with 95 % confidence */
};
/* Finds the band that `a` asks for. -1 with EXIT_CODE_USAGE if the model has no validation questions or no band
 * reaches the rate. The message has the smallest reachable rate. */
int gate_band_find(struct gate_band *b, const struct gate_model *m, const struct gate_abstain *a, struct error *err);

/* Decisions for n logits with their distances from the threshold, most certain first. The caller frees them. */
struct risk_decision *gate_decide(const struct gate_model *m, const double *logit, const uint8_t *label, int n);
/* Scores at a margin, in logits, below and above the threshold. */
void gate_margin_scores(const struct gate_model *m, double margin, double *low, double *high);

void gate_validation_release(struct gate_validation *v);
/* Copies n validation questions into the model. */
void gate_validation_keep(struct gate_model *m, const double *logit, const uint8_t *label, int n);
/* The validation questions in a checkpoint's meta data, "LOGITy LOGITn ...", or NULL if there are none; and the
 * reader, which accepts NULL. */
json_t *gate_validation_json(const struct gate_model *m);
int gate_validation_read(struct gate_model *m, const json_t *meta, const char *where, struct error *err);

#endif
