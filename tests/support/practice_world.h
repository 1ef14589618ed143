/*
 * practice_world.h - the practice data as training examples of a detector that reads whole schemas.
 */
#ifndef TESTS_PRACTICE_WORLD_H
#define TESTS_PRACTICE_WORLD_H

#include "models/text/tokenizer.h"
#include "tests/support/support.h"
#include "train/detector/gate_data.h"

/* Stays where it was opened: its data point into it. */
struct practice_world {
    struct dataset records;
    struct tokenizer *tokenizer;
    struct gate_layout layout;
    struct gatekeeper_config net;
    struct gate_data_settings settings;
    struct gate_data data;
};
/* Sequences of 1,024 tokens, candidate pairs. */
void practice_world_open(struct practice_world *w);
void practice_world_close(struct practice_world *w);

#endif
