#include "train/detector/gate_settings.h"

#include "data/base/option_rows.h"

const struct gate_request gate_request_defaults = {
    .device = "auto",
    .seed = 1,
    .settings = {
        .train = TRAIN_GATEKEEPER,
        .encode = ENCODE_SCHEMA,
        .classifier = CLASSIFIER_PAIR,
        .pool = GATE_POOL_MEAN,
        .graph = GRAPH_TYPED,
        .compute = GATE_BF16,
        .gat_hidden = 128,
        .gat_layers = 2,
        .gat_heads = 4,
        .pair_hidden = 128,
        .dropout = 0.2,
        .scratch = ENCODER_DEFAULTS,
        .relevance_epochs = 2,
        .relevance_batch = 64,
        .negatives = 1,
        .relevance_lr = 5e-5,
        .embedder = EMBEDDER_LINKER,
        .head_lr = 1e-3,
        .schedule = GATE_LINEAR,
        .pair_weight = 1.0,
        .duplicates_weight = 1.0,
        .relevance_weight = 1.0,
        .linguistic_weight = 10.0,
        .pos_weight = 1.0,
        .shuffle_schema = true,
        .hard_negatives = 0.2,
        .false_alarms = 0.12,
        .renamed = 0.5,
        .distractors = 0,
        .labels_share = 0.1,
        .max_train = 0,
    },
};

/* Settings that the paper of GATekeeper (Skadborg and Mortensen, Aalborg University 2025) and its released code share,
 * and those of the code about which the paper is silent.  Training data is as it came. */
#define SKADBORG_MORTENSEN                                                                                             \
    "encode: element\n"                                                                                                \
    "classifier: gat-mean\n"                                                                                           \
    "pool: mean\n"                                                                                                     \
    "gat-hidden: 64\n"                                                                                                 \
    "gat-layers: 2\n"                                                                                                  \
    "gat-heads: 4\n"                                                                                                   \
    "dropout: 0.3\n"                                                                                                   \
    "relevance-epochs: 3\n"                                                                                            \
    "relevance-batch: 32\n"                                                                                            \
    "relevance-lr: 3e-5\n"                                                                                             \
    "batch: 32\n"                                                                                                      \
    "head-lr: 1e-3\n"                                                                                                  \
    "weight-decay: 0\n"                                                                                                \
    "hard-negatives: 0\n"                                                                                              \
    "false-alarms: 1\n"                                                                                                \
    "renamed: 0\n"                                                                                                     \
    "distractors: 0\n"

/* The paper: directed edges, a node for each element, states of the trained encoder with the relevance as a word, plain
 * cross-entropy, patience 40, the epoch of the best F1.  The paper gives no number of epochs; 200 is the longest run in
 * its repository. */
static const char skadborg_mortensen[] = SKADBORG_MORTENSEN "graph: paper\n"
                                                            "relevance-word: true\n"
                                                            "embedder: linker\n"
                                                            "epochs: 200\n"
                                                            "patience: 40\n"
                                                            "select: f1\n";

/* The released code, as far as options allow: nodes are merged by name, and edges are doubled.  Relevance is trained by
 * squared error, and states come from the encoder as it was before. */
static const char skadborg_mortensen_code[] = SKADBORG_MORTENSEN "graph: reproduction\n"
                                                                 "element-text: published\n"
                                                                 "embedder: stock\n"
                                                                 "relevance-loss: mse\n"
                                                                 "epochs: 50\n"
                                                                 "patience: 15\n"
                                                                 "pos-weight: 2\n";

const struct preset gate_presets[] = { { "skadborg-mortensen", skadborg_mortensen },
                                       { "skadborg-mortensen-code", skadborg_mortensen_code },
                                       { 0 } };

#define AT(field) offsetof(struct gate_request, settings.field)
#define HERE(field) offsetof(struct gate_request, field)

