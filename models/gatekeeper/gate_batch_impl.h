/* Shared by the parts of gate_batch.h. */
#ifndef MODELS_GATEKEEPER_GATE_BATCH_IMPL_H
#define MODELS_GATEKEEPER_GATE_BATCH_IMPL_H

#include "models/gatekeeper/gate_batch.h"

/* Sizes for each power of two: of what every layer computes, of what one does, of what costs next to nothing. */
enum { TOKEN_STEPS = 12, ROW_STEPS = 2, NODE_STEPS = 2, EDGE_STEPS = 1, PAIR_STEPS = 1, SEQUENCE_STEPS = 1 };

#endif
