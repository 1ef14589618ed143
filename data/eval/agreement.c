#include "data/eval/agreement.h"

#include "data/base/json.h"
#include "data/base/records.h"
#include "data/base/strings.h"
#include "data/span/span_record.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The statement of gold, detector or tagger about a question. Names are in lower case with blanks for underscores, so
 * that names in words and in SQL are equal; a column without a table begins with a dot. */
struct opinion {
    bool there, ambiguous;
    struct strings names;
};

/* Reads a line; -1 with EXIT_CODE_DATA naming the field. The caller releases o->names either way. */
typedef int opinion_fn(struct opinion *o, const json_t *line, const char *where, struct error *err);
opinion_fn opinion_of_gold, opinion_of_prediction, opinion_of_tag;

/* Reading gold, predictions and marked words. */

/* table may be NULL. */
static void add_name(struct opinion *o, const char *table, const char *dot, const char *name)
{
    char *text;

    CHECK(asprintf(&text, "%s%s%s", table ? table : "", dot, name) >= 0, "no memory for a name");
    for (char *p = text; *p; p++)
        *p = *p == '_' ? ' ' : (char)tolower((unsigned char)*p);
    strings_add(&o->names, text);
    free(text);
}

static int add_list(struct opinion *o, const json_t *list, const char *where, struct error *err)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        if (!name)
            return error_set(err, EXIT_CODE_DATA, "%s: alternatives[%zu]: expected a string, got %s", where, i,
                             json_type_name(json_array_get(list, i)));
        add_name(o, NULL, "", name);
    }
    return 0;
}

static int read_marks(struct opinion *o, const json_t *line, const char *where, struct error *err)
{
    struct span_record r;
    int rc = span_record_init(&r, json_incref((json_t *)(uintptr_t)line), where, err);

    for (int i = 0; rc == 0 && i < r.n_spans; i++) {
        const struct marked_span *s = &r.spans[i];
        o->ambiguous = o->ambiguous || s->label == SPAN_AMB;
        for (int k = 0; s->label == SPAN_AMB && k < s->n_alternatives; k++) {
            const struct span_column *c = &r.columns[s->alternatives[k].column];
            add_name(o, c->table, ".", c->name);
        }
    }
    span_record_release(&r);
    return rc;
}

int opinion_of_gold(struct opinion *o, const json_t *line, const char *where, struct error *err)
{
    const json_t *list = json_object_get(line, "alternatives");

    if (json_object_get(line, "spans"))
        return read_marks(o, line, where, err);
    if (record_get_bool(line, "ambiguous", &o->ambiguous, where, err))
        return -1;
    if (!o->ambiguous || !list || json_is_null(list))
        return 0;
    list = json_get_array(line, "alternatives", where, err);
    return list ? add_list(o, list, where, err) : -1;
}

int opinion_of_prediction(struct opinion *o, const json_t *line, const char *where, struct error *err)
{
    const json_t *list;

    if (json_get_bool(line, "ambiguous", &o->ambiguous, where, err) ||
        !(list = json_get_array(line, "alternatives", where, err)))
        return -1;
    return o->ambiguous ? add_list(o, list, where, err) : 0;
}

static int read_span(struct opinion *o, const json_t *span, const char *where, struct error *err)
{
    const char *label = json_get_string(span, "label", where, err);
    const json_t *list = label ? json_get_array(span, "alternatives", where, err) : NULL;

    if (!list || strcmp(label, span_label_name(SPAN_AMB)) != 0)
        return list ? 0 : -1;
    o->ambiguous = true;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *concept = json_array_get(list, i);
        const char *name = json_get_string(concept, "concept", where, err);
        const char *kind = name ? json_get_string(concept, "type", where, err) : NULL;
        if (!kind)
            return -1;
        bool whole = strcmp(kind, "table") == 0 || strchr(name, '.');
        add_name(o, NULL, whole ? "" : ".", name);
    }
    return 0;
}

