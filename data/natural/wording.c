#include "data/natural/wording.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { LONGEST = 1024 };

/* Openings of questions, and what they become as commands. */
static const char *const commands[][2] = {
    { "What are the ", "List the " },         { "What is the ", "Give me the " },
    { "What are the ", "Show the " },         { "What is the ", "Get the " },
    { "What are all the ", "List all the " }, { "Show ", "I need " },
    { "List ", "We would like to see " },     { "Find ", "Please find " },
    { "Return ", "Please return " },          { "Give ", "Can you give " },
};

/* Phrases before a question that opens with a question word. */
static const char *const requests[] = { "Could you tell me: ", "Quick question: ", "I am wondering, ",
                                        "For the report: ", "Hi, " };

static void chop(char *s)
{
    size_t n = strlen(s);

    while (n && (isspace((unsigned char)s[n - 1]) || strchr(".?!", s[n - 1])))
        s[--n] = 0;
}

static void lower_all(char *s)
{
    bool quoted = false;

    for (; *s; s++) {
        quoted = quoted != (*s == '"' || *s == '\'');
        if (!quoted)
            *s = (char)tolower((unsigned char)*s);
    }
}

/* The question behind a new opening; false where it has none of those that can be exchanged. */
static bool command(char *out, size_t size, const char *question, struct rng *rng)
{
    int begin = (int)rng_below(rng, ARRAY_LEN(commands));

    for (int k = 0; k < ARRAY_LEN(commands); k++) {
        const char *const *c = commands[(begin + k) % ARRAY_LEN(commands)];
        size_t n = strlen(c[0]);
        if (strncmp(question, c[0], n) != 0)
            continue;
        snprintf(out, size, "%s%s", c[1], question + n);
        chop(out);
        return true;
    }
    return false;
}

/* "names of all singers": the question without its opening. */
static bool fragment(char *out, size_t size, const char *question)
{
    static const char *const openings[] = { "What are the ", "What is the ", "Show the ", "List the ",
                                            "Find the ",     "Return the ",  "Give the " };

    for (int i = 0; i < ARRAY_LEN(openings); i++)
        if (strncmp(question, openings[i], strlen(openings[i])) == 0) {
            snprintf(out, size, "%s", question + strlen(openings[i]));
            chop(out);
            return true;
        }
    return false;
}

const char *wording_restyle(struct strings *text, const char *question, struct rng *rng)
{
    char out[LONGEST];
    uint32_t style = rng_below(rng, 20);

    snprintf(out, sizeof out, "%s", question);
    if (strlen(question) + 64 > sizeof out)
        return strings_keep(text, question);
    if (style == 0 || style == 1)
        lower_all(out);
    if (style == 1 || style == 2)
        chop(out);
    if (style == 3 || style == 4)
        command(out, sizeof out, question, rng);
    if (style == 5 && fragment(out, sizeof out, question))
        lower_all(out);
    if (style == 6)
        snprintf(out, sizeof out, "%s%c%s", requests[rng_below(rng, ARRAY_LEN(requests))],
                 tolower((unsigned char)question[0]), question + 1);
    return strings_keep(text, out);
}
