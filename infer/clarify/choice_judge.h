/*
 * choice_judge.h - a language model's judgement between candidate statements, by the rows that part them.
 *
 * A prompt shows the user's question, the most probable statements, and a few rows of each that another statement
 * lacks. The model names one statement, or none.  It is asked twice, the second time with the statements in reverse
 * order, because models prefer positions (Zheng et al. 2023, Judging LLM-as-a-Judge).  Only two equal answers count.
 * They are one more feature of auto_choice.h, whose weight is a fixed trust.
 *
 * Rows come from untrusted databases and may try to instruct the model.  They can change a choice, and nothing else.
 */
#ifndef INFER_CLARIFY_CHOICE_JUDGE_H
#define INFER_CLARIFY_CHOICE_JUDGE_H

#include "data/clarify/auto_choice.h"
#include "infer/clarify/model_memo.h"

enum { JUDGED_MAX = 4 }; /* maximum number of statements in a prompt */

/* Lets the model judge the most probable groups of a choice that have a result.  A judgement changes the probabilities.
 * If there are two or more, *out becomes {"statements", "sql" or "error"}, a new reference: the number of statements,
 * the named one, null for none.  Without a usable answer the choice stays, and "error" has the reason.  Returns -1 with
 * err if a model in memory failed, or after a signal. */
int judge_choice(json_t **out, struct model_memo *m, struct auto_choice *c, const char *question,
                 const struct auto_group *groups, struct error *err);

/* Writes a prompt about groups shown [n].  The caller frees the text. */
char *judge_prompt(const char *question, const struct auto_group *groups, const int *shown, int n);
/* Reads a completion: {"statement": "A"} or the letter alone, perhaps behind thoughts.  Returns the place of the
 * statement in the prompt, n for none, or -1 if the completion cannot be read. */
int judge_read(const char *completion, int n);

#endif
