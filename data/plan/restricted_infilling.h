/*
 * restricted_infilling.h - LogicalBeam's published rules of filling a template, on rows of scores from anywhere.
 *
 * docs/reference/restricted-infilling.md has the rules in words.  Nothing here knows a model or a tokenizer: both are
 * functions of the caller, so that stored score tables are replayed (tests/gold/infilling.json) by what models are
 * driven by.
 */
#ifndef DATA_PLAN_RESTRICTED_INFILLING_H
#define DATA_PLAN_RESTRICTED_INFILLING_H

#include "data/plan/sql_template.h"

/* What becomes of a beam's row of log-probabilities. */
enum infilling_decision {
    INFILLING_KILL,   /* all -inf */
    INFILLING_FORCE,  /* -inf but for the first greatest, which becomes 1 */
    INFILLING_BRANCH, /* -inf but for the whitelist */
    INFILLING_LEAVE   /* as it is */
};

/* All borrowed.  Without a template, as in the ablation of one stage: a row whose greatest is in the whitelist
 * branches, others are forced. */
struct infilling_rules {
    const struct template_names *names;
    const char *template;
    const int32_t *prefix; /* [n_prefix] what beams are forced to begin with, the start token first */
    int n_prefix;
    bool branch_columns, branch_tables;
    const int32_t *whitelist; /* [n_whitelist] ascending */
    int n_whitelist;
    int unrestricted_from; /* tokens of a beam, the start token counted, from which on rows are left: 128 */
};

struct infilling_ids {
    int32_t *items;
    int n, cap;
};
/* Appends the tokens of a text alone. */
typedef void infilling_encode_fn(void *user, const char *text, struct infilling_ids *out);
/* Those of a schema string, ascending, each once; out starts as { 0 }.  -1 with EXIT_CODE_DATA as
 * template_names_of_text. */
int infilling_whitelist(struct infilling_ids *out, const char *schema, bool columns, bool tables,
                        infilling_encode_fn *encode, void *user, struct error *err);

/* Of a beam of so many tokens that decode to text. */
enum infilling_decision infilling_decide(const struct infilling_rules *r, const char *text, int n_tokens);
/* Both, and the prefix; the text may be NULL where it does not decide. */
enum infilling_decision infilling_restrict(const struct infilling_rules *r, const char *text, int n_tokens, double *row,
                                           int n_vocabulary);
/* transformers' clean_up_tokenization_spaces; takes the text, and the caller frees what it returns. */
char *infilling_clean_up(char *text);
/* What is kept of an answer: its statement in normal form, which the caller frees; NULL where it has another template.
 */
char *infilling_statement(const struct infilling_rules *r, const char *text);

/* The search: scores writes a row of log-probabilities behind each of n beams of `length` tokens, and ends the search
 * where it returns -1; decode returns a beam's text, which the search frees; seen, unless NULL, is told every step's
 * decisions and the beams that it left. */
struct infilling_search {
    const struct infilling_rules *rules;
    int beams, max_length, n_vocabulary;
    int32_t start, end;
    void *user;
    int (*scores)(void *user, double *rows, const int32_t *const *beams, int n, int length);
    char *(*decode)(void *user, const int32_t *ids, int n);
    void (*seen)(void *user, const enum infilling_decision *decisions, int n_decisions, const int32_t *const *beams,
                 const double *sums, int n_beams);
};

/* A finished text without start and end, and its score. */
struct infilling_answer {
    int32_t *ids;
    int n;
    double score;
};
/* Up to `beams` answers, the best first; of equal ones the one finished earlier.  Dead beams give none.  Returns how
 * many; the caller frees ids and the list.  -1, and nothing to free, where scores said so. */
int infilling_run(struct infilling_answer **answers, const struct infilling_search *s);

#endif
