#include "models/hf/hf_weights.h"

#include "data/base/log.h"
#include "models/io/checksum.h"
#include "models/io/mismatch.h"
#include "models/io/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAME = 512,
    PIECE = 1 << 22 /* elements that are converted at a time */,
    COPIED = 1 << 25 /* elements that are copied at a time */
};
enum { MEGABYTE = 1000000, PROGRESS_FROM = 1000 * MEGABYTE /* minimum bytes of weights for a progress report */ };

static const char *const bert_owned[] = { "bert.", "classifier.weight", "classifier.bias", NULL };
static const char *const bert_may_lack[] = { "bert.pooler.", NULL };
/* Heads of pretraining and of transformers' classifiers, a pooler without use, and a table of positions 0, 1, 2, ... */
static const char *const bert_ignored[] = { "cls.",        "pooler.",     "embeddings.position_ids",
                                            "classifier.", "qa_outputs.", NULL };
static const struct hf_stack bert_stacks[] = {
    { ".attention.self.qkv.", 3, { ".attention.self.query.", ".attention.self.key.", ".attention.self.value." } },
    { 0 },
};
static const struct hf_spelling bert_spellings[] = {
    { ".LayerNorm.weight", ".LayerNorm.gamma" },
    { ".LayerNorm.bias", ".LayerNorm.beta" },
    { 0 },
};

static const char *const modern_owned[] = { "model.", "head.", "classifier.weight", "classifier.bias", NULL };
static const char *const modern_may_lack[] = { "head.", NULL };
/* Heads of the masked language model and of transformers' classifiers. */
static const char *const modern_ignored[] = { "head.", "decoder.weight", "decoder.bias", "classifier.", NULL };

static const char *const llama_owned[] = { "model.", "lm_head.weight", NULL };
static const char *const llama_may_lack[] = { NULL };
/* Some files store a tied head too. llama_config_read compares it with the embedding table. */
static const char *const llama_ignored[] = { ".rotary_emb.inv_freq", "lm_head.weight", NULL };
static const char *const t5_owned[] = { "shared.weight", "encoder.", "decoder.", "lm_head.weight", NULL };
/* Other names of the embedding table, and an unused bias of early files. */
static const char *const t5_ignored[] = { "encoder.embed_tokens.weight", "decoder.embed_tokens.weight",
                                          "lm_head.weight",
                                          "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",
                                          NULL };
static const struct hf_stack t5_stacks[] = { { "Attention.kv.", 2, { "Attention.k.", "Attention.v." } }, { 0 } };
static const struct hf_spelling t5_spellings[] = {
    { "shared.weight", "encoder.embed_tokens.weight" },
    { "shared.weight", "decoder.embed_tokens.weight" },
    { "shared.weight", "lm_head.weight" },
    { 0 },
};

static const struct hf_stack no_stacks[] = { { 0 } };
static const struct hf_spelling no_spellings[] = { { 0 } };

const struct hf_rules hf_llama_rules = {
    "model.", llama_owned, llama_may_lack, llama_ignored, no_stacks, no_spellings
};

const struct hf_rules hf_t5_rules = { "", t5_owned, llama_may_lack, t5_ignored, t5_stacks, t5_spellings };

const struct hf_rules hf_bert_rules = { "bert.", bert_owned, bert_may_lack, bert_ignored, bert_stacks, bert_spellings };

static const struct hf_rules modern_rules = { "model.",       modern_owned, modern_may_lack,
                                              modern_ignored, no_stacks,    no_spellings };

const struct hf_rules *hf_encoder_rules(enum bert_kind kind)
{
    return kind == MODERN_BERT ? &modern_rules : &hf_bert_rules;
}

static bool starts_with(const char *name, const char *start)
{
    return strncmp(name, start, strlen(start)) == 0;
}

static bool listed(const char *const *list, const char *name)
{
    for (; *list; list++)
        if ((*list)[strlen(*list) - 1] == '.' ? starts_with(name, *list)
            : **list == '.'                   ? text_ends_with(name, *list)
                                              : !strcmp(name, *list))
            return true;
    return false;
}

/* Returns the number of tensors that a parameter is stacked from. */
static int part_count(const struct hf_rules *rules, const char *param)
{
    for (const struct hf_stack *s = rules->stacks; s->own; s++)
        if (strstr(param, s->own))
            return s->n;
    return 1;
}

