#include "data/span/problem.h"

#include "data/span/spoken.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[PROBLEM_CATEGORIES] = {
    [PROBLEM_COLUMN_AMBIGUITY] = "column-ambiguity",       [PROBLEM_VALUE_AMBIGUITY] = "value-ambiguity",
    [PROBLEM_COLUMN_UNANSWERABLE] = "column-unanswerable", [PROBLEM_VALUE_UNANSWERABLE] = "value-unanswerable",
    [PROBLEM_CALCULATION] = "calculation-unanswerable",    [PROBLEM_OUT_OF_SCOPE] = "out-of-scope",
};

const char *problem_category_name(enum problem_category c)
{
    return names[c];
}

/* Sums, means and differences are missing, because SQL computes them without another definition. */
const char *const problem_quantities[PROBLEM_QUANTITIES] = {
    "growth",   "ratio",      "margin",        "efficiency", "turnover", "premium",      "deficit",
    "yield",    "volatility", "index",         "density",    "balance",  "productivity", "variance",
    "momentum", "elasticity", "profitability", "churn",      "markup",   "coverage",
};

const char *const problem_requests[PROBLEM_REQUESTS] = {
    "draw a pie chart",
    "plot a bar chart",
    "forecast the next year",
    "send it by email",
    "translate it into French",
    "draw a trend line",
    "predict the next result",
    "export it as a spreadsheet",
    "insert a new row",
    "explain the reason",
    "plot a histogram",
    "delete the old rows",
    "recommend a better one",
    "print a report",
    "show a map",
    "set a reminder",
    "update the table",
    "read it aloud",
    "build a dashboard",
    "find a picture",
    "draw a scatter plot",
    "estimate the future",
    "share a link",
    "rename the column",
    "summarise the news",
    "make a slide",
    "upload the file",
    "play the video",
    "book a ticket",
    "call the office",
};

/* Words that tell a request beyond SQL. */
static const char *const beyond[] = {
    "draw",   "plot",   "chart",     "histogram", "dashboard", "slide",    "map",       "picture", "video",
    "trend",  "report", "print",     "forecast",  "predict",   "estimate", "future",    "email",   "upload",
    "export", "link",   "translate", "summarise", "summarize", "explain",  "recommend", "insert",  "delete",
    "update", "rename", "reminder",  "aloud",     "ticket",    "call",
};

/* Whether a word is in the list. */
static bool has_word(const struct spoken *said, const char *const *list, int n)
{
    for (int i = 0; i < n; i++)
        if (spoken_find(said, list[i]))
            return true;
    return false;
}

/* Whether the words look like a value. */
static bool is_value(const char *words, size_t n, bool opens)
{
    for (size_t i = 0; i < n; i++)
        if (isdigit((unsigned char)words[i]) || strchr("\"'", words[i]) ||
            (isupper((unsigned char)words[i]) && !(opens && i == 0)))
            return true;
    return false;
}

enum problem_category problem_of_unanswerable(const char *words, size_t n, bool opens)
{
    char *text = strndup(words, n);
    struct spoken said;

    CHECK(text, "no memory for words of %zu bytes", n);
    spoken_read(&said, text);
    free(text);
    if (has_word(&said, beyond, ARRAY_LEN(beyond)))
        return PROBLEM_OUT_OF_SCOPE;
    if (has_word(&said, problem_quantities, PROBLEM_QUANTITIES))
        return PROBLEM_CALCULATION;
    return is_value(words, n, opens) ? PROBLEM_VALUE_UNANSWERABLE : PROBLEM_COLUMN_UNANSWERABLE;
}
