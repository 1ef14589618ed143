/*
 * prompt.h - templates of prompts, whose slots are written {} and filled in order.
 *
 * The built-in prompts equal those of "Disambiguate First, Parse Later" byte for byte, because adapters were trained
 * with them. correct.txt has the words of the paper's appendix F; its blank lines are those of fill.txt, because the
 * published program lacks it. A folder with files of the same names replaces prompts. The contents of slots are not
 * checked.
 */
#ifndef DATA_PROMPT_PROMPT_H
#define DATA_PROMPT_PROMPT_H

#include "kernels/base.h"

enum prompt_kind {
    PROMPT_DEF,       /* def.txt: database, question; asks for all interpretations */
    PROMPT_FILL,      /* fill.txt: database, question, existing interpretations; asks for the missing ones */
    PROMPT_SQL,       /* sql.txt: database, text; asks for its SQL */
    PROMPT_REWRITE,   /* rewrite.txt: question, other name; asks for the question with that name */
    PROMPT_E2E,       /* e2e.txt: database, question; asks for the SQL of every interpretation */
    PROMPT_GOLD,      /* gold.txt: database, question; asks for all interpretations, for models trained on gold */
    PROMPT_E2E_SHOTS, /* e2e-shots.txt: few-shot examples (prompter.h), database, question; as e2e.txt */
    PROMPT_CORRECT,   /* correct.txt: database, question, candidates; asks for the correct and the missing ones */
    PROMPT_KINDS
};

enum { PROMPT_MAX_SLOTS = 3 };

struct prompts {
    char *text[PROMPT_KINDS];
};

/* The built-in prompts, replaced by those in dir unless it is NULL. -1 with EXIT_CODE_USAGE: dir has none of the eight
 * files, or a file with another number of slots; with EXIT_CODE_DATA: a file cannot be read. The caller releases
 * either way. */
int prompts_open(struct prompts *p, const char *dir, struct error *err);
void prompts_release(struct prompts *p);

const char *prompt_file(enum prompt_kind kind);
/* The type whose file is NAME.txt; PROMPT_KINDS if there is none or name is NULL. */
enum prompt_kind prompt_kind_of(const char *name);
int prompt_slots(enum prompt_kind kind);
/* A hash of all templates. */
uint64_t prompts_hash(const struct prompts *p);
/* The prompt with its slots filled, one text for each slot. The caller frees. */
char *prompt_fill(const struct prompts *p, enum prompt_kind kind, const char *const *slots);

/* Writes the eight built-in templates into dir, which is created if necessary. */
int prompts_write(const char *dir, bool force, struct error *err);

/* Prompts for several SQL statements of one question, as in the baselines of LogicalBeam's authors. ChatGPT gets one
 * example and returns a JSON list; Codex gets two examples and returns a statement for each sample. The wording is
 * ours, since theirs is not published. The schema is shown with values (AmbiQT's schema_with_content). */

enum query_prompt { QUERY_PROMPT_LIST, QUERY_PROMPT_ONE };

/* The caller frees. */
char *query_prompt_text(enum query_prompt p, const char *question, const char *schema);

#endif
