#include "models/tokenizer_train/wordpiece_train.h"

#include "models/tokenizer/tokenizer_parts.h"
#include "models/tokenizer_train/piece_corpus.h"
#include "models/unicode/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { MIN_VOCAB = 256, MAX_VOCAB = 1000000, MIN_COUNT = 2 };

static const char continuation[] = "##";

struct wordpiece_trainer {
    struct tokenizer *t;
    struct piece_corpus words;
    struct strings pieces; /* the vocabulary without the special tokens */
    int unused;
};

/* The character that starts at text, as a piece that starts a word or, when inside, goes on with one; its bytes. */
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

static void count_word(void *to, const struct normal_text *text, int64_t start, int64_t stop)
{
    struct wordpiece_trainer *r = to;

    if (stop - start <= r->t->wordpiece.max_chars) /* in bytes: what is longer is no word to learn from */
        piece_corpus_count(&r->words, text->text + start, stop - start);
}

/* A character in one of its two forms, and how often it stands in the corpus. */
struct letter {
    const char *piece;
    int64_t count;
};

static int compare_letters(const void *a, const void *b)
{
    const struct letter *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return strcmp(x->piece, y->piece);
}

/* Every ASCII character a normalised word can hold. */
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

/* The forms of all characters of the corpus by falling count; forms keeps their texts. */
static struct letter *count_letters(const struct wordpiece_trainer *r, struct strings *forms)
{
    int n = 0, cap = 128;
    struct letter *letters = xmalloc((size_t)cap * sizeof *letters);
    char piece[8];

    for (int i = 0; i < r->words.n; i++)
        for (const char *start = r->words.texts.items[i], *c = start; *c;) {
            c += char_piece(piece, c, c != start);
            int k = strings_add(forms, piece);
            if (k == n) {
                GROW(letters, n, cap);
                letters[n++] = (struct letter){ forms->items[k], 0 };
            }
            letters[k].count += r->words.words[i].count;
        }
    if (n > 1)
        qsort(letters, (size_t)n, sizeof *letters, compare_letters);
    return letters;
}

/* The alphabet takes at most half of the room; rarer characters stay unknown. */
static void add_alphabet(struct wordpiece_trainer *r, int32_t room)
{
    struct strings forms = { 0 };
    struct letter *letters = count_letters(r, &forms);

    add_ascii(&r->pieces);
    for (int i = 0; i < forms.n && r->pieces.n < room / 2; i++)
        strings_add(&r->pieces, letters[i].piece);
    free(letters);
    strings_release(&forms);
}

/* Spells every word in letters.  A word with a letter outside the alphabet is left empty. */
static void spell_words(struct wordpiece_trainer *r)
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

static void merge(struct wordpiece_trainer *r, struct queued_pair *q)
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

/* The special tokens, those that a model gives a meaning of its own, then the pieces in the order they came. */
static int fill_vocab(struct wordpiece_trainer *r, struct error *err)
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
    int32_t room = vocab_size - SPECIAL_COUNT - unused;

    if (vocab_size < MIN_VOCAB || vocab_size > MAX_VOCAB) {
        error_set(err, EXIT_CODE_USAGE, "vocabulary: expected %d to %d tokens, got %d", MIN_VOCAB, MAX_VOCAB,
                  (int)vocab_size);
        return NULL;
    }
    r.t = tokenizer_new();
    tokenizer_bert_parts(r.t);
    for (int64_t i = 0; i < n; i++)
        tokenizer_pieces(r.t, texts[i], (int64_t)strlen(texts[i]), count_word, &r);
    add_alphabet(&r, room);
    spell_words(&r);
    piece_corpus_start(&r.words);
    for (struct queued_pair q; r.pieces.n < room && pair_counts_take(&r.words.pairs, MIN_COUNT, &q);)
        merge(&r, &q);
    int rc = fill_vocab(&r, err);
    piece_corpus_release(&r.words);
    strings_release(&r.pieces);
    if (rc == 0)
        return r.t;
    tokenizer_close(r.t);
    return NULL;
}
