/*
 * auto_choice.h - probabilities of candidate statements from evidence, to choose one without asking a user.
 *
 * Candidates with the same rows are one group.  A group has features: its share of the votes (self-consistency, Wang et
 * al. 2023), parts of the question that its statement ignores, and parts that the question does not name.  A
 * conditional logit model (McFadden 1974) makes probabilities of the features.  One alternative more stands for "no
 * candidate is right":
 *
 *   P(group) = exp(w . x) / (exp(none) + sum over groups of exp(w . x))
 *
 * The features of a group may depend on the other groups: a column is distinguishing only if another statement does
 * without it.  The weights are a table that bench/auto.py fits; auto_choice.c states the data.
 * The weight of a language model's judgement is not fitted: it is that of a judge who is right three times in four.
 *
 * A choice owns its arrays and texts.  Groups, schema and database are borrowed.  No function fails: a statement that
 * cannot be parsed has the features of its votes and rows alone.
 */
#ifndef DATA_CLARIFY_AUTO_CHOICE_H
#define DATA_CLARIFY_AUTO_CHOICE_H

#include "data/base/json.h"
#include "data/base/strings.h"
#include "data/db/sqlite_exec.h"
#include "data/schema/schema.h"

/* Only features that lower the cross-validated loss of the fit. */
enum auto_feature {
    AUTO_VOTE,            /* logarithm of the share of the votes */
    AUTO_NUMBER_IGNORED,  /* numbers of the question without a literal, at most 2 */
    AUTO_QUOTE_IGNORED,   /* quoted texts of the question without a literal, at most 2 */
    AUTO_VALUE_IGNORED,   /* values of the question that other statements use, at most 2 */
    AUTO_VALUE_ABSENT,    /* values compared with a column that lacks them, at most 2 */
    AUTO_TIME_UNMET,      /* 1: the question says a time, and only other statements test a column of times */
    AUTO_UNIT_UNMET,      /* numbers that only other statements compare with a column of their unit, at most 2 */
    AUTO_DISTINCT_UNSAID, /* 1: DISTINCT, and the question does not say "different" or the like */
    AUTO_AVERAGE_UNSAID,  /* 1: AVG, and the question does not say "average" or "mean" */
    AUTO_NAMED_IGNORED,   /* distinguishing tables and columns that the question names, unused, at most 3 */
    AUTO_UNNAMED,         /* distinguishing tables and columns without a word in the question, at most 3 */
    AUTO_OUTPUT_UNSAID,   /* share of shown columns without a word in the question */
    AUTO_EXTRA_OUTPUTS,   /* columns more than the statement with the fewest, at most 3 */
    AUTO_FAILS,           /* 1: SQLite refuses the statement or a limit stops it */
    AUTO_REPAIRED,        /* 1: a statement that repair.h changed */
    AUTO_JUDGED,          /* 1: a language model names the statement */
    AUTO_FEATURES
};

struct auto_group {
    const char *sql;                  /* its most probable statement */
    const struct exec_result *result; /* on the database; NULL: not executed */
    double vote;                      /* sum of the probabilities of its candidates */
    bool repaired;
};

struct auto_question {
    const char *text;
    const struct schema *schema;
    struct exec_db *db;    /* NULL: no database */
    struct arena *scratch; /* for parse trees; its contents are kept */
};

struct auto_choice {
    double (*x)[AUTO_FEATURES];           /* [n] */
    const char *(*detail)[AUTO_FEATURES]; /* [n] words of question or statement that the feature is about; or NULL */
    double *p;                            /* [n] */
    double p_none;
    bool judged_none;    /* a language model names no statement */
    int n, best, second; /* second: -1 if there is one group */
    struct strings words;
};

/* Fills the choice among n groups, at least one.  The caller releases it. */
void auto_choice_make(struct auto_choice *c, const struct auto_question *q, const struct auto_group *groups, int n);
void auto_choice_release(struct auto_choice *c);
/* Adds the judgement of a language model, which names a group, or -1 for none of them.  Changes the probabilities. */
void auto_choice_judge(struct auto_choice *c, int group);
/* A sentence about the evidence that decides between the two most probable groups.  The choice owns it. */
const char *auto_choice_why(struct auto_choice *c);
/* Features of a group that are not 0, by name: a new reference. */
json_t *auto_choice_features(const struct auto_choice *c, int group);

#endif
