#include "models/embed/schema_finder.h"

#include "data/base/json.h"
#include "data/base/whole_file.h"
#include "kernels/batch.h"
#include "models/hf/hf_config.h"
#include "models/hf/hf_weights.h"
#include "models/io/config_fields.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HOST_BYTES = 8 << 20 /* headers of the parameters */, LEAST_TOKENS = 3, MOST_TOKENS = 1 << 20 };

/* Reads a file that a folder may lack: *root is then NULL. */
static int open_optional(json_t **root, char **path, const char *dir, const char *name, struct error *err)
{
    char *at = path_in(dir, name);
    bool there = access(at, F_OK) == 0;

    free(at);
    *root = NULL;
    *path = NULL;
    if (!there)
        return 0;
    *root = config_open(dir, name, path, err);
    return *root ? 0 : -1;
}

/* Accepts Transformer, Pooling and Normalize of any package. */
static int check_module(const json_t *module, const char *path, struct error *err)
{
    static const char *const known[] = { "Transformer", "Pooling", "Normalize" };
    const struct config_fields s = { module, path, err };
    const char *type = json_string_value(json_object_get(module, "type")), *dot = type ? strrchr(type, '.') : NULL;

    for (int i = 0; type && i < ARRAY_LEN(known); i++)
        if (strcmp(dot ? dot + 1 : type, known[i]) == 0)
            return 0;
    return config_refuse(&s, "type", "Transformer, Pooling or Normalize");
}

static int check_modules(const char *dir, struct error *err)
{
    json_t *root;
    char *path;
    int rc = open_optional(&root, &path, dir, "modules.json", err);

    for (size_t i = 0; rc == 0 && i < json_array_size(root); i++)
        rc = check_module(json_array_get(root, i), path, err);
    json_decref(root);
    free(path);
    return rc;
}

/* Refuses all fields that ask for another pooling than the mean. */
static int check_pooling_fields(const struct config_fields *s)
{
    static const char *const others[] = { "pooling_mode_cls_token", "pooling_mode_max_tokens",
                                          "pooling_mode_mean_sqrt_len_tokens", "pooling_mode_weightedmean_tokens",
                                          "pooling_mode_lasttoken" };
    bool mean = true;

    if (config_maybe_bool(s, "pooling_mode_mean_tokens", &mean))
        return -1;
    if (!mean)
        return config_refuse(s, "pooling_mode_mean_tokens", "true");
    for (int i = 0; i < ARRAY_LEN(others); i++) {
        bool other = false;
        if (config_maybe_bool(s, others[i], &other))
            return -1;
        if (other)
            return config_refuse(s, others[i], "false");
    }
    const char *mode = json_string_value(json_object_get(s->root, "pooling_mode"));
    return config_absent(s, "pooling_mode") || (mode && strcmp(mode, "mean") == 0)
               ? 0
               : config_refuse(s, "pooling_mode", "\"mean\"");
}

static int check_pooling(const char *dir, struct error *err)
{
    json_t *root;
    char *path;
    int rc = open_optional(&root, &path, dir, "1_Pooling/config.json", err);

    if (root)
        rc = check_pooling_fields(&(const struct config_fields){ root, path, err });
    json_decref(root);
    free(path);
    return rc;
}

/* *longest is 0 if the file has no number, or a placeholder. */
static int read_tokenizer_longest(const char *dir, int *longest, struct error *err)
{
    char *path = path_in(dir, "tokenizer_config.json");
    json_t *root = access(path, F_OK) == 0 ? json_read_file_reals(path, err) : NULL;
    bool failed = !root && access(path, F_OK) == 0;
    double most = json_number_value(json_object_get(root, "model_max_length"));

    *longest = most >= LEAST_TOKENS && most <= MOST_TOKENS ? (int)most : 0;
    json_decref(root);
    free(path);
    return failed ? -1 : 0;
}

/* Reads the maximum length as sentence-transformers stores it; before version 6, in a file of its own. The encoder's
 * positions limit it. */