static void part_name(char out[NAME], const struct hf_rules *rules, const char *param, int part)
{
    const char *at = NULL;
    const struct hf_stack *s = rules->stacks;
    int n;

    while (s->own && !(at = strstr(param, s->own)))
        s++;
    if (at)
        n = snprintf(out, NAME, "%.*s%s%s", (int)(at - param), param, s->parts[part], at + strlen(s->own));
    else
        n = snprintf(out, NAME, "%s", param);
    CHECK(n < NAME, "parameter name %s", param);
}

/* Returns the shape of one of n tensors, each with an equal share of the rows. */
static void part_shape(int64_t shape[TENSOR_MAX_DIMS], const struct tensor *t, int n)
{
    memcpy(shape, t->shape, sizeof t->shape);
    CHECK(n == 1 || (t->ndim > 0 && shape[0] % n == 0), "%lld rows in %d parts", (long long)shape[0], n);
    if (n > 1)
        shape[0] /= n;
}

/* State of reading one folder. */
struct hf_reader {
    struct safetensors s;
    const struct params *p;
    const struct hf_rules *rules;
    enum hf_extent extent;
    bool bare;  /* names in the file omit the prefix */
    bool *used; /* [s.n] entries that a parameter takes */
    int n_kept;
    struct mismatch mismatch;
    struct name_list unused; /* tensors that no parameter takes */
};

static bool wanted(const struct hf_reader *l, const char *param)
{
    return listed(l->rules->owned, param) && (l->extent == HF_WHOLE || starts_with(param, l->rules->prefix));
}

/* Finds an entry by its present or old name, with or without prefix as in the file. */
static const struct safetensors_entry *find_entry(const struct hf_reader *l, const char *name)
{
    char old[NAME];

    if (l->bare && starts_with(name, l->rules->prefix))
        name += strlen(l->rules->prefix);
    const struct safetensors_entry *e = safetensors_find(&l->s, name);
    for (const struct hf_spelling *a = l->rules->spellings; !e && a->now; a++) {
        if (text_ends_with(name, a->now)) {
            snprintf(old, sizeof old, "%.*s%s", (int)(strlen(name) - strlen(a->now)), name, a->old);
            e = safetensors_find(&l->s, old);
        }
    }
    return e;
}

/* Returns whether the file has the parameter. Records differences in l->mismatch. */
static bool match_param(struct hf_reader *l, const struct param *p)
{
    int n = part_count(l->rules, p->name), found = 0;
    int64_t shape[TENSOR_MAX_DIMS];
    char name[NAME], a[128], b[128];

    part_shape(shape, p->t, n);
    for (int k = 0; k < n; k++) {
        part_name(name, l->rules, p->name, k);
        const struct safetensors_entry *e = find_entry(l, name);
        found += e != NULL;
        if (e)
            l->used[e - l->s.entries] = true;
        if (e && (e->dtype == ST_OTHER || !shape_equal(e->ndim, e->shape, p->t->ndim, shape)))
            name_list_add(&l->mismatch.wrong_shape, "%.100s: expected floats %s, got %s %s", name,
                          shape_text(b, p->t->ndim, shape), e->dtype_name, shape_text(a, e->ndim, e->shape));
        if (!e && (l->extent == HF_WHOLE || !listed(l->rules->may_lack, p->name)))
            name_list_add(&l->mismatch.missing, "%.100s", name);
    }
    return found > 0;
}

/* Returns whether a tensor without a parameter may be ignored. */
static bool passed_over(const struct hf_reader *l, const char *name)
{
    const char *own = starts_with(name, l->rules->prefix) ? name + strlen(l->rules->prefix) : name;

    return listed(l->rules->ignored, own);
}

/* Returns the length of the prefix that names a tensor's layer, up to the layer number, or else its module. */
static size_t layer_length(const char *name)
{
    size_t length = 0;
    const char *dot = strrchr(name, '.');

    for (const char *at = strchr(name, '.'); at; at = strchr(at + 1, '.')) {
        size_t digits = strspn(at + 1, "0123456789");
        if (digits && at[1 + digits] == '.')
            length = (size_t)(at - name) + digits + 2;
    }
    return length || !dot ? length : (size_t)(dot - name) + 1;
}

/* Returns whether the tensor belongs to a layer that the network reads. The file's model then computes something else.
 */
static bool changes_layer(const struct hf_reader *l, const char *name)
{
    size_t length = layer_length(name);

    for (int i = 0; i < l->s.n && length; i++)
        if (l->used[i] && strncmp(l->s.entries[i].name, name, length) == 0)
            return true;
    return false;
}

