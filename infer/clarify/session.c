#include "infer/clarify/session.h"

#include "infer/clarify/recall.h"
#include "infer/clarify/reply_words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ARENA_BYTES = 256 << 20 }; /* as in clarify.c */

static const char *const record_fields[] = {
    "id",    "db_id", "question", "candidates",  "none_of_the_above", "ambiguous",      "type",          "alternatives",
    "score", "spans", "schema",   "regenerated", "element_choices",   "element_choice", "element_turns", "ambiguities"
};

int session_context_open(struct session_context *d, const struct clarify_request *q, struct error *err)
{
    *d = (struct session_context){ 0 };
    clarify_settings_init(&d->settings, q);
    if (wordings_open(&d->wordings, q->wordings, &q->wording_model, err) || arena_init(&d->scratch, ARENA_BYTES, err))
        return -1;
    d->settings.wordings = wordings_or_none(&d->wordings);
    d->settings.judge = wordings_judge(&d->wordings);
    if (q->memory && choice_memory_open(&d->memory, q->memory, err))
        return -1;
    d->settings.memory = q->memory ? &d->memory : NULL;
    return schema_catalog_open(&d->schemas, q->schema, q->db, err);
}

void session_context_read_meaning(struct session_context *d)
{
    d->encoder = xcalloc(1, sizeof *d->encoder);
}

void session_context_close(struct session_context *d)
{
    if (d->encoder)
        reply_encoder_close(d->encoder);
    free(d->encoder);
    schema_catalog_close(&d->schemas);
    wordings_close(&d->wordings);
    choice_memory_close(&d->memory);
    arena_release(&d->scratch);
}

static json_t *rules_json(const struct clarify_settings *s)
{
    const struct dialogue_rules *r = &s->rules;
    return json_pack("{s:s, s:f, s:f, s:f, s:i, s:f, s:b, s:I}", "strategy", strategy_name(r->strategy), "noise",
                     s->noise, "confidence", r->confidence, "min_gain", r->min_gain, "max_turns", r->max_turns,
                     "second_cost", r->second, "repeat", r->repeat, "seed", (json_int_t)r->seed);
}

static int read_strategy(struct dialogue_rules *r, const json_t *o, const char *where, struct error *err)
{
    const char *name = json_get_string(o, "strategy", where, err);

    if (!name)
        return -1;
    r->strategy = strategy_of_name(name);
    return r->strategy < STRATEGIES ? 0
                                    : error_set(err, EXIT_CODE_DATA, "%s: field \"strategy\": expected %s, got \"%s\"",
                                                where, STRATEGY_NAMES, name);
}

/* Reads the rules, all of which are required. */
static int read_rules(struct clarify_settings *s, const json_t *value, const char *where, struct error *err)
{
    struct dialogue_rules *r = &s->rules;
    const json_t *o = json_get_object(value, "rules", where, err);
    int64_t turns, seed;

    *s = (struct clarify_settings){ .rules = dialogue_rules_default };
    if (!o || read_strategy(r, o, where, err) || json_get_real(o, "noise", 0, 0.5, &s->noise, where, err) ||
        json_get_real(o, "confidence", 0, 2, &r->confidence, where, err) ||
        json_get_real(o, "min_gain", 0, 100, &r->min_gain, where, err) ||
        json_get_int(o, "max_turns", 0, DIALOGUE_MAX_TURNS, &turns, where, err) ||
        json_get_real(o, "second_cost", 0, 1e6, &r->second, where, err) ||
        json_get_bool(o, "repeat", &r->repeat, where, err) || json_get_int(o, "seed", 0, 1LL << 53, &seed, where, err))
        return -1;
    r->max_turns = (int)turns;
    r->seed = (uint64_t)seed;
    r->fallback = true;
    return 0;
}

