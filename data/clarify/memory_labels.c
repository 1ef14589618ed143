#include "data/clarify/memory_labels.h"

#include "data/clarify/evidence.h"
#include "data/corpora/example.h"
#include "data/span/spoken.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ELEMENTS_MAX = 8 };

/* Words of a user, and the elements that they meant or may mean. */
struct ambiguous_words {
    const struct schema *schema;
    const char *words;
    int elements[ELEMENTS_MAX], n; /* tables first, then columns; those that were meant come first */
};

struct label_writer {
    struct out_file *out;
    json_t *seen; /* questions by database */
    int n;
};

static bool has_element(const struct ambiguous_words *a, int element)
{
    for (int i = 0; i < a->n; i++)
        if (a->elements[i] == element)
            return true;
    return false;
}

static void add_element(struct ambiguous_words *a, int element)
{
    if (a->n < ELEMENTS_MAX && !has_element(a, element))
        a->elements[a->n++] = element;
}

static const char *text_of(const struct schema *s, int element)
{
    return element < s->n_tables ? s->tables[element].text : s->columns[element - s->n_tables].text;
}

/* Tells whether the name of an element has all the words. */
static bool fits(const struct schema *s, int element, const char *words)
{
    struct spoken name, said;

    spoken_read(&name, text_of(s, element));
    spoken_read(&said, words);
    for (int i = 0; i < said.n; i++)
        if (!spoken_find(&name, said.words[i].stem))
            return false;
    return said.n > 0;
}

/* Adds the other columns of the meant one's table, or the other tables, that the words fit. */
static void add_fitting(struct ambiguous_words *a)
{
    const struct schema *s = a->schema;
    bool table = a->elements[0] < s->n_tables;
    int owner = schema_table_of(s, a->elements[0]);
    int first = table ? 0 : s->n_tables + s->tables[owner].first_column;
    int end = table ? s->n_tables : first + s->tables[owner].n_columns;

    for (int i = first; i < end; i++)
        if (fits(s, i, a->words))
            add_element(a, i);
}

/* Adds the element of a choice.  Returns false if it is an option in words. */
static bool add_meant(struct ambiguous_words *a, const struct remembered_choice *c)
{
    int table, column;

    if (example_element(a->schema, c->meant, &table, &column))
        return false;
    add_element(a, column < 0 ? table : a->schema->n_tables + column);
    return true;
}

static bool same_words(const struct remembered_choice *a, const struct remembered_choice *b)
{
    return strcmp(a->db_id, b->db_id) == 0 && strcmp(a->words, b->words) == 0;
}

/* Lists the elements of a choice's words, the one of the greatest weight first.  Returns false if one is no element. */
static bool find_elements(struct ambiguous_words *a, const struct choice_memory *m, const struct remembered_choice *c)
{
    const struct remembered_choice *best = c;

    for (int i = 0; i < m->n; i++)
        if (same_words(&m->list[i], c) && m->list[i].weight > best->weight)
            best = &m->list[i];
    bool all = add_meant(a, best);
    for (int i = 0; i < m->n && all; i++)
        if (same_words(&m->list[i], c))
            all = add_meant(a, &m->list[i]);
    if (all)
        add_fitting(a);
    return all;
}

/* Appends a stem, or the whole word where the name of an element has it: "status" for "statu". */
static void append_whole(char *text, const struct ambiguous_words *a, const char *stem)
{
    const char *whole = stem;
    size_t n = strlen(text), length = strlen(stem);
    struct spoken name;

    for (int i = 0; i < a->n && whole == stem; i++) {
        spoken_read(&name, text_of(a->schema, a->elements[i]));
        const struct spoken_word *w = spoken_find(&name, stem);
        if (w) {
            whole = text_of(a->schema, a->elements[i]) + w->from;
            length = (size_t)(w->to - w->from);
        }
    }
    snprintf(text + n, CHOICE_TEXT_MAX - n, "%s%.*s", n ? " " : "", (int)length, whole);
}

/* The words as a user may write them. */
static void write_words(char text[CHOICE_TEXT_MAX], const struct ambiguous_words *a)
{
    struct spoken said;

    spoken_read(&said, a->words);
    text[0] = 0;
    for (int i = 0; i < said.n; i++)
        append_whole(text, a, said.words[i].stem);
}

