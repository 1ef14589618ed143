#include "data/natural/ask_templates.h"

#include "data/natural/element_style.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct ask_template templates[] = {
    { ASK_ALL, "What is the {x} of each {s}?", ASK_SINGULAR },
    { ASK_ALL, "Show the {x} of every {s}.", ASK_ANY },
    { ASK_ALL, "List the {xs} of all {ss}.", ASK_ANY },
    { ASK_ALL, "Give me the {x} for each {s}.", ASK_ANY },
    { ASK_ALL, "For every {s}, show the {x}.", ASK_ANY },
    { ASK_ALL, "{xs} of all {ss}", ASK_ANY },
    { ASK_ALL, "What are the {xs} of the {ss}?", ASK_ANY },
    { ASK_ALL, "I need the {x} of each {s}, please.", ASK_ANY },
    { ASK_ALL, "Could you show me the {x} for all {ss}?", ASK_ANY },
    { ASK_ALL, "The {x} of every {s} should be listed.", ASK_ANY },
    { ASK_LABELS, "List the {k} and the {x} of each {s}.", ASK_ANY },
    { ASK_LABELS, "What are the {k} and {x} of all {ss}?", ASK_ANY },
    { ASK_LABELS, "{k} and {x} per {s}", ASK_ANY },
    { ASK_LABELS, "Show each {s} with {k} and {x}.", ASK_ANY },
    { ASK_LABELS, "Return the {x} next to the {k} for every {s}.", ASK_ANY },
    { ASK_LABELS, "I want a table with the {k} and the {x}.", ASK_ANY },
    { ASK_LABELS, "List every {k} with its {x}.", ASK_ANY },
    { ASK_LABELS, "Show {k} and {x} side by side.", ASK_ANY },
    { ASK_LABELS, "What is the {x} for each {k}?", ASK_SINGULAR },
    { ASK_LABELS, "{x} by {k} please", ASK_ANY },
    { ASK_LABELS, "For each {k}, what is the {x}?", ASK_SINGULAR },
    { ASK_VALUE, "What is the {x} of {v}?", ASK_SINGULAR },
    { ASK_VALUE, "What's the {x} for {v}?", ASK_SINGULAR },
    { ASK_VALUE, "What are the {x} for {v}?", ASK_PLURAL },
    { ASK_VALUE, "How many {x} does {v} have?", ASK_PLURAL | ASK_NUMBER },
    { ASK_VALUE, "How many {x} are there for {v}?", ASK_PLURAL | ASK_NUMBER },
    { ASK_VALUE, "Find the {x} where the {k} is {v}.", ASK_ANY },
    { ASK_VALUE, "Show me the {x} of the {s} with {k} {v}.", ASK_ANY },
    { ASK_VALUE, "Can you tell me the {x} for the {k} {v}?", ASK_ANY },
    { ASK_VALUE, "When the {k} is {v}, what is the {x}?", ASK_SINGULAR },
    { ASK_VALUE, "Which {x} does {v} have?", ASK_SINGULAR },
    { ASK_VALUE, "{v}: which {x}?", ASK_ANY },
    { ASK_VALUE, "Look up {v} and give me the {x}.", ASK_ANY },
    { ASK_VALUE, "I'm looking for the {x} of {v}.", ASK_ANY },
    { ASK_MOST, "Which {s} has the highest {x}?", ASK_SINGULAR | ASK_NUMBER },
    { ASK_MOST, "Which {k} has the highest {x}?", ASK_SINGULAR | ASK_NUMBER },
    { ASK_MOST, "Which {k} has the most {x}?", ASK_PLURAL | ASK_NUMBER },
    { ASK_MOST, "Which {s} has the most {x}?", ASK_PLURAL | ASK_NUMBER },
    { ASK_MOST, "Find the {k} of the {s} with the largest {x}.", ASK_SINGULAR | ASK_NUMBER },
    { ASK_MOST, "Which {s} has the latest {x}?", ASK_SINGULAR | ASK_TIME },
    { ASK_MOST, "Show the {k} of the {s} with the most recent {x}.", ASK_SINGULAR | ASK_TIME },
    { ASK_LEAST, "Which {s} has the lowest {x}?", ASK_SINGULAR | ASK_NUMBER },
    { ASK_LEAST, "Which {k} has the lowest {x}?", ASK_SINGULAR | ASK_NUMBER },
    { ASK_LEAST, "Which {k} has the fewest {x}?", ASK_PLURAL | ASK_NUMBER },
    { ASK_LEAST, "What is the {k} of the {s} with the smallest {x}?", ASK_SINGULAR | ASK_NUMBER },
    { ASK_LEAST, "Which {s} has the earliest {x}?", ASK_SINGULAR | ASK_TIME },
    { ASK_AVERAGE, "What is the average {x} of all {ss}?", ASK_SINGULAR | ASK_NUMBER },
    { ASK_AVERAGE, "What is the average number of {x}?", ASK_PLURAL | ASK_NUMBER },
    { ASK_AVERAGE, "Compute the mean {x}.", ASK_SINGULAR | ASK_NUMBER },
    { ASK_AVERAGE, "average {x} over all {ss}", ASK_SINGULAR | ASK_NUMBER },
    { ASK_DISTINCT, "How many different {xs} are there?", ASK_NO_NUMBER },
    { ASK_DISTINCT, "Count the distinct {xs} of the {ss}.", ASK_NO_NUMBER },
    { ASK_ORDER, "List the {k} of each {s}, sorted by {x}.", ASK_ANY },
    { ASK_ORDER, "Show all {ss} by {k}, ordered by {x}.", ASK_ANY },
    { ASK_ORDER, "Sort the {ks} by {x}.", ASK_ANY },
    { ASK_GROUP, "How many {ss} are there for each {x}?", ASK_SINGULAR | ASK_NO_NUMBER },
    { ASK_GROUP, "Count the {ss} per {x}.", ASK_SINGULAR | ASK_NO_NUMBER },
    { ASK_GROUP, "Number of {ss} by {x}", ASK_SINGULAR | ASK_NO_NUMBER },
};

