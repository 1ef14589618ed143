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
    json_object_del(record, "ambiguities");
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
    if (rc == 0 && c.n) {
        int order[ELEMENT_CHOICES_MAX];
        element_choices_order(order, &c);
        json_object_set_new(record, "element_turns", json_array());
        set_choice(record, &c, order[0], s);
    }
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

bool choose_has_next(const struct session *s)
{
    size_t before = json_array_size(json_object_get(record_of(s), "element_turns"));

    return before + 1 < json_array_size(json_object_get(record_of(s), "element_choices"));
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

/* The choices of a session. */
struct session_choices {
    struct element_choices all;
    int order[ELEMENT_CHOICES_MAX]; /* of asking */
    int place;                      /* of the current choice in the order */
    int at;                         /* number of the current choice */
};

/* Checks the turns of the choices before the current one. */
static int check_turns(const struct session_choices *c, const json_t *record, const char *where, struct error *err)
{
    const json_t *lists = json_get_array(record, "element_turns", where, err);
    size_t n = json_array_size(lists);

    if (!lists)
        return -1;
    if (n >= (size_t)c->all.n || c->order[n] != c->at)
        return error_set(err, EXIT_CODE_DATA, "%s: element_turns: expected a list for each choice before choice %d",
                         where, c->at);
    for (size_t i = 0; i < n; i++)
        if (!json_is_array(json_array_get(lists, i)))
            return error_set(err, EXIT_CODE_DATA, "%s: element_turns[%zu]: expected an array, got %s", where, i,
                             json_type_name(json_array_get(lists, i)));
    return 0;
}

/* Reads the choices of a session, with the outcome of the current one. */
static int read_choices(struct session_choices *c, const struct session *s, const char *where, struct error *err)
{
    const json_t *record = record_of(s);
    int64_t at;

    if (element_choices_read(&c->all, record, s->current.schema, where, err) ||
        json_get_int(record, "element_choice", 0, c->all.n - 1, &at, where, err))
        return -1;
    c->at = (int)at;
    element_choices_order(c->order, &c->all);
    if (check_turns(c, record, where, err))
        return -1;
    c->place = (int)json_array_size(json_object_get(record, "element_turns"));
    c->all.list[at].chosen = chosen_in(s, &c->all.list[at]);
    return 0;
}

int choose_next(json_t **record, const struct session *s, const char *where, struct error *err)
{
    struct session_choices c;
    json_t *turns;

    *record = NULL;
    if (read_choices(&c, s, where, err))
        return -1;
    if (s->why == STOP_NOT || c.place + 1 == c.all.n)
        return 0;
    *record = json_copy(record_of(s));
    turns = json_copy(json_object_get(*record, "element_turns"));
    json_array_append(turns, json_object_get(s->value, "turns"));
    json_object_set_new(*record, "element_turns", turns);
    set_choice(*record, &c.all, c.order[c.place + 1], s->current.schema);
    return 0;
}

/* Starts the session of a record again and repeats turns.  The record and the turns are not those of the session. */
static int start_again(struct session *s, struct session_context *d, const json_t *record, json_t *turns,
                       const char *where, struct error *err)
{
    json_t *rules = json_incref(json_object_get(s->value, "rules"));

    session_release(s);
    int rc = session_start(s, d, record, rules, where, err);
    json_decref(rules);
    if (rc)
        return -1;
    json_t *value = json_copy(s->value);
    json_object_set(value, "turns", turns);
    session_release(s);
    rc = session_resume(s, d, value, where, err);
    json_decref(value);
    return rc;
}

int choose_before(struct session *s, struct session_context *d, const char *where, struct error *err)
{
    struct session_choices c;

    if (!choose_is(s))
        return 0;
    if (read_choices(&c, s, where, err))
        return -1;
    if (c.place == 0)
        return 0;
    json_t *record = json_copy(record_of(s)), *before = json_copy(json_object_get(record, "element_turns"));
    json_t *turns = json_incref(json_array_get(before, (size_t)c.place - 1));
    json_array_remove(before, (size_t)c.place - 1);
    json_object_set_new(record, "element_turns", before);
    c.all.list[c.at].chosen = c.all.list[c.order[c.place - 1]].chosen = -1;
    set_choice(record, &c.all, c.order[c.place - 1], s->current.schema);
    int rc = start_again(s, d, record, turns, where, err);
    json_decref(turns);
    json_decref(record);
    return rc ? -1 : 1;
}

json_t *choose_turns(const struct session *s)
{
    json_t *all = json_array(), *before = json_object_get(record_of(s), "element_turns");

    for (size_t i = 0; i < json_array_size(before); i++)
        json_array_extend(all, json_array_get(before, i));
    json_array_extend(all, json_object_get(s->value, "turns"));
    return all;
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
    struct session_choices c;

    *o = (struct choose_outcome){ 0 };
    if (read_choices(&c, s, where, err))
        return -1;
    fill_outcome(o, &c.all, s->current.schema, json_string_value(json_object_get(record_of(s), "question")));
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
    struct session_choices c;
    struct error why;
    size_t i;

    if (!json_is_object(ask) || read_choices(&c, s, "session", &why))
        return;
    json_array_foreach(list, i, option)
    {
        const char *sql = json_string_value(json_object_get(option, "sql"));
        int element = sql ? element_of(&c.all.list[c.at], s->current.schema, sql) : -1;
        json_object_del(option, "sql");
        json_object_set_new(option, "element", element < 0 ? json_null() : name_of(s->current.schema, element));
    }
}