static int read_longest(int *longest, const char *dir, int positions, struct error *err)
{
    json_t *root;
    char *path;
    int rc = open_optional(&root, &path, dir, "sentence_bert_config.json", err);

    *longest = 0;
    if (root)
        rc = config_maybe_int(&(const struct config_fields){ root, path, err }, "max_seq_length", LEAST_TOKENS,
                              MOST_TOKENS, longest);
    json_decref(root);
    free(path);
    if (rc || (!*longest && read_tokenizer_longest(dir, longest, err)))
        return -1;
    if (!*longest || *longest > positions)
        *longest = positions;
    return 0;
}

static void declare(struct sentence_encoder *e, const struct bert_config *config, struct params *p, struct arena *data)
{
    struct param_arenas arenas = { &e->host, data, OPTIMIZER_NONE };

    bert_init(&e->net, config, "bert.", F32, p, &arenas);
}

static int take_memory(struct sentence_encoder *e, const struct bert_config *config, struct error *err)
{
    struct params measured = { 0 };
    struct arena room;

    if (arena_init(&e->host, HOST_BYTES, err))
        return -1;
    arena_measure(&room);
    declare(e, config, &measured, &room);
    params_release(&measured);
    arena_reset(&e->host, 0);
    if (device_arena(e->work->device, &e->data, room.peak, err))
        return -1;
    declare(e, config, &e->params, &e->data);
    return 0;
}

int sentence_encoder_open(struct sentence_encoder *e, struct workspace *work, const char *dir, int tokens,
                          struct error *err)
{
    struct hf_config config;

    *e = (struct sentence_encoder){ .work = work, .max_tokens = tokens };
    if (hf_config_read(&config, dir, err) || check_modules(dir, err) || check_pooling(dir, err))
        return -1;
    if (config.bert.kind != CLASSIC_BERT)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: config.json: model_type: expected \"bert\" for --retriever",
                         dir);
    if (config.bert.max_positions < LEAST_TOKENS)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: max_position_embeddings: expected at least %d, got %d", dir,
                         LEAST_TOKENS, config.bert.max_positions);
    e->layers = config.bert.layers;
    e->tokenizer = tokenizer_open_encoder(dir, config.bert.vocab_size, err);
    if (!e->tokenizer || read_longest(&e->longest, dir, config.bert.max_positions, err) ||
        take_memory(e, &config.bert, err))
        return -1;
    e->hash = hash_folder(HASH_START, dir);
    return hf_weights_load(&e->params, work->device, dir, &hf_bert_rules, HF_ENCODER, NULL, err);
}

void sentence_encoder_borrow(struct sentence_encoder *e, struct workspace *work, const struct bert *net, int layers,
                             struct tokenizer *tokenizer, int tokens)
{
    CHECK(net->config.kind == CLASSIC_BERT && layers > 0 && layers <= net->config.layers, "%d of %d layers", layers,
          net->config.layers);
    *e = (struct sentence_encoder){ .work = work,
                                    .net = *net,
                                    .layers = layers,
                                    .tokenizer = tokenizer,
                                    .borrows = true,
                                    .longest = net->config.max_positions,
                                    .max_tokens = tokens };
}

void sentence_encoder_close(struct sentence_encoder *e)
{
    if (!e->borrows)
        tokenizer_close(e->tokenizer);
    params_release(&e->params);
    arena_release(&e->host);
    if (e->data.base)
        device_arena_release(e->work->device, &e->data);
    *e = (struct sentence_encoder){ 0 };
}

/* Texts packed one after another. */
struct packed_texts {
    const struct sentence_encoder *e;
    struct ids tokens, positions, types, lengths;
    struct tensor *means; /* [texts, C], F32 */
};

static void push_token(struct packed_texts *p, int32_t token)
{
    ids_push(&p->tokens, token);
    ids_push(&p->positions, p->lengths.items[p->lengths.count - 1]++);
    ids_push(&p->types, 0);
}

