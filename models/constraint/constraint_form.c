#include "models/constraint/constraint_form.h"

#include "data/util/json.h"

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
    if (f->n_parts == 0)
        return false;
    const struct form_part *p = f->parts + f->n_parts - 1;
    return p->list < 0 ? !is_blank(p->text[p->length - 1]) : f->lists[p->list].solid;
}

/* Appends a byte of the template's own text, which is written at *to. */
static void add_byte(struct constraint_form *f, char **to, char byte)
{
    bool starts = f->n_parts == 0 || (byte == ' ' && ends_solid(f));

    if (starts || f->parts[f->n_parts - 1].list >= 0)
        add_part(f, (struct form_part){ .text = *to, .list = -1, .starts = starts });
    *(*to)++ = byte;
    f->parts[f->n_parts - 1].length++;
}

/* A slot whose name begins at text[at].  Returns where its brace closes; -1 with an error. */
static int64_t add_slot(struct constraint_form *f, const char *text, int64_t at, const char *where, struct error *err)
{
    int64_t n = (int64_t)strcspn(text + at, "{}");
    int i = 0;

    if (text[at + n] != '}')
        return error_set(err, EXIT_CODE_DATA,
                         "%s: template: the brace at byte %lld is not closed ({{ is a brace that is text)", where,
                         (long long)at - 1);
    while (i < f->n_lists && !(strncmp(f->lists[i].name, text + at, (size_t)n) == 0 && !f->lists[i].name[n]))
        i++;
    if (i == f->n_lists)
        return error_set(err, EXIT_CODE_DATA, "%s: template: the slot {%.*s} has no list in \"slots\"", where,
                         (int)(n < 200 ? n : 200), text + at);
    f->lists[i].used = true;
    add_part(f, (struct form_part){ .list = i, .starts = f->n_parts == 0 });
    return at + n;
}

static int read_template(struct constraint_form *f, const char *text, const char *where, struct error *err)
{
    char *to = f->text = xmalloc(strlen(text) + 1);

    for (int64_t at = 0; text[at]; at++) {
        bool brace = text[at] == '{' || text[at] == '}';
        if (text[at] == '{' && text[at + 1] != '{') {
            if ((at = add_slot(f, text, at + 1, where, err)) < 0)
                return -1;
            continue;
        }
        if (brace && text[at + 1] != text[at])
            return error_set(err, EXIT_CODE_DATA,
                             "%s: template: the brace at byte %lld closes no slot (}} is a brace that is text)", where,
                             (long long)at);
        at += brace;
        add_byte(f, &to, text[at]);
    }
    if (f->n_parts == 0)
        return error_set(err, EXIT_CODE_DATA, "%s: template: expected a text, got an empty one", where);
    for (int i = 0; i < f->n_lists; i++)
        if (!f->lists[i].used)
            return error_set(err, EXIT_CODE_DATA, "%s: slots.%.200s: the template has no slot of this name", where,
                             f->lists[i].name);
    return 0;
}

int constraint_form_read(struct constraint_form *f, const json_t *o, const char *where, struct error *err)
{
    const json_t *answers = json_object_get(o, "answers"), *template = json_object_get(o, "template");
    json_t *slots = json_object_get(o, "slots");
    char at[512];

    *f = (struct constraint_form){ 0 };
    if (!answers == !template)
        return error_set(err, EXIT_CODE_DATA, "%s: expected \"answers\" or \"template\", got %s", where,
                         answers ? "both" : "neither");
    if (answers) {
        if (slots)
            return error_set(err, EXIT_CODE_DATA, "%s: slots: expected with \"template\", got with \"answers\"", where);
        snprintf(at, sizeof at, "%s: answers", where);
        add_part(f, (struct form_part){ .list = 0, .starts = true });
        return read_list(f, NULL, answers, at, err);
    }
    const char *text = json_get_string(o, "template", where, err);
    return !text || read_slots(f, slots, where, err) ? -1 : read_template(f, text, where, err);
}

void constraint_form_release(struct constraint_form *f)
{
    free(f->lists);
    free(f->parts);
    free(f->text);
    *f = (struct constraint_form){ 0 };
}
