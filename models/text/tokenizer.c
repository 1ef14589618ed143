#include "models/text/tokenizer_parts.h"

#include "models/text/char_class.h"
#include "models/text/utf8.h"

#include <stdlib.h>
#include <string.h>

struct added_match {
    int64_t start, end, next; /* the next search starts at `next`, before the white space that rstrip took in */
    int32_t id;
};

/* Copies text, which must not be empty. */
static void added_set_add(struct added_set *s, const char *text, int64_t length, const struct added_token *token)
{
    CHECK(length > 0, "added token %d is empty", (int)token->id);
    GROW(s->items, s->count, s->cap);
    struct added_pattern *p = s->items + s->count++;
    *p = (struct added_pattern){ xmalloc((size_t)length), length, *token };
    memcpy(p->text, text, (size_t)length);
    s->starts[(unsigned char)*text] = true;
}

/* Orders patterns by text, prefixes first. Two tokens may have the same normalised text: the special one comes first,
 * then the lower id. */
static int compare_patterns(const void *a, const void *b)
{
    const struct added_pattern *x = a, *y = b;
    int c = memcmp(x->text, y->text, (size_t)(x->length < y->length ? x->length : y->length));
    if (c == 0)
        c = (x->length > y->length) - (x->length < y->length);
    if (c == 0)
        c = y->token.special - x->token.special;
    return c ? c : (x->token.id > y->token.id) - (x->token.id < y->token.id);
}

/* Must be called once after the last added_set_add. */
static void added_set_prepare(struct added_set *s)
{
    if (s->count > 1)
        qsort(s->items, (size_t)s->count, sizeof *s->items, compare_patterns);
}

static void added_set_release(struct added_set *s)
{
    for (int32_t i = 0; i < s->count; i++)
        free(s->items[i].text);
    free(s->items);
    *s = (struct added_set){ 0 };
}

/* Of items [low, high), which share their first k bytes and are longer, returns the first with a byte k of at least c.
 */
