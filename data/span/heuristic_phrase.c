/* Part of heuristic.h: where noun phrases stand. */
#include "data/span/heuristic_impl.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static int compare_words(const void *a, const void *b)
{
    return strcmp(a, *(const char *const *)b);
}

#define IS_IN(word, list) (bsearch(word, list, sizeof(list) / sizeof *(list), sizeof *(list), compare_words) != NULL)

/* Words of questions that are no names of things, as stems and in order. */
static const char *const common[] = {
    "about",   "above",         "after",   "against", "all",        "along",     "also",     "am",      "among",
    "any",     "ascending",     "average", "be",      "became",     "become",    "been",     "before",  "begin",
    "below",   "best",          "between", "both",    "but",        "came",      "can",      "come",    "common",
    "contain", "corresponding", "could",   "count",   "descending", "different", "display",  "doe",     "during",
    "each",    "earliest",      "either",  "equal",   "ever",       "every",     "exactly",  "fewest",  "find",
    "first",   "following",     "found",   "gave",    "get",        "give",      "given",    "go",      "got",
    "greater", "greatest",      "had",     "has",     "have",       "having",    "he",       "her",     "high",
    "higher",  "highest",       "his",     "i",       "if",         "include",   "into",     "it",      "kind",
    "larger",  "largest",       "last",    "latest",  "least",      "less",      "like",     "list",    "long",
    "longest", "low",           "lower",   "lowest",  "made",       "make",      "many",     "maximum", "me",
    "minimum", "more",          "most",    "much",    "my",         "new",       "no",       "not",     "number",
    "off",     "old",           "older",   "oldest",  "one",        "only",      "order",    "other",   "our",
    "out",     "over",          "play",    "please",  "return",     "same",      "second",   "see",     "she",
    "should",  "show",          "shown",   "since",   "smaller",    "smallest",  "some",     "sort",    "still",
    "such",    "sum",           "take",    "tell",    "than",       "that",      "their",    "them",    "there",
    "these",   "they",          "thi",     "third",   "those",      "time",      "together", "took",    "top",
    "total",   "two",           "type",    "under",   "until",      "up",        "us",       "use",     "used",
    "very",    "was",           "we",      "were",    "while",      "whom",      "whose",    "will",    "win",
    "within",  "without",       "won",     "would",   "you",        "youngest",  "your"
};

/* What stands before a noun phrase, as those do. */
static const char *const openers[] = { "a",    "all",   "an",  "any",   "at",   "average", "by",   "each", "every",
                                       "for",  "from",  "her", "his",   "how",  "in",      "it",   "many", "more",
                                       "much", "no",    "of",  "on",    "our",  "s",       "some", "than", "that",
                                       "the",  "their", "thi", "total", "what", "which",   "with", "your" };

static bool is_verb(const char *stem, size_t n)
{
    return n > 4 && (strcmp(stem + n - 2, "ed") == 0 || strcmp(stem + n - 3, "ing") == 0);
}

static bool is_content(const struct spoken_word *w, const char *question)
{
    return !w->filler && !isdigit((unsigned char)question[w->from]) && strlen(w->stem) > 1 && !IS_IN(w->stem, common);
}

static bool is_opened(const struct spoken *words, int first)
{
    return first > 0 && (IS_IN(words->words[first - 1].stem, openers) || IS_IN(words->words[first - 1].stem, common));
}

/* Whether a quotation, a bracket or a part of the sentence ends or begins between two words. */
static bool is_parted(const char *question, const struct spoken_word *a, const struct spoken_word *b)
{
    for (int i = a->to; i < b->from; i++)
        if (strchr("\"`,;:()[]", question[i]) || strncmp(question + i, "\xe2\x80\x9c", 3) == 0)
            return true;
    return false;
}

static int phrase_end(const struct spoken *words, int first, const char *question, const bool *taken)
{
    int last = first;

    while (last + 1 < words->n && !taken[last + 1] && is_content(&words->words[last + 1], question)) {
        const char *stem = words->words[last + 1].stem;
        if (is_verb(stem, strlen(stem)) || is_parted(question, &words->words[last], &words->words[last + 1]))
            break;
        last++;
    }
    return last;
}

bool noun_phrase_next(struct noun_phrase *p, const char *question, const struct spoken *words, const bool *taken)
{
    for (int i = p->last + 1; i < words->n; i++) {
        if (taken[i] || !is_content(&words->words[i], question) || !is_opened(words, i))
            continue;
        p->first = i;
        p->last = i = phrase_end(words, i, question, taken);
        if (i + 1 == words->n || !taken[i + 1]) /* else it says more of what is taken */
            return true;
    }
    return false;
}