int opinion_of_tag(struct opinion *o, const json_t *line, const char *where, struct error *err)
{
    const json_t *list = json_get_array(line, "spans", where, err);

    for (size_t i = 0; i < json_array_size(list); i++) {
        char place[400];
        snprintf(place, sizeof place, "%.300s: spans[%zu]", where, i);
        if (read_span(o, json_array_get(list, i), place, err))
            return -1;
    }
    return list ? 0 : -1;
}

static bool same_name(const char *a, const char *b)
{
    const char *column_a = strrchr(a, '.'), *column_b = strrchr(b, '.');

    if (column_a && column_b && (column_a == a || column_b == b))
        return strcmp(column_a, column_b) == 0;
    return strcmp(a, b) == 0;
}

/* The number of names that both have. */
static int opinion_shared(const struct opinion *a, const struct opinion *b)
{
    int shared = 0;

    for (int i = 0; i < a->names.n; i++) {
        int k = 0;
        while (k < b->names.n && !same_name(a->names.items[i], b->names.items[k]))
            k++;
        shared += k < b->names.n;
    }
    return shared;
}

enum agreement { BOTH_SAME, BOTH_SOME, BOTH_OTHERS, DETECTOR_ALONE, TAGGER_ALONE, NEITHER, AGREEMENTS };
enum right { RIGHT_BOTH, RIGHT_DETECTOR, RIGHT_TAGGER, RIGHT_NONE, RIGHTS };
static const char *const agreement_names[] = { "same", "some", "others", "detector", "tagger", "neither" };
static const char *const right_names[] = { "both", "detector", "tagger", "none" };

struct compared_question {
    struct opinion gold, prediction, tag;
    int database;
};

struct agreement_run {
    struct compared_question *questions;
    int n, cap;
    struct strings ids, databases; /* ids[i] is question i's */
    int64_t counts[AGREEMENTS][RIGHTS], ambiguous[AGREEMENTS];
    double *agreed, *detector, *tagger; /* [n_scored] 0 or 1 */
    int *group, n_scored;
    json_t *skipped;
    struct out_file evidence;
};

/* A file of predictions. */
struct answers {
    struct agreement_run *run;
    opinion_fn *read;
    size_t at; /* offset of the opinion in a question */
};

static struct opinion *opinion_at(struct compared_question *q, size_t at)
{
    return (struct opinion *)(void *)((char *)q + at);
}

static void skip(struct agreement_run *run, const char *record, const char *why)
{
    json_array_append_new(run->skipped,
                          json_pack("{s:o, s:o}", "record", json_message(record), "reason", json_message(why)));
}

/* A record_fn. */
static int read_gold(void *user, json_t *line, const char *where, struct error *err)
{
    struct agreement_run *run = user;
    const char *db_id = json_get_string(line, "db_id", where, err);
    const char *source = json_string_value(json_object_get(line, "source_db"));
    char buffer[RECORD_ID_TEXT];
    const char *id = record_id_text(line, buffer);
    struct compared_question q = { .gold.there = true };

    if (!db_id)
        return -1;
    if (strings_find(&run->ids, id) >= 0)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"id\": expected each id once, got \"%s\" again", where, id);
    if (opinion_of_gold(&q.gold, line, where, err)) {
        strings_release(&q.gold.names);
        return -1;
    }
    q.database = strings_add(&run->databases, source ? source : db_id);
    strings_add(&run->ids, id);
    GROW(run->questions, run->n, run->cap);
    run->questions[run->n++] = q;
    return 0;
}

/* A record_fn: bad lines are skipped. */
static int read_answer(void *user, json_t *line, const char *where, struct error *err)
{
    const struct answers *a = user;
    struct agreement_run *run = a->run;
    char buffer[RECORD_ID_TEXT];
    int i = strings_find(&run->ids, record_id_text(line, buffer));
    struct opinion *o = i < 0 ? NULL : opinion_at(&run->questions[i], a->at);
    struct error bad = { 0 };

    (void)err;
    if (!o || o->there)
        skip(run, where, o ? "its id came before" : "its id is none of the gold records'");
    else if (json_object_get(line, "error"))
        skip(run, where, "it is an error");
    else if (a->read(o, line, where, &bad))
        skip(run, where, bad.text);
    else
        o->there = true;
    return 0;
}

