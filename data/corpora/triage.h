/*
 * triage.h - public sets of questions of which not all can be answered, in one form.
 *
 * A question has one of four classes.  The class decides the next act of a system: it answers, asks back, refuses with
 * a reason, or replies without the database.  The kind of a question is a finer class.  Corpora have finer classes of
 * their own; `source_class` keeps their word, and a question has a kind only if that word means one.
 *
 * Only PRACTIQ's categories and Mini-Interact's type "schema_linking_ambiguity" mean a kind.  TriageSQL's "lack data"
 * may lack a column or a table, and its "unanswerable by sql" are mostly statements.
 *
 * MMSQL (Guo et al. 2024) is an array of dialogues.  Each turn of the user is a question.
 * TriageSQL (Zhang et al. 2020) is an array of questions with their tables.  "lack data" and "unanswerable by sql" are
 * unanswerable, "small talk" is improper.
 * EHRSQL 2024 (Lee et al. 2024) is a folder with data.json and label.json.  A question with the label "null" is
 * unanswerable.
 * Mini-Interact of BIRD-Interact (Huo et al. 2025) is JSONL of tasks.  `amb_user_query` is ambiguous, `query` is not.
 * PRACTIQ (Dong et al. 2025) is JSONL, as its released program combines the categories: each question has a category
 * and edits of a schema of Spider.  Columns are removed and added; edited cells are ignored.  "Ambiguous_..." is
 * ambiguous; the categories of missing columns, missing values and missing joins are unanswerable.
 */
#ifndef DATA_CORPORA_TRIAGE_H
#define DATA_CORPORA_TRIAGE_H

#include "kernels/base.h"

#include <jansson.h>

enum triage_class { TRIAGE_ANSWERABLE, TRIAGE_AMBIGUOUS, TRIAGE_UNANSWERABLE, TRIAGE_IMPROPER, TRIAGE_CLASSES };

const char *triage_class_name(enum triage_class c);
/* TRIAGE_CLASSES for an unknown name. */
enum triage_class triage_class_of(const char *name);

enum triage_kind {
    KIND_ANSWERABLE,
    KIND_SCHEMA,          /* ambiguous: several columns or tables fit */
    KIND_WORDING,         /* ambiguous: the sentence has several readings */
    KIND_AMBIGUOUS_VALUE, /* ambiguous: several stored values or columns fit */
    KIND_TIME,            /* ambiguous: a time without a beginning or an end, as in "recent orders" */
    KIND_AGGREGATE,       /* ambiguous: an unclear aggregate, order or filter, as in "top customers" */
    KIND_COLUMN,          /* unanswerable: no column holds the data */
    KIND_TABLE,           /* unanswerable: no table is about the subject */
    KIND_MISSING_VALUE,   /* unanswerable: no row has the value */
    KIND_KNOWLEDGE,       /* unanswerable: knowledge from outside, such as causes and opinions */
    KIND_REQUEST,         /* unanswerable: a task beyond SQL, such as a chart */
    KIND_IMPROPER,
    TRIAGE_KINDS
};

/* "answerable"; "schema", "wording", "value", "time", "aggregate"; "column", "table", "value", "knowledge", "request";
 * "improper".  A name is unique within its class. */
const char *triage_kind_name(enum triage_kind k);
enum triage_class triage_kind_class(enum triage_kind k);
/* TRIAGE_KINDS if the class has no kind of the name. */
enum triage_kind triage_kind_of(enum triage_class c, const char *name);
/* The kind in the field "kind" of a record of the class; TRIAGE_KINDS without the field.  Returns -1 with
 * EXIT_CODE_DATA. */
int triage_kind_read(enum triage_kind *k, enum triage_class c, const json_t *record, const char *where,
                     struct error *err);

enum triage_corpus { TRIAGE_MMSQL, TRIAGE_TRIAGESQL, TRIAGE_EHRSQL, TRIAGE_MINI_INTERACT, TRIAGE_PRACTIQ };
/* The names of the corpora, in the order of the enum. */
#define TRIAGE_CORPORA "mmsql|triagesql|ehrsql|mini-interact|practiq"

struct triage_request {
    const char *in;     /* a file, or the folder of EHRSQL */
    const char *tables; /* tables.json with the schemas of the questions, or NULL; EHRSQL requires one with one schema,
                           PRACTIQ Spider's */
    const char *out;
    enum triage_corpus corpus;
    bool force;
};

struct triage_counts {
    int64_t of_class[TRIAGE_CLASSES];
};

/*
 * Writes OUT/questions.jsonl: {"id", "db_id", "question", "class", "source", "source_class"}, and where the corpus has
 * them "kind", "sql", "context" (the earlier questions of a dialogue) and "ambiguities" ({"term", "type"}).
 * OUT/tables.json has the schemas of `tables`, those of TriageSQL's questions, and PRACTIQ's edited ones. Returns -1
 * with EXIT_CODE_DATA naming the file, record and field; then nothing is written.
 */
int triage_convert(const struct triage_request *q, struct triage_counts *n, struct error *err);

#endif
