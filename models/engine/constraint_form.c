#include "models/engine/constraint_form.h"

#include "data/base/json.h"

#include <stdlib.h>
#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Enters a list of texts; an answer is no empty text. */
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

/* Can a blank that comes next begin a word?  Not within a run of them, which tokenizers cut in ways of their own. */
static bool ends_solid(const struct constraint_form *f)
{
    const struct form_part *p = f->parts + f->n_parts - 1;
    return p->list < 0 ? !is_blank(p->text[p->length - 1]) : f->lists[p->list].solid;
}

/* A template on its way into a form: its own text is written at `to`, its lists and parts begin where these say. */
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

/* A slot whose name begins at text[at].  Returns where its brace closes; -1 with an error. */
static int64_t add_slot(struct template_reader *r, const char *text, int64_t at)
{
    struct constraint_form *f = r->form;
    int64_t n = (int64_t)strcspn(text + at, "{}");
    int i = r->first_list;

    if (text[at + n] != '}')
        return error_set(r->err, EXIT_CODE_DATA,
                         "%s: template: the brace at byte %lld is not closed ({{ is a brace that is text)", r->where,
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
                             "%s: template: the brace at byte %lld closes no slot (}} is a brace that is text)",
                             r->where, (long long)at);
        at += brace;
        add_byte(r, text[at]);
    }
    return 0;
}

/* A template with its slots; *to as in template_reader. */
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
