#include "train/gate/gate_settings.h"

#include "data/cli/option_rows.h"

const struct gate_request gate_request_defaults = {
    .device = "auto",
    .seed = 1,
    .settings = {
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
        .epochs = 3,
        .batch = 32,
        .patience = 0,
        .lr = 2e-4,
        .head_lr = 1e-3,
        .warmup = 0.06,
        .decay = 0.01,
        .clip = 1.0,
        .schedule = GATE_LINEAR,
        .pair_weight = 1.0,
        .twins_weight = 1.0,
        .relevance_weight = 1.0,
        .linguistic_weight = 10.0,
        .pos_weight = 1.0,
        .shuffle_schema = true,
        .presence = 0.2,
        .false_alarms = 0.12,
        .renamed = 0.5,
        .appended = 0,
        .labels_share = 0.1,
        .max_train = 0,
        .eval_every = 0,
        .save_every = 0,
        .tokens = 16384,
    },
};

/* The released code of GATekeeper (Skadborg and Mortensen, Aalborg University; its trainer, node embedder, graph
 * loader and gnn_classifier.py), as far as options express it: nodes merged by name, doubled edges, relevance by
 * squared error, an element's text with its relevance as a word, and a frozen encoder. */
static const char thesis[] = "encode: element\n"
                             "classifier: gat-mean\n"
                             "pool: mean\n"
                             "graph: compat\n"
                             "element-text: thesis\n"
                             "embedder: stock\n"
                             "gat-hidden: 64\n"
                             "gat-layers: 2\n"
                             "gat-heads: 4\n"
                             "dropout: 0.3\n"
                             "relevance-loss: mse\n"
                             "relevance-epochs: 3\n"
                             "relevance-batch: 32\n"
                             "relevance-lr: 3e-5\n"
                             "batch: 32\n"
                             "epochs: 50\n"
                             "patience: 15\n"
                             "head-lr: 1e-3\n"
                             "decay: 0\n"
                             "pos-weight: 2\n"
                             "presence: 0\n"
                             "false-alarms: 1\n"
                             "renamed: 0\n"
                             "appended: 0\n";

const struct preset gate_presets[] = { { "thesis", thesis }, { 0 } };

#define AT(field) offsetof(struct gate_request, settings.field)
#define HERE(field) offsetof(struct gate_request, field)

