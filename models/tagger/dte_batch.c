#include "models/tagger/dte_batch.h"

#include <stdlib.h>

static const struct dte_window *window_of(const struct dte_sequence *s)
{
    return &s->item->windows[s->window];
}

static int concepts_of(const struct dte_sequence *s)
{
    return DTE_KEYWORDS + window_of(s)->n_entities;
}

struct dte_sizes dte_sizes_of(const struct dte_sequence *s, int n)
{
    struct dte_sizes z = { .sequences = n };

    for (int i = 0; i < n; i++) {
        int words = s[i].item->n_words, entities = window_of(&s[i])->n_entities;
        z.tokens += window_of(&s[i])->tokens.count;
        z.rows += 2 + words + entities;
        z.words += words;
        z.entities += entities;
        z.pairs += (int64_t)concepts_of(&s[i]) * (words + 1);
        z.meanings += (int64_t)words * entities;
    }
    return z;
}

/* Host arrays of a batch while it is built. Each list grows to the size in dte_sizes. */
struct packing {
    struct ids tokens, positions, segments, lengths, rows, row_counts;
    struct ids cls, words, entities, keyword_place, entity_place, word_counts;
    struct ids pair_concept, pair_word, concept_pairs, meaning, word_meanings;
};

static void release(struct packing *p)
{
    struct ids *lists[] = { &p->tokens,       &p->positions,    &p->segments,     &p->lengths,   &p->rows,
                            &p->row_counts,   &p->cls,          &p->words,        &p->entities,  &p->keyword_place,
                            &p->entity_place, &p->word_counts,  &p->pair_concept, &p->pair_word, &p->concept_pairs,
                            &p->meaning,      &p->word_meanings };
    for (int i = 0; i < ARRAY_LEN(lists); i++)
        ids_release(lists[i]);
}

static void push_tokens(struct packing *p, const struct dte_sequence *s, int32_t unk)
{
    const struct ids *tokens = &window_of(s)->tokens;
    const struct dte_word *words = s->item->words;
    int from = s->from < s->to ? words[s->from].at : 0;
    int to = s->from < s->to ? words[s->to - 1].at + words[s->to - 1].n : 0;

    for (int i = 0; i < tokens->count; i++) {
        ids_push(&p->tokens, i >= from && i < to ? unk : tokens->items[i]);
        ids_push(&p->positions, i);
        ids_push(&p->segments, 0);
    }
    ids_push(&p->lengths, (int32_t)tokens->count);
}

static int32_t want_row(struct packing *p, int64_t first_token, int at)
{
    ids_push(&p->rows, (int32_t)(first_token + at));
    return (int32_t)p->rows.count - 1;
}

/* Appends the rows of the words and of the [SEP] after them. Returns the row of the first word. */
static int32_t push_words(struct packing *p, const struct dte_item *item, int64_t first_token)
{
    int32_t first_word = (int32_t)p->rows.count;

    for (int i = 0; i < item->n_words; i++)
        ids_push(&p->words, want_row(p, first_token, item->words[i].at));
    want_row(p, first_token, item->sep);
    ids_push(&p->word_counts, item->n_words);
    return first_word;
}

/* Appends the wanted rows in the order of their tokens. Returns the row of the first word, or 0 if only concepts are
 * wanted. */
static int32_t push_rows(struct packing *p, const struct dte_sequence *s, int64_t first_token, bool concepts_alone)
{
    const struct dte_window *w = window_of(s);
    int64_t before = p->rows.count;

    ids_push(&p->cls, want_row(p, first_token, 0));
    int32_t first_word = concepts_alone ? 0 : push_words(p, s->item, first_token);
    for (int i = 0; i < w->n_entities; i++)
        ids_push(&p->entities, want_row(p, first_token, w->entities[i].at));
    ids_push(&p->row_counts, (int32_t)(p->rows.count - before));
    return first_word;
}

/* Returns the index of the first concept. */
static int32_t push_places(struct packing *p, const struct dte_sequence *s)
{
    int32_t first_concept = (int32_t)(p->keyword_place.count + p->entity_place.count);

    for (int k = 0; k < concepts_of(s); k++)
        ids_push(k < DTE_KEYWORDS ? &p->keyword_place : &p->entity_place, first_concept + k);
    return first_concept;
}

static void push_pairs(struct packing *p, const struct dte_sequence *s, int32_t first_concept, int32_t first_word)
{
    int32_t first_pair = (int32_t)p->pair_word.count;
    int concepts = concepts_of(s), words = s->item->n_words;

    for (int k = 0; k < concepts; k++) {
        ids_push(&p->concept_pairs, words + 1);
        for (int q = 0; q <= words; q++) {
            ids_push(&p->pair_concept, first_concept + k);
            ids_push(&p->pair_word, first_word + q);
        }
    }
    for (int q = 0; q < words; q++) {
        ids_push(&p->word_meanings, concepts - DTE_KEYWORDS);
        for (int k = DTE_KEYWORDS; k < concepts; k++)
            ids_push(&p->meaning, first_pair + k * (words + 1) + q);
    }
}

static struct index index_of(struct ctx *c, const struct ids *ids, int64_t rows)
{
    return batch_index(c, ids->items, ids->count, rows);
}

static struct seqs seqs_of(struct ctx *c, const struct ids *lengths)
{
    return batch_seqs(c, lengths->items, lengths->count);
}

