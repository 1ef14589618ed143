/*
 * parser_text.h - what LogicalBeam's four models read and write, as text.
 *
 * In the form of sequence-to-sequence models all of it is as published, letter by letter: "template generation:
 * question | db_id | schema" in, "db_id | 1 joins @ 2 selects @ template" out.  Chat models are asked in words and do
 * not repeat the database's name.  What a model wrote is read in either form.
 */
#ifndef DATA_PLAN_PARSER_TEXT_H
#define DATA_PLAN_PARSER_TEXT_H

#include "data/plan/sql_template.h"

enum parser_model {
    PARSER_T2S,      /* question to SQL */
    PARSER_TEMPLATE, /* question to plan and template */
    PARSER_FILL,     /* question and template to SQL */
    PARSER_DIRECT,   /* question to plan and SQL */
    PARSER_MODELS
};
/* "t2s", "template-gen", "template-fill", "direct": as the published checkpoints are called. */
const char *parser_model_name(enum parser_model m);

enum parser_form { PARSER_SEQ2SEQ, PARSER_CHAT };

/* All strings are borrowed. */
struct parser_question {
    const char *question, *db_id;
    const char *schema; /* "table : column, column | table : ..." */
};

/* The caller frees what these return.  The template is asked for PARSER_FILL alone. */
char *parser_input(enum parser_form f, enum parser_model m, const struct parser_question *q, const char *template);
/* Of a gold statement: it and its template, written as the published trainer normalises queries. */
char *parser_target(enum parser_form f, enum parser_model m, const char *db_id, const char *sql,
                    const struct template_names *names);
/* That normalisation: words that touch no quote in lower case, single blanks, " , " as ", ". */
char *parser_normal_query(const char *sql);

/* "table : column, column | table : ..." in lower case. */
char *parser_schema(const struct schema *s);

/* What stands behind the database's name that a model repeats ("db_id | ..."), or all of it; points into text. */
const char *parser_behind_name(const char *text);
/* What stands behind the database's name and a plan, if they are there; points into text. */
const char *parser_behind_plan(const char *text);
/* A plan and the template behind it, which points into text.  -1 with EXIT_CODE_DATA on anything else. */
int parser_read_template(struct sql_plan *p, const char **template, const char *text, struct error *err);
/* Adds the statements among what a model wrote, in normal form, without the database's name and a plan: with a template
 * those alone that have it.  Distinct ones in order. */
void parser_read_sql(struct strings *out, const char *const *texts, int n, const struct template_names *names,
                     const char *template);

#endif
