/* Part of gate_trainer.h: data, model and encoder, before the first step. */
#include "data/corpora/labels.h"
#include "data/util/log.h"
#include "models/hf/hf_weights.h"
#include "train/gate/gate_trainer_impl.h"
#include "train/gate/state_cache.h"
#include "train/run/encoder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static enum gate_texts texts_of(const struct gate_settings *s)
{
    if (s->element_text == GATE_TEXT_THESIS)
        return TEXTS_THESIS;
    return s->relevance_word ? TEXTS_RELEVANCE : TEXTS_QUALIFIED;
}

static struct gatekeeper_config network_of(const struct gate_settings *s, const struct bert_config *bert,
                                           bool linguistic)
{
    struct gatekeeper_config config = {
        .linguistic = linguistic,
        .bert = *bert,
        .encode = s->encode,
        .classifier = s->classifier,
        .features = s->features,
        .texts = texts_of(s),
        .random_edges = (float)s->random_edges,
        .pool = s->pool,
        .gat_precision = s->gat_precision,
        .gat_hidden = (int)s->gat_hidden,
        .gat_layers = (int)s->gat_layers,
        .gat_heads = (int)s->gat_heads,
        .edge_types = SCHEMA_EDGE_TYPES,
        .pair_hidden = (int)s->pair_hidden,
        .pair_features = GATE_PAIR_FEATURES,
        .dropout = (float)s->dropout,
    };
    config.embedder = gatekeeper_says_word(&config) && s->embedder == EMBEDDER_STOCK;
    return config;
}

/* One whose vocabulary is learnt from the training questions and the names of their schemas. */
static struct tokenizer *scratch_encoder(const struct gate_trainer *t, struct bert_config *bert, struct error *err)
{
    const struct dataset *d = &t->records;
    const struct example_list *train = &d->folds[FOLD_TRAIN];
    const char **texts = NULL;
    bool *used = xcalloc((size_t)d->schemas.n, sizeof *used);
    int n = 0, cap = 0;

    for (int i = 0; i < train->n; i++) {
        GROW(texts, n, cap);
        texts[n++] = train->items[i].question;
        used[schema_find(&d->schemas, train->items[i].db_id) - d->schemas.schemas] = true;
        for (int k = 0; k < train->items[i].n_renamed; k++)
            used[schema_find(&d->schemas, train->items[i].renamed[k]) - d->schemas.schemas] = true;
    }
    for (int i = 0; i < d->schemas.n; i++) {
        const struct schema *s = &d->schemas.schemas[i];
        for (int k = 0; used[i] && k < s->n_tables + s->n_columns; k++) {
            GROW(texts, n, cap);
            texts[n++] = k < s->n_tables ? s->tables[k].text : s->columns[k - s->n_tables].text;
        }
    }
    struct tokenizer *tokenizer = encoder_from_scratch(&t->set->scratch, texts, n, 0, bert, err);
    free(texts);
    free(used);
    return tokenizer;
}

/* The linker's, whose weights wait until the model has been made. */
static struct tokenizer *linked_encoder(struct gate_trainer *t, struct bert_config *bert, struct error *err)
{
    if (gate_model_open(&t->linked, &t->run.device, t->linker, err))
        return NULL;
    struct tokenizer *tokenizer = t->linked.tokenizer;
    t->linked.tokenizer = NULL;
    *bert = t->linked.net.config.bert;
    if (gate_check_linker(t, err) == 0)
        return tokenizer;
    tokenizer_close(tokenizer);
    return NULL;
}

static void copy_param(struct gate_trainer *t, struct param *to, const struct param *from)
{
    float *values = xmalloc((size_t)tensor_size(from->t) * sizeof *values);

    param_download(from, &t->run.device, values);
    param_upload(to, &t->run.device, values);
    free(values);
}

/* Encoder and relevance head. */
static void take_linker(struct gate_trainer *t)
{
    for (int i = 0; i < t->linked.params.n; i++) {
        const struct param *from = &t->linked.params.list[i];
        struct param *to = gate_reads(from) ? params_find(&t->model.params, from->name) : NULL;
        if (to)
            copy_param(t, to, from);
    }
    gate_model_release(&t->linked);
}

/* The encoder as it came, before anything is learnt. */
static void take_embedder(struct gate_trainer *t)
{
    char name[256];

    for (int i = 0; i < t->model.params.n; i++) {
        struct param *to = &t->model.params.list[i];
        if (strncmp(to->name, GATE_EMBEDDER, strlen(GATE_EMBEDDER)) != 0)
            continue;
        snprintf(name, sizeof name, "%s%s", bert_prefix(&t->model.net.config.bert), to->name + strlen(GATE_EMBEDDER));
        const struct param *from = params_find(&t->model.params, name);
        CHECK(from, "no encoder's %s", name);
        copy_param(t, to, from);
    }
}

