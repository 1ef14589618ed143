/*
 * train_settings.h - the settings that all trainers share, with the defaults of each trainer in one table.
 *
 * A trainer's settings hold a struct train_settings named `train`. Its option table has TRAIN_OPTIONS, with limits of
 * its own where they differ.
 */
#ifndef TRAIN_RUN_TRAIN_SETTINGS_H
#define TRAIN_RUN_TRAIN_SETTINGS_H

#include "data/base/option_rows.h"

struct train_settings {
    int64_t epochs, batch;
    double lr, warmup, decay, clip; /* warmup: fraction of the steps; clip: max gradient norm, 0: none */
    int64_t patience;               /* validations without improvement before the end; 0: no limit */
    int64_t tokens;                 /* max tokens computed at once: of a micro-batch, or outside training */
    int64_t eval_every;             /* steps between validations; 0: once an epoch */
    int64_t save_every;             /* steps between checkpoints; 0: at validations only */
};

/* clang-format off */
#define TRAIN_ROW(epochs_, batch_, lr_, warmup_, decay_, clip_, tokens_, eval_every_) \
    { .epochs = (epochs_), .batch = (batch_), .lr = (lr_), .warmup = (warmup_), .decay = (decay_), .clip = (clip_), \
      .tokens = (tokens_), .eval_every = (eval_every_) }

/*                                    epochs batch    lr  warmup decay clip tokens eval_every */
#define TRAIN_GATEKEEPER    TRAIN_ROW(     3,   32, 2e-4,  0.06, 0.01,  1,  16384,          0)
#define TRAIN_TAGGER        TRAIN_ROW(     3,   32, 1e-4,  0.06,    0,  1,  16384,          0)
#define TRAIN_INFILLER      TRAIN_ROW(     3,    8, 2e-4,  0.03,    0,  1,  16384,          0)
#define TRAIN_SEQ2SEQ       TRAIN_ROW(     3,   32, 1e-3,  0.03,    0,  1,  16384,          0)
#define TRAIN_REWARD        TRAIN_ROW(     1,    8, 1e-5,  0.03,    0,  1,  16384,        100)

/* Rows of an option table, the same for all trainers. AT(field) is the offset of a field of the trainer's settings,
 * HERE(field) of its request. */
#define TRAIN_OPTIONS(min_epochs) \
    INT_OPTION("epochs", AT(train.epochs), "N", min_epochs, 100000, "passes over the data", .group = "training"), \
    INT_OPTION("batch", AT(train.batch), "N", 1, 65536, "examples of an optimizer step"), \
    REAL_OPTION("lr", AT(train.lr), "X", OPTION_ABOVE_ZERO, 1, "peak learning rate"), \
    REAL_OPTION("warmup", AT(train.warmup), "X", 0, 1, "fraction of the steps with a rising rate"), \
    REAL_OPTION("weight-decay", AT(train.decay), "X", 0, 1, "decoupled weight decay"), \
    REAL_OPTION("max-grad-norm", AT(train.clip), "X", 0, 1e9, "maximum gradient norm, 0: no limit"), \
    INT_OPTION("patience", AT(train.patience), "N", 0, 100000, \
               "stop after N validations without improvement, 0: never"), \
    INT_OPTION("eval-every", AT(train.eval_every), "N", 0, 1 << 30, "steps between validations, 0: once an epoch"), \
    INT_OPTION("save-every", AT(train.save_every), "N", 0, 1 << 30, "steps between checkpoints, 0: at validations")

#define RUN_OPTIONS \
    RESUME_OPTION(HERE(resume), "resume from the newest checkpoint in --out, with its settings", .group = "run"), \
    DRY_RUN_OPTION(HERE(dry_run), "check all settings and print the memory estimate only"), \
    FORCE_OPTION(HERE(force)), \
    SEED_OPTION(HERE(seed), "random seed"), \
    DEVICE_OPTION(HERE(device)), \
    NO_GRAPH_OPTION(HERE(no_graph)), \
    SHARD_OPTIMIZER_OPTION(HERE(shard_optimizer))
/* clang-format on */

#endif
