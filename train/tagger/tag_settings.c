#include "train/tagger/tag_settings.h"

#include "data/base/option_rows.h"
#include "train/tagger/tag_data.h"

const struct tag_training tag_request_defaults = {
    .device = "auto",
    .seed = 1,
    .settings = {
        .train = TRAIN_TAGGER,
        .scratch = ENCODER_DEFAULTS,
        .hidden = 384,
        .compute = TAG_BF16,
        .dropout = 0.3,
        .grounding = GROUND_SPANS,
        .concept_weight = 1,
        .grounding_weight = 1,
        .meaning_weight = 1,
        .tags_weight = 1,
        .grounding_from = 0.1,
        .grounding_to = 0.3,
        .tags_from = 0,
        .tags_to = 0.1,
        .head_lr = 1e-3,
        .replay = TAG_REPLAY,
        .max_valid = 2000,
    },
};

#define AT(field) offsetof(struct tag_training, settings.field)
#define HERE(field) offsetof(struct tag_training, field)

const struct option tag_request_table[] = {
    STRING_OPTION("data", HERE(data), "DIR|FILE", "folder of ambit-data counterfactual; with --from also a file",
                  .required = true, .group = "input"),
    INT_OPTION("max-train", AT(max_train), "N", 0, 1 << 30, "training records of an epoch, 0: all"),
    INT_OPTION("max-valid", AT(max_valid), "N", 1, 1 << 30, "max records of a validation"),
    OUT_OPTION(HERE(out), "DIR", "folder of checkpoints and the model", .required = true, .group = "output"),
    OPTION_ROW(OPTION_CONFIG, "config", HERE(config), .value = "F.yaml",
               .help = "settings; the command line overrides them", .letter = 'c', .group = "settings"),
    STRING_OPTION("encoder", HERE(encoder), "HF_DIR", "pretrained BERT (default: a new encoder)", .group = "model"),
    STRING_OPTION("from", HERE(from), "RUN", "trained tagger to continue from"),
    INT_OPTION("replay", AT(replay), "N", 0, TAG_REPLAY, "training records of --from to replay"),
    FLAG_OPTION("heads-only", AT(heads_only), "freeze the encoder"),
    INT_OPTION("hidden", AT(hidden), "N", 8, 4096, "channels of concepts and words in the heads"),
    REAL_OPTION("dropout", AT(dropout), "P", 0, 0.9, "dropout of the heads"),
    CHOICE_OPTION("compute", AT(compute), "TYPE", "bf16|f32", "type of the network's products"),
    FLAG_OPTION("compat", AT(compat), "reproduce the tags and links of the published code"),
    ENCODER_OPTIONS(AT(scratch)),
    TRAIN_OPTIONS(1),
    REAL_OPTION("head-lr", AT(head_lr), "X", 1e-9, 1, "peak learning rate of heads and CRF"),
    INT_OPTION("tokens", AT(train.tokens), "N", 512, 1 << 24, "max tokens read at once outside training"),
    REAL_OPTION("smoothing", AT(smoothing), "X", 0, 0.5, "label smoothing of concepts", .group = "losses"),
    CHOICE_OPTION("grounding", AT(grounding), "HOW", "spans|erase|none", "source of the grounding weights"),
    REAL_OPTION("concept-weight", AT(concept_weight), "X", 0, 1e3, "weight of the concept loss"),
    REAL_OPTION("grounding-weight", AT(grounding_weight), "X", 0, 1e3, "weight of the grounding loss"),
    REAL_OPTION("meaning-weight", AT(meaning_weight), "X", 0, 1e3, "weight of the loss on the meanings of spans"),
    REAL_OPTION("tags-weight", AT(tags_weight), "X", 0, 1e3, "weight of the tag loss"),
    REAL_OPTION("grounding-from", AT(grounding_from), "X", 0, 1,
                "fraction of the steps: grounding weight rises from 0"),
    REAL_OPTION("grounding-to", AT(grounding_to), "X", 0, 1, "fraction of the steps: grounding weight is full"),
    REAL_OPTION("tags-from", AT(tags_from), "X", 0, 1, "fraction of the steps: tag weight rises from 0"),
    REAL_OPTION("tags-to", AT(tags_to), "X", 0, 1, "fraction of the steps: tag weight is full"),
    RUN_OPTIONS,
    { 0 },
};