/* Hashes the attributes and how they divide the candidates. */
static const char *fingerprint(struct clarify_case *c)
{
    uint64_t h = HASH_START;

    for (int i = 0; i < c->prior.n; i++)
        h = hash_bytes(h, c->forms[i]->text, strlen(c->forms[i]->text) + 1);
    for (int v = 0; v < c->attributes.n; v++) {
        const char *name = c->attributes.list[v].name;
        h = hash_bytes(h, name, strlen(name) + 1);
        h = hash_bytes(h, c->attributes.splits[v].value, (size_t)c->prior.n * sizeof(int));
    }
    return strings_printf(&c->words, "%016llx", (unsigned long long)h);
}

static int all_of(const json_t *turns)
{
    return (int)json_array_size(turns);
}

static int answers_of(const json_t *turns)
{
    int n = 0;

    for (size_t i = 0; i < json_array_size(turns); i++)
        n += !json_object_get(json_array_get(turns, i), "recalled");
    return n;
}

/* Adds up count(turns) over the sessions before that of the record. */
static int count_before(const json_t *record, int (*count)(const json_t *turns))
{
    const json_t *before = json_object_get(record, "element_turns");
    int n = 0;

    for (size_t i = 0; i < json_array_size(before); i++)
        n += count(json_array_get(before, i));
    return n;
}

/* Questions that the sessions before that of the record have left of the dialogue's maximum. */
static int turns_left(int max_turns, const json_t *record)
{
    int asked = count_before(record, answers_of);

    return asked < max_turns ? max_turns - asked : 0;
}

/* fresh: merge candidates with the same results on the database, if there is one, and weigh them by the memory. */
static int read_record(struct session *s, struct session_context *d, bool fresh, const char *where, struct error *err)
{
    json_t *record = json_get_object(s->value, "record", where, err);

    schema_catalog_name(&d->schemas, record);
    const char *db_id = record ? json_get_string(record, "db_id", where, err) : NULL;
    const char *question = db_id ? json_get_string(record, "question", where, err) : NULL;
    const struct schema *schema = question ? schema_catalog_of(&d->schemas, record, where, err) : NULL;
    struct clarify_settings settings;

    if (!schema || read_rules(&settings, s->value, where, err))
        return -1;
    settings.wordings = d->settings.wordings;
    settings.judge = d->settings.judge;
    settings.memory = fresh ? d->settings.memory : NULL;
    bool compare = fresh && !json_object_get(record, "element_choices");
    settings.auto_choice = compare && d->settings.auto_choice;
    settings.rules.max_turns = turns_left(settings.rules.max_turns, record);
    settings.rules.ask_first = json_object_get(record, "auto") != NULL;
    if ((compare && schema_catalog_connect(&settings.db, &d->schemas, db_id, err)) ||
        clarify_case_read(&s->current, record, schema, &settings, &d->scratch, where, err))
        return -1;
    clarify_forget_results(&s->current);
    s->current.evidence.samples = schema_catalog_samples(&d->schemas, db_id);
    s->memory = d->settings.memory;
    if (!compare)
        json_array_extend(s->current.rejected, json_object_get(record, "rejected"));
    return 0;
}

/* Replaces rules of the context by those given. */
static int replace_rules(json_t *all, const json_t *rules, const char *where, struct error *err)
{
    const char *name;
    json_t *rule;

    if (!json_is_object(rules))
        return error_set(err, EXIT_CODE_DATA, "%s: field \"rules\": expected an object", where);
    json_object_foreach((json_t *)rules, name, rule)
    {
        if (!json_object_get(all, name))
            return error_set(err, EXIT_CODE_DATA, "%s: rules: unknown rule \"%s\"", where, name);
        json_object_set(all, name, rule);
    }
    return 0;
}

/* Rounds a number as its text does, so that a continued session has the same numbers. */
static json_t *through_text(json_t *value)
{
    char *text = json_dumps(value, JSON_REAL_PRECISION(9));
    json_t *again = text ? json_loads(text, 0, NULL) : NULL;

    CHECK(again, "a session cannot be written");
    free(text);
    json_decref(value);
    return again;
}

