#include "train/lm/lm_settings.h"

#include "data/cli/option_rows.h"

const struct lm_request lm_request_defaults = {
    .device = "auto",
    .seed = 42,
    .settings = {
        .method = METHOD_LORA,
        .targets = "q,k,v,o,gate,up,down",
        .head = HEAD_NONE,
        .rank = 16,
        .alpha = 32,
        .compute = "auto",
        .hidden = 256,
        .layers = 6,
        .heads = 4,
        .groups = 2,
        .intermediate = 704,
        .positions = 2048,
        .epochs = 3,
        .batch = 8,
        .length = 8192,
        .max_valid = 100,
        .lr = 2e-4,
        .warmup = 0.03,
        .clip = 1.0,
        .schedule = LM_COSINE,
        .select = SELECT_LOSS,
        .max_new = 512,
        .group_by_length = true,
        .tokens = 16384,
    },
};

/* Infilling as its authors trained it on Llama-3.1-8B-Instruct (paper, section 5; infilling training script): the
 * output matrix whole, as Unsloth takes lm_head among the targets. */
static const char dfpl[] = "rank: 16\n"
                           "alpha: 16\n"
                           "head: full\n"
                           "neftune: 5\n"
                           "lr: 5e-5\n"
                           "schedule: cosine\n"
                           "warmup: 0.01\n"
                           "decay: 0.01\n"
                           "clip: 0.3\n"
                           "batch: 8\n"
                           "epochs: 15\n"
                           "length: 8192\n";

const struct preset lm_presets[] = { { "dfpl", dfpl }, { 0 } };

#define AT(field) offsetof(struct lm_request, settings.field)
#define HERE(field) offsetof(struct lm_request, field)

const struct option lm_request_table[] = {
    STRING_OPTION("base", HERE(base), "HF_DIR", "the language model to start from; without one, from scratch"),
    STRING_OPTION("tokenizer", HERE(tokenizer), "DIR", "from scratch: what ambit-train tokenizer left"),
    STRING_OPTION("data", HERE(data), "FILE.jsonl", "conversations to learn from", .required = true),
    STRING_OPTION("valid", HERE(valid), "FILE.jsonl", "conversations that choose the checkpoint"),
    OUT_OPTION(HERE(out), "DIR", "where checkpoints and the adapter go", .required = true),
    PRESET_OPTION("preset", HERE(preset), "NAME", "dfpl", "published settings, which the rest overrides"),
    CONFIG_OPTION(HERE(config)),
    STRING_OPTION("chat-template", HERE(chat_template), "NAME",
                  "llama3, llama3-unsloth, chatml or chatml-bare instead of the folder's own"),
    DEVICE_OPTION(HERE(device)),
    NO_GRAPH_OPTION(HERE(no_graph)),
    RESUME_OPTION(HERE(resume),
                  "go on from the newest checkpoint in --out, if there is one; all other settings are there too"),
    SEED_OPTION(HERE(seed), "of initial weights, order, noise and dropout"),
    INT_OPTION("show-samples", HERE(show_samples), "N", 0, 1e6, "print N examples token by token, then train"),
    FLAG_OPTION("force", HERE(force), "write into a folder that holds something else"),
    DRY_RUN_OPTION(HERE(dry_run), "check everything, print the memory estimate, train nothing"),
    CHOICE_OPTION("method", AT(method), "HOW", "lora|full", "low-rank adapters, or every weight"),
    STRING_OPTION("targets", AT(targets), "LIST", "maps with adapters, of q,k,v,o,gate,up,down"),
    CHOICE_OPTION("head", AT(head), "HOW", "none|lora|full", "lora: the output matrix too, as a pair or whole"),
    INT_OPTION("rank", AT(rank), "N", 1, 1024, "of the adapters"),
    REAL_OPTION("alpha", AT(alpha), "A", OPTION_ABOVE_ZERO, 1e6, "adapters are scaled by alpha / rank"),
    REAL_OPTION("lora-dropout", AT(lora_dropout), "P", 0, 0.9, "dropout before the adapters"),
    FLAG_OPTION("rslora", AT(rslora), "scale by alpha / sqrt(rank)"),
    REAL_OPTION("neftune", AT(neftune), "A", 0, 1000, "noise on embeddings, A / sqrt(length channels)"),
    WORD_OPTION("compute", AT(compute), "TYPE", "auto|f32|bf16", "of weights and products; auto: as stored"),
    INT_OPTION("hidden", AT(hidden), "N", 8, 65536, "from scratch: channels"),
    INT_OPTION("layers", AT(layers), "N", 1, 200, "from scratch: layers"),
    INT_OPTION("heads", AT(heads), "N", 1, 512, "from scratch: heads"),
    INT_OPTION("groups", AT(groups), "N", 1, 512, "from scratch: heads of keys and values"),
    INT_OPTION("intermediate", AT(intermediate), "N", 8, 1 << 20, "from scratch: feed-forward channels"),
    INT_OPTION("positions", AT(positions), "N", 16, 1 << 24, "from scratch: longest text"),
    INT_OPTION("epochs", AT(epochs), "N", 1, 100000, "passes over the data"),
    INT_OPTION("batch", AT(batch), "N", 1, 65536, "conversations of a step"),
    INT_OPTION("length", AT(length), "N", 2, 1 << 24, "longer conversations are left out"),
    INT_OPTION("max-valid", AT(max_valid), "N", 0, 1e9, "conversations that validation looks at, 0 for all"),
    INT_OPTION("patience", AT(patience), "N", 0, 100000, "epochs without a better figure before stopping, 0: never"),
    REAL_OPTION("lr", AT(lr), "RATE", OPTION_ABOVE_ZERO, 1, "highest learning rate"),
    REAL_OPTION("warmup", AT(warmup), "SHARE", 0, 1, "of the steps, in which the rate rises"),
    REAL_OPTION("decay", AT(decay), "D", 0, 1, "weight decay"),
    REAL_OPTION("clip", AT(clip), "NORM", 0, 1e9, "largest norm of the gradient, 0: no limit"),
    CHOICE_OPTION("schedule", AT(schedule), "FORM", "cosine|linear|constant", "how the rate falls, if it does"),
    CHOICE_OPTION("optimizer", AT(optimizer), "NAME", "adamw|adafactor",
                  "adafactor keeps a number for each row and column of a matrix, adamw two for each weight"),
    CHOICE_OPTION("select", AT(select), "FIGURE", "loss|recall", "what the best checkpoint is best in"),
    INT_OPTION("max-new", AT(max_new), "N", 1, 1 << 20, "recall: most tokens of an answer"),
    FLAG_OPTION("group-by-length", AT(group_by_length), "batches of conversations of like length"),
    FLAG_OPTION("share-prefix", AT(share_prefix), "compute what the texts of a micro-batch begin with in common once"),
    INT_OPTION("tokens", AT(tokens), "N", 1, 1 << 24,
               "most tokens of a micro-batch; changes memory, and the noise that is drawn"),
    INT_OPTION("save-every", AT(save_every), "N", 0, 1e9, "steps between checkpoints, 0: after epochs only"),
    { 0 },
};
