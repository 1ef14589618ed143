#include "infer/clarify/clarify_case.h"

#include "data/clarify/auto_choice.h"
#include "data/clarify/repair.h"
#include "data/eval/candidate_list.h"
#include "infer/clarify/choice_judge.h"
#include "infer/clarify/recall.h"
#include "infer/clarify/wordings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COMPARED = 64 };

/* A remaining candidate, with its index before. */
struct kept_candidate {
    const struct form *form;
    const char *sql;
    double p;
    struct exec_signature *signature;
    int place;
};

static int compare_kept(const void *a, const void *b)
{
    const struct kept_candidate *x = a, *y = b;

    if (x->p != y->p)
        return x->p > y->p ? -1 : 1;
    return x->place - y->place;
}

static void drop(struct exec_signature *t)
{
    if (t)
        exec_signature_release(t);
    free(t);
}

/* Merges each candidate i into candidate group[i] <= i. */
static void regroup(struct clarify_case *c, const int *group)
{
    struct kept_candidate list[POSTERIOR_MAX] = { 0 };
    int place[POSTERIOR_MAX] = { 0 }, n = 0;

    for (int i = 0; i < c->prior.n; i++) {
        if (group[i] == i) {
            place[i] = n;
            list[n++] = (struct kept_candidate){ c->forms[i], c->sql[i], c->p[i], c->signatures[i], i };
        } else {
            list[place[group[i]]].p += c->p[i];
            drop(c->signatures[i]);
        }
        c->signatures[i] = NULL;
    }
    qsort(list, (size_t)n, sizeof *list, compare_kept);
    for (int i = 0; i < n; i++) {
        place[list[i].place] = i;
        c->forms[i] = list[i].form;
        c->sql[i] = list[i].sql;
        c->p[i] = list[i].p;
        c->signatures[i] = list[i].signature;
    }
    for (int i = 0; i < c->n_candidates; i++)
        c->candidates[i].owner = place[group[c->candidates[i].owner]];
    c->prior.n = n;
}

/* Merges candidates of the same form; their probabilities add up, and the most probable text stays. */
static void clarify_merge_forms(struct clarify_case *c)
{
    int group[POSTERIOR_MAX] = { 0 }, first[POSTERIOR_MAX] = { 0 }, n = c->prior.n;
    struct strings seen = { 0 };

    for (int i = 0; i < n; i++) {
        int before = seen.n, k = strings_add(&seen, c->forms[i]->text);
        if (k == before)
            first[k] = i;
        group[i] = first[k];
    }
    strings_release(&seen);
    if (n)
        regroup(c, group);
    c->merged = n - c->prior.n;
}

bool clarify_is_ordered(const struct form *form)
{
    return form->lists[FORM_ORDER].n > 0;
}

/* Index in the record of candidate i. */
static int number_of(const struct clarify_case *c, int i)
{
    for (int k = 0; k < c->n_candidates; k++)
        if (c->candidates[k].owner == i)
            return c->candidates[k].number;
    return -1;
}

/* Notes a pair of candidates and the copy that distinguishes them; null without one. */
static void tell(struct clarify_case *c, int a, int b, enum verdict verdict, int copy)
{
    json_array_append_new(c->distinguished,
                          json_pack("{s:[i, i], s:s?}", "candidates", number_of(c, a), number_of(c, b), "copy",
                                    verdict == VERDICT_TOLD_APART ? perturb_copy_name(copy) : NULL));
}

/* First candidate with the same results as candidate i, or i. */
static int same_as(struct clarify_case *c, const int *group, int i)
{
    int first = -1, first_copy = 0;
    enum verdict first_verdict = VERDICT_DIFFERENT;

    for (int k = 0; k < i && c->signatures[i]; k++) {
        int copy = 0;
        if (group[k] != k || !c->signatures[k])
            continue;
        enum verdict verdict = equivalence_compare(&c->equivalence, c->signatures[k], c->signatures[i], &copy);
        if (verdict == VERDICT_SAME)
            return k;
        if (first < 0 && verdict != VERDICT_DIFFERENT) {
            first = k;
            first_verdict = verdict;
            first_copy = copy;
        }
    }
    if (first >= 0 && !c->equivalence.broken)
        tell(c, first, i, first_verdict, first_copy);
    return i;
}