const struct option gate_request_table[] = {
    STRING_OPTION("data", HERE(data), "DIR|FILE",
                  "folder of ambit-data contrast or practice, JSONL list of them, or labels", .required = true,
                  .group = "input"),
    STRING_OPTION("labelled", HERE(labels), "FILE|DIR", "labelled questions about --db, besides the folder --data"),
    STRING_OPTION("db", HERE(db), "FILE|DIR", "SQLite file or folder of the labelled questions"),
    FORMAT_IN_OPTION(HERE(format_in)),
    LABEL_FIELD_OPTION(HERE(label_field)),
    INT_OPTION("max-train", AT(max_train), "N", 0, 1 << 30, "training questions of an epoch, 0: all"),
    FLAG_OPTION("allow-overlap", AT(allow_overlap), "allow questions and databases in two splits of --data"),
    OUT_OPTION(HERE(out), "DIR", "folder of checkpoints and the model", .required = true),
    STRING_OPTION("states", HERE(states), "DIR",
                  "cache of frozen encoders' states, shared by runs (default: in --out)"),
    PRESET_OPTION("preset", HERE(preset), "NAME", "skadborg-mortensen|skadborg-mortensen-code",
                  "settings of the paper, or of its released code", .group = "settings"),
    CONFIG_OPTION(HERE(config)),
    STRING_OPTION("encoder", HERE(encoder), "HF_DIR", "pretrained BERT or ModernBERT (default: a new encoder)",
                  .group = "model"),
    STRING_OPTION("init", HERE(init), "RUN", "finished detector to start from, in place of --encoder"),
    CHOICE_OPTION("encode", AT(encode), "HOW", "element|schema", "input of a sequence"),
    CHOICE_OPTION("classifier", AT(classifier), "NAME", "pair|gat-mean|gat-cat|gcn|rgcn|bert-only", "classifier"),
    INT_OPTION("gat-hidden", AT(gat_hidden), "N", 1, 1024, "channels of a GAT head"),
    INT_OPTION("gat-layers", AT(gat_layers), "N", 0, 16, "GAT layers"),
    INT_OPTION("gat-heads", AT(gat_heads), "N", 1, 32, "heads of a GAT layer"),
    INT_OPTION("pair-hidden", AT(pair_hidden), "N", 1, 4096, "hidden channels of the classifiers pair and bert-only"),
    REAL_OPTION("dropout", AT(dropout), "P", 0, 0.9, "dropout of the classifier"),
    CHOICE_OPTION("compute", AT(compute), "TYPE", "bf16|f32", "type of the encoder's products"),
    CHOICE_OPTION("gat-precision", AT(gat_precision), "TYPE", "f32|tf32|bf16", "precision of the GAT's products"),
    ENCODER_OPTIONS(AT(scratch)),
    TRAIN_OPTIONS(0),
    REAL_OPTION("head-lr", AT(head_lr), "X", 1e-9, 1, "peak learning rate of the classifier"),
    CHOICE_OPTION("schedule", AT(schedule), "FORM", "linear|cosine", "decay of the learning rate"),
    INT_OPTION("tokens", AT(train.tokens), "N", 512, 1 << 24,
               "maximum number of tokens encoded at once outside training"),
    FLAG_OPTION("shuffle-schema", AT(shuffle_schema), "encode schema: shuffle tables and columns every epoch"),
    REAL_OPTION("hard-negatives", AT(hard_negatives), "X", 0, 1, "fraction of the hard negatives to train on"),
    REAL_OPTION("false-alarms", AT(false_alarms), "X", 0, 1, "maximum fraction of hard negatives above the threshold"),
    REAL_OPTION("renamed", AT(renamed), "X", 0, 1, "fraction of questions with renamed schema elements"),
    REAL_OPTION("distractors", AT(distractors), "X", 0, 1, "fraction of questions with distractor tables"),
    REAL_OPTION("labelled-share", AT(labels_share), "X", 0, 0.9, "fraction of training questions from --labelled"),
    CHOICE_OPTION("embedder", AT(embedder), "HOW", "stock|linker|joint", "training of the encoder",
                  .group = "relevance training, with --encode element"),
    STRING_OPTION("linker", HERE(linker), "RUN", "take encoder and relevance head from this run"),
    INT_OPTION("relevance-epochs", AT(relevance_epochs), "N", 0, 1000, "passes over the data"),
    INT_OPTION("relevance-batch", AT(relevance_batch), "N", 1, 4096, "pairs of an optimizer step"),
    INT_OPTION("negatives", AT(negatives), "N", 1, 64, "irrelevant elements for each relevant one"),
    REAL_OPTION("relevance-lr", AT(relevance_lr), "X", 1e-9, 1, "peak learning rate"),
    REAL_OPTION("pair-weight", AT(pair_weight), "X", 0, 1e3, "weight of the loss on the true pair", .group = "losses"),
    REAL_OPTION("duplicates-weight", AT(duplicates_weight), "X", 0, 1e3, "weight of the loss on duplicated elements"),
    REAL_OPTION("relevance-weight", AT(relevance_weight), "X", 0, 1e3, "weight of the relevance loss"),
    REAL_OPTION("linguistic-weight", AT(linguistic_weight), "X", 0, 1e3, "weight of the loss on linguistic ambiguity"),
    RUN_OPTIONS,
    /* for --config alone: settings of the published tables */
    CHOICE_OPTION("features", AT(features), "WHAT", "states|relevance", NULL),
    CHOICE_OPTION("element-text", AT(element_text), "HOW", "qualified|published", NULL),
    FLAG_OPTION("relevance-word", AT(relevance_word), NULL),
    REAL_OPTION("random-edges", AT(random_edges), "X", 0, 1000, NULL),
    CHOICE_OPTION("pool", AT(pool), "HOW", "attention|mean|sum", NULL),
    CHOICE_OPTION("graph", AT(graph), "MODE", "typed|paper|mono|bi|reproduction", NULL),
    CHOICE_OPTION("relevance-loss", AT(relevance_loss), "LOSS", "bce|mse", NULL),
    CHOICE_OPTION("select", AT(select), "METRIC", "ap|f1", NULL),
    REAL_OPTION("pos-weight", AT(pos_weight), "X", 1e-3, 1e3, NULL),
    { 0 },
};
