#include "models/net/dte.h"

#include "models/net/param_builder.h"

#include <math.h>
#include <string.h>

static const float INIT = 0.02f;
static const float CHAIN = 0.1f; /* bound of the initial values of the chain */
static const float NORM_EPS = 1e-5f;
static const float LEAST_CONCEPT = 1e-4f; /* min probability in a loss */
static const float LEAST_GROUNDING = 1e-6f;

int dte_tags(const struct dte_config *config)
{
    return config->published ? DTE_PUBLISHED_TAGS : DTE_TAGS;
}

static struct tensor *new_chain(struct params *p, const struct param_arenas *a, int64_t tags)
{
    struct tensor *t = param_new(p, a, F32, 2, (int64_t[]){ tags + 2, tags }, 0, 0, "crf.weight");

    params_find(p, "crf.weight")->init_bound = CHAIN;
    return t;
}

void dte_init(struct dte *d, const struct dte_config *config, enum dtype dtype, struct params *p,
              const struct param_arenas *a)
{
    struct param_builder b = { p, a, dtype, INIT, 0, "dte." };
    int64_t C = config->bert.hidden_size, h = config->hidden, tags = dte_tags(config);

    *d = (struct dte){ .config = *config };
    bert_init(&d->bert, &config->bert, "bert.", dtype, p, a);
    d->state_w = param_matrix(&b, h, C, "state.weight");
    d->state_b = param_vector(&b, h, 0, "state.bias");
    d->norm_w = param_vector(&b, h, -1, "norm.weight");
    d->norm_b = param_vector(&b, h, 0, "norm.bias");
    d->keyword_w = param_matrix(&b, DTE_KEYWORDS * h, h, "keyword.weight");
    d->keyword_b = param_vector(&b, DTE_KEYWORDS * h, 0, "keyword.bias");
    d->concept_w = param_matrix(&b, 1, h, "concept.weight");
    d->concept_b = param_vector(&b, 1, 0, "concept.bias");
    d->query_w = param_matrix(&b, h, h, "query.weight");
    d->key_w = param_matrix(&b, h, h, "key.weight");
    d->tag_w = param_matrix(&b, tags, C, "tag.weight");
    d->tag_b = param_vector(&b, tags, 0, "tag.bias");
    d->chain = new_chain(p, a, tags);
}

/* An inside tag only follows the begin or inside of its own label. */
void dte_forbidden(const struct dte_config *config, int32_t *bits)
{
    int tags = dte_tags(config);

    memset(bits, 0, (size_t)(tags + 2) * sizeof *bits);
    for (int j = DTE_SPAN + 1; !config->published && j < tags; j += 2) {
        for (int i = 0; i <= tags; i++) /* after a tag, or at the beginning */
            if (i != j && i != j - 1)
                bits[i] |= 1 << j;
    }
}

/* The wanted rows of the encoder [rows, C], and the heads' hidden states of them [rows, h]. */
struct dte_states {
    struct tensor *raw, *heads;
};

static struct dte_states read_text(struct ctx *c, const struct dte *d, const struct dte_text *t)
{
    struct bert_input in = t->bert;

    in.rows = &t->rows;
    struct tensor *raw = bert_forward(c, &d->bert, &in);
    struct tensor *x = op_linear(c, raw, d->state_w, d->state_b, ACT_NONE);

    x = op_layer_norm(c, x, NULL, d->norm_w, d->norm_b, NORM_EPS);
    return (struct dte_states){ raw, op_dropout(c, x, d->config.dropout) };
}

/* [N, h] states of concepts: of each sequence's keywords, computed from its [CLS], then of its markers. */
static struct tensor *concept_states(struct ctx *c, const struct dte *d, const struct dte_text *t, struct tensor *heads)
{
    int64_t shape[2] = { t->keyword_place.n, d->config.hidden };
    struct tensor *cls = op_gather(c, heads, &t->cls);
    struct tensor *keywords = op_reshape(c, op_linear(c, cls, d->keyword_w, d->keyword_b, ACT_TANH), 2, shape);

    return op_add(c, op_scatter(c, keywords, &t->keyword_place, t->n_concepts),
                  op_scatter(c, op_gather(c, heads, &t->entities), &t->entity_place, t->n_concepts));
}

static struct tensor *as_f32(struct ctx *c, struct tensor *x)
{
    return x->dtype == F32 ? x : op_cast(c, x, F32);
}

static struct tensor *vector(struct ctx *c, struct tensor *x)
{
    int64_t n = tensor_size(x);
    return op_reshape(c, x, 1, &n);
}

static struct tensor *probabilities(struct ctx *c, const struct dte *d, struct tensor *concepts)
{
    struct tensor *x = as_f32(c, op_linear(c, concepts, d->concept_w, d->concept_b, ACT_NONE));
    return op_activation(c, vector(c, x), ACT_SIGMOID);
}

static struct tensor *pair_scores(struct ctx *c, const struct dte *d, const struct dte_text *t, struct tensor *concepts,
                                  struct tensor *heads)
{
    struct tensor *query = op_linear(c, concepts, d->query_w, NULL, ACT_NONE);
    struct tensor *key = op_linear(c, heads, d->key_w, NULL, ACT_NONE);

    return op_pair_dot(c, query, &t->pair_concept, key, &t->pair_word, 1 / sqrtf((float)d->config.hidden));
}

/* The scores of the pairs in the order of `meaning`. */
static struct tensor *meanings(struct ctx *c, const struct dte_text *t, struct tensor *scores)
{
    struct tensor *x = op_reshape(c, scores, 2, (int64_t[]){ tensor_size(scores), 1 });
    return op_segment_softmax(c, vector(c, op_gather(c, x, &t->meaning)), &t->word_meanings);
}

struct dte_scores dte_forward(struct ctx *c, const struct dte *d, const struct dte_text *t)
{
    struct dte_states states = read_text(c, d, t);
    struct tensor *concepts = concept_states(c, d, t, states.heads);
    struct tensor *scores = pair_scores(c, d, t, concepts, states.heads);
    struct tensor *words = op_dropout(c, op_gather(c, states.raw, &t->words), d->config.dropout);

    return (struct dte_scores){ .concept = probabilities(c, d, concepts),
                                .score = scores,
                                .grounding = op_segment_softmax(c, scores, &t->concept_pairs),
                                .meaning = meanings(c, t, scores),
                                .emission = as_f32(c, op_linear(c, words, d->tag_w, d->tag_b, ACT_NONE)) };
}

struct tensor *dte_concepts(struct ctx *c, const struct dte *d, const struct dte_text *t)
{
    return probabilities(c, d, concept_states(c, d, t, read_text(c, d, t).heads));
}

struct tensor *dte_loss(struct ctx *c, const struct dte *d, const struct dte_text *t, const struct dte_labels *l)
{
    struct dte_scores s = dte_forward(c, d, t);
    struct crf chain = { d->chain, t->forbidden };
    struct tensor *loss = op_probability_bce(c, s.concept, l->concept, l->concept_weight, LEAST_CONCEPT);
    struct tensor *grounding = op_probability_bce(c, s.grounding, l->grounding, l->grounding_weight, LEAST_GROUNDING);
    struct tensor *meaning = op_probability_bce(c, s.meaning, l->meaning, l->meaning_weight, LEAST_GROUNDING);
    struct tensor *tags = op_crf_nll(c, s.emission, l->tags, &t->word_seqs, &chain);

    loss = op_add(c, op_add(c, loss, grounding), meaning);
    return op_add(c, loss, op_sum(c, tags, l->tags_weight));
}