/* Merges candidates with the same rows on the database and on its copies.  Only the first 64 are compared. */
static void clarify_merge_results(struct clarify_case *c, struct exec_db *db, uint64_t seed)
{
    int group[POSTERIOR_MAX] = { 0 }, n = c->prior.n;
    int compared = n < COMPARED ? n : COMPARED;

    equivalence_open(&c->equivalence, db, c->sql, compared, seed);
    for (int i = 0; i < n; i++) {
        if (i < compared) {
            c->signatures[i] = xcalloc(1, sizeof *c->signatures[i]);
            equivalence_run(c->signatures[i], &c->equivalence, c->sql[i], clarify_is_ordered(c->forms[i]));
        }
        group[i] = same_as(c, group, i);
    }
    regroup(c, group);
    c->same_results = n - c->prior.n;
    if (c->equivalence.broken)
        c->not_compared = xstrdup(c->equivalence.broken);
}

/* Merges candidates with the same rows on the database.  Empty results stay apart: no rows prove nothing. */
static void merge_rows(struct clarify_case *c)
{
    int group[POSTERIOR_MAX] = { 0 };

    for (int i = 0; i < c->prior.n; i++) {
        group[i] = i;
        for (int k = 0; k < i && c->signatures[i] && c->signatures[i]->result.n && group[i] == i; k++)
            if (group[k] == k && c->signatures[k] && exec_signature_gives(c->signatures[i], c->signatures[k]))
                group[i] = k;
    }
    regroup(c, group);
}

/* The change that made a statement, or NULL if it is a candidate of the record. */
static const char *change_of(const struct clarify_case *c, const char *sql)
{
    const json_t *item;
    size_t i;

    json_array_foreach(c->repaired, i, item)
    {
        if (strcmp(json_string_value(json_object_get(item, "sql")), sql) == 0)
            return json_string_value(json_object_get(item, "change"));
    }
    return NULL;
}

/* Numbers of the candidates that were merged into candidate i. */
static json_t *numbers_json(const struct clarify_case *c, int i)
{
    json_t *list = json_array();

    for (int k = 0; k < c->n_candidates; k++)
        if (c->candidates[k].owner == i)
            json_array_append_new(list, json_integer(c->candidates[k].number));
    return list;
}

/* Describes a choice, with the groups in the order of the candidates. */
static json_t *choice_json(struct auto_choice *choice, struct clarify_case *c, const struct auto_group *groups,
                           json_t *judgement)
{
    const char *why = auto_choice_why(choice), *change = change_of(c, groups[choice->best].sql);
    json_t *list = json_array();

    if (change)
        why = strings_printf(&c->words, "%s It was repaired: %s.", why, change);
    for (int i = 0; i < c->prior.n; i++)
        for (int g = 0; g < choice->n; g++)
            if (groups[g].sql == c->sql[i])
                json_array_append_new(list, json_pack("{s:s, s:o, s:o, s:o, s:o}", "sql", c->sql[i], "candidates",
                                                      numbers_json(c, i), "vote", clarify_rounded(groups[g].vote), "p",
                                                      clarify_rounded(choice->p[g]), "evidence",
                                                      auto_choice_features(choice, g)));
    return json_pack("{s:o, s:o, s:s, s:o, s:O, s:O*}", "p", clarify_rounded(choice->p[choice->best]),
                     "none_of_the_above", clarify_rounded(choice->p_none), "why", why, "groups", list, "repaired",
                     c->repaired, "judgement", judgement);
}

/* Whether a language model is at hand, and the choice is not sure enough without it. */
static bool needs_judge(const struct auto_choice *choice, const struct clarify_settings *settings)
{
    return settings->judge && settings->db && choice->n > 1 && choice->p[choice->best] < settings->rules.confidence;
}

/* Replaces the probabilities of the candidates by those of their evidence. */
static int weigh(struct clarify_case *c, const struct clarify_settings *settings, struct arena *scratch,
                 struct error *err)
{
    const struct auto_question q = { .text = c->question, .schema = c->schema, .db = settings->db, .scratch = scratch };
    struct auto_group groups[POSTERIOR_MAX];
    struct auto_choice choice;
    json_t *judgement = NULL;
    int same[POSTERIOR_MAX], n = c->prior.n, rc = 0;

    for (int i = 0; i < n; i++) {
        same[i] = i;
        groups[i] = (struct auto_group){ .sql = c->sql[i],
                                         .result = c->signatures[i] ? &c->signatures[i]->result : NULL,
                                         .vote = c->p[i],
                                         .repaired = change_of(c, c->sql[i]) != NULL };
    }
    auto_choice_make(&choice, &q, groups, n);
    if (needs_judge(&choice, settings))
        rc = judge_choice(&judgement, settings->judge, &choice, c->question, groups, err);
    memcpy(c->p, choice.p, (size_t)n * sizeof *c->p);
    c->prior.p_none = choice.p_none;
    regroup(c, same);
    c->auto_choice = choice_json(&choice, c, groups, judgement);
    auto_choice_release(&choice);
    json_decref(judgement);
    return rc;
}

