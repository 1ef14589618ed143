/*
 * parser_text.h - the input and output strings of LogicalBeam's four models (Bhaskar et al., EMNLP 2023).
 *
 * The sequence-to-sequence form equals the published one, byte for byte: "template generation: question | db_id |
 * schema" as input, "db_id | 1 joins @ 2 selects @ template" as output. The chat form asks in words and does not
 * repeat the database's name. Readers accept both forms.
 */
#ifndef DATA_PROMPT_PARSER_TEXT_H
#define DATA_PROMPT_PARSER_TEXT_H

#include "data/prompt/sql_template.h"

enum parser_model {
    PARSER_T2S,      /* question to SQL */
    PARSER_TEMPLATE, /* question to plan and template */
    PARSER_FILL,     /* question and template to SQL */
    PARSER_DIRECT,   /* question to plan and SQL */
    PARSER_MODELS
};
/* "t2s", "template-gen", "template-fill" or "direct", as the published checkpoints are called. */
const char *parser_model_name(enum parser_model m);

enum parser_form { PARSER_SEQ2SEQ, PARSER_CHAT };

/* All strings are borrowed. */
struct parser_question {
    const char *question, *db_id;
    const char *schema; /* "table : column, column | table : ..." */
};

/* The input of a model; only PARSER_FILL takes a template. The caller frees. */
char *parser_input(enum parser_form f, enum parser_model m, const struct parser_question *q, const char *template);
/* The target for a gold statement, normalised as the published trainer normalises queries. The caller frees. */
char *parser_target(enum parser_form f, enum parser_model m, const char *db_id, const char *sql,
                    const struct template_names *names);
/* Normalises a query as published: lower case outside quotes, single blanks, " , " becomes ", ". The caller frees. */
char *parser_normal_query(const char *sql);

/* The schema as "table : column, column | table : ..." in lower case. The caller frees. */
char *parser_schema(const struct schema *s);

/* Skips the database name that a model repeats ("db_id | ..."), if present. The result points into text. */
const char *parser_behind_name(const char *text);
/* Skips the database name and a plan, if present. The result points into text. */
const char *parser_behind_plan(const char *text);
/* Reads a plan and the template after it, which points into text. -1 with EXIT_CODE_DATA if the text is neither. */
int parser_read_template(struct sql_plan *p, const char **template, const char *text, struct error *err);
/* Adds the distinct statements of completions in normal form, in order. If a template is given, statements with
 * another template are omitted. */
void parser_read_sql(struct strings *out, const char *const *texts, int n, const struct template_names *names,
                     const char *template);

#endif
