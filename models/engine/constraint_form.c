#include "models/engine/constraint_form.h"
#include "data/base/json.h"
#include "data/base/strings.h"
#include "models/text/byte_buffer.h"

#include <stdlib.h>
#include <string.h>

/* Results of earlier checks: alternatives share most of their texts. */
struct spelling {
    const struct tokenizer *t;
    struct strings texts;
    bool *good; /* [texts] */
    int cap;
    int first_bad; /* index in texts; -1: none */
};

/* Whether the tokenizer reproduces the text. Blanks at both ends are not compared: a tokenizer may drop them. */
static bool is_written(const struct tokenizer *t, const char *text, size_t n)
{
    struct ids ids = { 0 };
    size_t said, skip;

    for (; n && *text == ' '; n--)
        text++;
    while (n && text[n - 1] == ' ')
        n--;
    tokenizer_encode(t, text, n, 0, &ids, NULL);
    char *whole = tokenizer_decode(t, ids.items, ids.count, TOKENIZER_EXACT_BYTES, &said);
    skip = said > n && *whole == ' ';
    bool same = said - skip == n && memcmp(whole + skip, text, n) == 0;
    free(whole);
    ids_release(&ids);
    return same;
}

static bool is_spelt(struct spelling *s, const char *text)
{
    int n = s->texts.n, i = strings_add(&s->texts, text);

    if (i < n)
        return s->good[i];
    GROW(s->good, n, s->cap);
    s->good[i] = is_written(s->t, text, strlen(text));
    if (!s->good[i] && s->first_bad < 0)
        s->first_bad = i;
    return s->good[i];
}

/* Removes texts that the tokenizer cannot spell. Returns false if none is left. */
static bool keep_texts(struct spelling *s, json_t *texts)
{
    for (size_t i = json_array_size(texts); i-- > 0;)
        if (!is_spelt(s, json_string_value(json_array_get(texts, i))))
            json_array_remove(texts, i);
    return json_array_size(texts) > 0;
}

static bool keep_slots(struct spelling *s, json_t *slots)
{
    const char *name;
    json_t *texts;
    bool good = true;

    json_object_foreach(slots, name, texts) good = keep_texts(s, texts) && good;
    return good;
}

/* Also checks the template's own text, which constraint_form_read cuts at its slots. */
static int keep_alternative(struct spelling *s, json_t *alternative, struct error *err)
{
    struct constraint_form f;
    int good = constraint_form_read(&f, alternative, "alternatives", err) ? -1 : 1;

    for (int i = 0; good == 1 && i < f.n_parts; i++) {
        char *text = f.parts[i].list < 0 ? strndup(f.parts[i].text, f.parts[i].length) : xstrdup("");
        CHECK(text, "no memory for a template's text");
        good = is_spelt(s, text);
        free(text);
    }
    constraint_form_release(&f);
    return good == 1 ? keep_slots(s, json_object_get(alternative, "slots")) : good;
}

int constraint_form_keep_spelt(json_t *constraint, const struct tokenizer *t, struct error *err)
{
    json_t *alternatives = json_object_get(constraint, "alternatives");
    struct spelling s = { .t = t, .first_bad = -1 };
    int good = 1;

    for (size_t i = json_array_size(alternatives); good >= 0 && i-- > 0;) {
        good = keep_alternative(&s, json_array_get(alternatives, i), err);
        if (good == 0)
            json_array_remove(alternatives, i);
    }
    if (good >= 0 && json_array_size(alternatives) == 0)
        good = error_set(err, EXIT_CODE_DATA, "the tokenizer cannot spell \"%.200s\", and no other alternative is left",
                         s.first_bad < 0 ? "" : s.texts.items[s.first_bad]);
    strings_release(&s.texts);
    free(s.good);
    return good < 0 ? -1 : 0;
}

/* Parts [first, stop) of a form, and the chosen text of each slot among them. */
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
    size_t start, end;       /* of the word in text */
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

/* Appends a word. chosen NULL: the first text of each slot. */
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

/* Advances to the next choice of texts; the last slot changes fastest. Returns false after the last choice. */
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