/* Chooses among the candidates as far as that is possible without a user. */
static int choose_without_user(struct clarify_case *c, const struct clarify_settings *settings, struct arena *scratch,
                               struct error *err)
{
    if (settings->db)
        merge_rows(c);
    return weigh(c, settings, scratch, err);
}

void clarify_forget_results(struct clarify_case *c)
{
    for (int i = 0; i < c->prior.n; i++) {
        drop(c->signatures[i]);
        c->signatures[i] = NULL;
    }
    equivalence_release(&c->equivalence);
}

enum { AHEAD_MAX = 64 }; /* maximum number of candidates for expected_questions */

json_t *clarify_rounded(double x)
{
    return json_real(round(x * 1e6) / 1e6);
}

static json_t *options_json(const struct clarify_case *c, const struct question *q, const struct question_view *view)
{
    json_t *list = json_array();

    for (int i = 0; i < q->n; i++) {
        const char *sql = q->statement[i] >= 0 ? c->sql[q->statement[i]] : NULL;
        double mass = i < view->split.n_values ? view->mass[i] : 0;
        json_array_append_new(list, json_pack("{s:s, s:o, s:s?, s:s*}", "text", q->options[i], "p",
                                              clarify_rounded(mass), "sql", sql, "found", q->found[i]));
    }
    return list;
}

struct question_context clarify_question_context(struct clarify_case *c)
{
    return (struct question_context){ { .schema = c->schema, .pool = &c->words, .store = &c->store },
                                      &c->attributes,
                                      c->forms,
                                      &c->dialogue.now,
                                      &c->evidence,
                                      c->elements };
}

void clarify_question_write(struct question *q, struct clarify_case *c, const struct question_view *view)
{
    const struct question_context a = clarify_question_context(c);
    question_write(q, &a, view);
    wordings_use(q, c, view);
}

json_t *clarify_question_json(struct clarify_case *c, const struct question_view *view)
{
    struct question q;

    clarify_question_write(&q, c, view);
    bool reworded = c->wordings && q.text == c->wordings[view->attribute].text;
    return json_pack("{s:s, s:s, s:s*, s:o}", "attribute", c->attributes.list[view->attribute].name, "text", q.text,
                     "worded_by", reworded ? "model" : NULL, "options", options_json(c, &q, view));
}

static json_t *attribute_json(struct clarify_case *c, const struct question_view *view)
{
    const struct attribute *v = &c->attributes.list[view->attribute];
    struct question q;

    clarify_question_write(&q, c, view);
    return json_pack("{s:s, s:s, s:o, s:o*, s:o}", "name", v->name, "question_type", question_type_name(v->type), "eig",
                     clarify_rounded(view->gain), "support",
                     view->split.support > 0 ? clarify_rounded(view->split.support) : NULL, "options",
                     options_json(c, &q, view));
}

/* All attributes as JSON; the fallback question is separate. */
static json_t *attributes_json(struct clarify_case *c, json_t **fallback)
{
    json_t *list = json_array();

    *fallback = NULL;
    for (int i = 0; i < c->attributes.n; i++) {
        struct question_view view;
        if (!dialogue_view(&c->dialogue, i, &view))
            continue;
        json_t *one = attribute_json(c, &view);
        if (c->attributes.list[i].type == QUESTION_QUERY)
            *fallback = one;
        else
            json_array_append_new(list, one);
    }
    return list;
}

/* Expected number of questions without the fallback question. */
static json_t *questions_ahead(const struct clarify_case *c)
{
    const struct posterior *now = &c->dialogue.now;

    if (now->n > AHEAD_MAX)
        return json_null();
    return clarify_rounded(
        strategy_questions(c->dialogue.rules.strategy, now, c->attributes.splits, c->attributes.n - 1));
}

