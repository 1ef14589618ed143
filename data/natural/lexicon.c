#include "data/natural/lexicon_impl.h"

#include <stdio.h>
#include <string.h>

enum { MOST_MEMBERS = 8 };

/* The word of length n, or its singular, is the noun. */
static bool word_is(const char *word, size_t n, const char *noun)
{
    size_t length = strlen(noun);

    if (strncmp(word, noun, length) == 0 && (n == length || (n == length + 1 && word[length] == 's')))
        return true;
    if (n == length + 2 && strncmp(word, noun, length) == 0 && strncmp(word + length, "es", 2) == 0)
        return true;
    return n == length + 2 && noun[length - 1] == 'y' && strncmp(word, noun, length - 1) == 0 &&
           strncmp(word + length - 1, "ies", 3) == 0;
}

unsigned noun_classes(const char *table_text)
{
    const char *space = strrchr(table_text, ' '), *word = space ? space + 1 : table_text;

    for (int i = 0; i < lexicon_n_nouns; i++)
        if (word_is(word, strlen(word), lexicon_nouns[i].word))
            return lexicon_nouns[i].classes;
    return NOUN_OTHER;
}

static const struct lexicon_entry *find(const struct lexicon_entry *list, int n, const char *head, unsigned classes,
                                        const struct lexicon_entry *after)
{
    for (int i = after ? (int)(after - list) + 1 : 0; i < n; i++)
        if ((list[i].classes & classes) && (!head || strcmp(list[i].head, head) == 0))
            return &list[i];
    return NULL;
}

const struct lexicon_entry *lexicon_column(const char *head, unsigned classes, const struct lexicon_entry *after)
{
    return find(lexicon_columns, lexicon_n_columns, head, classes, after);
}

const struct lexicon_entry *lexicon_last_word(const char *word, const struct lexicon_entry *after)
{
    return find(lexicon_generic, lexicon_n_generic, word, ~0U, after);
}

const struct lexicon_entry *lexicon_table(unsigned classes, const struct lexicon_entry *after)
{
    return find(lexicon_tables, lexicon_n_tables, NULL, classes, after);
}

const struct lexicon_entry *lexicon_role(const char *noun, const struct lexicon_entry *after)
{
    for (int i = after ? (int)(after - lexicon_roles) + 1 : 0; i < lexicon_n_roles; i++)
        if (word_is(noun, strlen(noun), lexicon_roles[i].head))
            return &lexicon_roles[i];
    return NULL;
}

/* Writes a pattern of n bytes, in which ~ stands for the head. */
static void fill(char *out, size_t size, const char *pattern, size_t n, const char *head)
{
    size_t used = 0;

    out[0] = 0;
    for (size_t i = 0; i < n && used + 1 < size; i++) {
        int more = pattern[i] == '~' ? snprintf(out + used, size - used, "%s", head)
                                     : snprintf(out + used, size - used, "%c", pattern[i]);
        used += (size_t)more;
    }
}

static void read_member(struct lexicon_member *out, const char *text, size_t n, const char *head)
{
    const char *equal = memchr(text, '=', n);

    if (equal) {
        fill(out->name, sizeof out->name, text, (size_t)(equal - text), head);
        fill(out->phrase, sizeof out->phrase, equal + 1, n - (size_t)(equal + 1 - text), head);
    } else if (memchr(text, '~', n)) {
        fill(out->name, sizeof out->name, text, n, head);
        snprintf(out->phrase, sizeof out->phrase, "%s", out->name);
    } else {
        snprintf(out->name, sizeof out->name, "%.*s%s%s", (int)n, text, head[0] ? " " : "", head);
        snprintf(out->phrase, sizeof out->phrase, "%s", out->name);
    }
}

void lexicon_draw(struct lexicon_member out[2], const struct lexicon_entry *e, const char *head, struct rng *rng)
{
    const char *begins[MOST_MEMBERS] = { 0 };
    size_t lengths[MOST_MEMBERS];
    int n = 0;

    for (const char *p = e->members; n < MOST_MEMBERS && p; p = strchr(p, '|') ? strchr(p, '|') + 1 : NULL) {
        begins[n] = p;
        lengths[n++] = strcspn(p, "|");
    }
    int first = (int)rng_below(rng, (uint32_t)n), second = (int)rng_below(rng, (uint32_t)n - 1);
    second += second >= first;
    read_member(&out[0], begins[first], lengths[first], head);
    read_member(&out[1], begins[second], lengths[second], head);
}
