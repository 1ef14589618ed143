#include "models/tokenizer_train/bpe_train.h"

#include "models/tokenizer/tokenizer_read.h"
#include "models/tokenizer_train/piece_corpus.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_VOCAB = 1000000, BYTES = 256, KIND_SPECIALS = 6 };

static const struct {
    const char *pattern, *specials[KIND_SPECIALS]; /* up to a NULL */
    bool nfc, ignore_merges;
    int bos, eos, pad; /* which of the special tokens, or -1 */
} kinds[] = {
    [BPE_LLAMA3] = { regex_llama3,
                     { "<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>",
                       "<|eot_id|>" },
                     false,
                     true,
                     0,
                     4,
                     -1 },
    [BPE_QWEN2] = { regex_qwen2, { "<|endoftext|>", "<|im_start|>", "<|im_end|>" }, true, false, -1, 2, 0 },
};

struct bpe_trainer {
    struct tokenizer *t;
    struct piece_corpus words;
    struct strings pieces; /* the vocabulary */
    int n_specials;        /* its first ones */
    struct bpe_merge *merges;
    int32_t n_merges, cap_merges;
};

/* Whether the regular expression leaves the text in one piece, so that merges could make it. */
static bool is_word(const struct regex *split, const char *text)
{
    struct regex_walk w;
    int64_t start = 0, stop = 0, length = (int64_t)strlen(text);

    regex_walk_start(&w, split, text, 0, length);
    bool whole = regex_walk_next(&w, &start, &stop) && stop - start == length;
    regex_walk_end(&w);
    return whole;
}

static int add_special(struct bpe_trainer *r, const char *text, struct error *err)
{
    const char *why = !*text                                  ? "it is empty"
                      : strpbrk(text, "\r\n")                 ? "it holds a line break"
                      : strlen(text) > VOCAB_MAX_TOKEN        ? "it is too long"
                      : is_word(r->t->byte_level.split, text) ? "plain text could be it; expected the like of <|pad|>"
                      : strings_find(&r->pieces, text) >= 0   ? "it comes twice"
                                                              : NULL;
    if (why)
        return error_set(err, EXIT_CODE_USAGE, "special token \"%.80s\": %s", text, why);
    strings_add(&r->pieces, text);
    r->n_specials++;
    return 0;
}

static int add_specials(struct bpe_trainer *r, const struct bpe_plan *p, struct error *err)
{
    for (const char *const *s = kinds[p->kind].specials; *s; s++)
        if (add_special(r, *s, err))
            return -1;
    for (int i = 0; i < p->n_specials; i++)
        if (add_special(r, p->specials[i], err))
            return -1;
    if (p->vocab_size < BYTES + r->n_specials || p->vocab_size > MAX_VOCAB)
        return error_set(err, EXIT_CODE_USAGE, "vocabulary: expected %d to %d tokens, got %d", BYTES + r->n_specials,
                         MAX_VOCAB, (int)p->vocab_size);
    return 0;
}

/* The bytes, in the order of the characters that stand for them. */
static void add_bytes(struct bpe_trainer *r, const struct byte_alphabet *a)
{
    char text[3];

    for (int c = 0; c < BYTE_ALPHABET_END; c++)
        if (a->bytes[c] >= 0) {
            char byte = (char)a->bytes[c];
            text[byte_alphabet_write(a, text, &byte, 1)] = '\0';
            strings_add(&r->pieces, text);
        }
}

static void count_words(struct bpe_trainer *r, const char *const *texts, int64_t n)
{
    struct normal_text normal = { 0 };
    struct regex_walk w;

    for (int64_t i = 0; i < n; i++) {
        tokenizer_normalize(r->t, texts[i], 0, (int64_t)strlen(texts[i]), &normal);
        regex_walk_start(&w, r->t->byte_level.split, normal.text, 0, normal.length);
        for (int64_t start, stop; regex_walk_next(&w, &start, &stop);)
            piece_corpus_count(&r->words, normal.text + start, stop - start);
        regex_walk_end(&w);
    }
    normal_text_release(&normal);
}