/* The record with the merged candidates, so that later turns read and execute no statement again. */
static void condense(json_t *record, const struct clarify_case *c)
{
    json_t *list = json_array();

    for (int i = 0; i < c->prior.n; i++)
        json_array_append_new(list, json_pack("{s:s, s:f}", "sql", c->sql[i], "p", c->prior.p[i]));
    json_object_set_new(record, "candidates", list);
    json_object_set_new(record, "none_of_the_above", json_real(c->prior.p_none));
    json_object_set(record, "rejected", c->rejected);
    if (c->auto_choice)
        json_object_set(record, "auto", c->auto_choice);
}

static void put_into_words(struct session *s)
{
    clarify_question_write(&s->question, &s->current, &s->view);
}

static json_t *turn_json(const struct session *s, struct answer a, struct answer taken)
{
    const struct question *q = &s->question;
    bool option = a.kind == ANSWER_VALUE;
    json_t *o = json_pack("{s:s, s:s, s:s}", "attribute", s->current.attributes.list[s->view.attribute].name, "answer",
                          answer_kind_name(taken.kind), "text", q->text);

    if (option) {
        json_object_set_new(o, "option", json_integer(a.value + 1));
        json_object_set_new(o, "chosen", json_string(q->options[a.value]));
        if (q->found[a.value])
            json_object_set_new(o, "found", json_string(q->found[a.value]));
    }
    return o;
}

/* Answers the question of the view from memory.  Returns false when nothing is left to ask about it. */
static bool recall_one(struct session *s, int option, json_t *item)
{
    const struct answer a = { ANSWER_VALUE, option };

    put_into_words(s);
    if (!dialogue_recall(&s->current.dialogue, &s->view, option, recall_probability(item)))
        return false;
    json_t *turn = turn_json(s, a, a);
    json_object_set(turn, "recalled", item);
    json_array_append_new(json_object_get(s->value, "turns"), turn);
    s->newest = a;
    return true;
}

/* Answers all questions whose answer the memory knows. */
static void recall_all(struct session *s)
{
    int option;

    for (int v = 0; v < s->current.attributes.n; v++) {
        json_t *item = recall_at(&s->current, v, &s->view, &option);
        if (item)
            recall_one(s, option, item);
    }
}

int session_start(struct session *s, struct session_context *d, const json_t *record, const json_t *rules,
                  const char *where, struct error *err)
{
    json_t *own = json_object(), *all = rules_json(&d->settings);

    *s = (struct session){ .context = d };
    for (int i = 0; i < ARRAY_LEN(record_fields); i++)
        if (json_object_get(record, record_fields[i]))
            json_object_set(own, record_fields[i], json_object_get(record, record_fields[i]));
    int rc = rules ? replace_rules(all, rules, where, err) : 0;
    s->value = json_pack("{s:i, s:o, s:o, s:n, s:[]}", "version", SESSION_VERSION, "record", own, "rules", all,
                         "attributes", "turns");
    if (rc || read_record(s, d, true, where, err))
        return -1;
    condense(own, &s->current);
    json_t *recalled = json_incref(s->current.recalled);
    clarify_case_release(&s->current);
    s->value = through_text(s->value);
    rc = read_record(s, d, false, where, err);
    json_decref(s->current.recalled);
    s->current.recalled = recalled;
    if (rc)
        return -1;
    json_object_set_new(s->value, "attributes", json_string(fingerprint(&s->current)));
    recall_all(s);
    session_next(s);
    return 0;
}

static int check_version(const json_t *value, const char *where, struct error *err)
{
    int64_t version;

    if (json_get_int(value, "version", INT64_MIN, INT64_MAX, &version, where, err))
        return -1;
    return version == SESSION_VERSION
               ? 0
               : error_set(err, EXIT_CODE_DATA, "%s: field \"version\" is %lld, this program knows sessions of %d",
                           where, (long long)version, SESSION_VERSION);
}

int session_read(struct session *s, struct session_context *d, const json_t *value, const char *where,
                 struct error *err)
{
    const char *said, *found;
    json_t *turns;