static int32_t lower_edge(const struct added_set *s, int32_t low, int32_t high, int64_t k, int c)
{
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if ((unsigned char)s->items[middle].text[k] < c)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the longest pattern that is a prefix of these n bytes, or NULL. */
static const struct added_pattern *longest_at(const struct added_set *s, const char *text, int64_t n)
{
    const struct added_pattern *best = NULL;
    int32_t low = 0, high = s->count;

    for (int64_t k = 0; low < high && k < n; k++) {
        int c = (unsigned char)text[k];
        low = lower_edge(s, low, high, k, c);
        high = lower_edge(s, low, high, k, c + 1);
        if (low < high && s->items[low].length == k + 1)
            best = s->items + low;
        while (low < high && s->items[low].length == k + 1)
            low++;
    }
    return best;
}

/* Returns the character before `at`. */
static uint32_t char_before(const char *text, int64_t at, int64_t *start)
{
    uint32_t cp;
    bool valid;
    for (*start = at - 1; *start > 0 && at - *start < 4 && utf8_continues(text[*start]); --*start)
        ;
    if (utf8_read(text + *start, at - *start, &cp, &valid) != at - *start) {
        *start = at - 1;
        cp = UTF8_REPLACEMENT;
    }
    return cp;
}

static bool stands_alone(const char *text, int64_t end, const struct added_match *m)
{
    int64_t start;
    uint32_t cp;
    bool valid;

    if (m->start > 0 && char_word_class(char_before(text, m->start, &start)) & CHAR_WORD)
        return false;
    if (m->end == end)
        return true;
    utf8_read(text + m->end, end - m->end, &cp, &valid);
    return !(char_word_class(cp) & CHAR_WORD);
}

/* Extends a match by the white space around it, but not by white space that the previous match took. */
static void extend_match(const char *text, int64_t taken, int64_t end, const struct added_token *t,
                         struct added_match *m)
{
    int64_t start;
    uint32_t cp;
    bool valid;

    if (t->lstrip && m->start < taken && taken < m->end)
        m->start = taken;
    while (t->lstrip && m->start > taken && char_class(char_before(text, m->start, &start)) & CHAR_WHITE)
        m->start = start;
    while (t->rstrip && m->end < end) {
        int bytes = utf8_read(text + m->end, end - m->end, &cp, &valid);
        if (!(char_class(cp) & CHAR_WHITE))
            break;
        m->end += bytes;
    }
}

/* Finds the match after *match, which starts as { 0 }. It may overlap the white space of the previous match. Special
 * tokens are ignored unless `specials`. Returns false if there is none. */
static bool added_set_find(const struct added_set *s, const char *text, int64_t end, bool specials,
                           struct added_match *match)
{
    int64_t taken = match->end;

    if (s->count == 0)
        return false;
    for (int64_t at = match->next; at < end; at++) {
        const struct added_pattern *p = s->starts[(unsigned char)text[at]] ? longest_at(s, text + at, end - at) : NULL;
        if (!p)
            continue;
        *match = (struct added_match){ at, at + p->length, at + p->length, p->token.id };
        if ((p->token.special && !specials) || (p->token.single_word && !stands_alone(text, end, match))) {
            at = match->next - 1;
            continue;
        }
        extend_match(text, taken, end, &p->token, match);
        return true;
    }
    return false;
}

const char *const special_token_fields[SPECIAL_COUNT] = { "cls_token",  "sep_token", "pad_token", "unk_token",
                                                          "mask_token", "bos_token", "eos_token" };
const char *const special_token_texts[SPECIAL_COUNT] = { "[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]", NULL, NULL };

void ids_push(struct ids *ids, int32_t id)
{
    GROW(ids->items, ids->count, ids->cap);
    ids->items[ids->count++] = id;
}

void ids_release(struct ids *ids)
{
    free(ids->items);
    *ids = (struct ids){ 0 };
}

void token_spans_release(struct token_spans *spans)
{
    free(spans->items);
    *spans = (struct token_spans){ 0 };
}

struct tokenizer *tokenizer_new(void)
{
    struct tokenizer *t = xcalloc(1, sizeof *t);
    t->wordpiece.max_chars = 100;
    memcpy(t->wordpiece.prefix, "##", sizeof "##");
    t->bpe.unk = -1;
    for (int i = 0; i < SPECIAL_COUNT; i++)
        t->special[i] = -1;
    return t;
}

void tokenizer_close(struct tokenizer *t)
{
    if (!t)
        return;
    vocab_release(&t->vocab);
    wordpiece_release(&t->wordpiece);
    bpe_release(&t->bpe);
    unigram_release(&t->unigram);
    normalizer_release(&t->normalizer);
    pre_tokenizer_release(&t->pre_tokenizer);
    decoder_release(&t->decoder);
    json_decref(t->parts);
    added_set_release(&t->raw);
    added_set_release(&t->normalized);
    free(t->added);
    free(t->added_of);
    free(t);
}

int tokenizer_read_parts(struct tokenizer *t, const json_t *root, const char *where, struct error *err)
{
    static const char *const names[] = { "normalizer", "pre_tokenizer", "decoder", "post_processor" };

    t->parts = json_object();
    for (int i = 0; i < ARRAY_LEN(names); i++) {
        json_t *part = json_object_get(root, names[i]);
        json_object_set_new(t->parts, names[i], part ? json_incref(part) : json_null());
    }
    return normalizer_read(&t->normalizer, root, where, err) ||
                   pre_tokenizer_read(&t->pre_tokenizer, root, where, err) ||
                   decoder_read(&t->decoder, root, where, err)
               ? -1
               : 0;
}

void tokenizer_bert_parts(struct tokenizer *t)
{
    struct error err;
    json_t *root =
        json_pack("{s:{s:s, s:b, s:b, s:n, s:b}, s:{s:s}, s:{s:s, s:s, s:b}}", "normalizer", "type", "BertNormalizer",
                  "clean_text", 1, "handle_chinese_chars", 1, "strip_accents", "lowercase", 1, "pre_tokenizer", "type",
                  "BertPreTokenizer", "decoder", "type", "WordPiece", "prefix", t->wordpiece.prefix, "cleanup", 1);

    CHECK(root && tokenizer_read_parts(t, root, "BERT", &err) == 0, "%s", root ? err.text : "out of memory");
    json_decref(root);
}

static int end_bpe(struct tokenizer *t, const char *unk, struct error *err)
{
    struct bpe *b = &t->bpe;

    if (bpe_tokens(b, &t->vocab, t->model_tokens, err))
        return -1;
    b->unk = unk ? tokenizer_id(t, unk) : -1;
    if (unk && b->unk < 0 && !(b->bytes && b->missing == 0))
        return error_set(err, EXIT_CODE_CHECKPOINT, "unk_token \"%.80s\" is not in the vocabulary", unk);
    return 0;
}

int tokenizer_end_model(struct tokenizer *t, const char *unk, struct error *err)
{
    int32_t n = t->vocab.count, slots = n + ADDED_MAX_TOKENS;

    if (n == 0)
        return error_set(err, EXIT_CODE_CHECKPOINT, "expected at least one token, got an empty vocabulary");
    t->model_tokens = n;
    t->added_of = xmalloc((size_t)slots * sizeof *t->added_of);
    for (int32_t i = 0; i < slots; i++)
        t->added_of[i] = -1;
    if (t->model_type == TOKENIZER_BPE)
        return end_bpe(t, unk, err);
    if (t->model_type == TOKENIZER_UNIGRAM)
        return unigram_prepare(&t->unigram, &t->vocab, n, err);
    if (wordpiece_prepare(&t->wordpiece, &t->vocab, n, err))
        return -1;
    t->wordpiece.unk = tokenizer_id(t, unk);
    if (t->wordpiece.unk < 0)
        return error_set(err, EXIT_CODE_CHECKPOINT, "unk_token \"%.80s\" is not in the vocabulary", unk);
    return 0;
}

int tokenizer_add_token(struct tokenizer *t, const char *text, const struct added_token *token, struct error *err)
{
    int32_t known = tokenizer_id(t, text);

    if (!*text)
        return error_set(err, EXIT_CODE_CHECKPOINT, "added token %d is empty", (int)token->id);
    if (t->n_added == ADDED_MAX_TOKENS)
        return error_set(err, EXIT_CODE_CHECKPOINT, "expected at most %d added tokens", ADDED_MAX_TOKENS);
    if (known >= 0 ? token->id != known : token->id != t->vocab.count)
        return error_set(err, EXIT_CODE_CHECKPOINT, "added token \"%.80s\": expected id %d, %s, got %d", text,
                         (int)(known >= 0 ? known : t->vocab.count),
                         known >= 0 ? "which the vocabulary has" : "the next free one", (int)token->id);
    if (tokenizer_added(t, token->id))
        return error_set(err, EXIT_CODE_CHECKPOINT, "token %d \"%.80s\" is added twice", (int)token->id, text);
    if (known < 0 && vocab_add(&t->vocab, text, err))
        return -1;
    GROW(t->added, t->n_added, t->cap_added);
    t->added_of[token->id] = t->n_added;
    t->added[t->n_added++] = *token;
    return 0;
}

const struct added_token *tokenizer_added(const struct tokenizer *t, int32_t id)
{
    return t->added_of[id] >= 0 ? t->added + t->added_of[id] : NULL;
}

/* A token with `normalized` is matched against normalised text by its own normalised text. */
static int enter_added(struct tokenizer *t, struct normalizer_work *w, const struct added_token *a, struct error *err)
{
    const char *text = vocab_text(&t->vocab, a->id);
    int64_t length = vocab_length(&t->vocab, a->id);

    if (!a->normalized) {
        added_set_add(&t->raw, text, length, a);
        return 0;
    }
    normalizer_run(&t->normalizer, text, 0, length, w);
    if (w->out.length == 0)
        return error_set(err, EXIT_CODE_CHECKPOINT,
                         "added token %d \"%s\": expected a text that normalisation does not remove", (int)a->id, text);
    added_set_add(&t->normalized, w->out.text, w->out.length, a);
    return 0;
}

int tokenizer_prepare(struct tokenizer *t, struct error *err)
{
    struct normalizer_work w = { 0 };
    int rc = 0;

    for (int32_t i = 0; i < t->n_added && rc == 0; i++)
        rc = enter_added(t, &w, t->added + i, err);
    normalizer_work_release(&w);
    added_set_prepare(&t->raw);
    added_set_prepare(&t->normalized);
    return rc;
}

int32_t tokenizer_vocab_size(const struct tokenizer *t)
{
    return t->vocab.count;
}

const char *tokenizer_token(const struct tokenizer *t, int32_t id)
{
    return id >= 0 && id < t->vocab.count ? vocab_text(&t->vocab, id) : NULL;
}

int32_t tokenizer_id(const struct tokenizer *t, const char *token)
{
    const struct piece_table *tokens = t->model_type == TOKENIZER_BPE       ? &t->bpe.tokens
                                       : t->model_type == TOKENIZER_UNIGRAM ? &t->unigram.tokens
                                                                            : &t->wordpiece.first;
    int32_t id = piece_table_find_text(tokens, &t->vocab, token, (int64_t)strlen(token));
    for (int32_t i = t->model_tokens; id < 0 && i < t->vocab.count; i++)
        if (strcmp(vocab_text(&t->vocab, i), token) == 0)
            id = i;
    return id;
}

int32_t tokenizer_special(const struct tokenizer *t, enum special_token which)
{
    return t->special[which];
}

/* Encoding. */

struct encoder {
    const struct tokenizer *t;
    bool specials;
    struct normalizer_work normal; /* text of the current part */
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

/* Adds a token over bytes [start, end) of the normalised text. Marks may have moved, so the span covers the origins of
 * all its bytes. */
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

/* Finds the next added token. In a BPE vocabulary, added tokens are not looked for unless the caller asks for special
 * tokens. */
static bool find_added(const struct encoder *e, const struct added_set *s, const char *text, int64_t end,
                       struct added_match *m)
{
    if (e->t->model_type == TOKENIZER_BPE && !e->specials)
        return false;
    return added_set_find(s, text, end, e->specials, m);
}

/* Normalises and encodes bytes [start, end) of the raw text. */
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
    pre_tokenizer_start(&e.run, &t->pre_tokenizer, e.normal.out.track, models[t->model_type], &e);
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

/* Decoding. */

/* An added token with `normalized` is decoded to its normalised text. If that differs from its own text, Hugging Face's
 * tokenizers does not treat it as special. */
static void put_normalized(const struct tokenizer_stream *s, const struct added_token *added, const char *token,
                           size_t length)
{
    struct normalizer_work w = { 0 };

    normalizer_run(&s->t->normalizer, token, 0, (int64_t)length, &w);
    bool same = w.out.length == (int64_t)length && memcmp(w.out.text, token, length) == 0;
    if (!(s->flags & TOKENIZER_SKIP_SPECIALS && added->special && same))
        decoder_put(s->run, w.out.text, (size_t)w.out.length);
    normalizer_work_release(&w);
}

static void put_token(const struct tokenizer_stream *s, int32_t id)
{
    const struct tokenizer *t = s->t;
    const char *token = tokenizer_token(t, id);
    const struct added_token *added = token ? tokenizer_added(t, id) : NULL;
    size_t length = token ? (size_t)vocab_length(&t->vocab, id) : 0;

    if (added && added->normalized)
        put_normalized(s, added, token, length);
    else if (token && !(s->flags & TOKENIZER_SKIP_SPECIALS && added && added->special))
        decoder_put(s->run, token, length);
}

/* Returns the decoded text. If more tokens may come, an incomplete character at the end stays in the decoder's buffer.
 */
static const char *take_text(struct tokenizer_stream *s, bool more, size_t *length)
{
    struct byte_buffer *made = &s->run->out;
    int64_t n = (int64_t)made->count, at = 0;
    uint32_t cp;
    bool valid;

    s->text.count = 0;
    byte_buffer_add(&s->text, "", 0);
    if (s->flags & TOKENIZER_EXACT_BYTES) {
        byte_buffer_add(&s->text, made->items, made->count);
        at = n;
    }
    while (at < n && !(more && utf8_is_cut(made->items + at, n - at))) {
        int bytes = utf8_read(made->items + at, n - at, &cp, &valid);
        byte_buffer_add(&s->text, valid ? made->items + at : "\xef\xbf\xbd", valid ? (size_t)bytes : 3);
        at += bytes;
    }
    if (at < n)
        memmove(made->items, made->items + at, (size_t)(n - at));
    made->count = (size_t)(n - at);
    *length = s->text.count;
    return s->text.items;
}

void tokenizer_stream_start(struct tokenizer_stream *s, const struct tokenizer *t, unsigned flags)
{
    *s = (struct tokenizer_stream){ .t = t, .flags = flags, .run = xmalloc(sizeof *s->run) };
    decoder_start(s->run, &t->decoder, flags & TOKENIZER_EXACT_BYTES);
}

const char *tokenizer_stream_next(struct tokenizer_stream *s, int32_t id, size_t *length)
{
    put_token(s, id);
    return take_text(s, true, length);
}

const char *tokenizer_stream_end(struct tokenizer_stream *s, size_t *length)
{
    decoder_end(s->run);
    return take_text(s, false, length);
}

void tokenizer_stream_release(struct tokenizer_stream *s)
{
    if (s->run)
        decoder_run_release(s->run);
    free(s->run);
    byte_buffer_release(&s->text);
    *s = (struct tokenizer_stream){ 0 };
}

char *tokenizer_decode(const struct tokenizer *t, const int32_t *ids, int64_t n, unsigned flags, size_t *length)
{
    struct tokenizer_stream s;
    size_t total;

    tokenizer_stream_start(&s, t, flags);
    for (int64_t i = 0; i < n; i++)
        put_token(&s, ids[i]);
    tokenizer_stream_end(&s, length ? length : &total);
    char *text = s.text.items;
    s.text = (struct byte_buffer){ 0 };
    tokenizer_stream_release(&s);
    return text;
}
