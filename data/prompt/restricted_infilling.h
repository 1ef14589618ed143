/*
 * restricted_infilling.h - LogicalBeam's published rules for filling a template, applied to rows of scores.
 *
 * docs/reference/restricted-infilling.md describes the rules. The module knows neither model nor tokenizer: both are
 * callbacks. So the tests replay stored score tables (tests/gold/infilling.json) through the code that drives the
 * models.
 */
#ifndef DATA_PROMPT_RESTRICTED_INFILLING_H
#define DATA_PROMPT_RESTRICTED_INFILLING_H

#include "data/prompt/sql_template.h"

/* Effect on a row of log-probabilities of a beam. */
enum infilling_decision {
    INFILLING_KILL,   /* all become -inf */
    INFILLING_FORCE,  /* all but the first maximum become -inf; the maximum becomes 1 */
    INFILLING_BRANCH, /* all outside the whitelist become -inf */
    INFILLING_LEAVE   /* unchanged */
};

/* All pointers are borrowed. Without a template (the one-stage ablation), a row branches if its maximum is in the
 * whitelist, and is forced otherwise. */
struct infilling_rules {
    const struct template_names *names;
    const char *template;
    const int32_t *prefix; /* [n_prefix] forced first tokens, with the start token */
    int n_prefix;
    bool branch_columns, branch_tables;
    const int32_t *whitelist; /* [n_whitelist] ascending token ids */
    int n_whitelist;
    int unrestricted_from; /* number of tokens, with the start token, from which rows are left unchanged: 128 */
};

struct infilling_ids {
    int32_t *items;
    int n, cap;
};
/* Appends the tokens of a text, without special tokens. */
typedef void infilling_encode_fn(void *user, const char *text, struct infilling_ids *out);
/* Collects the tokens of the names in a schema string, ascending and distinct. out starts as { 0 }. -1 with
 * EXIT_CODE_DATA as template_names_of_text. */
int infilling_whitelist(struct infilling_ids *out, const char *schema, bool columns, bool tables,
                        infilling_encode_fn *encode, void *user, struct error *err);

/* The decision for a beam of n_tokens tokens that decode to text. */
enum infilling_decision infilling_decide(const struct infilling_rules *r, const char *text, int n_tokens);
/* Decides and edits the row, including the forced prefix. text may be NULL if it is not needed. */
enum infilling_decision infilling_restrict(const struct infilling_rules *r, const char *text, int n_tokens, double *row,
                                           int n_vocabulary);
/* Reproduces transformers' clean_up_tokenization_spaces. Takes the text; the caller frees the result. */
char *infilling_clean_up(char *text);
/* The statement of a completion in normal form, or NULL if its template differs. The caller frees. */
char *infilling_statement(const struct infilling_rules *r, const char *text);

/* A beam search. scores writes a row of log-probabilities for each of n beams of `length` tokens; -1 ends the search.
 * decode returns the text of a beam, which the search frees. seen, unless NULL, receives the decisions and the
 * remaining beams of each step. */
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

/* A finished sequence without start and end token, and its score. */
struct infilling_answer {
    int32_t *ids;
    int n;
    double score;
};
/* Runs the search. Returns the number of answers, at most `beams`, the best first; ties keep the order of completion.
 * The caller frees the ids and the list. Returns -1, with nothing to free, if scores failed. */
int infilling_run(struct infilling_answer **answers, const struct infilling_search *s);

#endif