static enum agreement agreement_of(const struct compared_question *q)
{
    if (!q->prediction.ambiguous || !q->tag.ambiguous)
        return q->prediction.ambiguous ? DETECTOR_ALONE : q->tag.ambiguous ? TAGGER_ALONE : NEITHER;
    int shared = opinion_shared(&q->prediction, &q->tag);
    return shared == 0 ? BOTH_OTHERS : shared < q->prediction.names.n ? BOTH_SOME : BOTH_SAME;
}

static bool is_right(const struct opinion *o, const struct opinion *gold)
{
    return o->ambiguous == gold->ambiguous && (!gold->ambiguous || opinion_shared(gold, o) == gold->names.n);
}

static json_t *names_json(const struct opinion *o)
{
    json_t *list = o->ambiguous ? json_array() : json_null();

    for (int i = 0; i < o->names.n; i++)
        json_array_append_new(list, json_string(o->names.items[i]));
    return list;
}

static int write_evidence(struct agreement_run *run, int i, enum agreement a, enum right r, struct error *err)
{
    const struct compared_question *q = &run->questions[i];

    if (!run->evidence.f)
        return 0;
    json_t *o =
        json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o}", "id", run->ids.items[i], "db_id",
                  run->databases.items[q->database], "found", agreement_names[a], "correct", right_names[r], "gold",
                  names_json(&q->gold), "detector", names_json(&q->prediction), "tagger", names_json(&q->tag));
    int rc = json_write_line(&run->evidence, o, err);
    json_decref(o);
    return rc;
}

static int count(struct agreement_run *run, int i, struct error *err)
{
    const struct compared_question *q = &run->questions[i];
    bool detector = is_right(&q->prediction, &q->gold), tagger = is_right(&q->tag, &q->gold);
    enum right r = detector ? (tagger ? RIGHT_BOTH : RIGHT_DETECTOR) : tagger ? RIGHT_TAGGER : RIGHT_NONE;
    enum agreement a = agreement_of(q);

    run->counts[a][r]++;
    run->ambiguous[a] += q->gold.ambiguous;
    run->agreed[run->n_scored] = a == BOTH_SAME || a == NEITHER;
    run->detector[run->n_scored] = detector;
    run->tagger[run->n_scored] = tagger;
    run->group[run->n_scored++] = q->database;
    return write_evidence(run, i, a, r, err);
}

static int count_all(struct agreement_run *run, struct error *err)
{
    size_t n = (size_t)run->n + 1;

    run->agreed = xcalloc(n, sizeof *run->agreed);
    run->detector = xcalloc(n, sizeof *run->detector);
    run->tagger = xcalloc(n, sizeof *run->tagger);
    run->group = xcalloc(n, sizeof *run->group);
    for (int i = 0; i < run->n; i++) {
        const struct compared_question *q = &run->questions[i];
        if (!q->prediction.there || !q->tag.there)
            skip(run, run->ids.items[i], q->prediction.there ? "it has no marked words" : "it has no prediction");
        else if (count(run, i, err))
            return -1;
    }
    return 0;
}

static int score_all(struct agreement_run *run, const struct score_request *q, struct error *err)
{
    struct answers predictions = { run, opinion_of_prediction, offsetof(struct compared_question, prediction) };
    struct answers tags = { run, opinion_of_tag, offsetof(struct compared_question, tag) };

    if ((q->per_example && out_file_open(&run->evidence, q->per_example, err)) ||
        records_each(q->gold, RECORDS_AUTO, read_gold, run, err) ||
        records_each_as_is(q->predictions, RECORDS_AUTO, read_answer, &predictions, err) ||
        records_each_as_is(q->pred, RECORDS_AUTO, read_answer, &tags, err) || count_all(run, err))
        return -1;
    if (!run->n_scored)
        return error_set(err, EXIT_CODE_DATA, "%s and %s: expected a common id with a record in %s, got none",
                         q->predictions, q->pred, q->gold);
    return run->evidence.f ? out_file_commit(&run->evidence, err) : 0;
}

static int64_t questions_of(const struct agreement_run *run, int a)
{
    int64_t n = 0;

    for (int r = 0; r < RIGHTS; r++)
        n += run->counts[a][r];
    return n;
}

