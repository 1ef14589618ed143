#include "models/tokenizer_train/bpe_train.h"

#include "models/tokenizer/tokenizer_file.h"
#include "models/tokenizer/tokenizer_parts.h"
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
    [BPE_WORDS] = { regex_words, { "<|endoftext|>", "<|im_start|>", "<|im_end|>" }, true, false, -1, 2, 0 },
};

struct bpe_trainer {
    struct tokenizer *t;
    struct piece_corpus words;
    struct strings pieces; /* the vocabulary */
    int n_specials;        /* its first ones */
    struct bpe_merge *merges;
    int32_t n_merges, cap_merges;
};

static void count_piece(void *to, const struct normal_text *text, int64_t start, int64_t stop)
{
    (void)text;
    (void)start;
    (void)stop;
    ++*(int *)to;
}

/* Whether the regular expression leaves the text in one piece, so that merges could make it. */
static bool is_word(const struct tokenizer *t, const char *text)
{
    int pieces = 0;

    tokenizer_pieces(t, text, (int64_t)strlen(text), count_piece, &pieces);
    return pieces == 1;
}

static int add_special(struct bpe_trainer *r, const char *text, struct error *err)
{
    const char *why = !*text                                ? "it is empty"
                      : strpbrk(text, "\r\n")               ? "it holds a line break"
                      : strlen(text) > VOCAB_MAX_TOKEN      ? "it is too long"
                      : is_word(r->t, text)                 ? "plain text could be it; expected the like of <|pad|>"
                      : strings_find(&r->pieces, text) >= 0 ? "it comes twice"
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

static void count_word(void *to, const struct normal_text *text, int64_t start, int64_t stop)
{
    piece_corpus_count(&((struct bpe_trainer *)to)->words, text->text + start, stop - start);
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
        if (bpe_add_merge(&t->bpe, &t->vocab, left, (int64_t)strlen(left), right, err))
            return -1;
    }
    if (bpe_prepare(&t->bpe, &t->vocab, t->model_tokens, err))
        return -1;
    for (int i = 0; i < r->n_specials; i++) {
        struct added_token added = { .id = i, .special = true };
        if (tokenizer_add_token(t, r->pieces.items[i], &added, err))
            return -1;
    }
    return tokenizer_prepare(t, err);
}

static json_t *byte_level_json(bool blank, bool regex)
{
    return json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", (int)blank, "trim_offsets", 1,
                     "use_regex", (int)regex);
}

/* The parts around the model of a tokenizer.json. */
static json_t *parts_json(enum bpe_kind kind)
{
    json_t *split = json_pack("{s:s, s:{s:s}, s:s, s:b}", "type", "Split", "pattern", "Regex", kinds[kind].pattern,
                              "behavior", "Isolated", "invert", 0);
    json_t *normalizer = kinds[kind].nfc ? json_pack("{s:s}", "type", "NFC") : json_null();

    return json_pack("{s:o, s:{s:s, s:[o, o]}, s:o}", "normalizer", normalizer, "pre_tokenizer", "type", "Sequence",
                     "pretokenizers", split, byte_level_json(false, false), "decoder", byte_level_json(true, true));
}

static struct tokenizer *empty_tokenizer(enum bpe_kind kind)
{
    struct tokenizer *t = tokenizer_new();
    json_t *parts = parts_json(kind);
    struct error err;

    CHECK(parts && tokenizer_read_parts(t, parts, "a new tokenizer", &err) == 0, "the parts of a new tokenizer");
    json_decref(parts);
    t->kind = TOKENIZER_BPE;
    pre_tokenizer_leave_bytes(&t->pre_tokenizer);
    t->bpe.bytes = t->pre_tokenizer.bytes;
    t->bpe.ignore_merges = kinds[kind].ignore_merges;
    t->special[SPECIAL_BOS] = kinds[kind].bos;
    t->special[SPECIAL_EOS] = kinds[kind].eos;
    t->special[SPECIAL_PAD] = kinds[kind].pad;
    return t;
}

struct tokenizer *tokenizer_from_bytes(const char *const *texts, int64_t n, const struct bpe_plan *plan,
                                       struct error *err)
{
    struct bpe_trainer r = { .t = empty_tokenizer(plan->kind) };
    struct byte_alphabet alphabet;
    int rc = add_specials(&r, plan, err);

    if (rc == 0) {
        byte_alphabet_init(&alphabet);
        add_bytes(&r, &alphabet);
        for (int64_t i = 0; i < n; i++)
            tokenizer_pieces(r.t, texts[i], (int64_t)strlen(texts[i]), count_word, &r);
        spell_words(&r, &alphabet);
        learn(&r, plan->vocab_size);
        rc = fill_vocab(&r, err);
    }
    piece_corpus_release(&r.words);
    strings_release(&r.pieces);
    free(r.merges);
    return tokenizer_opened(r.t, rc, err);
}