/* Checks that the tokens decode to the word's text. A tokenizer may drop unknown characters, map all of them to one
 * token, or normalise others. It may also add a blank before a text, or drop one before a neighbour; both are
 * ignored. */
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
        rc = error_set(err, EXIT_CODE_DATA, "the tokenizer cannot spell \"%.200s\": it decodes as \"%.200s\"", text,
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
        return error_set(err, EXIT_CODE_DATA, "\"%.*s\": a token crosses the border to the neighbouring text",
                         (int)(n < 200 ? n : 200), text);
    for (int i = 0; i < e->n_stops; i++)
        if (id == e->stops[i])
            return error_set(err, EXIT_CODE_DATA, "\"%.*s\" contains the stop token %d", (int)(n < 200 ? n : 200), text,
                             (int)id);
    ids_push(&out->ids, id);
    return 0;
}

/* Appends the tokens of the word in e->text. */
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

/* Names the text in the error message if the word has one slot. */
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

/* Bytes of all texts of a word with their ends; at least CONSTRAINT_MAX_BYTES if the exact number is larger. */
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
                             "the texts of %s have more than %d bytes; separate slots by blanks, since slots without "
                             "a blank between them are multiplied out",
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

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Adds a list of texts. An answer must not be empty. */
static int read_list(struct constraint_form *f, const char *name, const json_t *texts, const char *where,
                     struct error *err)
{
    struct slot_texts l = { .name = name, .texts = texts, .count = (int64_t)json_array_size(texts), .solid = true };
    const json_t *v;
    size_t i;

    if (!json_is_array(texts))
        return error_set(err, EXIT_CODE_DATA, "%s: expected a list of texts, got %s", where, json_type_name(texts));
    if (l.count == 0)
        return error_set(err, EXIT_CODE_DATA, "%s: expected at least one text, got an empty list", where);
    json_array_foreach(texts, i, v)
    {
        size_t n = json_string_length(v);
        if (!json_is_string(v))
            return error_set(err, EXIT_CODE_DATA, "%s[%zu]: expected a text, got %s", where, i, json_type_name(v));
        if (n == 0 && !name)
            return error_set(err, EXIT_CODE_DATA, "%s[%zu]: expected a text, got an empty one", where, i);
        l.bytes += (int64_t)n;
        l.solid = l.solid && n && !is_blank(json_string_value(v)[n - 1]);
    }
    GROW(f->lists, f->n_lists, f->cap_lists);
    f->lists[f->n_lists++] = l;
    return 0;
}

static int read_slots(struct constraint_form *f, json_t *slots, const char *where, struct error *err)
{
    const char *name;
    json_t *texts;

    if (slots && !json_is_object(slots))
        return error_set(err, EXIT_CODE_DATA, "%s: slots: expected an object, got %s", where, json_type_name(slots));
    json_object_foreach(slots, name, texts)
    {
        char at[512];
        snprintf(at, sizeof at, "%s: slots.%s", where, name);
        if (read_list(f, name, texts, at, err))
            return -1;
    }
    return 0;
}

static void add_part(struct constraint_form *f, struct form_part part)
{
    GROW(f->parts, f->n_parts, f->cap_parts);
    f->parts[f->n_parts++] = part;
}

/* Whether a following blank starts a word. Runs of blanks are not split, since each tokenizer splits them in its own
 * way. */
static bool ends_solid(const struct constraint_form *f)
{
    const struct form_part *p = f->parts + f->n_parts - 1;
    return p->list < 0 ? !is_blank(p->text[p->length - 1]) : f->lists[p->list].solid;
}

/* A template that is being read. Its own text is written at `to`; first_list and first_part are its first list and
 * part. */
struct template_reader {
    struct constraint_form *form;
    char *to;
    int first_list, first_part;
    const char *where;
    struct error *err;
};

static bool opens(const struct template_reader *r)
{
    return r->form->n_parts == r->first_part;
}

/* Appends a byte of the template's own text. */
static void add_byte(struct template_reader *r, char byte)
{
    struct constraint_form *f = r->form;
    bool starts = opens(r) || (byte == ' ' && ends_solid(f));

    if (starts || f->parts[f->n_parts - 1].list >= 0)
        add_part(f, (struct form_part){ .text = r->to, .list = -1, .starts = starts, .opens = opens(r) });
    *r->to++ = byte;
    f->parts[f->n_parts - 1].length++;
}

/* Adds the slot whose name begins at text[at]. Returns the place of its closing brace, or -1 with an error. */
static int64_t add_slot(struct template_reader *r, const char *text, int64_t at)
{
    struct constraint_form *f = r->form;
    int64_t n = (int64_t)strcspn(text + at, "{}");
    int i = r->first_list;

    if (text[at + n] != '}')
        return error_set(r->err, EXIT_CODE_DATA,
                         "%s: template: the brace at byte %lld is not closed (write {{ for a brace)", r->where,
                         (long long)at - 1);
    while (i < f->n_lists && !(strncmp(f->lists[i].name, text + at, (size_t)n) == 0 && !f->lists[i].name[n]))
        i++;
    if (i == f->n_lists)
        return error_set(r->err, EXIT_CODE_DATA, "%s: template: the slot {%.*s} has no list in \"slots\"", r->where,
                         (int)(n < 200 ? n : 200), text + at);
    f->lists[i].used = true;
    add_part(f, (struct form_part){ .list = i, .starts = opens(r), .opens = opens(r) });
    return at + n;
}