    *s = (struct session){ .context = d };
    if (check_version(value, where, err) || !(said = json_get_string(value, "attributes", where, err)) ||
        !(turns = json_get_array(value, "turns", where, err)))
        return -1;
    if (json_array_size(turns) > DIALOGUE_MAX_TURNS)
        return error_set(err, EXIT_CODE_DATA, "%s: turns: expected at most %d, got %zu", where, DIALOGUE_MAX_TURNS,
                         json_array_size(turns));
    s->recorded = json_incref(turns);
    s->value = json_copy((json_t *)value);
    json_object_set_new(s->value, "turns", json_array());
    if (read_record(s, d, false, where, err))
        return -1;
    found = fingerprint(&s->current);
    return strcmp(said, found) == 0
               ? 0
               : error_set(
                     err, EXIT_CODE_DATA,
                     "%s: field \"attributes\": expected %s, got \"%s\": the session was made with another schema, "
                     "another database or another program",
                     where, found, said);
}

static int find_attribute(const struct clarify_case *c, const char *name)
{
    for (int v = 0; v < c->attributes.n; v++)
        if (strcmp(c->attributes.list[v].name, name) == 0)
            return v;
    return -1;
}

int session_recall(struct session *s, int k, const char *where, struct error *err)
{
    char place[300];

    snprintf(place, sizeof place, "%s: turns[%d]", where, k);
    const char *name = json_get_string(json_array_get(s->recorded, (size_t)k), "attribute", place, err);
    int v = name ? find_attribute(&s->current, name) : -1;
    if (!name)
        return -1;
    if (v < 0 || !dialogue_view(&s->current.dialogue, v, &s->view))
        return error_set(err, EXIT_CODE_DATA, "%s: field \"attribute\" is \"%s\", which is no question then", place,
                         name);
    s->why = STOP_NOT;
    put_into_words(s);
    return 0;
}

static int read_answer(const struct session *s, struct answer *a, const json_t *turn, const char *where,
                       struct error *err)
{
    const char *kind = json_get_string(turn, "answer", where, err);
    int64_t option;

    *a = (struct answer){ .kind = ANSWER_KINDS };
    for (int k = 0; kind && k < ANSWER_KINDS; k++)
        if (strcmp(kind, answer_kind_name((enum answer_kind)k)) == 0)
            a->kind = (enum answer_kind)k;
    if (!kind)
        return -1;
    if (a->kind == ANSWER_KINDS)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: field \"answer\": expected value, unknown, either or none, got \"%s\"", where, kind);
    if (a->kind != ANSWER_VALUE && !json_object_get(turn, "found"))
        return 0;
    if (json_get_int(turn, "option", 1, s->question.n, &option, where, err))
        return -1;
    *a = (struct answer){ ANSWER_VALUE, (int)option - 1 };
    return 0;
}

/* Tells whether a recorded turn was answered from memory, and answers it so again. */
static bool repeat_recalled(struct session *s, struct answer a, json_t *item, bool *good)
{
    *good = a.kind == ANSWER_VALUE && a.value < s->view.n_shown;
    if (item && *good)
        *good = recall_one(s, a.value, item);
    return item != NULL;
}

int session_repeat(struct session *s, int k, const char *where, struct error *err)
{
    json_t *turn = json_array_get(s->recorded, (size_t)k), *item = json_object_get(turn, "recalled");
    struct answer a;
    char place[300];
    bool good;

    snprintf(place, sizeof place, "%s: turns[%d]", where, k);
    if (read_answer(s, &a, turn, place, err) || (item && !json_get_object(turn, "recalled", place, err)))
        return -1;
    if (!repeat_recalled(s, a, item, &good))
        good = session_answer(s, a) == 0;
    return !good ? error_set(err, EXIT_CODE_DATA, "%s: contradicts the turns before it", place) : 0;
}

int session_resume(struct session *s, struct session_context *d, const json_t *value, const char *where,
                   struct error *err)
{
    if (session_read(s, d, value, where, err))
        return -1;
    for (int k = 0; k < (int)json_array_size(s->recorded); k++)
        if (session_recall(s, k, where, err) || session_repeat(s, k, where, err))
            return -1;
    session_next(s);
    return 0;
}

