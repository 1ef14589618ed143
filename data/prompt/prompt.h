/*
 * prompt.h - templates of prompts, whose slots are written {} and filled in order.
 *
 * The built-in prompts equal those of "Disambiguate First, Parse Later" byte for byte, because adapters were trained
 * with them. correct.txt has the words of the paper's appendix F; its blank lines are those of fill.txt, because the
 * published program lacks it. pairs.txt is ambit's own. A folder with files of the same names replaces prompts. The
 * contents of slots are not checked.
 */
#ifndef DATA_PROMPT_PROMPT_H
#define DATA_PROMPT_PROMPT_H

#include "data/schema/schema.h"

enum prompt_kind {
    PROMPT_DEF,       /* def.txt: database, question; asks for all interpretations */
    PROMPT_FILL,      /* fill.txt: database, question, existing interpretations; asks for the missing ones */
    PROMPT_SQL,       /* sql.txt: database, text; asks for its SQL */
    PROMPT_REWRITE,   /* rewrite.txt: question, other name; asks for the question with that name */
    PROMPT_E2E,       /* e2e.txt: database, question; asks for the SQL of every interpretation */
    PROMPT_GOLD,      /* gold.txt: database, question; asks for all interpretations, for models trained on gold */
    PROMPT_E2E_SHOTS, /* e2e-shots.txt: few-shot examples (prompter.h), database, question; as e2e.txt */
    PROMPT_CORRECT,   /* correct.txt: database, question, candidates; asks for the correct and the missing ones */
    PROMPT_PAIRS,     /* pairs.txt: database, question; asks for every interpretation with its SQL */
    PROMPT_KINDS
};

enum { PROMPT_MAX_SLOTS = 3 };

struct prompts {
    char *text[PROMPT_KINDS];
};

/* The built-in prompts, replaced by those in dir unless it is NULL. -1 with EXIT_CODE_USAGE: dir has none of the nine
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

/* Writes the nine built-in templates into dir, which is created if necessary. */
int prompts_write(const char *dir, bool force, struct error *err);

/*
 * Prompts for SQL statements of one question, as in the baselines of LogicalBeam's authors (Bhaskar et al., EMNLP
 * 2023).
 *
 *   list        five statements in a JSON object, after one example: word for word as in their program for ChatGPT
 *               (github.com/testzer0/AmbiQT, prompts/benchmark.txt)
 *   one         a statement for each sample, after two examples, as for Codex; in our words, since theirs are not
 *               published
 *   zero-shot   a statement for each sample, without values and examples: the prompt of Liu et al. (2023), with which
 *               their table 8 compares
 */
#define QUERY_PROMPTS "list|one|zero-shot"
enum query_prompt { QUERY_PROMPT_LIST, QUERY_PROMPT_ONE, QUERY_PROMPT_ZERO_SHOT };
/* The prompt of a name in QUERY_PROMPTS. */
enum query_prompt query_prompt_of(const char *name);

/* schema_text is "table : column (value, value), ... | ..."; zero-shot shows the names of the schema alone. */
struct query_question {
    const char *db_id, *question, *schema_text;
    const struct schema *schema;
};
/* The list of messages; the caller owns the reference. */
json_t *query_prompt_messages(enum query_prompt p, const struct query_question *q);

#endif
