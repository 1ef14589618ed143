#include "data/prompt/model_output.h"

#include "data/prompt/fence.h"
#include "data/prompt/loose_json.h"
#include "data/prompt/published_output.h"
#include "data/prompt/thought.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_NESTED = 3 }; /* answers within strings of answers */

void text_items_add(struct text_items *t, const char *text, size_t length)
{
    GROW(t->items, t->n, t->cap);
    t->items[t->n] = strndup(text, length);
    CHECK(t->items[t->n], "out of memory");
    t->n++;
}

void text_items_add_once(struct text_items *t, const char *text, size_t length)
{
    for (int i = 0; i < t->n; i++)
        if (strlen(t->items[i]) == length && memcmp(t->items[i], text, length) == 0)
            return;
    text_items_add(t, text, length);
}

void text_items_release(struct text_items *t)
{
    for (int i = 0; i < t->n; i++)
        free(t->items[i]);
    free(t->items);
    *t = (struct text_items){ 0 };
}

/* An answer, or a string in it, that is read for SQL. */
struct sql_answer {
    struct text_items *out;
    struct statement_reader reader;
    int depth;
};

static void read_text(struct sql_answer *a, struct passage text, bool trusted);

static bool has_word(const char *name, const char *const *words, int n)
{
    for (int i = 0; i < n; i++)
        if (strcasestr(name, words[i]))
            return true;
    return false;
}

/* Fields that speak about a statement. */
static bool is_talk(const char *field)
{
    static const char *const words[] = { "think", "thought", "reason",   "expla",   "rationale", "comment",
                                         "descr", "note",    "question", "readin",  "interpr",   "meaning",
                                         "title", "label",   "intent",   "analysis" };
    return has_word(field, words, ARRAY_LEN(words));
}

/* Fields that hold one. */
static bool is_code(const char *field)
{
    static const char *const words[] = { "sql", "quer", "statement", "code", "answer" };
    return has_word(field, words, ARRAY_LEN(words));
}

/* A field's value or an element: strings of `talk` are no statements, objects in it may hold some. */
static void read_json(struct sql_answer *a, const json_t *v, bool trusted, bool talk)
{
    const char *field;
    json_t *item;
    size_t i;

    json_array_foreach(v, i, item)
    {
        read_json(a, item, trusted, talk);
    }
    json_object_foreach((json_t *)v, field, item)
    {
        bool code = is_code(field), nested = json_is_object(item) || json_is_array(item);
        read_json(a, item, code || (nested && !is_talk(field)), !code && is_talk(field));
    }
    if (json_is_string(v) && !talk && a->depth < MAX_NESTED)
        read_text(a, passage_of(json_string_value(v)), trusted);
}

/* The statements in lists and objects; false where there are none. */
static bool read_containers(struct sql_answer *a, struct passage text)
{
    int before = a->out->n;
    size_t used = 1;

    for (; text.n && a->reader.work > 0; text = passage_skip(text, used)) {
        const char *at = text.at;
        while (at < text.at + text.n && !strchr("[{", *at))
            at++;
        text = passage_skip(text, (size_t)(at - text.at));
        if (text.n == 0)
            break;
        json_t *o = loose_json(text, &a->reader, &used);
        if (o)
            read_json(a, o, true, false);
        json_decref(o);
        used = used < text.n ? used : text.n;
    }
    return a->out->n > before;
}

/* A whole text that is one string of JSON: "SELECT ...\n...". */
static bool read_string(struct sql_answer *a, struct passage text)
{
    int before = a->out->n;

    text = passage_strip(text);
    if (text.n < 2 || *text.at != '"' || text.at[text.n - 1] != '"')
        return false;
    json_t *v = json_loadb(text.at, text.n, JSON_DECODE_ANY, NULL);
    read_json(a, v, true, false);
    json_decref(v);
    return a->out->n > before;
}

/* Of a text: what JSON in it holds, else the fenced blocks, else the text itself. */
static void read_text(struct sql_answer *a, struct passage text, bool trusted)
{
    struct passage rest = text, block, stripped = passage_strip(text);
    int before = a->out->n;

    a->depth++;
    bool first = stripped.n && strchr("[{\"", *stripped.at);
    if (!(first && (read_string(a, text) || read_containers(a, text))))
        while (fence_next(&rest, &block))
            if (!read_containers(a, block))
                statements_find(a->out, &a->reader, block, true);
    if (a->out->n == before && !read_containers(a, text))
        statements_find(a->out, &a->reader, text, trusted);
    a->depth--;
}

void output_sql(struct text_items *out, const char *answer, bool published)
{
    struct sql_answer a = { .out = out };
    struct stretches s = { 0 };

    if (published) {
        published_sql(out, answer);
        return;
    }
    stretches_read(&s, answer);
    statement_reader_init(&a.reader, answer);
    for (int i = 0; i < s.n; i++)
        read_text(&a, s.items[i], false);
    statement_reader_release(&a.reader);
    stretches_release(&s);
}

char *output_answer(const char *answer)
{
    struct stretches s = { 0 };
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    CHECK(f, "out of memory");
    stretches_read(&s, answer);
    for (int i = 0; i < s.n; i++) {
        struct passage p = passage_strip(s.items[i]);
        fprintf(f, "%s%.*s", i ? "\n" : "", (int)p.n, p.at);
    }
    CHECK(fclose(f) == 0, "out of memory");
    stretches_release(&s);
    return text;
}

const char *output_lacks(const char *answer, const char *what)
{
    static _Thread_local char text[120];
    struct stretches s = { 0 };

    stretches_read(&s, answer);
    if (s.cut)
        snprintf(text, sizeof text, "the answer breaks off in its thought and holds no %s", what);
    else
        snprintf(text, sizeof text, "the answer %sholds no %s", s.n ? "" : "is empty and ", what);
    stretches_release(&s);
    return text;
}
