/* Part of tokenizer.h: a text into ids. */
#include "models/tokenizer/tokenizer_impl.h"

struct encoder {
    const struct tokenizer *t;
    bool specials;
    struct normalizer_work normal; /* the text of the piece being worked on */
    struct pre_tokenizer_run run;
    struct bpe_work work;
    struct unigram_work unigram;
    struct ids *out;
    struct token_spans *spans;
};

static void push(struct encoder *e, int32_t id, int64_t start, int64_t end)
{
    ids_push(e->out, id);
    if (!e->spans)
        return;
    GROW(e->spans->items, e->spans->count, e->spans->cap);
    e->spans->items[e->spans->count++] = (struct token_span){ start, end };
}

/* A token over bytes [start, end) of a changed text.  Marks may have changed places, so its first byte need not come
 * from the first of the raw text. */
static void push_normal(struct encoder *e, int32_t id, const struct normal_text *text, int64_t start, int64_t end)
{
    const struct token_span *origin = text->origin;
    struct token_span whole = origin[start];
    for (int64_t i = start + 1; i < end; i++) {
        whole.start = origin[i].start < whole.start ? origin[i].start : whole.start;
        whole.end = origin[i].end > whole.end ? origin[i].end : whole.end;
    }
    push(e, id, whole.start, whole.end);
}

static inline void push_pieces(struct encoder *e, const struct token_piece *pieces, int64_t n,
                               const struct normal_text *text, int64_t start)
{
    struct ids *out = e->out;

    for (int64_t i = 0; i < n && e->spans; i++)
        push_normal(e, pieces[i].id, text, start + pieces[i].start, start + pieces[i].end);
    if (e->spans)
        return;
    if (out->cap - out->count < n) {
        out->cap = 2 * (out->cap + n);
        out->items = xrealloc(out->items, (size_t)out->cap * sizeof *out->items);
    }
    int32_t *at = out->items + out->count;
    for (int64_t i = 0; i < n; i++)
        at[i] = pieces[i].id;
    out->count += n;
}

static void encode_word(void *to, const struct normal_text *text, int64_t start, int64_t stop)
{
    struct encoder *e = to;
    const struct tokenizer *t = e->t;
    struct token_piece pieces[WORDPIECE_MAX_CHARS];
    int n = wordpiece_split(&t->wordpiece, &t->vocab, text->text + start, stop - start, pieces);

    push_pieces(e, pieces, n, text, start);
}

static void encode_bpe(void *to, const struct normal_text *text, int64_t start, int64_t stop)
{
    struct encoder *e = to;
    struct bpe_work *w = &e->work;

    bpe_split(&e->t->bpe, &e->t->vocab, w, text->text + start, stop - start);
    push_pieces(e, w->pieces, w->count, text, start);
}

static void encode_unigram(void *to, const struct normal_text *text, int64_t start, int64_t stop)
{
    struct encoder *e = to;
    struct unigram_work *w = &e->unigram;

    unigram_split(&e->t->unigram, &e->t->vocab, w, text->text + start, stop - start);
    push_pieces(e, w->pieces, w->count, text, start);
}

/* The next added token that is looked for at all. */
static bool find_added(const struct encoder *e, const struct added_set *s, const char *text, int64_t end,
                       struct added_match *m)
{
    if (e->t->kind == TOKENIZER_BPE && !e->specials)
        return false;
    return added_set_find(s, text, end, e->specials, m);
}

/* Normalises bytes [start, end) of the raw text and encodes them. */
static void encode_part(struct encoder *e, const char *raw, int64_t start, int64_t end)
{
    const struct normal_text *text = &e->normal.out;
    struct added_match m = { 0 };
    int64_t at = 0;

    if (start >= end)
        return;
    normalizer_run(&e->t->normalizer, raw, start, end, &e->normal);
    while (find_added(e, &e->t->normalized, text->text, text->length, &m)) {
        pre_tokenizer_cut(&e->run, text, at, m.start);
        push_pieces(e, &(struct token_piece){ m.id, m.start, m.end }, 1, text, 0);
        at = m.end;
    }
    pre_tokenizer_cut(&e->run, text, at, text->length);
}

int64_t tokenizer_encode(const struct tokenizer *t, const char *text, size_t length, unsigned flags, struct ids *out,
                         struct token_spans *spans)
{
    static pre_tokenizer_emit_fn *const models[] = {
        [TOKENIZER_WORDPIECE] = encode_word, [TOKENIZER_BPE] = encode_bpe, [TOKENIZER_UNIGRAM] = encode_unigram
    };
    struct encoder e = { .t = t, .specials = flags & TOKENIZER_MATCH_SPECIALS, .out = out, .spans = spans };
    int64_t at = 0, before = out->count, end = (int64_t)length;
    struct added_match m = { 0 };

    e.normal.out.track = spans || t->pre_tokenizer.needs_origin;
    pre_tokenizer_start(&e.run, &t->pre_tokenizer, e.normal.out.track, models[t->kind], &e);
    while (find_added(&e, &t->raw, text, end, &m)) {
        encode_part(&e, text, at, m.start);
        push(&e, m.id, m.start, m.end);
        at = m.end;
    }
    encode_part(&e, text, at, end);
    pre_tokenizer_end(&e.run);
    normalizer_work_release(&e.normal);
    bpe_work_release(&e.work);
    unigram_work_release(&e.unigram);
    return out->count - before;
}

void tokenizer_pieces(const struct tokenizer *t, const char *text, int64_t length, pre_tokenizer_emit_fn *emit,
                      void *to)
{
    struct normalizer_work w = { .out.track = t->pre_tokenizer.needs_origin };
    struct pre_tokenizer_run run;

    if (length == 0)
        return;
    normalizer_run(&t->normalizer, text, 0, length, &w);
    pre_tokenizer_start(&run, &t->pre_tokenizer, w.out.track, emit, to);
    pre_tokenizer_cut(&run, &w.out, 0, w.out.length);
    pre_tokenizer_end(&run);
    normalizer_work_release(&w);
}
