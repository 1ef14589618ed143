/* Part of constraint_form.h: the tokens of the texts that a word may be. */
#include "models/engine/constraint_form.h"
#include "models/text/byte_buffer.h"

#include <stdlib.h>
#include <string.h>

/* Parts [first, stop) of a form, and which text each slot among them has. */
struct form_word {
    int first, stop;
    int64_t *chosen; /* [stop - first] */
};

struct word_encoder {
    const struct constraint_form *form;
    const struct tokenizer *t;
    const int32_t *stops;
    int n_stops;
    struct byte_buffer text; /* a word between its neighbours */
    size_t start, end;       /* of the word in it */
    struct ids ids;
    struct token_spans spans;
};

static int word_stop(const struct constraint_form *f, int first)
{
    int stop = first + 1;
    while (stop < f->n_parts && !f->parts[stop].starts)
        stop++;
    return stop;
}

/* Appends a word; NULL chosen: with the first text of each slot. */
static void add_word(struct word_encoder *e, int first, int stop, const int64_t *chosen)
{
    for (int i = first; i < stop; i++) {
        const struct form_part *p = e->form->parts + i;
        if (p->list < 0) {
            byte_buffer_add(&e->text, p->text, p->length);
            continue;
        }
        const json_t *v = json_array_get(e->form->lists[p->list].texts, chosen ? (size_t)chosen[i - first] : 0);
        byte_buffer_add(&e->text, json_string_value(v), json_string_length(v));
    }
}

/* The next choice of texts, the last slot's changing first; false behind the last. */
static bool choose_next(const struct word_encoder *e, const struct form_word *w)
{
    for (int i = w->stop - 1; i >= w->first; i--) {
        const struct form_part *p = e->form->parts + i;
        if (p->list >= 0 && ++w->chosen[i - w->first] < e->form->lists[p->list].count)
            return true;
        w->chosen[i - w->first] = 0;
    }
    return false;
}

/* Is what the tokens say the text, as far as the word goes?  Characters that a tokenizer does not know it leaves out,
 * or has one token for them all; others it writes in a normal form.  A blank that it puts before a text is none of it,
 * nor is one that it leaves out there, where a neighbour begins. */
static int check_spelling(const struct word_encoder *e, struct error *err)
{
    size_t length, n = 0;
    char *whole = tokenizer_decode(e->t, e->ids.items, e->ids.count, TOKENIZER_EXACT_BYTES, &length), *said = whole;
    bool left_out = e->start && *e->text.items == ' ' && *said != ' ';
    const char *text = e->text.items + left_out;
    size_t end = e->end - left_out;
    int rc = 0;

    if (*said == ' ' && *text != ' ')
        said++;
    while (n < end && said[n] == text[n])
        n++;
    if (n < end)
        rc = error_set(err, EXIT_CODE_DATA, "the tokenizer cannot spell \"%.200s\", it makes \"%.200s\" of it", text,
                       said);
    free(whole);
    return rc;
}

static int take_token(struct word_encoder *e, int32_t id, struct token_span s, struct token_list *out,
                      struct error *err)
{
    size_t from = (size_t)s.start, to = (size_t)s.end, n = e->end - e->start;
    const char *text = e->text.items + e->start;

    if (from < e->start || to > e->end)
        return error_set(err, EXIT_CODE_DATA,
                         "\"%.*s\": the tokenizer makes one token of an end of it and what stands beside it",
                         (int)(n < 200 ? n : 200), text);
    for (int i = 0; i < e->n_stops; i++)
        if (id == e->stops[i])
            return error_set(err, EXIT_CODE_DATA, "\"%.*s\" holds the token %d, which ends an answer",
                             (int)(n < 200 ? n : 200), text, (int)id);
    ids_push(&out->ids, id);
    return 0;
}

