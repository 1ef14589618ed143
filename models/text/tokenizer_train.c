#include "models/text/tokenizer_train.h"

#include "data/base/strings.h"
#include "kernels/base.h"
#include "models/text/tokenizer_file.h"
#include "models/text/tokenizer_parts.h"
#include "models/text/utf8.h"

#include <stdlib.h>
#include <string.h>

/* Counts of adjacent symbol pairs, and a queue that yields the most frequent pair.
 *
 * The queue imitates BpeTrainer of Hugging Face's tokenizers in every detail. An entry only has the words that the pair
 * was added to since its last entry, and a merged pair keeps its count. */

struct symbol_pair {
    int32_t left, right;
    int64_t count;
    int32_t *words; /* words that it was added to since it was last queued */
    int32_t n_words, cap_words;
};

/* A queue entry: a pair with some of its words. */
struct queued_pair {
    int64_t count; /* count when it was queued */
    int32_t pair;
    int32_t *words;
    int32_t n_words;
};

struct pair_counts {
    struct symbol_pair *pairs;
    int32_t n, cap;
    int32_t *slots; /* hash table of pairs with open addressing, -1: free */
    int64_t n_slots;
    struct queued_pair *queue; /* a heap; outdated counts are corrected when they reach the top */
    int64_t n_queue, cap_queue;
    int32_t *unqueued; /* pairs with words that are not queued yet */
    int32_t n_unqueued, cap_unqueued;
};

/* The distinct words of a corpus, each as a sequence of pieces. Both trainers merge pairs in it. */

struct piece_word {
    int32_t *pieces;
    int32_t n;
    int64_t count;
};

/* Start as { 0 }. */
struct piece_corpus {
    struct strings texts;     /* texts of the words */
    struct piece_word *words; /* [texts.n] */
    int32_t n, cap;
    struct pair_counts pairs;
};

static int64_t slot_of(const struct pair_counts *p, int32_t left, int32_t right)
{
    uint64_t h = ((uint64_t)(uint32_t)left << 32 | (uint32_t)right) * 0x9E3779B97F4A7C15u;
    int64_t at = (int64_t)(h >> 32) & (p->n_slots - 1);

    while (p->slots[at] >= 0 && (p->pairs[p->slots[at]].left != left || p->pairs[p->slots[at]].right != right))
        at = (at + 1) & (p->n_slots - 1);
    return at;
}

static void grow_slots(struct pair_counts *p)
{
    p->n_slots = p->n_slots ? 2 * p->n_slots : 1024;
    p->slots = xrealloc(p->slots, (size_t)p->n_slots * sizeof *p->slots);
    memset(p->slots, 0xff, (size_t)p->n_slots * sizeof *p->slots);
    for (int32_t i = 0; i < p->n; i++)
        p->slots[slot_of(p, p->pairs[i].left, p->pairs[i].right)] = i;
}

/* Returns whether a leaves the queue before b. */
static bool before(const struct pair_counts *p, const struct queued_pair *a, const struct queued_pair *b)
{
    const struct symbol_pair *x = p->pairs + a->pair, *y = p->pairs + b->pair;
    if (a->count != b->count)
        return a->count > b->count;
    return x->left != y->left ? x->left < y->left : x->right < y->right;
}

/* Inserts an entry into the heap. */
static void queue(struct pair_counts *p, struct queued_pair q)
{
    GROW(p->queue, p->n_queue, p->cap_queue);
    int64_t at = p->n_queue++;
    for (; at > 0 && before(p, &q, &p->queue[(at - 1) / 2]); at = (at - 1) / 2)
        p->queue[at] = p->queue[(at - 1) / 2];
    p->queue[at] = q;
}

/* Removes the top of the heap. */
static struct queued_pair unqueue(struct pair_counts *p)
{
    struct queued_pair top = p->queue[0], last = p->queue[--p->n_queue];
    int64_t at = 0;

    for (int64_t child; (child = 2 * at + 1) < p->n_queue; at = child) {
        child += child + 1 < p->n_queue && before(p, &p->queue[child + 1], &p->queue[child]);
        if (!before(p, &p->queue[child], &last))
            break;
        p->queue[at] = p->queue[child];
    }
    p->queue[at] = last;
    return top;
}

