/* Part of commands.h: ambit-data prompts. */
#include "data/base/log.h"
#include "data/base/option_rows.h"
#include "data/cmd/commands.h"
#include "data/prompt/prompt.h"

struct prompts_arguments {
    const char *out;
    bool force;
};

static const struct prompts_arguments defaults = { 0 };

#define AT(field) offsetof(struct prompts_arguments, field)

static const struct option options[] = {
    OUT_DIR_OPTION(AT(out)),
    FORCE_OPTION(AT(force)),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    const struct prompts_arguments *a = call->options;

    if (prompts_write(a->out, a->force, err))
        return err->code;
    log_info("%s: eight prompts written; use them with --prompt-dir", a->out);
    return EXIT_CODE_OK;
}

static const struct file_note files[] = {
    { "DIR/def.txt, DIR/fill.txt, DIR/sql.txt, DIR/rewrite.txt, DIR/e2e.txt, DIR/gold.txt, DIR/e2e-shots.txt, "
      "DIR/correct.txt",
      "the prompts" },
    { 0 },
};

const struct command command_prompts = {
    .name = "prompts",
    .summary = "write the built-in prompts as files to edit",
    OPTIONS(options, defaults),
    .details = "def.txt asks for all interpretations, fill.txt for the missing ones, sql.txt for the SQL of one, "
               "rewrite.txt for a question with another name, e2e.txt and e2e-shots.txt for the SQL of all, "
               "gold.txt for the text of all, correct.txt for a review of interpretations. Each {} is a slot: "
               "database, question or existing interpretations. Guide: docs/guides/make-data.md.",
    .examples = { "ambit-data prompts -o prompts", "ambit-data prompts --out prompts/changed" },
    .files = files,
    .run = run,
};