void session_release(struct session *s)
{
    clarify_case_release(&s->current);
    json_decref(s->value);
    json_decref(s->recorded);
    s->value = s->recorded = NULL;
}

void session_next(struct session *s)
{
    s->why = dialogue_next(&s->current.dialogue, &s->view);
    if (s->why == STOP_NOT)
        put_into_words(s);
}

int session_plausible(const struct session *s)
{
    const struct posterior *now = &s->current.dialogue.now;
    int n = 0;

    for (int i = 0; i < now->n; i++)
        n += now->p[i] > 0 && now->p[i] >= now->p[posterior_best(now)] / 10;
    return n;
}

/* An alternative that no candidate has means "none of these". */
int session_answer(struct session *s, struct answer a)
{
    struct answer taken = a;

    CHECK(s->why == STOP_NOT && (a.kind != ANSWER_VALUE || (a.value >= 0 && a.value < s->question.n)),
          "no question is open, or it has no option %d", a.value);
    if (a.kind == ANSWER_VALUE && s->question.found[a.value])
        taken = (struct answer){ .kind = ANSWER_NONE };
    json_t *turn = turn_json(s, a, taken);
    json_t *choice =
        s->memory && a.kind == ANSWER_VALUE ? recall_choice_json(&s->current, &s->view, &s->question, a.value) : NULL;
    if (choice)
        json_object_set_new(turn, "choice", choice);
    int before = session_plausible(s);
    if (dialogue_answer(&s->current.dialogue, &s->view, taken)) {
        json_decref(turn);
        return -1;
    }
    json_array_append_new(json_object_get(s->value, "turns"), turn);
    s->newest = a;
    s->eliminated = taken.kind == ANSWER_NONE ? before : before - session_plausible(s);
    return 0;
}

int session_learn(struct session *s, struct error *err)
{
    const json_t *turns = json_object_get(s->value, "turns");
    int rc = 0;

    for (size_t i = 0; i < json_array_size(turns) && s->memory && rc == 0; i++)
        rc = recall_learn(s->memory, &s->current, json_object_get(json_array_get(turns, i), "choice"), err);
    return rc;
}

/* Takes back all that a session has taught at its end.  Its other answers are learnt again at its next end. */
static int unlearn(struct session *s, struct error *err)
{
    const json_t *turns = json_object_get(s->value, "turns");
    int rc = 0;

    for (size_t i = json_array_size(turns); i-- > 0 && s->memory && rc == 0;)
        rc = recall_unlearn(s->memory, &s->current, json_object_get(json_array_get(turns, i), "choice"), err);
    return rc;
}

/* Adds up count(turns) over this session and those before it. */
static int count_turns(const struct session *s, int (*count)(const json_t *turns))
{
    return count(json_object_get(s->value, "turns")) + count_before(json_object_get(s->value, "record"), count);
}

int session_turns(const struct session *s)
{
    return count_turns(s, all_of);
}

int session_answers(const struct session *s)
{
    return count_turns(s, answers_of);
}

int session_undo(struct session *s, const char *where, struct error *err)
{
    json_t *turns;

    while (!dialogue_undo(&s->current.dialogue)) {
        int rc = s->context->before ? s->context->before(s, s->context, where, err) : 0;
        if (rc <= 0 || unlearn(s, err))
            return rc > 0 ? -1 : rc;
    }
    turns = json_object_get(s->value, "turns");
    json_array_remove(turns, json_array_size(turns) - 1);
    session_next(s);
    return 1;
}

const char *session_best_words(struct session *s)
{
    struct phrase_context p = { .schema = s->current.schema, .pool = &s->current.words, .store = &s->current.store };
    return phrase_query(&p, s->current.forms[posterior_best(&s->current.dialogue.now)]);
}

static json_t *ask_json(struct session *s)
{
    struct clarify_case *c = &s->current;
    json_t *ask = clarify_question_json(c, &s->view);

    json_object_set_new(ask, "turn", json_integer(session_answers(s) + 1));
    json_object_set_new(ask, "question_type",
                        json_string(question_type_name(c->attributes.list[s->view.attribute].type)));
    json_object_set_new(ask, "eig", clarify_rounded(s->view.gain));
    return ask;
}