/* Adds `by` to the count of (left, right) in a word. Start the struct as { 0 }. */
static void pair_counts_add(struct pair_counts *p, int32_t left, int32_t right, int64_t by, int32_t word)
{
    if (2 * ((int64_t)p->n + 1) > p->n_slots)
        grow_slots(p);
    int32_t *slot = p->slots + slot_of(p, left, right);
    if (*slot < 0) {
        GROW(p->pairs, p->n, p->cap);
        p->pairs[p->n] = (struct symbol_pair){ .left = left, .right = right };
        *slot = p->n++;
    }
    struct symbol_pair *pair = p->pairs + *slot;
    pair->count += by;
    if (by <= 0 || (pair->n_words > 0 && pair->words[pair->n_words - 1] == word))
        return;
    if (pair->n_words == 0) {
        GROW(p->unqueued, p->n_unqueued, p->cap_unqueued);
        p->unqueued[p->n_unqueued++] = *slot;
    }
    GROW(pair->words, pair->n_words, pair->cap_words);
    pair->words[pair->n_words++] = word;
}

/* Queues the pairs that were added to since the last call and have a positive count. */
static void pair_counts_queue(struct pair_counts *p)
{
    for (int32_t i = 0; i < p->n_unqueued; i++) {
        struct symbol_pair *pair = p->pairs + p->unqueued[i];
        if (pair->count > 0)
            queue(p, (struct queued_pair){ pair->count, p->unqueued[i], pair->words, pair->n_words });
        else
            free(pair->words);
        pair->words = NULL;
        pair->n_words = pair->cap_words = 0;
    }
    p->n_unqueued = 0;
}

/* Takes the most frequent pair from the queue; ties go to the lower symbols. The caller frees its words. Returns false
 * if no pair has a count of at min min. */
static bool pair_counts_take(struct pair_counts *p, int64_t min, struct queued_pair *out)
{
    while (p->n_queue > 0) {
        *out = unqueue(p);
        int64_t count = p->pairs[out->pair].count;
        if (out->count == count && count >= min)
            return true;
        out->count = count;
        if (count >= min)
            queue(p, *out);
        else
            free(out->words);
    }
    return false;
}

static void pair_counts_release(struct pair_counts *p)
{
    for (int32_t i = 0; i < p->n; i++)
        free(p->pairs[i].words);
    for (int64_t i = 0; i < p->n_queue; i++)
        free(p->queue[i].words);
    free(p->pairs);
    free(p->slots);
    free(p->queue);
    free(p->unqueued);
    *p = (struct pair_counts){ 0 };
}

/* Counts one occurrence of a word, length bytes of text. */
static void piece_corpus_count(struct piece_corpus *c, const char *text, int64_t length)
{
    char *word = strndup(text, (size_t)length);

    CHECK(word, "out of memory");
    int32_t i = strings_add(&c->texts, word);
    free(word);
    if (i == c->n) {
        GROW(c->words, c->n, c->cap);
        c->words[c->n++] = (struct piece_word){ 0 };
    }
    c->words[i].count++;
}

/* Counts all pairs. Words must be spelled in pieces; those without pieces are ignored. */
static void piece_corpus_start(struct piece_corpus *c)
{
    for (int32_t i = 0; i < c->n; i++) {
        const struct piece_word *w = c->words + i;
        for (int32_t k = 0; k + 1 < w->n; k++)
            pair_counts_add(&c->pairs, w->pieces[k], w->pieces[k + 1], w->count, i);
    }
    pair_counts_queue(&c->pairs);
}