/* The tokens of the word that stands in e->text. */
static int encode_text(struct word_encoder *e, struct token_list *out, struct error *err)
{
    e->ids.count = e->spans.count = 0;
    tokenizer_encode(e->t, e->text.items, e->text.count, 0, &e->ids, &e->spans);
    if (check_spelling(e, err))
        return -1;
    for (int64_t i = 0; i < e->ids.count; i++) {
        struct token_span s = e->spans.items[i];
        if (e->start && (size_t)s.end <= e->start)
            continue;
        if (e->end < e->text.count && (size_t)s.start >= e->end)
            break;
        if (take_token(e, e->ids.items[i], s, out, err))
            return -1;
    }
    token_list_end(out);
    return 0;
}

/* Says which text of a list is meant, where the word has one slot. */
static int prefix_place(const struct word_encoder *e, const struct form_word *w, struct error *err)
{
    int slots = 0, last = 0;

    for (int i = w->first; i < w->stop; i++)
        if (e->form->parts[i].list >= 0)
            slots++, last = i;
    if (slots != 1)
        return error_prefix(err, "template");
    const char *name = e->form->lists[e->form->parts[last].list].name;
    return error_prefix(err, "%s%s[%lld]", name ? "slots." : "answers", name ? name : "",
                        (long long)w->chosen[last - w->first]);
}

static int encode_word(struct word_encoder *e, struct form_word *w, int previous, struct token_list *out,
                       struct error *err)
{
    bool last = w->stop == e->form->n_parts || e->form->parts[w->stop].opens;
    int next = last ? w->stop : word_stop(e->form, w->stop);

    e->text.count = 0;
    add_word(e, previous, w->first, NULL);
    e->start = e->text.count;
    do {
        e->text.count = e->start;
        add_word(e, w->first, w->stop, w->chosen);
        e->end = e->text.count;
        add_word(e, w->stop, next, NULL);
        if (encode_text(e, out, err))
            return prefix_place(e, w, err);
    } while (choose_next(e, w));
    return 0;
}

/* What all texts of a word take, each with its end; past `most` whatever is more than that. */
static double word_bytes(const struct constraint_form *f, int first, int stop)
{
    double texts = 1, mean = 1;

    for (int i = first; i < stop; i++) {
        const struct form_part *p = f->parts + i;
        const struct slot_texts *l = p->list < 0 ? NULL : f->lists + p->list;
        texts *= l ? (double)l->count : 1;
        mean += l ? (double)l->bytes / (double)l->count : (double)p->length;
    }
    return texts * mean;
}

static int count_words(const struct constraint_form *f, int *n, struct error *err)
{
    double bytes = 0;

    *n = 0;
    for (int first = 0, stop; first < f->n_parts; first = stop, (*n)++) {
        stop = word_stop(f, first);
        bytes += word_bytes(f, first, stop);
        if (bytes > CONSTRAINT_MAX_BYTES)
            return error_set(err, EXIT_CODE_DATA,
                             "the texts of %s take more than %d bytes written out; slots with no blank between them "
                             "are written out together",
                             f->lists[0].name ? "the template's words" : "the answers", CONSTRAINT_MAX_BYTES);
    }
    return 0;
}

struct token_list *constraint_form_encode(const struct constraint_form *f, const struct tokenizer *t,
                                          const int32_t *stops, int n_stops, int *n_words, struct error *err)
{
    struct word_encoder e = { .form = f, .t = t, .stops = stops, .n_stops = n_stops };
    struct token_list *out;
    int rc = 0, n = 0;

    if (count_words(f, n_words, err))
        return NULL;
    out = xcalloc((size_t)*n_words, sizeof *out);
    for (int first = 0, previous = 0; first < f->n_parts && rc == 0; n++) {
        struct form_word w = { .first = first, .stop = word_stop(f, first) };
        w.chosen = xcalloc((size_t)(w.stop - first), sizeof *w.chosen);
        out[n].opens = f->parts[first].opens;
        rc = encode_word(&e, &w, out[n].opens ? first : previous, out + n, err);
        free(w.chosen);
        previous = first;
        first = w.stop;
    }
    byte_buffer_release(&e.text);
    ids_release(&e.ids);
    token_spans_release(&e.spans);
    if (rc == 0)
        return out;
    for (int i = 0; i < *n_words; i++)
        token_list_release(out + i);
    free(out);
    return NULL;
}