static bool has(const struct ask_template *t, char brace)
{
    for (const char *p = strchr(t->text, '{'); p; p = strchr(p + 1, '{'))
        if (p[1] == brace)
            return true;
    return false;
}

static bool fits_type(unsigned only, enum column_type type)
{
    return !((only & ASK_NUMBER) && type != COLUMN_NUMBER) && !((only & ASK_TIME) && type != COLUMN_TIME) &&
           !((only & ASK_NO_NUMBER) && type == COLUMN_NUMBER);
}

static bool fits(const struct ask_template *t, const struct ask_words *w, enum column_type type, bool plural,
                 bool joined)
{
    bool by_label = t->query == ASK_MOST || t->query == ASK_LEAST || t->query == ASK_ORDER || t->query == ASK_LABELS;

    if ((has(t, 's') && !w->s) || ((has(t, 'k') || by_label) && !w->k) || (has(t, 'v') && !w->v))
        return false;
    if (!fits_type(t->only, type) || (t->only & (plural ? ASK_SINGULAR : ASK_PLURAL)))
        return false;
    return !joined || t->query == ASK_ALL || t->query == ASK_LABELS || t->query == ASK_DISTINCT ||
           t->query == ASK_GROUP;
}

const struct ask_template *ask_template_draw(struct rng *rng, const struct ask_words *w, enum column_type type,
                                             bool joined)
{
    const struct ask_template *found = NULL;
    struct strings text = { 0 };
    bool plural = strcmp(element_singular(&text, w->x), w->x) != 0;
    uint32_t fit = 0;

    strings_release(&text);
    for (int i = 0; i < ARRAY_LEN(templates); i++)
        if (fits(&templates[i], w, type, plural, joined) && rng_below(rng, ++fit) == 0)
            found = &templates[i];
    return found;
}

/* The text that replaces the brace at p; *length gets the letters of the brace. */
static const char *word_for(struct strings *text, const char *p, const struct ask_words *w, size_t *length)
{
    *length = strcspn(p, "}") + 1;
    const char *word = p[1] == 'x' ? w->x : p[1] == 's' ? w->s : p[1] == 'k' ? w->k : w->v;
    return *length == 4 ? element_plural(text, element_singular(text, word)) : word;
}

const char *ask_template_write(struct strings *text, const struct ask_template *t, const struct ask_words *w,
                               bool casual)
{
    char *out = NULL;
    size_t size, length;
    FILE *f = open_memstream(&out, &size);

    CHECK(f, "cannot write to memory");
    for (const char *p = t->text; *p; p += length) {
        length = 1;
        if (*p == '{')
            fputs(word_for(text, p, w, &length), f);
        else
            putc(*p, f);
    }
    CHECK(fclose(f) == 0, "cannot write to memory");
    if (casual && size && strchr(".?", out[size - 1]))
        out[size - 1] = 0;
    if (casual && islower((unsigned char)out[1]))
        out[0] = (char)tolower((unsigned char)out[0]);
    const char *kept = strings_keep(text, out);
    free(out);
    return kept;
}
