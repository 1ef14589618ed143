/* Shared by the parts of gatekeeper.h: the pair classifier's file, and that of the thesis' classifiers. */
#ifndef MODELS_NET_GATEKEEPER_IMPL_H
#define MODELS_NET_GATEKEEPER_IMPL_H

#include "models/net/gatekeeper.h"
#include "models/net/param_builder.h"

/* x [T, K] -> F32 [T] */
struct tensor *gatekeeper_logits(struct ctx *c, struct tensor *x, struct tensor *w, struct tensor *b);
/* x itself where it has the type. */
struct tensor *gatekeeper_as(struct ctx *c, struct tensor *x, enum dtype dtype);

/* w has the builder's type, which is F32 from then on; mean: the heads' outputs are averaged, else side by side. */
void gat_layer_init(struct gat_layer *l, const struct gatekeeper_config *g, struct param_builder *p, int64_t in,
                    bool mean);
struct tensor *gat_layer_forward(struct ctx *c, const struct gatekeeper *g, const struct gat_layer *l, struct tensor *x,
                                 const struct graph *graph, bool mean);

/* Matrices of GAT layers have type dtype, the rest is F32. */
void thesis_init(struct gatekeeper *g, struct param_builder *p, enum dtype dtype);
struct gate_scores thesis_classify(struct ctx *c, const struct gatekeeper *g, struct tensor *states,
                                   const struct gate_graph *graph);

#endif