static struct score_mean share(const struct agreement_run *run, const double *value)
{
    return score_mean(value, run->n_scored, run->group, run->databases.n);
}

static json_t *share_json(const struct agreement_run *run, const double *value)
{
    struct score_mean m = share(run, value);
    return json_pack("{s:f, s:o}", "value", m.mean, "interval", score_interval_json(m.interval));
}

static json_t *run_json(const struct agreement_run *run)
{
    json_t *found = json_object();

    for (int a = 0; a < AGREEMENTS; a++) {
        json_t *right = json_object();
        for (int r = 0; r < RIGHTS; r++)
            json_object_set_new(right, right_names[r], json_integer(run->counts[a][r]));
        json_object_set_new(found, agreement_names[a],
                            json_pack("{s:I, s:I, s:o}", "questions", (json_int_t)questions_of(run, a), "ambiguous",
                                      (json_int_t)run->ambiguous[a], "correct", right));
    }
    return json_pack("{s:s, s:i, s:i, s:o, s:o, s:o, s:o, s:O}", "rule", "agreement", "records", run->n_scored,
                     "databases", run->databases.n, "found", found, "agreed", share_json(run, run->agreed),
                     "detector_correct", share_json(run, run->detector), "tagger_correct", share_json(run, run->tagger),
                     "skipped", run->skipped);
}

static void print_share(const struct agreement_run *run, const char *name, const double *value)
{
    struct score_mean m = share(run, value);

    printf("%-36s %5.1f  ", name, 100 * m.mean);
    score_print_interval(m.interval, 100, 5, 1);
    putchar('\n');
}

static void print_table(const struct agreement_run *run)
{
    static const char *const rows[] = { "both, the same alternatives", "both, some of them", "both, others",
                                        "the detector alone",          "the tagger alone",   "neither" };

    printf("%d questions of %d databases\n\n%42s %9s   right: %6s %9s %7s %5s\n", run->n_scored, run->databases.n,
           "questions", "ambiguous", "both", "detector", "tagger", "none");
    for (int a = 0; a < AGREEMENTS; a++)
        printf("%-32s %9lld %9lld          %6lld %9lld %7lld %5lld\n", rows[a], (long long)questions_of(run, a),
               (long long)run->ambiguous[a], (long long)run->counts[a][RIGHT_BOTH],
               (long long)run->counts[a][RIGHT_DETECTOR], (long long)run->counts[a][RIGHT_TAGGER],
               (long long)run->counts[a][RIGHT_NONE]);
    putchar('\n');
    print_share(run, "they agree, %", run->agreed);
    print_share(run, "the detector is right, %", run->detector);
    print_share(run, "the tagger is right, %", run->tagger);
    if (run->databases.n < 2)
        score_print_one_database();
    score_print_skipped(run->skipped);
}

static int print(const struct agreement_run *run, const struct score_request *q, struct error *err)
{
    if (!q->json) {
        print_table(run);
        return 0;
    }
    return score_print_json(run_json(run), err);
}

static void release(struct agreement_run *run)
{
    out_file_abort(&run->evidence);
    for (int i = 0; i < run->n; i++) {
        strings_release(&run->questions[i].gold.names);
        strings_release(&run->questions[i].prediction.names);
        strings_release(&run->questions[i].tag.names);
    }
    free(run->questions);
    strings_release(&run->ids);
    strings_release(&run->databases);
    free(run->agreed);
    free(run->detector);
    free(run->tagger);
    free(run->group);
    json_decref(run->skipped);
}

enum exit_code score_agreement(const struct score_request *q, struct error *err)
{
    struct agreement_run run = { .skipped = json_array() };
    enum exit_code code = EXIT_CODE_OK;

    if (!q->gold || !q->predictions)
        code = (error_set(err, EXIT_CODE_USAGE, "--rule agreement requires --gold and --predictions"), EXIT_CODE_USAGE);
    else if (score_all(&run, q, err) || print(&run, q, err))
        code = err->code;
    else if (json_array_size(run.skipped))
        code = EXIT_CODE_RECORDS;
    release(&run);
    return code;
}