/* "Show the address of each purchase."; the caller frees it. */
static char *question_about(const struct schema *s, int element, const char *words)
{
    struct strings pool = { 0 };
    const char *text = element < s->n_tables ? strings_printf(&pool, "List all %s.", words)
                                             : strings_printf(&pool, "Show the %s of each %s.", words,
                                                              s->tables[schema_table_of(s, element)].text);
    char *question = xstrdup(text);

    strings_release(&pool);
    return question;
}

static json_t *alternatives_json(const struct ambiguous_words *a)
{
    struct strings pool = { 0 };
    json_t *list = a->n < 2 ? NULL
                            : json_pack("[s, s]", evidence_element_name(a->schema, a->elements[0], &pool),
                                        evidence_element_name(a->schema, a->elements[1], &pool));

    strings_release(&pool);
    return list;
}

/* Tells whether a question is new, and notes it. */
static bool is_new(struct label_writer *w, const char *db_id, const char *question)
{
    struct strings pool = { 0 };
    const char *key = strings_printf(&pool, "%s\n%s", db_id, question);
    bool new = !json_object_get(w->seen, key);

    json_object_set_new(w->seen, key, json_true());
    strings_release(&pool);
    return new;
}

static int write_label(struct label_writer *w, const struct ambiguous_words *a, int element, const char *words,
                       bool ambiguous, struct error *err)
{
    char *question = question_about(a->schema, element, words);
    int rc = 0;

    if (is_new(w, a->schema->db_id, question)) {
        json_t *o =
            json_pack("{s:i, s:s, s:s, s:b, s:o*}", "id", ++w->n, "db_id", a->schema->db_id, "question", question,
                      "ambiguous", ambiguous, "alternatives", ambiguous ? alternatives_json(a) : NULL);
        rc = json_write_line(w->out, o, err);
        json_decref(o);
    }
    free(question);
    return rc;
}

/* Tells whether an earlier line has the same words. */
static bool is_repeated(const struct choice_memory *m, int at)
{
    for (int i = m->n - 1; i > at; i--)
        if (same_words(&m->list[i], &m->list[at]))
            return true;
    return false;
}

/* Lists the newest words, which the memory has last.  Returns their number, or -1 with err. */
static int list_words(struct ambiguous_words *list, const struct choice_memory *m, const struct choice_filter *f,
                      struct schema_catalog *schemas, struct error *err)
{
    int n = 0;

    for (int i = m->n - 1; i >= 0 && n < MEMORY_LABELS_WORDS; i--) {
        const struct remembered_choice *c = &m->list[i];
        if (!choice_filter_has(f, c) || is_repeated(m, i))
            continue;
        list[n] = (struct ambiguous_words){ .schema = schema_catalog_find(schemas, c->db_id, m->path, err),
                                            .words = c->words };
        if (!list[n].schema)
            return -1;
        n += find_elements(&list[n], m, c);
    }
    return n;
}

/* Writes the ambiguous questions first, so that no clear one repeats them. */
static int write_labels(struct label_writer *w, const struct ambiguous_words *list, int n, struct error *err)
{
    char words[CHOICE_TEXT_MAX];
    int rc = 0;

    for (int i = 0; i < n && rc == 0; i++) {
        write_words(words, &list[i]);
        rc = write_label(w, &list[i], list[i].elements[0], words, true, err);
    }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < list[i].n && k < MEMORY_LABELS_CLEAR && rc == 0; k++)
            rc =
                write_label(w, &list[i], list[i].elements[k], text_of(list[i].schema, list[i].elements[k]), false, err);
    return rc;
}

int memory_labels_write(struct out_file *out, const struct choice_memory *m, const struct choice_filter *f,
                        struct schema_catalog *schemas, struct error *err)
{
    struct ambiguous_words list[MEMORY_LABELS_WORDS];
    struct label_writer w = { .out = out, .seen = json_object() };
    int n = list_words(list, m, f, schemas, err);
    int rc = n < 0 ? -1 : write_labels(&w, list, n, err);

    json_decref(w.seen);
    return rc ? -1 : w.n;
}