static void upload(struct ctx *c, const struct packing *p, const struct dte_config *config, bool concepts_alone,
                   struct dte_text *t)
{
    const struct bert_config *b = &config->bert;
    int32_t forbidden[DTE_TAGS + 2];

    *t = (struct dte_text){ .n_concepts = p->keyword_place.count + p->entity_place.count };
    t->bert.tokens[0] = index_of(c, &p->tokens, b->vocab_size);
    t->bert.tokens[1] = index_of(c, &p->positions, b->max_positions);
    t->bert.tokens[2] = index_of(c, &p->segments, b->type_vocab_size);
    t->bert.seqs = seqs_of(c, &p->lengths);
    t->bert.row_seqs = seqs_of(c, &p->row_counts);
    t->rows = index_of(c, &p->rows, p->tokens.count);
    t->cls = index_of(c, &p->cls, p->rows.count);
    t->entities = index_of(c, &p->entities, p->rows.count);
    t->keyword_place = batch_places(c, p->keyword_place.items, p->keyword_place.count, t->n_concepts);
    t->entity_place = batch_places(c, p->entity_place.items, p->entity_place.count, t->n_concepts);
    if (concepts_alone)
        return;
    t->words = index_of(c, &p->words, p->rows.count);
    t->word_seqs = seqs_of(c, &p->word_counts);
    t->pair_concept = index_of(c, &p->pair_concept, t->n_concepts);
    t->pair_word = index_of(c, &p->pair_word, p->rows.count);
    t->concept_pairs = seqs_of(c, &p->concept_pairs);
    t->meaning = index_of(c, &p->meaning, p->pair_word.count);
    t->word_meanings = seqs_of(c, &p->word_meanings);
    dte_forbidden(config, forbidden);
    t->forbidden = config->published ? NULL : batch_i32(c, forbidden, DTE_TAGS + 2);
}

static void build(struct ctx *c, const struct dte_sequence *s, int n, const struct dte_config *config, int32_t unk,
                  bool concepts_alone, struct dte_text *text)
{
    struct packing p = { 0 };

    for (int i = 0; i < n; i++) {
        int64_t first_token = p.tokens.count;
        push_tokens(&p, &s[i], unk);
        int32_t first_word = push_rows(&p, &s[i], first_token, concepts_alone), first_concept = push_places(&p, &s[i]);
        if (!concepts_alone)
            push_pairs(&p, &s[i], first_concept, first_word);
    }
    upload(c, &p, config, concepts_alone, text);
    release(&p);
}

void dte_text_build(struct ctx *c, const struct dte_sequence *s, int n, const struct dte_config *config, int32_t unk,
                    struct dte_text *text)
{
    build(c, s, n, config, unk, false, text);
}

void dte_concepts_build(struct ctx *c, const struct dte_sequence *s, int n, const struct dte_config *config,
                        int32_t unk, struct dte_text *text)
{
    build(c, s, n, config, unk, true, text);
}

/* Arrays of one label for all sequences, one after another. Each sequence has a factor for its weights. */
struct label_list {
    float *value, *weight;
    int64_t n;
};

static void append(struct label_list *l, const float *value, const float *weight, int64_t n, double factor)
{
    for (int64_t i = 0; i < n; i++) {
        l->value[l->n] = value[i];
        l->weight[l->n++] = (float)(factor * weight[i]);
    }
}

static struct label_list list_of(int64_t n)
{
    return (struct label_list){ xmalloc((size_t)n * sizeof(float)), xmalloc((size_t)n * sizeof(float)), 0 };
}

static void finish(struct ctx *c, struct label_list *l, struct tensor **value, struct tensor **weight)
{
    *value = batch_f32(c, l->value, 1, l->n, F32);
    *weight = batch_f32(c, l->weight, 1, l->n, F32);
    free(l->value);
    free(l->weight);
}

void dte_labels_build(struct ctx *c, const struct dte_sequence *s, const struct dte_target *const *targets, int n,
                      const struct dte_weights *w, struct dte_labels *labels)
{
    struct dte_sizes z = dte_sizes_of(s, n);
    struct label_list concept = list_of(z.entities + (int64_t)n * DTE_KEYWORDS), grounding = list_of(z.pairs),
                      meaning = list_of(z.meanings);
    struct ids tags = { 0 };
    double links = 0;

    for (int i = 0; i < n; i++)
        links += targets[i]->links;
    for (int i = 0; i < n; i++) {
        int words = s[i].item->n_words, concepts = concepts_of(&s[i]);
        const struct dte_target *t = targets[i];
        append(&concept, t->concept, t->concept_weight, concepts, w->concept / n);
        append(&grounding, t->grounding, t->grounding_weight, (int64_t)concepts * (words + 1), w->grounding / n);
        append(&meaning, t->meaning, t->meaning_weight, (int64_t)words * (concepts - DTE_KEYWORDS),
               links > 0 ? w->meaning / links : 0);
        for (int q = 0; q < words; q++)
            ids_push(&tags, t->tags[q]);
    }
    float factor = (float)(w->tags / n);
    *labels = (struct dte_labels){ .tags = batch_i32(c, tags.items, tags.count),
                                   .tags_weight = batch_f32(c, &factor, 1, 1, F32) };
    finish(c, &concept, &labels->concept, &labels->concept_weight);
    finish(c, &grounding, &labels->grounding, &labels->grounding_weight);
    finish(c, &meaning, &labels->meaning, &labels->meaning_weight);
    ids_release(&tags);
}