json_t *session_recalled(const struct session *s)
{
    const json_t *turns = json_object_get(s->value, "turns");
    json_t *list = json_array();

    for (size_t i = 0; i < json_array_size(turns); i++)
        recall_append(list, json_object_get(json_array_get(turns, i), "recalled"));
    if (json_array_size(list))
        return list;
    json_decref(list);
    return NULL;
}

json_t *session_json(struct session *s)
{
    struct clarify_case *c = &s->current;
    const struct posterior *now = &c->dialogue.now;
    int best = posterior_best(now);
    bool open = s->why == STOP_NOT;

    return json_pack("{s:o, s:s?, s:O*, s:o, s:o, s:i, s:i, s:s, s:s, s:o, s:b, s:O, s:o*, s:O}", "ask",
                     open ? ask_json(s) : json_null(), "stop", open ? NULL : stop_reason_name(s->why), "auto",
                     json_object_get(json_object_get(s->value, "record"), "auto"), "entropy",
                     clarify_rounded(posterior_entropy(now)), "none_of_the_above", clarify_rounded(now->p_none),
                     "eliminated", s->eliminated, "plausible", session_plausible(s), "best", c->sql[best], "wording",
                     session_best_words(s), "confidence", clarify_rounded(now->p[best]), "free_choice",
                     c->dialogue.free_choice, "rejected", c->rejected, "recalled", session_recalled(s), "session",
                     s->value);
}

int session_take_back(struct session *s, const char **kind, const char *where, struct error *err)
{
    *kind = "memory";
    if (s->why != STOP_NOT && unlearn(s, err))
        return -1;
    *kind = "undo";
    int rc = session_undo(s, where, err);
    return rc ? rc < 0 ? -1 : 0 : error_set(err, EXIT_CODE_DATA, "%s: expected an answer to take back", where);
}

static int take_reply(struct session *s, const struct reply *r, const char **kind, const char *where, struct error *err)
{
    *kind = "answer";
    if (r->kind == REPLY_UNCLEAR)
        return error_set(err, EXIT_CODE_DATA, "%s", r->why);
    if (r->kind != REPLY_ANSWER)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"answer\" is no answer to the question", where);
    *kind = "contradiction";
    if (session_answer(s, r->answer))
        return error_set(err, EXIT_CODE_DATA,
                         "This does not fit what was said before; nothing has changed. Another answer may be given, or "
                         "the last one taken back.");
    session_next(s);
    *kind = "memory";
    return s->why == STOP_NOT ? 0 : session_learn(s, err);
}

static int take_number(struct session *s, const json_t *said, const char **kind, const char *where, struct error *err)
{
    struct reply r = { .kind = REPLY_ANSWER, .answer = { .kind = ANSWER_VALUE } };
    json_int_t option = json_integer_value(said);

    if (!json_is_integer(said))
        return error_set(err, EXIT_CODE_DATA, "%s: field \"answer\": expected the number of an option, or words",
                         where);
    if (option < 1 || option > s->question.n)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"answer\": expected 1 to %d, got %lld", where, s->question.n,
                         (long long)option);
    r.answer.value = (int)option - 1;
    return take_reply(s, &r, kind, where, err);
}

int session_said(struct session *s, const json_t *said, const char **kind, const char *where, struct error *err)
{
    bool open = s->why == STOP_NOT;
    struct reply r = { .kind = REPLY_NOTHING };

    if (json_is_string(said))
        r = reply_read(json_string_value(said), open ? &s->question : NULL, s->context->encoder);
    if (r.kind == REPLY_UNDO)
        return session_take_back(s, kind, where, err);
    *kind = "ended";
    if (!open)
        return error_set(err, EXIT_CODE_DATA, "%s: no question is open: the dialogue has ended (%s)", where,
                         stop_reason_name(s->why));
    *kind = "answer";
    return json_is_string(said) ? take_reply(s, &r, kind, where, err) : take_number(s, said, kind, where, err);
}
