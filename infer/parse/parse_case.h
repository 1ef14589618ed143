/*
 * parse_case.h - one question on its way to SQL: what it is asked about, and what models have written so far.
 */
#ifndef INFER_PARSE_PARSE_CASE_H
#define INFER_PARSE_PARSE_CASE_H

#include "data/clarify/calibration.h"
#include "data/exec/schema_catalog.h"
#include "infer/parse/parse.h"

/* Statements in normal form, each once, the likeliest first. */
struct parse_list {
    struct parse_text {
        char *sql;
        double logp; /* of all that was written to come to it; NAN: not known */
    } * items;
    int n, cap;
};

/* A template, or with text NULL a plan alone, and the statements that were made of it. */
struct parse_template {
    struct sql_plan plan;
    char *text;
    double logp;
    struct parse_list fills;
    char *error; /* why there are none, or NULL */
};

struct parse_case {
    json_t *record;               /* owned */
    const char *db_id, *question; /* the record's */
    char *schema_text;
    char *template_schema; /* that of the original, or NULL: templates are asked for with schema_text */
    const struct schema *schema;
    struct schema_set own; /* of what the record brought along; empty without */
    struct template_names names;
    char *error;    /* NULL while it goes well */
    bool published; /* statements come into AmbiQT's normal form, strings in them too */
    struct parse_list plain;
    struct sql_plan plan; /* that its templates are near to */
    struct parse_template templates[SQL_PLANS];
    int n_templates;
    struct parse_list chosen;
    json_t *errors; /* [{"sql", "error"}] of those chosen that do not run */
    uint64_t key;   /* of what its line is made from */
};

/* Takes the record; one that cannot be used, and NULL for one that could not be read, is kept with its error.  `bad`
 * says why in the latter case. */
void parse_case_read(struct parse_case *c, json_t *record, struct schema_catalog *schemas,
                     const struct parse_request *q, const char *where, const struct error *bad);
void parse_case_release(struct parse_case *c);

/* What a model wrote behind the database's name, where it repeats that; points into text. */
const char *parse_case_behind_name(const struct parse_case *c, const char *text);
/* Adds the statement that a text in the published form says, if it says one, and that is new: in normal form, in which
 * strings stay as they are unless as published. */
void parse_list_add(struct parse_list *l, const struct parse_case *c, const char *text, double logp);
/* The same of one that is in normal form but for the blanks of names and values in it, which stay. */
void parse_list_add_as_is(struct parse_list *l, const struct parse_case *c, const char *text, double logp);
/* The same of one that is a statement, letter for letter. */
void parse_list_add_exact(struct parse_list *l, const char *sql, double logp);
void parse_list_release(struct parse_list *l);
/* The likeliest first. */
void parse_list_sort(struct parse_list *l);
/* In normal form, unless an earlier one says the same; as published with single blanks, again if need be.  Without
 * text, a plan alone. */
void parse_case_add_template(struct parse_case *c, const struct parse_request *q, struct sql_plan plan,
                             const char *text, double logp);

/* Makes one list of the lists, as the strategy says, without what
 * `select`, which may be NULL, finds too unlikely; of PARSE_LOGICAL_BEAM, unless as published, without what says the
 * same as something before it. */
void parse_case_choose(struct parse_case *c, const struct parse_request *q, const struct calibration *select,
                       struct arena *scratch);
/* The output record. */
json_t *parse_case_json(const struct parse_case *c, const struct parse_request *q);

#endif
