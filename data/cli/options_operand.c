/* Part of options_impl.h: an operand that is a text where a file is expected. */
#include "data/cli/options_impl.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* SELECT or WITH, and more behind it. */
static bool is_statement(const char *word)
{
    static const char *const starts[] = { "select", "with" };

    word += strspn(word, " \t\r\n(");
    for (int i = 0; i < ARRAY_LEN(starts); i++) {
        size_t n = strlen(starts[i]);
        if (strncasecmp(word, starts[i], n) == 0 && isspace((unsigned char)word[n]))
            return true;
    }
    return false;
}

/* A file that is missing may have blanks in its name, but ends as files do. */
static bool is_text(const char *word)
{
    const char *dot = strrchr(word, '.'), *slash = strrchr(word, '/');
    size_t ending = dot && (!slash || dot > slash)
                        ? strspn(dot + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
                        : 0;

    return strpbrk(word, " \t\n") && (ending == 0 || dot[1 + ending]);
}

static bool has_option(const struct command *c, const char *name)
{
    const struct option *o = c->options;

    while (o->name && strcmp(o->name, name))
        o++;
    return o->name != NULL;
}

int options_check_operand(const struct command *c, const char *word, struct error *err)
{
    bool statement = is_statement(word);
    const char *way = statement                   ? "its lines are {\"sql\": \"...\"}"
                      : has_option(c, "question") ? "one question is given by --question"
                                                  : "it has a JSON object in each line";

    if (!strstr(c->operands, ".json") || (!statement && !is_text(word)) || access(word, F_OK) == 0)
        return 0;
    return error_set(err, EXIT_CODE_USAGE, "expected a file, %s, got \"%.200s\"; %s", c->operands, word, way);
}