const struct option gate_request_table[] = {
    STRING_OPTION("data", HERE(data), "DIR|FILE",
                  "folder of ambit-data contrast or practice, or a JSONL file that names several; with --db own labels",
                  .required = true),
    STRING_OPTION("labels", HERE(labels), "FILE|DIR",
                  "own labels about --db, or AMBROSIA's questions, learnt beside the folder --data"),
    DB_OPTION(HERE(db), ": own labels are about these"),
    FORMAT_IN_OPTION(HERE(form)),
    LABEL_FIELD_OPTION(HERE(label_field)),
    STRING_OPTION("encoder", HERE(encoder), "HF_DIR",
                  "pretrained BERT or ModernBERT folder; without one, an encoder from scratch"),
    STRING_OPTION("linker", HERE(linker), "RUN",
                  "element: a run whose encoder and relevance serve here, in place of --encoder and of training them"),
    STRING_OPTION("states", HERE(states), "DIR",
                  "element: keeps states of frozen encoders there, for other runs too; without, in --out for this one"),
    OUT_OPTION(HERE(out), "DIR", "where checkpoints and the model go", .required = true),
    CONFIG_OPTION(HERE(config)),
    PRESET_OPTION("compat", HERE(compat), "NAME", "thesis",
                  "settings of the thesis' released code, for parity, which the rest overrides"),
    DEVICE_OPTION(HERE(device)),
    NO_GRAPH_OPTION(HERE(no_graph)),
    SHARD_OPTIMIZER_OPTION(HERE(shard_optimizer)),
    RESUME_OPTION(HERE(resume),
                  "go on from the newest checkpoint in --out, if there is one; all other settings are there too"),
    SEED_OPTION(HERE(seed), "of initial weights, order and dropout"),
    FLAG_OPTION("force", HERE(force), "write into a folder that holds something else"),
    DRY_RUN_OPTION(HERE(dry_run), "check everything, print the memory estimate, train nothing"),
    CHOICE_OPTION("encode", AT(encode), "HOW", "element|schema",
                  "one sequence an element, or question and schema in one"),
    CHOICE_OPTION("classifier", AT(classifier), "HOW", "pair|gat-mean|gat-cat|gcn|rgcn|bert-only",
                  "pair head, the thesis' pooled GAT, or what that is compared with"),
    CHOICE_OPTION("features", AT(features), "WHAT", "states|relevance",
                  "all but pair: of a node its state, or its relevance alone"),
    CHOICE_OPTION("element-text", AT(element_text), "HOW", "qualified|thesis",
                  "element: table, name and type, or the thesis' string of the bare name and its relevance as a word"),
    FLAG_OPTION("relevance-word", AT(relevance_word),
                "element: states are read again with a word that says whether the element is relevant"),
    REAL_OPTION("random-edges", AT(random_edges), "X", 0, 1000,
                "a drawn graph for each question, of so many edges a node; 0: the schema's"),
    CHOICE_OPTION("pool", AT(pool), "HOW", "attention|mean|sum", "pooling of all classifiers but pair"),
    CHOICE_OPTION("graph", AT(graph), "MODE", "typed|paper|mono|bi|compat",
                  "edges of the schema graph; compat: as the thesis' code makes it, names merged and edges doubled"),
    CHOICE_OPTION("compute", AT(compute), "TYPE", "bf16|f32", "type of the encoder's products"),
    CHOICE_OPTION("gat-precision", AT(gat_precision), "TYPE", "f32|tf32|bf16", "products of the GAT with F32 weights"),
    INT_OPTION("gat-hidden", AT(gat_hidden), "N", 1, 1024, "channels of a GAT head"),
    INT_OPTION("gat-layers", AT(gat_layers), "N", 0, 16, "GAT layers"),
    INT_OPTION("gat-heads", AT(gat_heads), "N", 1, 32, "heads of a GAT layer"),
    INT_OPTION("pair-hidden", AT(pair_hidden), "N", 1, 4096, "hidden channels of the pair head and of bert-only"),
    REAL_OPTION("dropout", AT(dropout), "P", 0, 0.9, "dropout of the classifier"),
    ENCODER_OPTIONS(AT(scratch)),
    INT_OPTION("relevance-epochs", AT(relevance_epochs), "N", 0, 1000, "element: epochs of relevance training"),
    INT_OPTION("relevance-batch", AT(relevance_batch), "N", 1, 4096, "element: pairs in a relevance batch"),
    INT_OPTION("negatives", AT(negatives), "N", 1, 64, "element: irrelevant elements for each relevant one"),
    REAL_OPTION("relevance-lr", AT(relevance_lr), "X", 1e-9, 1, "element: learning rate of relevance training"),
    CHOICE_OPTION(
        "relevance-loss", AT(relevance_loss), "LOSS", "bce|mse",
        "cross-entropy, or as the thesis has it the squared error of the logit, which is read as if of the other"),
    CHOICE_OPTION("embedder", AT(embedder), "HOW", "stock|linker|joint",
                  "element: states of the encoder as it came, frozen after relevance training, or trained on"),
    INT_OPTION("epochs", AT(epochs), "N", 0, 1000, "epochs of classifier training"),
    INT_OPTION("batch", AT(batch), "N", 1, 4096, "questions in a batch"),
    INT_OPTION("patience", AT(patience), "N", 0, 1000,
               "stop after this many validations without a better one, 0: never"),
    CHOICE_OPTION(
        "select", AT(select), "FIGURE", "ap|f1",
        "what the best checkpoint is best in: average precision, or F1 at the best threshold as in the thesis"),
    REAL_OPTION("lr", AT(lr), "X", 1e-9, 1, "learning rate of the encoder"),
    REAL_OPTION("head-lr", AT(head_lr), "X", 1e-9, 1, "learning rate of the classifier"),
    REAL_OPTION("warmup", AT(warmup), "X", 0, 1, "share of the steps that warm up"),
    REAL_OPTION("decay", AT(decay), "X", 0, 1, "decoupled weight decay"),
    REAL_OPTION("clip", AT(clip), "X", 0, 1e6, "largest gradient norm, 0: any"),
    CHOICE_OPTION("schedule", AT(schedule), "HOW", "linear|cosine", "how the rate falls after warming up"),
    REAL_OPTION("pair-weight", AT(pair_weight), "X", 0, 1e3, "weight of the loss on the true pair"),
    REAL_OPTION("twins-weight", AT(twins_weight), "X", 0, 1e3,
                "weight of the loss on the schema's doubled elements, whatever the question asks"),
    REAL_OPTION("relevance-weight", AT(relevance_weight), "X", 0, 1e3,
                "weight of the relevance loss beside the classifier's"),
    REAL_OPTION("linguistic-weight", AT(linguistic_weight), "X", 0, 1e3,
                "weight of the loss on kinds that lie in a question's words, where labels tell of them"),
    REAL_OPTION("pos-weight", AT(pos_weight), "X", 1e-3, 1e3, "weight of ambiguous questions"),
    FLAG_OPTION("shuffle-schema", AT(shuffle_schema), "schema: a new order of tables and columns each epoch"),
    REAL_OPTION("presence", AT(presence), "X", 0, 1, "share of the presence slice that is trained on"),
    REAL_OPTION("false-alarms", AT(false_alarms), "X", 0, 1,
                "most of the presence slice of validation that the threshold may call ambiguous; 1: any"),
    REAL_OPTION(
        "renamed", AT(renamed), "X", 0, 1,
        "share of the training questions read on a schema with other names of the same meaning, where the data has some"),
    REAL_OPTION("appended", AT(appended), "X", 0, 1,
                "share of the training questions read with tables of other training databases behind their schema's"),
    FLAG_OPTION("allow-overlap", AT(allow_overlap),
                "go on, with a warning, where a question or a database stands in two folds of --data"),
    REAL_OPTION("labels-share", AT(labels_share), "X", 0, 0.9,
                "share of what is trained on that --labels give, however few they are"),
    INT_OPTION("max-train", AT(max_train), "N", 0, 1 << 30, "training questions, 0: all"),
    INT_OPTION("eval-every", AT(eval_every), "N", 0, 1 << 30, "steps between validations, 0: once an epoch"),
    INT_OPTION("save-every", AT(save_every), "N", 0, 1 << 30, "steps between checkpoints, 0: at validations"),
    INT_OPTION("tokens", AT(tokens), "N", 512, 1 << 24, "most tokens encoded at once outside training"),
    { 0 },
};
