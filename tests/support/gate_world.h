/*
 * gate_world.h - a small GATekeeper with random weights, schemas and questions, for tests of models and programs.
 */
#ifndef TESTS_GATE_WORLD_H
#define TESTS_GATE_WORLD_H

#include "kernels/optim.h"
#include "models/gatekeeper/gate_score.h"
#include "tests/support/support.h"

struct gate_world {
    struct device device;
    struct workspace work;
    struct gate_model model;
    struct optim optim;
    struct gate_scorer scorer;
};

struct gate_world_settings {
    enum gate_encode encode;
    enum gate_classifier classifier;
    enum gate_pool pool;
    enum dtype dtype;
    int max_positions; /* 0: 128 */
    float dropout;
    int linguistic; /* as in gatekeeper_config */
    enum graph_mode graph;
    enum gate_texts texts;
    int embedder;
};

/* Every encoding and classifier. The texts of the last two have a word for the relevance. The last one also merges
 * nodes and has a second encoder, as the released code of Skadborg and Mortensen does. */
enum { GATE_WORLD_KINDS = 12, GATE_WORLD_OWN_KINDS = 10 };
extern const struct gate_world_settings gate_world_kinds[GATE_WORLD_KINDS];

/* Two layers of two heads, trainable, on the cpu.  The weights are larger than at the start of training, so that every
 * input changes the output. */
void gate_world_open(struct gate_world *w, const struct gate_world_settings *s);
void gate_world_open_on(struct gate_world *w, const struct gate_world_settings *s, const char *device);
void gate_world_close(struct gate_world *w);

/* A schema whose tables have a key and three columns and refer to one another in a row; the seed picks the words. */
void gate_world_schema(struct schema *s, int tables, uint64_t seed);

/* A question of the world's words, with its schema. The caller releases it with gate_question_release(). */
struct gate_question {
    struct schema schema;
    struct schema_input input;
    char text[128];
    struct ids ids;
    struct gate_item item;
};
/* Takes the schema. */
void gate_question_init(struct gate_question *q, const struct gate_world *w, struct schema *schema, uint64_t seed);
void gate_question_release(struct gate_question *q);

#endif