static void add_text(struct packed_texts *p, const char *text)
{
    const struct sentence_encoder *e = p->e;
    struct ids words = { 0 };
    int64_t n = tokenizer_encode(e->tokenizer, text, strlen(text), 0, &words, NULL), room = e->longest - 2;

    ids_push(&p->lengths, 0);
    push_token(p, tokenizer_special(e->tokenizer, SPECIAL_CLS));
    for (int64_t i = 0; i < n && i < room; i++)
        push_token(p, words.items[i]);
    push_token(p, tokenizer_special(e->tokenizer, SPECIAL_SEP));
    ids_release(&words);
}

static void empty(struct packed_texts *p)
{
    p->tokens.count = p->positions.count = p->types.count = p->lengths.count = 0;
}

static void run_embed(struct ctx *c, void *arg)
{
    struct packed_texts *p = arg;
    const struct bert *net = &p->e->net;
    const int bounds[] = { net->config.vocab_size, net->config.max_positions, net->config.type_vocab_size };
    const struct ids *ids[] = { &p->tokens, &p->positions, &p->types };
    struct bert_input in = { .seqs = batch_seqs(c, p->lengths.items, p->lengths.count) };

    for (int i = 0; i < ARRAY_LEN(ids); i++)
        in.tokens[i] = batch_index(c, ids[i]->items, ids[i]->count, bounds[i]);
    ctx_note(c, p->e->layers);
    struct tensor *states = bert_states(c, net, &in, p->e->layers);
    p->means = op_cast(c, op_segment_pool(c, states, &in.seqs, POOL_MEAN), F32);
}

/* Divides a vector by its length. A zero vector is unchanged. */
static void normalise(float *v, int64_t width)
{
    double sum = 0;

    for (int64_t i = 0; i < width; i++)
        sum += (double)v[i] * (double)v[i];
    double length = sqrt(sum);
    for (int64_t i = 0; i < width && length > 0; i++)
        v[i] = (float)((double)v[i] / length);
}

int sentence_encoder_embed(struct sentence_encoder *e, float *vectors, const char *const *texts, int n,
                           struct error *err)
{
    struct packed_texts p = { .e = e };
    int64_t C = sentence_encoder_width(e);
    int rc = 0;

    e->work->ctx.recording = e->work->ctx.training = false;
    for (int i = 0; rc == 0 && i < n; empty(&p)) {
        for (; i < n && (!p.lengths.count || p.tokens.count + e->longest <= e->max_tokens); i++)
            add_text(&p, texts[i]);
        rc = workspace_run(e->work, run_embed, &p, err);
        if (rc == 0)
            device_download(e->work->device, vectors, p.means);
        for (int64_t k = 0; rc == 0 && k < p.lengths.count; k++, vectors += C)
            normalise(vectors, C);
    }
    struct ids *lists[] = { &p.tokens, &p.positions, &p.types, &p.lengths };
    for (int i = 0; i < ARRAY_LEN(lists); i++)
        ids_release(lists[i]);
    return rc;
}

/* PIECE: columns of a piece, which fit the input of small encoders. */
enum { PIECE = 40, TABLES_AT_ONCE = 256 };

struct schema_finder {
    const struct schema *schema;
    struct schema_search *search;
    float *vectors; /* [tables, width], NULL without an encoder */
    int64_t width;
};

/* Texts of some tables, table after table. */
struct table_texts {
    char **list;
    int n, cap;
};

/* Takes text. */
static void add(struct table_texts *t, char *text)
{
    GROW(t->list, t->n, t->cap);
    t->list[t->n++] = text;
}

static size_t piece_length(const struct schema *s, int table, int first, int end)
{
    size_t n = strlen(s->tables[table].text) + 1;

    for (int i = first; i < end; i++)
        n += 2 + strlen(s->columns[i].text);
    return n;
}