/* Tensors of other heads and layers only cause a warning, as in transformers. */
static void list_unused(struct hf_reader *l)
{
    bool fits = l->mismatch.missing.n + l->mismatch.wrong_shape.n == 0;

    for (int i = 0; i < l->s.n; i++) {
        const char *name = l->s.entries[i].name;
        if (l->used[i] || passed_over(l, name))
            continue;
        name_list_add(fits && !changes_layer(l, name) ? &l->unused : &l->mismatch.unexpected, "%.100s", name);
    }
}

static int match(struct hf_reader *l, struct error *err)
{
    l->bare = true;
    for (int i = 0; i < l->s.n; i++)
        if (starts_with(l->s.entries[i].name, l->rules->prefix))
            l->bare = false;
    for (int i = 0; i < l->p->n; i++)
        if (listed(l->rules->owned, l->p->list[i].name) &&
            (!wanted(l, l->p->list[i].name) || !match_param(l, &l->p->list[i])))
            l->n_kept++;
    list_unused(l);
    if (mismatch_report(&l->mismatch, l->s.path, err))
        return -1;
    if (l->unused.n)
        log_warn("%s: %d tensors are not used: %s", l->s.path, l->unused.n, l->unused.text);
    return 0;
}

static void add_number(const struct param *p, float *x, int64_t n, float one)
{
    for (int64_t i = 0; i < n && p->flags & PARAM_LESS_ONE; i++)
        x[i] += one;
}

/* Progress of reading one folder. */
struct weights_reading {
    const struct hf_reader *l;
    struct device *device;
    float *buffer; /* [PIECE] buffer for conversion */
    struct progress progress;
    int64_t bytes, done;
};

/* Returns whether stored bytes can be copied to the device: the types are equal, and no master copy or offset is
 * needed. */
static bool same_bytes(const struct param *p, const struct safetensors_entry *e)
{
    return e->dtype == (p->t->dtype == F32 ? ST_F32 : ST_BF16) && !p->master && !(p->flags & PARAM_LESS_ONE);
}

/* Reads elements [from, from + n) of a tensor that starts at element `at` of its parameter. */
static int read_piece(struct weights_reading *r, struct param *p, int64_t at, const struct safetensors_entry *e,
                      int64_t from, int64_t n, struct error *err)
{
    const unsigned char *stored = safetensors_fetch(e, from, n);

    if (same_bytes(p, e)) {
        param_upload_stored(p, r->device, stored, at + from, n);
        return 0;
    }
    if (safetensors_read_f32(&r->l->s, e, r->buffer, from, n, err))
        return -1;
    add_number(p, r->buffer, n, 1);
    param_upload_part(p, r->device, r->buffer, at + from, n);
    return 0;
}

static void report_progress(struct weights_reading *r)
{
    if (r->bytes >= PROGRESS_FROM)
        progress_update(&r->progress, r->done / MEGABYTE, (double)r->done / MEGABYTE, NULL);
}

/* Reads one tensor in pieces, so that large weights are never in memory twice. */
static int read_part(struct weights_reading *r, struct param *p, int64_t at, const struct safetensors_entry *e,
                     struct error *err)
{
    int64_t max = same_bytes(p, e) ? COPIED : PIECE;

    for (int64_t from = 0, n; from < e->size; from += n) {
        n = e->size - from < max ? e->size - from : max;
        if (read_piece(r, p, at, e, from, n, err))
            return -1;
        r->done += (int64_t)(e->bytes / (size_t)e->size) * n;
        report_progress(r);
    }
    return 0;
}

/* Returns the entry of one tensor of a parameter, or NULL. */
static const struct safetensors_entry *find_part(const struct hf_reader *l, const struct param *p, int part)
{
    char name[NAME];

    part_name(name, l->rules, p->name, part);
    return find_entry(l, name);
}

/* Tensors that the file lacks leave the parameter unchanged. */
static int read_param(struct weights_reading *r, struct param *p, struct error *err)
{
    int n = part_count(r->l->rules, p->name);
    int64_t size = tensor_size(p->t) / n;

    for (int k = 0; k < n; k++) {
        const struct safetensors_entry *e = find_part(r->l, p, k);
        if (e && read_part(r, p, k * size, e, err))
            return -1;
    }
    return 0;
}

/* Returns the number of bytes that will be read. */
static int64_t wanted_bytes(const struct hf_reader *l)
{
    int64_t bytes = 0;

    for (int i = 0; i < l->s.n; i++)
        bytes += l->used[i] ? (int64_t)l->s.entries[i].bytes : 0;
    return bytes;
}