/* Updates the counts of the pairs around each merge. The count of the merged pair itself is not reduced. */
static void merge_in_word(struct piece_corpus *c, int32_t word, int32_t left, int32_t right, int32_t merged)
{
    struct piece_word *w = c->words + word;
    int32_t n = 0;

    for (int32_t i = 0; i < w->n; i++) {
        if (i + 1 == w->n || w->pieces[i] != left || w->pieces[i + 1] != right) {
            w->pieces[n++] = w->pieces[i];
            continue;
        }
        if (n > 0) {
            pair_counts_add(&c->pairs, w->pieces[n - 1], left, -w->count, word);
            pair_counts_add(&c->pairs, w->pieces[n - 1], merged, w->count, word);
        }
        w->pieces[n++] = merged;
        if (++i + 1 < w->n) {
            pair_counts_add(&c->pairs, right, w->pieces[i + 1], -w->count, word);
            pair_counts_add(&c->pairs, merged, w->pieces[i + 1], w->count, word);
        }
    }
    w->n = n;
}

/* Replaces the pair by `merged` in all words of the queue entry. */
static void piece_corpus_merge(struct piece_corpus *c, const struct queued_pair *q, int32_t merged)
{
    int32_t left = c->pairs.pairs[q->pair].left, right = c->pairs.pairs[q->pair].right;

    for (int32_t i = 0; i < q->n_words; i++)
        merge_in_word(c, q->words[i], left, right, merged);
    pair_counts_queue(&c->pairs);
}

static void piece_corpus_release(struct piece_corpus *c)
{
    for (int32_t i = 0; i < c->n; i++)
        free(c->words[i].pieces);
    free(c->words);
    strings_release(&c->texts);
    pair_counts_release(&c->pairs);
    *c = (struct piece_corpus){ 0 };
}

enum { MIN_VOCAB = 256, MAX_VOCAB = 1000000, MIN_COUNT = 2, BYTES = 256, PRESET_SPECIALS = 6 };

static const struct {
    const char *pattern, *specials[PRESET_SPECIALS]; /* ends with NULL */
    bool nfc, ignore_merges;
    int bos, eos, pad; /* indices of special tokens, -1: none */
} presets[] = {
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
    int n_specials;        /* number of special tokens, which come first */
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

/* Returns whether the regular expression leaves the text in one piece. Merges could then produce it. */
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

static int add_specials(struct bpe_trainer *r, const struct bpe_options *p, struct error *err)
{
    for (const char *const *s = presets[p->preset].specials; *s; s++)
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

/* Adds the 256 bytes in the order of their characters in the byte alphabet. */
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

static void bpe_count_word(void *to, const struct normal_text *text, int64_t start, int64_t stop)
{
    piece_corpus_count(&((struct bpe_trainer *)to)->words, text->text + start, stop - start);
}

static void bpe_spell_words(struct bpe_trainer *r, const struct byte_alphabet *a)
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

/* Merges a pair, unless the result is too long for a token. */
static void bpe_merge_pair(struct bpe_trainer *r, const struct queued_pair *q)
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
        bpe_merge_pair(r, &q);
        free(q.words);
    }
}

static int bpe_fill_vocab(struct bpe_trainer *r, struct error *err)
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

/* Returns normaliser, pre-tokenizer and decoder for tokenizer.json. */
static json_t *parts_json(enum bpe_preset preset)
{
    json_t *split = json_pack("{s:s, s:{s:s}, s:s, s:b}", "type", "Split", "pattern", "Regex", presets[preset].pattern,
                              "behavior", "Isolated", "invert", 0);
    json_t *normalizer = presets[preset].nfc ? json_pack("{s:s}", "type", "NFC") : json_null();

    return json_pack("{s:o, s:{s:s, s:[o, o]}, s:o}", "normalizer", normalizer, "pre_tokenizer", "type", "Sequence",
                     "pretokenizers", split, byte_level_json(false, false), "decoder", byte_level_json(true, true));
}

static struct tokenizer *empty_tokenizer(enum bpe_preset preset)
{
    struct tokenizer *t = tokenizer_new();
    json_t *parts = parts_json(preset);
    struct error err;

    CHECK(parts && tokenizer_read_parts(t, parts, "a new tokenizer", &err) == 0, "the parts of a new tokenizer");
    json_decref(parts);
    t->model_type = TOKENIZER_BPE;
    pre_tokenizer_leave_bytes(&t->pre_tokenizer);
    t->bpe.bytes = t->pre_tokenizer.bytes;
    t->bpe.ignore_merges = presets[preset].ignore_merges;
    t->special[SPECIAL_BOS] = presets[preset].bos;
    t->special[SPECIAL_EOS] = presets[preset].eos;
    t->special[SPECIAL_PAD] = presets[preset].pad;
    return t;
}