/* "name: column, column" */
static char *piece(const struct schema *s, int table, int first, int end)
{
    char *text = xmalloc(piece_length(s, table, first, end)), *at = stpcpy(text, s->tables[table].text);

    for (int i = first; i < end; i++)
        at = stpcpy(stpcpy(at, i == first ? ": " : ", "), s->columns[i].text);
    return text;
}

static int pieces_of(const struct schema *s, int table)
{
    return (s->tables[table].n_columns + PIECE - 1) / PIECE;
}

static void add_table(struct table_texts *t, const struct schema *s, int table)
{
    int first = s->tables[table].first_column, end = first + s->tables[table].n_columns;

    add(t, piece(s, table, 0, 0));
    for (; first < end; first += PIECE)
        add(t, piece(s, table, first, end < first + PIECE ? end : first + PIECE));
}

/* of [width] = the first vector plus the mean of the others. It is normalised later. */
static void join(float *of, const float *vectors, int others, int64_t width)
{
    for (int64_t c = 0; c < width; c++) {
        double sum = 0;
        for (int i = 1; i <= others; i++)
            sum += (double)vectors[i * width + c];
        of[c] = (float)((double)vectors[c] + (others ? sum / others : 0));
    }
}

static int embed_some(struct schema_finder *f, struct sentence_encoder *e, int first, int end, struct error *err)
{
    const struct schema *s = f->schema;
    struct table_texts t = { 0 };

    for (int i = first; i < end; i++)
        add_table(&t, s, i);
    float *vectors = xmalloc((size_t)t.n * (size_t)f->width * sizeof *vectors), *at = vectors;
    int rc = sentence_encoder_embed(e, vectors, (const char *const *)t.list, t.n, err);
    for (int i = first; rc == 0 && i < end; i++) {
        join(f->vectors + i * f->width, at, pieces_of(s, i), f->width);
        normalise(f->vectors + i * f->width, f->width);
        at += (1 + pieces_of(s, i)) * f->width;
    }
    for (int i = 0; i < t.n; i++)
        free(t.list[i]);
    free(t.list);
    free(vectors);
    return rc;
}

static int embed_tables(struct schema_finder *f, struct sentence_encoder *e, struct error *err)
{
    int n = f->schema->n_tables, rc = 0;

    f->width = sentence_encoder_width(e);
    f->vectors = xmalloc((size_t)n * (size_t)f->width * sizeof *f->vectors + 1);
    for (int i = 0; rc == 0 && i < n; i += TABLES_AT_ONCE)
        rc = embed_some(f, e, i, i + TABLES_AT_ONCE < n ? i + TABLES_AT_ONCE : n, err);
    return rc;
}

struct schema_finder *schema_finder_open(const struct schema *s, struct sentence_encoder *e, struct error *err)
{
    struct schema_finder *f = xcalloc(1, sizeof *f);

    f->schema = s;
    f->search = schema_search_open(s);
    if (!e || embed_tables(f, e, err) == 0)
        return f;
    schema_finder_close(f);
    return NULL;
}

void schema_finder_close(struct schema_finder *f)
{
    if (!f)
        return;
    schema_search_close(f->search);
    free(f->vectors);
    free(f);
}

/* [tables] */
static float *worths(const struct schema_finder *f, const float *vector)
{
    float *worth = xmalloc((size_t)f->schema->n_tables * sizeof *worth + 1);

    for (int t = 0; t < f->schema->n_tables; t++) {
        double sum = 0;
        for (int64_t c = 0; c < f->width; c++)
            sum += (double)f->vectors[t * f->width + c] * (double)vector[c];
        worth[t] = sum > 0 ? (float)sum : 0;
    }
    return worth;
}

void schema_finder_best(const struct schema_finder *f, const char *question, const float *vector, int most, bool *kept)
{
    CHECK(!vector == !f->vectors, "expected a vector of the question if and only if tables have vectors");
    float *worth = vector ? worths(f, vector) : NULL;

    schema_search_best(f->search, question, worth, most, kept);
    free(worth);
}
