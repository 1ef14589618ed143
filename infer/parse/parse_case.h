/*
 * parse_case.h - one question in the stages of parsing: its schema, and the texts of models so far.
 *
 * A case owns its record and all texts.  An error of the record ends the case.
 */
#ifndef INFER_PARSE_PARSE_CASE_H
#define INFER_PARSE_PARSE_CASE_H

#include "data/clarify/calibration.h"
#include "data/db/schema_catalog.h"
#include "infer/parse/parse.h"

/* Statements in normal form, without duplicates, the most probable first. */
struct parse_list {
    struct parse_text {
        char *sql;
        double logp; /* log p of all texts that led to it; NAN: unknown */
    } * items;
    int n, cap;
};

/* A template, or a plan alone (text NULL), with its statements. */
struct parse_template {
    struct sql_plan plan;
    char *text;
    double logp;
    struct parse_list fills;
    char *error; /* reason why there are no statements, or NULL */
};

struct parse_case {
    json_t *record;               /* owned */
    const char *db_id, *question; /* of the record */
    char *schema_text;
    char *template_schema; /* original schema for prompts of templates; NULL: schema_text */
    const struct schema *schema;
    struct schema_set own; /* schema of the record; empty if it has none */
    struct template_names names;
    char *error;    /* NULL: no error */
    int unread;     /* number of completions without a statement */
    bool published; /* use AmbiQT's normal form, also inside strings */
    struct parse_list plain;
    struct sql_plan plan; /* predicted plan, whose neighbours the templates have */
    struct parse_template templates[SQL_PLANS];
    int n_templates;
    struct parse_list chosen;
    json_t *errors; /* [{"sql", "error"}] of chosen statements that do not run */
    uint64_t key;   /* hash of everything that its line depends on */
};

/* Takes the record.  A record that cannot be used is kept with its error.  For a line that could not be read, the
 * record is NULL and `bad` has the error. */
void parse_case_read(struct parse_case *c, json_t *record, struct schema_catalog *schemas,
                     const struct parse_request *q, const char *where, const struct error *bad);
void parse_case_release(struct parse_case *c);
/* Notes an error of a text or a plan in the record. */
void parse_case_note(struct parse_case *c, const char *field, const char *text, const char *why);

/* Skips the name of the database where a completion repeats it; points into text. */
const char *parse_case_behind_name(const struct parse_case *c, const char *text);
/* Adds the statement of a text in the published form, in normal form, if there is one and it is new.  Strings stay as
 * they are, except as published. */
void parse_list_add(struct parse_list *l, const struct parse_case *c, const char *text, double logp);
/* Adds a statement in normal form whose names and values may have blanks, which stay. */
void parse_list_add_as_is(struct parse_list *l, const struct parse_case *c, const char *text, double logp);
/* Adds a statement without any change. */
void parse_list_add_exact(struct parse_list *l, const char *sql, double logp);
/* Adds a share to the probability of a statement, which starts at 0. */
void parse_list_add_share(struct parse_list *l, const char *sql, double share);
void parse_list_release(struct parse_list *l);
/* Sorts by log p, the most probable first. */
void parse_list_sort(struct parse_list *l);
/* Adds a template in normal form, unless an earlier one is the same.  As published, it has single blanks and may be a
 * duplicate.  text NULL adds a plan alone. */
void parse_case_add_template(struct parse_case *c, const struct parse_request *q, struct sql_plan plan,
                             const char *text, double logp);

/* Merges the lists by the rule of the strategy.  select, which may be NULL, drops improbable statements.
 * PARSE_LOGICAL_BEAM drops statements with the canonical form of an earlier one, except as published. */
void parse_case_choose(struct parse_case *c, const struct parse_request *q, const struct calibration *select,
                       struct arena *scratch);
/* The output record.  A new reference. */
json_t *parse_case_json(const struct parse_case *c, const struct parse_request *q);

#endif