/* Whether a training question is labelled by a kind that lies in its words. */
static bool teaches_linguistic(const struct gate_trainer *t)
{
    const struct example_list *train = &t->records.folds[FOLD_TRAIN];

    for (int i = 0; t->set->classifier == CLASSIFIER_PAIR && i < train->n; i++)
        if (train->items[i].linguistic != LINGUISTIC_NONE)
            return true;
    return false;
}

static int init_model(struct gate_trainer *t, struct error *err)
{
    struct run *r = &t->run;
    struct bert_config bert;
    struct tokenizer *tokenizer = t->linker    ? linked_encoder(t, &bert, err)
                                  : t->encoder ? encoder_from_folder(t->encoder, 2, &bert, err)
                                               : scratch_encoder(t, &bert, err);

    if (!tokenizer)
        return -1;
    struct gatekeeper_config config = network_of(t->set, &bert, teaches_linguistic(t));
    enum dtype dtype = t->set->compute == GATE_BF16 ? BF16 : F32;
    enum optimizer optimizer = run_optimizer(r, OPTIMIZER_ADAMW);
    size_t bytes = gate_model_bytes(&config, dtype, optimizer);
    if (r->device.free_memory && bytes > r->device.free_memory) {
        tokenizer_close(tokenizer);
        return error_set(err, EXIT_CODE_MEMORY, "the model with its optimizer needs %zu MiB, %s has %zu MiB free",
                         bytes >> 20, r->device.description, r->device.free_memory >> 20);
    }
    if (gate_model_init(&t->model, &r->device, &config, dtype, t->set->graph, optimizer, tokenizer, err))
        return -1;
    struct param_arenas arenas = { &t->model.host, &t->model.data, optimizer };
    r->params = &t->model.params;
    r->model_bytes = t->model.data.used;
    r->recompute = &t->model.net.bert.checkpointed;
    snprintf(r->hint, sizeof r->hint, "a smaller batch (now %lld) would fit", (long long)t->set->batch);
    return run_take(r, &arenas, err);
}

/* The pair head can only say yes of a pair. */
static void warn_of_pairless(const struct gate_trainer *t)
{
    const struct gate_fold *train = &t->data.folds[FOLD_TRAIN];
    int n = 0;

    for (int i = 0; i < train->n; i++)
        n += train->list[i].record->ambiguous && !train->list[i].item.schema->n_pairs;
    if (n && t->set->classifier == CLASSIFIER_PAIR)
        log_warn("%d ambiguous training questions are about databases without two elements that are alike: of them "
                 "--classifier pair learns nothing, gat-mean does",
                 n);
}

static int read_examples(struct gate_trainer *t, struct error *err)
{
    t->reading = (struct gate_data_settings){ .tokenizer = t->model.tokenizer,
                                              .layout = &t->model.layout,
                                              .net = &t->model.net.config,
                                              .input = gate_model_input(&t->model, true) };
    if (gate_data_init(&t->data, &t->records, &t->reading, err))
        return -1;
    double appended =
        t->model.graph == GRAPH_COMPAT ? 0 : t->set->appended; /* a node of any name is everybody's there */
    gate_appender_init(&t->appender, &t->data, &t->reading, appended, t->run.set.seed);
    for (int f = 0; f < FOLDS; f++)
        if (t->model.graph == GRAPH_COMPAT)
            log_info("%s: %d questions", fold_name((enum fold)f), t->data.folds[f].n);
        else
            log_info("%s: %d questions, %d ambiguous ones whose alternatives are no candidate pair",
                     fold_name((enum fold)f), t->data.folds[f].n, t->data.folds[f].lost_pairs);
    warn_of_pairless(t);
    t->run.data_hash = t->data.hash;
    return 0;
}

/* Among many candidate pairs hardly any is meant: at first the chance of all of them together is small. */
static void set_pair_prior(struct gate_trainer *t)
{
    struct param *bias = params_find(&t->model.params, "pair.twins.score.bias");
    const float prior = -5;

    if (bias)
        param_upload(bias, &t->run.device, &prior);
}