int clarify_case_json(struct clarify_case *c, json_t *out, struct error *err)
{
    json_t *fallback, *attributes = attributes_json(c, &fallback);
    struct question_view view;
    enum stop_reason why = dialogue_next(&c->dialogue, &view);
    const char *stop = why == STOP_NOT ? NULL : stop_reason_name(why);
    json_t *ask = why == STOP_NOT ? clarify_question_json(c, &view) : json_null();
    json_t *more = json_pack("{s:o, s:o, s:i, s:s*, s:i, s:i, s:O, s:s*, s:O, s:s, s:o, s:o, s:s?, s:o, s:o}",
                             "entropy", clarify_rounded(posterior_entropy(&c->dialogue.now)), "none_of_the_above",
                             clarify_rounded(c->dialogue.now.p_none), "candidates", c->prior.n, "weights",
                             candidate_weights_name(c->weights), "merged", c->merged, "same_results", c->same_results,
                             "distinguished_by", c->distinguished, "not_compared", c->not_compared, "rejected",
                             c->rejected, "best", c->sql[posterior_best(&c->dialogue.now)], "confidence",
                             clarify_rounded(c->dialogue.now.p[posterior_best(&c->dialogue.now)]), "ask", ask, "stop",
                             stop, "expected_questions", questions_ahead(c), "variables", attributes);

    if (more && json_array_size(c->recalled))
        json_object_set(more, "recalled", c->recalled);
    if (more && json_array_size(c->wordings_rejected))
        json_object_set(more, "wordings_rejected", c->wordings_rejected);
    if (more && c->auto_choice)
        json_object_set(more, "auto", c->auto_choice);
    if (!more || (fallback && json_object_set_new(more, "fallback_question", fallback)) ||
        json_object_update(out, more)) {
        json_decref(more);
        return error_set(err, EXIT_CODE_DATA, "the record cannot be written as JSON");
    }
    json_decref(more);
    return 0;
}

struct candidate {
    const char *sql;
    double p;
    const struct form *form;
    int number;
};

static void reject(struct clarify_case *c, const struct candidate *candidate, const struct error *why)
{
    c->prior.p_none += candidate->p;
    json_array_append_new(c->rejected, json_pack("{s:i, s:s, s:o}", "candidate", candidate->number, "sql",
                                                 candidate->sql, "error", json_message(why->text)));
}

/* Reads the form of each candidate and rejects those without one.  Returns the number that stay. */
static int read_forms(struct clarify_case *c, struct candidate *list, int n, struct arena *scratch)
{
    int kept = 0;

    for (int i = 0; i < n; i++) {
        struct error why = { 0 };
        list[i].form = form_of_text(&c->store, list[i].sql, c->schema, scratch, &why);
        if (list[i].form)
            list[kept++] = list[i];
        else
            reject(c, &list[i], &why);
    }
    return kept;
}

/* Adds the repaired statement of each of the first candidates that has one, numbered after those of the record.  It
 * takes the probability of a statement that cannot be run, and half of that of a statement without rows.  Returns the
 * new number of candidates. */
static int repair_list(struct clarify_case *c, struct candidate *list, int n, struct exec_db *db, struct arena *scratch)
{
    int all = n, looked = n < COMPARED ? n : COMPARED;

    for (int i = 0; i < looked && all < POSTERIOR_MAX; i++) {
        struct repair r;
        if (!repair_statement(&r, list[i].sql, c->schema, db, scratch, &c->words))
            continue;
        double share = r.failed ? 1 : 0.5;
        list[all] = (struct candidate){ .sql = r.sql, .p = list[i].p * share, .number = all };
        all++;
        list[i].p *= 1 - share;
        json_array_append_new(
            c->repaired, json_pack("{s:i, s:s, s:s}", "candidate", list[i].number, "sql", r.sql, "change", r.change));
    }
    return all;
}

static int compare_candidates(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    if (x->p != y->p)
        return x->p > y->p ? -1 : 1;
    return x->number - y->number;
}

/* Reads the candidates, the most probable first.  Returns -1 when the list cannot be read. */
static int read_list(struct clarify_case *c, const json_t *record, const struct clarify_settings *settings,
                     struct arena *scratch, const char *where, struct error *err)
{
    struct candidate list[POSTERIOR_MAX];
    struct candidate_list read;
    int n = candidate_list_read(&read, record, where, err) ? -1 : read.n;

    for (int i = 0; i < n; i++)
        list[i] = (struct candidate){ .sql = read.sql[i], .p = read.p[i], .number = i };
    c->prior.p_none = read.p_none;
    c->weights = read.weights;
    candidate_list_release(&read);
    if (n < 0)
        return -1;
    if (settings->auto_choice && settings->db)
        n = repair_list(c, list, n, settings->db, scratch);
    n = read_forms(c, list, n, scratch);
    if (n)
        qsort(list, (size_t)n, sizeof *list, compare_candidates);
    for (int i = 0; i < n; i++) {
        c->forms[i] = list[i].form;
        c->sql[i] = list[i].sql;
        c->p[i] = list[i].p;
        c->candidates[i] = (struct clarify_candidate){ list[i].form, list[i].number, i };
    }
    c->n_candidates = n;
    c->prior = (struct posterior){ c->p, n, fmin(1, c->prior.p_none) };
    return 0;
}

