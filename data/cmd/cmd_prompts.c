/* Part of commands.h: ambit-data prompts. */
#include "data/cli/option_rows.h"
#include "data/cmd/commands.h"
#include "data/prompt/prompt.h"
#include "data/util/log.h"

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
    log_info("%s: eight prompts, to be changed and given back with --prompt-dir", a->out);
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
    .summary = "writes the built-in prompts as files that can be changed",
    OPTIONS(options, defaults),
    .details =
        "def.txt asks for all readings of a question, fill.txt for those that are missing, sql.txt for the SQL of a "
        "reading, rewrite.txt for a question with another name in it, e2e.txt for the SQL of all readings, gold.txt "
        "for all readings as the authors of \"Disambiguate First, Parse Later\" asked models trained on gold, "
        "e2e-shots.txt for the SQL of all readings behind worked examples, correct.txt for a model's own readings as they "
        "should be (in words of ours). Every {} "
        "is a slot: the database, the question, the readings that exist. A folder given with --prompt-dir may have "
        "some of the files; the others stay as they are.",
    .examples = { "ambit-data prompts -o prompts", "ambit-data prompts --out prompts/changed" },
    .files = files,
    .run = run,
};