static int read_all(const struct hf_reader *l, struct device *d, struct error *err)
{
    struct weights_reading r = { .l = l, .device = d, .bytes = wanted_bytes(l) };
    int rc = 0;

    r.buffer = xmalloc(PIECE * sizeof *r.buffer);
    progress_start(&r.progress, "reading weights", "MB", r.bytes / MEGABYTE);
    for (int i = 0; i < l->p->n && rc == 0; i++)
        if (wanted(l, l->p->list[i].name))
            rc = read_param(&r, &l->p->list[i], err);
    if (r.bytes >= PROGRESS_FROM)
        progress_end(&r.progress);
    free(r.buffer);
    return rc;
}

int hf_weights_load(const struct params *p, struct device *d, const char *dir, const struct hf_rules *rules,
                    enum hf_extent extent, int *n_kept, struct error *err)
{
    struct hf_reader l = { .p = p, .rules = rules, .extent = extent };
    int rc = -1;

    if (safetensors_open(&l.s, dir, err))
        return -1;
    l.used = xcalloc((size_t)l.s.n, sizeof *l.used);
    if (match(&l, err) == 0)
        rc = read_all(&l, d, err);
    if (n_kept)
        *n_kept = l.n_kept;
    free(l.used);
    safetensors_close(&l.s);
    return rc;
}

/* Returns the specs of all tensors of the owned parameters. Their names lie in *names. */
static struct safetensors_spec *make_specs(const struct params *p, const struct hf_rules *rules, char (**names)[NAME],
                                           int *n_specs)
{
    struct safetensors_spec *specs = NULL;
    int n = 0;

    for (int i = 0; i < p->n; i++)
        n += listed(rules->owned, p->list[i].name) ? part_count(rules, p->list[i].name) : 0;
    *names = xmalloc((size_t)n * sizeof **names);
    specs = xcalloc((size_t)n, sizeof *specs);
    *n_specs = n;
    n = 0;
    for (int i = 0; i < p->n; i++) {
        const struct param *param = &p->list[i];
        int parts = part_count(rules, param->name);
        for (int k = 0; k < parts && listed(rules->owned, param->name); k++, n++) {
            part_name((*names)[n], rules, param->name, k);
            specs[n].name = (*names)[n];
            specs[n].ndim = param->t->ndim;
            part_shape(specs[n].shape, param->t, parts);
        }
    }
    return specs;
}

static int put_params(struct safetensors_writer *w, const struct params *p, struct device *d,
                      const struct hf_rules *rules, struct error *err)
{
    float *buffer = params_buffer(p);
    int spec = 0, rc = 0;

    for (int i = 0; i < p->n && rc == 0; i++) {
        if (!listed(rules->owned, p->list[i].name))
            continue;
        int parts = part_count(rules, p->list[i].name);
        int64_t size = tensor_size(p->list[i].t) / parts;
        param_download(&p->list[i], d, buffer);
        add_number(&p->list[i], buffer, tensor_size(p->list[i].t), -1);
        for (int k = 0; k < parts && rc == 0; k++)
            rc = safetensors_put(w, spec++, buffer + k * size, 0, size, err);
    }
    free(buffer);
    return rc;
}

int hf_weights_save(const struct params *p, struct device *d, const char *dir, const struct hf_rules *rules,
                    enum dtype stored, struct error *err)
{
    char(*names)[NAME], *path = path_in(dir, "model.safetensors");
    int n;
    struct safetensors_spec *specs = make_specs(p, rules, &names, &n);

    struct safetensors_writer *w = safetensors_create(path, specs, n, stored == BF16 ? ST_BF16 : ST_F32, err);
    int rc = safetensors_finish(w, w ? put_params(w, p, d, rules, err) : -1, err);

    free(path);
    free(names);
    free(specs);
    return rc;
}

int hf_weights_hash(const char *dir, uint64_t *hash, struct error *err)
{
    struct safetensors s;
    struct checksum sum;

    if (safetensors_open(&s, dir, err))
        return -1;
    checksum_init(&sum);
    for (int i = 0; i < s.n; i++) {
        checksum_update(&sum, s.entries[i].name, strlen(s.entries[i].name));
        checksum_update(&sum, s.entries[i].data, s.entries[i].bytes);
    }
    *hash = checksum_final(&sum);
    safetensors_close(&s);
    return 0;
}
