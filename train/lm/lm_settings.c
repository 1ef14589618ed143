#include "train/lm/lm_settings.h"

const struct lm_request lm_request_defaults = {
    .device = "auto",
    .seed = 42,
    .settings = {
        .method = "lora",
        .targets = "q,k,v,o,gate,up,down",
        .head = "none",
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
        .schedule = "cosine",
        .select = "loss",
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
    { "base", 0, OPTION_STRING, HERE(base), "HF_DIR", "the language model to start from; without one, from scratch",
      NULL, 0, 0, false },
    { "tokenizer", 0, OPTION_STRING, HERE(tokenizer), "DIR", "from scratch: what ambit-train tokenizer left", NULL, 0,
      0, false },
    { "data", 0, OPTION_STRING, HERE(data), "FILE.jsonl", "conversations to learn from", NULL, 0, 0, true },
    { "valid", 0, OPTION_STRING, HERE(valid), "FILE.jsonl", "conversations that choose the checkpoint", NULL, 0, 0,
      false },
    { "out", 'o', OPTION_STRING, HERE(out), "DIR", "where checkpoints and the adapter go", NULL, 0, 0, true },
    { "preset", 0, OPTION_PRESET, HERE(preset), "NAME", "published settings, which the rest overrides", "dfpl", 0, 0,
      false },
    { "config", 'c', OPTION_CONFIG, HERE(config), "F.yaml", "settings; the command line overrides them", NULL, 0, 0,
      false },
    { "chat-template", 0, OPTION_STRING, HERE(chat_template), "NAME",
      "llama3, llama3-unsloth, chatml or chatml-bare instead of the folder's own", NULL, 0, 0, false },
    { "device", 'd', OPTION_STRING, HERE(device), "DEVICE", "auto, cpu, cuda, cuda:N or simt", NULL, 0, 0, false },
    { "resume", 0, OPTION_FLAG, HERE(resume), NULL, "go on from the newest checkpoint in --out, if there is one", NULL,
      0, 0, false },
    { "seed", 0, OPTION_INT, HERE(seed), "N", "of initial weights, order, noise and dropout", NULL, 0,
      9007199254740991.0, false },
    { "show-samples", 0, OPTION_INT, HERE(show_samples), "N", "print N examples token by token, then train", NULL, 0,
      1e6, false },
    { "dry-run", 'n', OPTION_FLAG, HERE(dry_run), NULL, "check everything, print the memory estimate, train nothing",
      NULL, 0, 0, false },
    { "method", 0, OPTION_CHOICE, AT(method), "HOW", "low-rank adapters, or every weight", "lora|full", 0, 0, false },
    { "targets", 0, OPTION_STRING, AT(targets), "LIST", "maps with adapters, of q,k,v,o,gate,up,down", NULL, 0, 0,
      false },
    { "head", 0, OPTION_CHOICE, AT(head), "HOW", "lora: the output matrix too, as a pair or whole", "none|lora|full", 0,
      0, false },
    { "rank", 0, OPTION_INT, AT(rank), "N", "of the adapters", NULL, 1, 1024, false },
    { "alpha", 0, OPTION_REAL, AT(alpha), "A", "adapters are scaled by alpha / rank", NULL, OPTION_ABOVE_ZERO, 1e6,
      false },
    { "lora-dropout", 0, OPTION_REAL, AT(lora_dropout), "P", "dropout before the adapters", NULL, 0, 0.9, false },
    { "rslora", 0, OPTION_FLAG, AT(rslora), NULL, "scale by alpha / sqrt(rank)", NULL, 0, 0, false },
    { "neftune", 0, OPTION_REAL, AT(neftune), "A", "noise on embeddings, A / sqrt(length channels)", NULL, 0, 1000,
      false },
    { "compute", 0, OPTION_CHOICE, AT(compute), "TYPE", "of weights and products; auto: as stored", "auto|f32|bf16", 0,
      0, false },
    { "hidden", 0, OPTION_INT, AT(hidden), "N", "from scratch: channels", NULL, 8, 65536, false },
    { "layers", 0, OPTION_INT, AT(layers), "N", "from scratch: layers", NULL, 1, 200, false },
    { "heads", 0, OPTION_INT, AT(heads), "N", "from scratch: heads", NULL, 1, 512, false },
    { "groups", 0, OPTION_INT, AT(groups), "N", "from scratch: heads of keys and values", NULL, 1, 512, false },
    { "intermediate", 0, OPTION_INT, AT(intermediate), "N", "from scratch: feed-forward channels", NULL, 8, 1 << 20,
      false },
    { "positions", 0, OPTION_INT, AT(positions), "N", "from scratch: longest text", NULL, 16, 1 << 24, false },
    { "epochs", 0, OPTION_INT, AT(epochs), "N", "passes over the data", NULL, 1, 100000, false },
    { "batch", 0, OPTION_INT, AT(batch), "N", "conversations of a step", NULL, 1, 65536, false },
    { "length", 0, OPTION_INT, AT(length), "N", "longer conversations are left out", NULL, 2, 1 << 24, false },
    { "max-valid", 0, OPTION_INT, AT(max_valid), "N", "conversations that validation looks at, 0 for all", NULL, 0, 1e9,
      false },
    { "patience", 0, OPTION_INT, AT(patience), "N", "epochs without a better figure before stopping, 0: never", NULL, 0,
      100000, false },
    { "lr", 0, OPTION_REAL, AT(lr), "RATE", "highest learning rate", NULL, OPTION_ABOVE_ZERO, 1, false },
    { "warmup", 0, OPTION_REAL, AT(warmup), "SHARE", "of the steps, in which the rate rises", NULL, 0, 1, false },
    { "decay", 0, OPTION_REAL, AT(decay), "D", "weight decay", NULL, 0, 1, false },
    { "clip", 0, OPTION_REAL, AT(clip), "NORM", "largest norm of the gradient, 0: no limit", NULL, 0, 1e9, false },
    { "schedule", 0, OPTION_CHOICE, AT(schedule), "FORM", "how the rate falls", "cosine|linear", 0, 0, false },
    { "select", 0, OPTION_CHOICE, AT(select), "FIGURE", "what the best checkpoint is best in", "loss|recall", 0, 0,
      false },
    { "max-new", 0, OPTION_INT, AT(max_new), "N", "recall: most tokens of an answer", NULL, 1, 1 << 20, false },
    { "group-by-length", 0, OPTION_FLAG, AT(group_by_length), NULL, "batches of conversations of like length", NULL, 0,
      0, false },
    { "share-prefix", 0, OPTION_FLAG, AT(share_prefix), NULL,
      "compute what the texts of a micro-batch begin with in common once", NULL, 0, 0, false },
    { "tokens", 0, OPTION_INT, AT(tokens), "N",
      "most tokens of a micro-batch; changes memory, and the noise that is drawn", NULL, 1, 1 << 24, false },
    { "save-every", 0, OPTION_INT, AT(save_every), "N", "steps between checkpoints, 0: after epochs only", NULL, 0, 1e9,
      false },
    { 0 },
};