struct tokenizer *tokenizer_from_bytes(const char *const *texts, int64_t n, const struct bpe_options *options,
                                       struct error *err)
{
    struct bpe_trainer r = { .t = empty_tokenizer(options->preset) };
    struct byte_alphabet alphabet;
    int rc = add_specials(&r, options, err);

    if (rc == 0) {
        byte_alphabet_init(&alphabet);
        add_bytes(&r, &alphabet);
        for (int64_t i = 0; i < n; i++)
            tokenizer_pieces(r.t, texts[i], (int64_t)strlen(texts[i]), bpe_count_word, &r);
        bpe_spell_words(&r, &alphabet);
        learn(&r, options->vocab_size);
        rc = bpe_fill_vocab(&r, err);
    }
    piece_corpus_release(&r.words);
    strings_release(&r.pieces);
    free(r.merges);
    return tokenizer_opened(r.t, rc, err);
}

static const char continuation[] = "##";

struct wordpiece_trainer {
    struct tokenizer *t;
    struct piece_corpus words;
    struct strings pieces; /* the vocabulary without special tokens */
    int unused;
};

/* Writes the first character of text as a piece, with the continuation prefix if it is inside a word. Returns its
 * length in bytes, without the prefix. */
static int char_piece(char out[8], const char *text, bool inside)
{
    int n = 1, skip = inside ? 2 : 0;
    while (utf8_continues(text[n]))
        n++;
    memcpy(out, continuation, (size_t)skip);
    memcpy(out + skip, text, (size_t)n);
    out[skip + n] = '\0';
    return n;
}

static void wordpiece_count_word(void *to, const struct normal_text *text, int64_t start, int64_t stop)
{
    struct wordpiece_trainer *r = to;

    if (stop - start <= r->t->wordpiece.max_chars) /* longer words are encoded as unk, so nothing is learnt from them;
                                                      the limit counts bytes here */
        piece_corpus_count(&r->words, text->text + start, stop - start);
}

/* A character at the start of a word or inside one, and its count in the corpus. */
struct char_count {
    const char *piece;
    int64_t count;
};

static int compare_chars(const void *a, const void *b)
{
    const struct char_count *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return strcmp(x->piece, y->piece);
}

/* Adds every ASCII character that a normalised word can contain. */
static void add_ascii(struct strings *pieces)
{
    char piece[8], text[2] = { 0 };

    for (int c = '!'; c <= '~'; c++) {
        bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        text[0] = (char)c;
        if (c >= 'A' && c <= 'Z')
            continue;
        for (int inside = 0; inside < (letter ? 2 : 1); inside++) {
            char_piece(piece, text, inside);
            strings_add(pieces, piece);
        }
    }
}

/* Returns the characters of the corpus by descending count. `forms` owns their texts. */
static struct char_count *count_chars(const struct wordpiece_trainer *r, struct strings *forms)
{
    int n = 0, cap = 128;
    struct char_count *chars = xmalloc((size_t)cap * sizeof *chars);
    char piece[8];

    for (int i = 0; i < r->words.n; i++)
        for (const char *start = r->words.texts.items[i], *c = start; *c;) {
            c += char_piece(piece, c, c != start);
            int k = strings_add(forms, piece);
            if (k == n) {
                GROW(chars, n, cap);
                chars[n++] = (struct char_count){ forms->items[k], 0 };
            }
            chars[k].count += r->words.words[i].count;
        }
    if (n > 1)
        qsort(chars, (size_t)n, sizeof *chars, compare_chars);
    return chars;
}

/* Adds the alphabet, at most half of the vocabulary. Rarer characters stay unknown. */
static void add_alphabet(struct wordpiece_trainer *r, int32_t max_pieces)
{
    struct strings forms = { 0 };
    struct char_count *chars = count_chars(r, &forms);

    add_ascii(&r->pieces);
    for (int i = 0; i < forms.n && r->pieces.n < max_pieces / 2; i++)
        strings_add(&r->pieces, chars[i].piece);
    free(chars);
    strings_release(&forms);
}