static int read_text(struct template_reader *r, const char *text)
{
    for (int64_t at = 0; text[at]; at++) {
        bool brace = text[at] == '{' || text[at] == '}';
        if (text[at] == '{' && text[at + 1] != '{') {
            if ((at = add_slot(r, text, at + 1)) < 0)
                return -1;
            continue;
        }
        if (brace && text[at + 1] != text[at])
            return error_set(r->err, EXIT_CODE_DATA,
                             "%s: template: the brace at byte %lld closes no slot (write }} for a brace)", r->where,
                             (long long)at);
        at += brace;
        add_byte(r, text[at]);
    }
    return 0;
}

/* Reads a template with its slots. *to is as in template_reader. */
static int read_template(struct constraint_form *f, const json_t *o, char **to, const char *where, struct error *err)
{
    struct template_reader r = { f, *to, f->n_lists, f->n_parts, where, err };
    const char *text = json_get_string(o, "template", where, err);

    if (!text || read_slots(f, json_object_get(o, "slots"), where, err) || read_text(&r, text))
        return -1;
    *to = r.to;
    if (opens(&r))
        return error_set(err, EXIT_CODE_DATA, "%s: template: expected a text, got an empty one", where);
    for (int i = r.first_list; i < f->n_lists; i++)
        if (!f->lists[i].used)
            return error_set(err, EXIT_CODE_DATA, "%s: slots.%.200s: the template has no slot of this name", where,
                             f->lists[i].name);
    return 0;
}

static size_t template_bytes(const json_t *o)
{
    return json_string_length(json_object_get(o, "template"));
}

static int read_alternatives(struct constraint_form *f, const json_t *list, const char *where, struct error *err)
{
    size_t bytes = 1, i;
    const json_t *o;

    if (json_array_size(list) == 0)
        return error_set(err, EXIT_CODE_DATA, "%s: alternatives: expected a list of templates, got %s", where,
                         json_is_array(list) ? "an empty one" : json_type_name(list));
    json_array_foreach(list, i, o)
    {
        bytes += template_bytes(o);
    }
    char *to = f->text = xmalloc(bytes);
    json_array_foreach(list, i, o)
    {
        char at[512];
        snprintf(at, sizeof at, "%s: alternatives[%zu]", where, i);
        if (!json_is_object(o))
            return error_set(err, EXIT_CODE_DATA, "%s: expected an object, got %s", at, json_type_name(o));
        if (read_template(f, o, &to, at, err))
            return -1;
    }
    return 0;
}

static int read_answers(struct constraint_form *f, const json_t *o, const char *where, struct error *err)
{
    char at[512];

    snprintf(at, sizeof at, "%s: answers", where);
    add_part(f, (struct form_part){ .list = 0, .starts = true, .opens = true });
    return read_list(f, NULL, json_object_get(o, "answers"), at, err);
}

int constraint_form_read(struct constraint_form *f, const json_t *o, const char *where, struct error *err)
{
    const json_t *answers = json_object_get(o, "answers"), *template = json_object_get(o, "template");
    const json_t *alternatives = json_object_get(o, "alternatives");
    int given = !!answers + !!template + !!alternatives;

    *f = (struct constraint_form){ 0 };
    if (given != 1)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: expected one of \"answers\", \"template\" and \"alternatives\", got %s", where,
                         given ? "more" : "none");
    if (!template && json_object_get(o, "slots"))
        return error_set(err, EXIT_CODE_DATA, "%s: slots: expected with \"template\", got with \"%s\"", where,
                         answers ? "answers" : "alternatives");
    if (answers)
        return read_answers(f, o, where, err);
    if (alternatives)
        return read_alternatives(f, alternatives, where, err);
    char *to = f->text = xmalloc(template_bytes(o) + 1);
    return read_template(f, o, &to, where, err);
}

void constraint_form_release(struct constraint_form *f)
{
    free(f->lists);
    free(f->parts);
    free(f->text);
    *f = (struct constraint_form){ 0 };
}