/* Sets the support of each attribute by the evidence. */
static void support_attributes(struct clarify_case *c)
{
    const struct question_context context = clarify_question_context(c);
    struct question_view view;

    for (int v = 0; v < c->attributes.n && c->evidence.n_spans + c->evidence.n_found; v++)
        if (dialogue_view(&c->dialogue, v, &view))
            c->attributes.splits[v].support = question_support(&context, &view);
}

/* Finds the questions about the candidates. */
static void find_questions(struct clarify_case *c, const struct clarify_settings *settings)
{
    slots_extract(&c->slots, c->forms, c->prior.n, c->schema);
    attributes_build(&c->attributes, &c->slots, &c->prior, settings->noise);
    dialogue_init(&c->dialogue, &settings->rules, c->attributes.splits, c->attributes.n, &c->prior);
    support_attributes(c);
}

/* Whether the choice without a user ends the dialogue before its first question. */
static bool asks_nobody(struct clarify_case *c, const struct clarify_settings *settings)
{
    struct question_view view;
    bool chosen = settings->auto_choice || settings->rules.ask_first; /* now, or when the session began */

    return chosen && dialogue_next(&c->dialogue, &view) != STOP_NOT;
}

/* Multiplies the probabilities by the memory, and finds the questions again. */
static int remember(struct clarify_case *c, const struct clarify_settings *settings, struct error *err)
{
    int same[POSTERIOR_MAX];

    if (!settings->memory)
        return 0;
    if (choice_memory_refresh(settings->memory, err))
        return -1;
    if (!recall_weigh(c, settings->memory))
        return 0;
    dialogue_release(&c->dialogue);
    attributes_release(&c->attributes);
    slots_release(&c->slots);
    for (int i = 0; i < c->prior.n; i++)
        same[i] = i;
    regroup(c, same);
    find_questions(c, settings);
    return 0;
}

int clarify_case_read(struct clarify_case *c, const json_t *record, const struct schema *schema,
                      const struct clarify_settings *settings, struct arena *scratch, const char *where,
                      struct error *err)
{
    memset(c, 0, sizeof *c);
    c->schema = schema;
    c->elements = json_object_get(record, "element_choices") != NULL;
    c->rejected = json_array();
    c->distinguished = json_array();
    c->repaired = json_array();
    c->wordings_rejected = json_array();
    c->recalled = json_array();
    if (!(c->question = json_get_string(record, "question", where, err)))
        return -1;
    if (read_list(c, record, settings, scratch, where, err))
        return -1;
    clarify_merge_forms(c);
    if (c->prior.n == 0)
        return error_set(err, EXIT_CODE_DATA, "%s: candidates: none can be read; the first: %s", where,
                         json_string_value(json_object_get(json_array_get(c->rejected, 0), "error")));
    if (settings->db)
        clarify_merge_results(c, settings->db, settings->rules.seed);
    if (settings->auto_choice && choose_without_user(c, settings, scratch, err))
        return -1;
    if (evidence_read(&c->evidence, record, schema, where, err))
        return -1;
    find_questions(c, settings);
    if (remember(c, settings, err))
        return -1;
    if (!settings->wordings || asks_nobody(c, settings))
        return 0;
    return wordings_apply(settings->wordings, c, record, err);
}

void clarify_case_release(struct clarify_case *c)
{
    if (c->dialogue.views)
        dialogue_release(&c->dialogue);
    attributes_release(&c->attributes);
    slots_release(&c->slots);
    form_store_release(&c->store);
    evidence_release(&c->evidence);
    strings_release(&c->words);
    clarify_forget_results(c);
    free(c->not_compared);
    free(c->wordings);
    json_decref(c->wordings_rejected);
    json_decref(c->rejected);
    json_decref(c->distinguished);
    json_decref(c->recalled);
    json_decref(c->auto_choice);
    json_decref(c->repaired);
    c->rejected = c->distinguished = c->wordings_rejected = c->recalled = c->auto_choice = c->repaired = NULL;
    c->wordings = NULL;
    c->not_compared = NULL;
    c->prior.n = 0;
}
