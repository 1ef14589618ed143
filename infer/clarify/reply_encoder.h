/*
 * reply_encoder.h - compares the meaning of a reply with that of options, by the detector that comes with ambit.
 *
 * A vector is the mean of a text's states after a layer of the detector's encoder, over all its tokens.  The encoder
 * was trained for sentences (all-MiniLM-L6-v2) and then fine-tuned for schemas.  Its middle layers keep the similarity
 * of sentences; its last layers lose it.  The similarity of a reply and an option is their cosine, less the mean cosine
 * of the option and texts of any subject, averaged over three layers.  This is one half of CSLS (Conneau et al. 2018).
 */
#ifndef INFER_CLARIFY_REPLY_ENCODER_H
#define INFER_CLARIFY_REPLY_ENCODER_H

#include "models/embed/schema_finder.h"
#include "models/gatekeeper/gate_model.h"

enum { REPLY_FIRST_LAYER = 2, REPLY_LAYERS = 3, REPLY_TEXTS = 16 };

/* A zeroed struct is an encoder that opens the detector at the first comparison. */
struct reply_encoder {
    bool tried, open;
    struct device device;
    struct workspace work;
    struct gate_model model;
    struct sentence_encoder encoder;
    float *background; /* [REPLY_LAYERS, width] mean vectors of texts of any subject */
};

/* Writes the similarity of a text with each of n options, at most REPLY_TEXTS.  Returns false if there
 * is no encoder: the detector is not installed or does not fit in memory, which is logged once. */
bool reply_encoder_compare(struct reply_encoder *e, double *similarity, const char *text, const char *const *options,
                           int n);
/* Accepts a zeroed encoder. */
void reply_encoder_close(struct reply_encoder *e);

#endif