/* Spells each word in characters. A word with a character outside the alphabet stays empty. */
static void wordpiece_spell_words(struct wordpiece_trainer *r)
{
    char piece[8];

    for (int32_t i = 0; i < r->words.n; i++) {
        const char *start = r->words.texts.items[i];
        struct piece_word *w = r->words.words + i;
        w->pieces = xmalloc(strlen(start) * sizeof *w->pieces);
        for (const char *c = start; *c;) {
            c += char_piece(piece, c, c != start);
            int32_t id = strings_find(&r->pieces, piece);
            if (id < 0) {
                w->n = 0;
                break;
            }
            w->pieces[w->n++] = id;
        }
    }
}

static void wordpiece_merge_pair(struct wordpiece_trainer *r, struct queued_pair *q)
{
    char text[VOCAB_MAX_TOKEN];
    const struct symbol_pair *p = r->words.pairs.pairs + q->pair;

    snprintf(text, sizeof text, "%s%s", r->pieces.items[p->left], r->pieces.items[p->right] + strlen(continuation));
    piece_corpus_merge(&r->words, q, strings_add(&r->pieces, text));
    free(q->words);
}

static int add_unused(struct vocab *v, int n, struct error *err)
{
    char text[24];

    for (int i = 0; i < n; i++) {
        snprintf(text, sizeof text, "[unused%d]", i);
        if (vocab_add(v, text, err))
            return -1;
    }
    return 0;
}

/* Fills the vocabulary: special tokens, unused tokens, then pieces in the order of their creation. */
static int wordpiece_fill_vocab(struct wordpiece_trainer *r, struct error *err)
{
    static const enum special_token order[] = { SPECIAL_PAD, SPECIAL_UNK, SPECIAL_CLS, SPECIAL_SEP, SPECIAL_MASK };
    struct tokenizer *t = r->t;

    for (int i = 0; i < ARRAY_LEN(order); i++) {
        t->special[order[i]] = i;
        if (vocab_add(&t->vocab, special_token_texts[order[i]], err))
            return -1;
    }
    if (add_unused(&t->vocab, r->unused, err))
        return -1;
    for (int32_t i = 0; i < r->pieces.n; i++)
        if (vocab_add(&t->vocab, r->pieces.items[i], err))
            return -1;
    if (tokenizer_end_model(t, special_token_texts[SPECIAL_UNK], err))
        return -1;
    for (int i = 0; i < ARRAY_LEN(order); i++) {
        struct added_token added = { .id = i, .special = true };
        if (tokenizer_add_token(t, special_token_texts[order[i]], &added, err))
            return -1;
    }
    return tokenizer_prepare(t, err);
}

struct tokenizer *tokenizer_from_words(const char *const *texts, int64_t n, int unused, int32_t vocab_size,
                                       struct error *err)
{
    struct wordpiece_trainer r = { .unused = unused };
    int32_t max_pieces = vocab_size - SPECIAL_COUNT - unused;

    if (vocab_size < MIN_VOCAB || vocab_size > MAX_VOCAB) {
        error_set(err, EXIT_CODE_USAGE, "vocabulary: expected %d to %d tokens, got %d", MIN_VOCAB, MAX_VOCAB,
                  (int)vocab_size);
        return NULL;
    }
    r.t = tokenizer_new();
    tokenizer_bert_parts(r.t);
    for (int64_t i = 0; i < n; i++)
        tokenizer_pieces(r.t, texts[i], (int64_t)strlen(texts[i]), wordpiece_count_word, &r);
    add_alphabet(&r, max_pieces);
    wordpiece_spell_words(&r);
    piece_corpus_start(&r.words);
    for (struct queued_pair q; r.pieces.n < max_pieces && pair_counts_take(&r.words.pairs, MIN_COUNT, &q);)
        wordpiece_merge_pair(&r, &q);
    int rc = wordpiece_fill_vocab(&r, err);
    piece_corpus_release(&r.words);
    strings_release(&r.pieces);
    if (rc == 0)
        return r.t;
    tokenizer_close(r.t);
    return NULL;
}
