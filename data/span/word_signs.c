#include "data/span/word_signs.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void word_names_init(struct word_names *n, const struct schema *s)
{
    *n = (struct word_names){ .n = s->n_tables + s->n_columns, .n_tables = s->n_tables };
    n->words = xmalloc((size_t)n->n * NAME_MAX_WORDS * sizeof *n->words + 1);
    n->start = xcalloc((size_t)n->n + 1, sizeof *n->start);
    for (int i = 0; i < n->n; i++) {
        const char *text = i < s->n_tables ? s->tables[i].text : s->columns[i - s->n_tables].text;
        n->start[i + 1] = n->start[i] + match_words_read(text, n->words + n->start[i], NAME_MAX_WORDS);
    }
}

void word_names_release(struct word_names *n)
{
    free(n->words);
    free(n->start);
    *n = (struct word_names){ 0 };
}

static bool same(const struct match_word *a, const struct match_word *b)
{
    return a->word == b->word || a->stem == b->stem;
}

/* Whether the name of the element has the word. */
static bool name_has(const struct word_names *names, int element, const struct match_word *w)
{
    for (int i = names->start[element]; i < names->start[element + 1]; i++)
        if (same(&names->words[i], w))
            return true;
    return false;
}

static bool among(const struct word_signs *w, int first, int end, const struct match_word *name)
{
    for (int i = first; i < end; i++)
        if (same(&w->match[i], name))
            return true;
    return false;
}

/* The share of the name's words that the question has. */
static float share_of(const struct word_signs *w, const struct word_names *names, int element)
{
    int first = names->start[element], end = names->start[element + 1], found = 0;

    for (int i = first; i < end; i++)
        found += among(w, 0, w->words.n, &names->words[i]);
    return end > first ? (float)found / (float)(end - first) : 0;
}

static void read_word(struct match_word *out, const char *text, const struct spoken_word *at)
{
    char *word = strndup(text + at->from, (size_t)(at->to - at->from));

    CHECK(word, "no memory for a word");
    if (!match_words_read(word, out, 1))
        *out = (struct match_word){ .function = true };
    free(word);
}

/* Signs of the names.  shares: [elements] share_of each. */
static void set_names(float *signs, const struct match_word *w, const struct word_names *names, const float *shares)
{
    int columns = 0, whole = 0;

    for (int i = 0; i < names->n && !w->function; i++) {
        if (!name_has(names, i, w))
            continue;
        if (i < names->n_tables) {
            signs[WORD_TABLE] = 1;
            continue;
        }
        columns++;
        whole += shares[i] >= 1;
        signs[WORD_SHARE] = shares[i] > signs[WORD_SHARE] ? shares[i] : signs[WORD_SHARE];
    }
    signs[WORD_COLUMN] = columns > 0;
    signs[WORD_COLUMNS] = columns > 1;
    signs[WORD_COUNT] = (float)(columns < 4 ? columns : 4) / 4;
    signs[WORD_WHOLE] = whole > 0;
    signs[WORD_WHOLES] = whole > 1;
}

static void set_values(float *signs, const struct spoken_word *at, const struct tag_value *values, int n)
{
    int column = -1;

    for (int i = 0; i < n; i++) {
        if (values[i].start > at->start || at->end > values[i].end)
            continue;
        if (column >= 0 && values[i].column != column)
            signs[WORD_VALUES] = 1;
        column = values[i].column;
    }
    signs[WORD_VALUE] = column >= 0;
}

void word_signs_read(struct word_signs *w, const char *question, const struct word_names *names,
                     const struct tag_value *values, int n_values, bool known)
{
    float *shares = xmalloc((size_t)names->n * sizeof *shares + 1);

    memset(w, 0, sizeof *w);
    spoken_read(&w->words, question);
    for (int i = 0; i < w->words.n; i++)
        read_word(&w->match[i], question, &w->words.words[i]);
    for (int i = 0; i < names->n; i++)
        shares[i] = share_of(w, names, i);
    for (int i = 0; i < w->words.n; i++) {
        const struct spoken_word *at = &w->words.words[i];
        unsigned char letter = (unsigned char)question[at->from];
        float *signs = w->signs[i];
        set_names(signs, &w->match[i], names, shares);
        set_values(signs, at, values, known ? n_values : 0);
        signs[WORD_FILLER] = at->filler || w->match[i].function;
        signs[WORD_NUMBER] = isdigit(letter) != 0;
        signs[WORD_CAPITAL] = i > 0 && isupper(letter);
        signs[WORD_FIRST] = i == 0;
        signs[WORD_LOOKED] = known;
    }
    free(shares);
}

double word_likeness(const struct word_signs *w, int first, int end, const struct word_names *names, int element)
{
    int both = 0, only_said = 0, name = names->start[element + 1] - names->start[element];

    for (int i = names->start[element]; i < names->start[element + 1]; i++)
        both += among(w, first, end, &names->words[i]);
    for (int i = first; i < end; i++)
        only_said += !w->match[i].function && !name_has(names, element, &w->match[i]);
    return name + only_said ? (double)both / (name + only_said) : 0;
}
