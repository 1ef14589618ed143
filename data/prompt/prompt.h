/*
 * prompt.h - what language models are asked, as templates whose slots are written {} and filled in order.
 *
 * Built in are the prompts of "Disambiguate First, Parse Later", byte for byte, since adapters were trained with them
 * (but correct.txt, of which the paper tells what it asks and the program has nothing: its words are ours); a folder
 * with files of the same names replaces them.  What fills a slot is not looked into.
 */
#ifndef DATA_PROMPT_PROMPT_H
#define DATA_PROMPT_PROMPT_H

#include "kernels/base.h"

enum prompt_kind {
    PROMPT_DEF,       /* def.txt: database, question; all readings of it */
    PROMPT_FILL,      /* fill.txt: database, question, readings that exist; those that are missing */
    PROMPT_SQL,       /* sql.txt: database, text; its SQL */
    PROMPT_REWRITE,   /* rewrite.txt: question, other name; the question with that name */
    PROMPT_E2E,       /* e2e.txt: database, question; the SQL of every reading */
    PROMPT_GOLD,      /* gold.txt: database, question; all readings of it, as a model trained on gold was asked */
    PROMPT_E2E_SHOTS, /* e2e-shots.txt: worked examples (prompter.h), database, question; the SQL of every reading */
    PROMPT_CORRECT,   /* correct.txt: database, question, readings; the readings as they should be */
    PROMPT_KINDS
};

enum { PROMPT_MAX_SLOTS = 3 };

struct prompts {
    char *text[PROMPT_KINDS];
};

/* The built-in ones, and those of dir in their place unless it is NULL.  -1: dir has none of the eight files, or one
 * with another number of slots (EXIT_CODE_USAGE); a file that cannot be read (EXIT_CODE_DATA).  Released by the caller
 * either way. */
int prompts_open(struct prompts *p, const char *dir, struct error *err);
void prompts_release(struct prompts *p);

const char *prompt_file(enum prompt_kind kind);
/* The kind whose file is NAME.txt; PROMPT_KINDS when there is none or name is NULL. */
enum prompt_kind prompt_kind_of(const char *name);
int prompt_slots(enum prompt_kind kind);
/* A sum of all templates. */
uint64_t prompts_hash(const struct prompts *p);
/* The prompt with its slots filled, one text for each; the caller frees. */
char *prompt_fill(const struct prompts *p, enum prompt_kind kind, const char *const *slots);

/* Writes the eight built-in templates into dir, which is made when it is missing. */
int prompts_write(const char *dir, bool force, struct error *err);

/*
 * Several SQL statements of one question, from models elsewhere: the two baselines of LogicalBeam's
 * authors, ChatGPT asked for a list and Codex asked again and again for one statement.
 *
 * The authors' forms, one example and a JSON list, two examples and SQL in braces, in words of ours: theirs are not at
 * hand.  The schema is shown with values (AmbiQT's schema_with_content).
 */

enum query_prompt { QUERY_PROMPT_LIST, QUERY_PROMPT_ONE };

/* The caller frees. */
char *query_prompt_text(enum query_prompt p, const char *question, const char *schema);

#endif