static void spell_words(struct bpe_trainer *r, const struct byte_alphabet *a)
{
    int32_t ids[BYTES];
    char text[3];

    for (int i = 0; i < BYTES; i++) {
        char byte = (char)i;
        text[byte_alphabet_write(a, text, &byte, 1)] = '\0';
        ids[i] = strings_find(&r->pieces, text);
    }
    for (int32_t i = 0; i < r->words.n; i++) {
        const char *word = r->words.texts.items[i];
        struct piece_word *w = r->words.words + i;
        w->pieces = xmalloc(strlen(word) * sizeof *w->pieces);
        for (; *word; word++)
            w->pieces[w->n++] = ids[(unsigned char)*word];
    }
}

/* Merges a pair unless what it makes is too long for a token. */
static void merge(struct bpe_trainer *r, const struct queued_pair *q)
{
    char text[2 * VOCAB_MAX_TOKEN + 1];
    const struct symbol_pair *p = r->words.pairs.pairs + q->pair;
    struct bpe_merge m = { .left = p->left, .right = p->right };

    if (snprintf(text, sizeof text, "%s%s", r->pieces.items[m.left], r->pieces.items[m.right]) > VOCAB_MAX_TOKEN)
        return;
    m.result = strings_add(&r->pieces, text);
    GROW(r->merges, r->n_merges, r->cap_merges);
    r->merges[r->n_merges++] = m;
    piece_corpus_merge(&r->words, q, m.result);
}

static void learn(struct bpe_trainer *r, int32_t vocab_size)
{
    struct queued_pair q;

    piece_corpus_start(&r->words);
    while (r->pieces.n < vocab_size && pair_counts_take(&r->words.pairs, 1, &q)) {
        merge(r, &q);
        free(q.words);
    }
}

static int fill_vocab(struct bpe_trainer *r, struct error *err)
{
    struct tokenizer *t = r->t;

    for (int32_t i = 0; i < r->pieces.n; i++)
        if (vocab_add(&t->vocab, r->pieces.items[i], err))
            return -1;
    if (tokenizer_end_model(t, NULL, err))
        return -1;
    for (int32_t i = 0; i < r->n_merges; i++) {
        const char *left = r->pieces.items[r->merges[i].left], *right = r->pieces.items[r->merges[i].right];
        if (bpe_add_merge(&t->byte_level.bpe, &t->vocab, left, (int64_t)strlen(left), right, err))
            return -1;
    }
    if (bpe_prepare(&t->byte_level.bpe, &t->vocab, t->model_tokens, err))
        return -1;
    for (int i = 0; i < r->n_specials; i++) {
        struct added_token added = { .id = i, .special = true };
        if (tokenizer_add_token(t, r->pieces.items[i], &added, err))
            return -1;
    }
    return tokenizer_prepare(t, err);
}

static struct tokenizer *empty_tokenizer(enum bpe_kind kind, struct error *err)
{
    struct tokenizer *t = tokenizer_new();

    t->kind = TOKENIZER_BYTE_LEVEL;
    t->byte_level.nfc = kinds[kind].nfc;
    t->byte_level.bpe.ignore_merges = kinds[kind].ignore_merges;
    t->byte_level.split = regex_open(kinds[kind].pattern, err);
    t->special[SPECIAL_BOS] = kinds[kind].bos;
    t->special[SPECIAL_EOS] = kinds[kind].eos;
    t->special[SPECIAL_PAD] = kinds[kind].pad;
    return t;
}

struct tokenizer *tokenizer_from_bytes(const char *const *texts, int64_t n, const struct bpe_plan *plan,
                                       struct error *err)
{
    struct bpe_trainer r = { .t = empty_tokenizer(plan->kind, err) };
    struct byte_alphabet alphabet;
    int rc = r.t->byte_level.split ? add_specials(&r, plan, err) : -1;

    if (rc == 0) {
        byte_alphabet_init(&alphabet);
        add_bytes(&r, &alphabet);
        count_words(&r, texts, n);
        spell_words(&r, &alphabet);
        learn(&r, plan->vocab_size);
        rc = fill_vocab(&r, err);
    }
    piece_corpus_release(&r.words);
    strings_release(&r.pieces);
    free(r.merges);
    return tokenizer_opened(r.t, rc, err);
}
