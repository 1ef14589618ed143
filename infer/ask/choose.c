#include "infer/ask/choose.h"

#include "data/clarify/element_choice.h"
#include "data/clarify/plain_query.h"

#include <stdlib.h>
#include <string.h>

static json_t *name_of(const struct schema *s, int element)
{
    struct strings pool = { 0 };
    json_t *name = json_string(evidence_element_name(s, element, &pool));

    strings_release(&pool);
    return name;
}

static json_t *candidates_of(const struct element_choice *c, const struct schema *s)
{
    json_t *list = json_array();

    for (int i = 0; i < c->n; i++) {
        char *sql = element_statement(s, c->elements[i]);
        json_array_append_new(list, json_pack("{s:s, s:f}", "sql", sql, "p", 1.0 / c->n));
        free(sql);
    }
    return list;
}

/* The words of a choice, as a span of the evidence. */
static json_t *spans_of(const struct element_choice *c, const struct schema *s)
{
    json_t *concepts = json_array();

    for (int i = 0; i < c->n; i++)
        json_array_append_new(concepts, json_pack("{s:o, s:s}", "concept", name_of(s, c->elements[i]), "type",
                                                  c->elements[i] < s->n_tables ? "table" : "column"));
    return json_pack("[{s:i, s:i, s:s, s:o}]", "start", c->start, "end", c->end, "label", "AMB", "alternatives",
                     concepts);
}

/* Sets the candidates and the evidence of choice `at`. */
static void set_choice(json_t *record, const struct element_choices *c, int at, const struct schema *s)
{
    const struct element_choice *one = &c->list[at];

    json_object_set_new(record, "element_choices", element_choices_json(c, s));
    json_object_set_new(record, "element_choice", json_integer(at));
    json_object_set_new(record, "candidates", candidates_of(one, s));
    json_object_del(record, "none_of_the_above");
    json_object_del(record, "spans");
    if (one->end > one->start)
        json_object_set_new(record, "spans", spans_of(one, s));
    if (json_object_get(record, "alternatives"))
        json_object_set_new(record, "ambiguous", json_boolean(one->detected));
}

int choose_begin(json_t *record, const struct schema *s, const char *where, struct error *err)
{
    struct element_choices c = { 0 };
    struct evidence h;
    int rc = evidence_read(&h, record, s, where, err);

    if (rc == 0)
        element_choices_find(&c, &h, s, json_string_value(json_object_get(record, "question")));
    evidence_release(&h);
    if (rc == 0 && c.n)
        set_choice(record, &c, 0, s);
    return rc ? -1 : c.n > 0;
}

static json_t *record_of(const struct session *s)
{
    return json_object_get(s->value, "record");
}

bool choose_is(const struct session *s)
{
    return s->current.elements;
}

static json_int_t place_of(const struct session *s)
{
    return json_integer_value(json_object_get(record_of(s), "element_choice"));
}

bool choose_has_next(const struct session *s)
{
    return place_of(s) + 1 < (json_int_t)json_array_size(json_object_get(record_of(s), "element_choices"));
}

/* Whether the user has chosen, or said that any element will do. */
static bool is_told(const struct session *s)
{
    const json_t *turns = json_object_get(s->value, "turns");
    bool told = false;

    for (size_t i = 0; i < json_array_size(turns); i++) {
        const char *answer = json_string_value(json_object_get(json_array_get(turns, i), "answer"));
        told |= answer && (strcmp(answer, answer_kind_name(ANSWER_VALUE)) == 0 ||
                           strcmp(answer, answer_kind_name(ANSWER_EITHER)) == 0);
    }
    return told;
}

/* The element that a statement shows, or -1. */
static int element_of(const struct element_choice *c, const struct schema *s, const char *statement)
{
    int element = -1;

    for (int i = 0; i < c->n && element < 0; i++) {
        char *sql = element_statement(s, c->elements[i]);
        if (strcmp(sql, statement) == 0)
            element = c->elements[i];
        free(sql);
    }
    return element;
}

/* The element that an ended session has chosen, or -1. */
static int chosen_in(const struct session *s, const struct element_choice *c)
{
    bool chosen = s->why != STOP_NOT && s->why != STOP_ESCALATE && is_told(s);

    return chosen ? element_of(c, s->current.schema, s->current.sql[posterior_best(&s->current.dialogue.now)]) : -1;
}

/* Reads the choices of a session, with the outcome of the current one at *at. */
static int read_choices(struct element_choices *c, int *at, const struct session *s, const char *where,
                        struct error *err)
{
    int64_t place;

    if (element_choices_read(c, record_of(s), s->current.schema, where, err) ||
        json_get_int(record_of(s), "element_choice", 0, c->n - 1, &place, where, err))
        return -1;
    *at = (int)place;
    c->list[place].chosen = chosen_in(s, &c->list[place]);
    return 0;
}

int choose_next(json_t **record, const struct session *s, const char *where, struct error *err)
{
    struct element_choices c;
    int at;

    *record = NULL;
    if (read_choices(&c, &at, s, where, err))
        return -1;
    if (s->why == STOP_NOT || at + 1 == c.n)
        return 0;
    *record = json_copy(record_of(s));
    set_choice(*record, &c, at + 1, s->current.schema);
    return 0;
}

static json_t *elements_json(const struct element_choices *c, const struct schema *s, const char *question)
{
    json_t *list = json_array();

    for (int i = 0; i < c->n; i++) {
        const struct element_choice *one = &c->list[i];
        char *words = element_choice_words(one, question);
        json_array_append_new(list, json_pack("{s:s?, s:o}", "words", words, "element",
                                              one->chosen < 0 ? json_null() : name_of(s, one->chosen)));
        free(words);
    }
    return list;
}

static void fill_outcome(struct choose_outcome *o, const struct element_choices *c, const struct schema *s,
                         const char *question)
{
    char *text = element_choices_rewrite(c, s, question);

    o->rewrite = json_pack("{s:s, s:o}", "question", text, "elements", elements_json(c, s, question));
    o->sql = plain_query(s, question, c);
    free(text);
}

int choose_outcome(struct choose_outcome *o, const struct session *s, const char *where, struct error *err)
{
    struct element_choices c;
    int at;

    *o = (struct choose_outcome){ 0 };
    if (read_choices(&c, &at, s, where, err))
        return -1;
    fill_outcome(o, &c, s->current.schema, json_string_value(json_object_get(record_of(s), "question")));
    return 0;
}

void choose_unchanged(struct choose_outcome *o, const struct schema *s, const char *question)
{
    const struct element_choices none = { .n = 0 };

    fill_outcome(o, &none, s, question);
}

void choose_outcome_release(struct choose_outcome *o)
{
    json_decref(o->rewrite);
    free(o->sql);
    *o = (struct choose_outcome){ 0 };
}

void choose_name_options(json_t *ask, const struct session *s)
{
    json_t *list = json_object_get(ask, "options"), *option;
    struct element_choices c;
    struct error why;
    size_t i;
    int at;

    if (!json_is_object(ask) || read_choices(&c, &at, s, "session", &why))
        return;
    json_array_foreach(list, i, option)
    {
        const char *sql = json_string_value(json_object_get(option, "sql"));
        int element = sql ? element_of(&c.list[at], s->current.schema, sql) : -1;
        json_object_del(option, "sql");
        json_object_set_new(option, "element", element < 0 ? json_null() : name_of(s->current.schema, element));
    }
}