static int load_encoder(struct gate_trainer *t, struct error *err)
{
    int kept = 0;

    params_init(&t->model.params, &t->run.device, t->run.set.seed);
    set_pair_prior(t);
    const struct hf_rules *rules = hf_encoder_rules(t->model.net.config.bert.kind);
    if (t->encoder && hf_weights_load(&t->model.params, &t->run.device, t->encoder, rules, HF_ENCODER, &kept, err))
        return -1;
    if (t->encoder)
        log_info("encoder: %s, %d parameters of the relevance head start from random values", t->encoder, kept);
    if (t->model.net.config.embedder)
        take_embedder(t);
    if (t->linker)
        take_linker(t);
    return 0;
}

/* What the thesis' labels are: one question may stand in train and in test. */
static int check_folds(const struct gate_trainer *t, struct error *err)
{
    struct error fault = { 0 };

    if (dataset_check_folds(&t->records, &fault) == 0)
        return 0;
    for (int f = FOLD_VALID; f < FOLDS; f++) {
        int questions = dataset_overlap(&t->records, (enum fold)f, false),
            databases = dataset_overlap(&t->records, (enum fold)f, true);
        if (questions || databases)
            log_warn("%s: of %d questions %d stand in train too, and %d are about databases that do",
                     fold_name((enum fold)f), t->records.folds[f].n, questions, databases);
    }
    if (t->set->allow_overlap)
        return 0;
    return error_set(err, fault.code, "%s; with --allow-overlap it is trained on all the same", fault.text);
}

static int read_labels(const struct gate_trainer *t, struct dataset *d, const char *path, struct error *err)
{
    struct labels_request labels = {
        .path = path, .db = t->db, .form = t->form, .label_field = t->label_field, .seed = (int64_t)t->run.set.seed
    };

    return labels_read(d, &labels, err);
}

static int join_labels(struct gate_trainer *t, struct error *err)
{
    struct dataset labels = { 0 };
    int rc = read_labels(t, &labels, t->labels, err) || dataset_join(&t->records, &labels, err);

    dataset_release(&labels);
    return rc ? -1 : 0;
}

/* Whether the first line of a file has the field of a mixture's folder. */
static bool names_folders(const char *path)
{
    char line[4096] = "";
    FILE *f = fopen(path, "r");
    bool found = f && fgets(line, sizeof line, f) && strstr(line, "\"data\"");

    if (f)
        fclose(f);
    return found;
}

static int read_mixture(struct gate_trainer *t, struct error *err)
{
    if (!names_folders(t->data_folder))
        return error_set(err, EXIT_CODE_USAGE,
                         "%s is no folder of ambit-data contrast or practice; own labels need --db", t->data_folder);
    if (mixture_read(&t->mixture, &t->records, t->data_folder, t->run.set.seed, err))
        return -1;
    for (int i = 0; i < t->mixture.n; i++)
        if (t->mixture.parts[i].left_out)
            log_info("%s: %d questions left out, since an earlier folder has their database, or the question, in "
                     "another fold",
                     t->mixture.parts[i].name, t->mixture.parts[i].left_out);
    return 0;
}

static int read_records(struct gate_trainer *t, struct error *err)
{
    struct stat st;

    if (t->labels && !t->db)
        return error_set(err, EXIT_CODE_USAGE, "--labels %s: expected --db, the databases that they are about",
                         t->labels);
    if (t->db && !t->labels)
        return read_labels(t, &t->records, t->data_folder, err);
    bool file = stat(t->data_folder, &st) == 0 && !S_ISDIR(st.st_mode);
    if (file ? read_mixture(t, err) : dataset_read(&t->records, t->data_folder, err))
        return -1;
    if (t->labels && join_labels(t, err))
        return -1;
    return check_folds(t, err);
}

int gate_open(void *trainer, struct error *err)
{
    struct gate_trainer *t = trainer;

    if (gate_check_settings(t, err) || read_records(t, err) || init_model(t, err) || read_examples(t, err) ||
        gate_check_word(t, err))
        return -1;
    gate_scorer_init(&t->scorer, &t->model, &t->run.work, (int)t->set->tokens);
    gate_plan_stages(t);
    return load_encoder(t, err);
}

void gate_close(void *trainer)
{
    struct gate_trainer *t = trainer;

    state_cache_close(t->cache);
    state_cache_close(t->valid_cache);
    free(t->slots);
    free(t->tokens);
    text_builder_release(&t->text);
    gate_scorer_release(&t->scorer);
    gate_appender_release(&t->appender);
    gate_data_release(&t->data);
    dataset_release(&t->records);
    mixture_release(&t->mixture);
    gate_model_release(&t->model);
    gate_model_release(&t->linked);
}
