#include "data/schema/pair_match.h"

#include "data/schema/lexicon.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BEST_KEPT = 4, /* number of best elements that are kept for each word */
    BESIDE = 3,    /* maximum distance in words from the anchor to a word beside it */
    NO_WORD = -1
};
static const float MISSED = 0.3F, RELATED = 0.7F, EQUAL_FIT = 0.01F, CROWD = 0.15F;

struct name {
    struct match_word words[NAME_MAX_WORDS];
    int n;
    unsigned meaning;
    bool repeats; /* a column whose name only repeats that of its table, or of a table that it refers to */
};

struct match_names {
    const struct schema *schema;
    struct name *list; /* tables first, then columns */
    int n;
};

/* The match of a name with the question.  Words of the question are bits by their position. */
struct hit {
    uint64_t own;
    float cover, missed, fit;
};

/* The elements of one sort (tables or columns) that have a word of the question, best fit first. */
struct word_rivals {
    int element[BEST_KEPT], n, all, tied;
    float fit[BEST_KEPT];
};

struct match {
    const struct match_names *names;
    struct match_word words[QUESTION_WORDS];
    int n;
    uint64_t content, distinct; /* distinct: the first position of each content word */
    uint64_t known, in_tables;  /* words that some element, or some table, has */
    unsigned asked;
    uint64_t *of_columns; /* [n_tables] words that columns of the table have */
    struct hit *hits;
    struct word_rivals columns[QUESTION_WORDS], tables[QUESTION_WORDS];
    bool corrected;
    float best; /* largest MATCH_TOP */
};

static uint64_t bit(int i)
{
    return UINT64_C(1) << i;
}

/* Drops function words unless no others remain, and the "id" of a key. */
static void read_name(struct name *name, const char *text)
{
    struct match_word all[NAME_MAX_WORDS];
    int n = match_words_read(text, all, NAME_MAX_WORDS);
    bool key = n > 1 && all[n - 1].word == word_hash("id");
    struct element_name whole;

    for (int i = 0; i < n - key; i++)
        if (!all[i].function || all[i].expanded)
            name->words[name->n++] = all[i];
    if (!name->n) {
        memcpy(name->words, all, (size_t)n * sizeof *all);
        name->n = n;
    }
    element_name_read(&whole, text);
    name->meaning = name_meaning(&whole);
}

/* Whether every word of one name is in the other. */
static bool within(const struct name *a, const struct name *b)
{
    for (int i = 0; i < a->n; i++) {
        bool found = false;
        for (int k = 0; k < b->n; k++)
            found |= a->words[i].word == b->words[k].word;
        if (!found)
            return false;
    }
    return a->n > 0;
}

/* A key that is named after the table that it refers to adds nothing to the table's name. */
static void mark_repeats(struct match_names *m)
{
    const struct schema *s = m->schema;

    for (int c = 0; c < s->n_columns; c++) {
        struct name *name = &m->list[s->n_tables + c];
        name->repeats = within(name, &m->list[s->columns[c].table]);
    }
    for (int i = 0; i < s->n_foreign_keys; i++) {
        int from = s->foreign_keys[i].from, to = s->columns[s->foreign_keys[i].to].table;
        struct name *name = &m->list[s->n_tables + from];
        name->repeats |= within(name, &m->list[to]) || within(&m->list[to], name);
    }
}

struct match_names *match_names_new(const struct schema *s)
{
    struct match_names *m = xcalloc(1, sizeof *m);

    m->schema = s;
    m->n = s->n_tables + s->n_columns;
    m->list = xcalloc((size_t)m->n, sizeof *m->list);
    for (int i = 0; i < m->n; i++)
        read_name(&m->list[i], i < s->n_tables ? s->tables[i].text : s->columns[i - s->n_tables].text);
    for (int c = 0; c < s->n_columns; c++)
        if (s->columns[c].type == COLUMN_TIME)
            m->list[s->n_tables + c].meaning |= MEANS_TIME;
    mark_repeats(m);
    return m;
}

void match_names_free(struct match_names *m)
{
    if (m)
        free(m->list);
    free(m);
}

static void read_question(struct match *m, const char *question)
{
    m->n = match_words_read(question, m->words, QUESTION_WORDS);
    for (int i = 0; i < m->n; i++) {
        bool again = false;
        m->asked |= asked_meaning(m->words[i].word) | (match_word_is_year(&m->words[i]) ? MEANS_TIME : 0u);
        if (m->words[i].function)
            continue;
        for (int k = 0; k < i; k++)
            again |= m->words[k].word == m->words[i].word && !m->words[k].function;
        m->content |= bit(i);
        m->distinct |= again ? 0 : bit(i);
    }
}

static void meet(struct hit *hit, const struct match *m, const struct name *name)
{
    *hit = (struct hit){ 0 };
    for (int k = 0; k < name->n; k++) {
        float best = 0;
        for (int i = 0; i < m->n; i++) {
            bool same = m->words[i].word == name->words[k].word;
            if (!(m->content & bit(i)) || (!same && m->words[i].stem != name->words[k].stem))
                continue;
            hit->own |= bit(i);
            best = same ? 1 : best > RELATED ? best : RELATED;
        }
        hit->cover += best / (float)name->n;
        hit->missed += best > 0 ? 0 : 1;
    }
}

static int words_in(const struct match *m, uint64_t words)
{
    return __builtin_popcountll(words & m->distinct);
}

static const struct hit *table_hit(const struct match *m, int element)
{
    return &m->hits[schema_table_of(m->names->schema, element)];
}

static bool stands_for(const struct match_word *name, const struct match_word *mentioned)
{
    return match_words_mistyped(mentioned, name) || match_words_shortened(name, mentioned);
}

/* Replaces a word that no name has by a name's word that it misspells or abbreviates. */
static void correct_words(struct match *m)
{
    for (uint64_t free = m->content & ~m->known; free; free &= free - 1) {
        struct match_word *w = &m->words[__builtin_ctzll(free)];
        bool found = false;
        for (int i = 0; i < m->names->n && !found; i++)
            for (int k = 0; k < m->names->list[i].n && !found; k++)
                if ((found = stands_for(&m->names->list[i].words[k], w)))
                    *w = m->names->list[i].words[k];
        m->corrected |= found;
    }
}

static void meet_names(struct match *m)
{
    int tables = m->names->schema->n_tables;

    for (int i = 0; i < m->names->n; i++) {
        meet(&m->hits[i], m, &m->names->list[i]);
        m->known |= m->hits[i].own;
        m->in_tables |= i < tables ? m->hits[i].own : 0;
    }
}

static void meet_all(struct match *m)
{
    int tables = m->names->schema->n_tables;

    meet_names(m);
    correct_words(m);
    if (m->corrected)
        meet_names(m);
    for (uint64_t free = m->content & ~m->known; free; free &= free - 1)
        m->asked |= word_meaning(m->words[__builtin_ctzll(free)].word);
    for (int i = 0; i < m->names->n; i++) {
        struct hit *h = &m->hits[i];
        if (i >= tables)
            m->of_columns[schema_table_of(m->names->schema, i)] |= h->own;
        float mentioned = i < tables ? 0 : table_hit(m, i)->cover;
        h->fit = (float)words_in(m, h->own | table_hit(m, i)->own) + mentioned - MISSED * h->missed;
    }
}

static void rivals_add(struct word_rivals *r, int element, float fit)
{
    int at = r->n;

    r->all++;
    if (r->n < BEST_KEPT)
        r->n++;
    else if (fit <= r->fit[--at])
        return;
    for (; at > 0 && r->fit[at - 1] < fit; at--) {
        r->fit[at] = r->fit[at - 1];
        r->element[at] = r->element[at - 1];
    }
    r->fit[at] = fit;
    r->element[at] = element;
}

static struct word_rivals *rivals_of(struct match *m, int element, int word)
{
    return element < m->names->schema->n_tables ? &m->tables[word] : &m->columns[word];
}

/* Whether an element counts as having the word.  A column that repeats the name of a table does not count for that
 * name. */
static bool holds(const struct match *m, int element, int word)
{
    return (m->hits[element].own & bit(word)) && !(m->names->list[element].repeats && (m->in_tables & bit(word)));
}

static void count_rivals(struct match *m)
{
    for (int w = 0; w < m->n; w++) {
        if (!(m->distinct & m->known & bit(w)))
            continue;
        for (int i = 0; i < m->names->n; i++)
            if (holds(m, i, w))
                rivals_add(rivals_of(m, i, w), i, m->hits[i].fit);
        for (int i = 0; i < m->names->n; i++) {
            struct word_rivals *r = rivals_of(m, i, w);
            r->tied += holds(m, i, w) && m->hits[i].fit >= r->fit[0] - EQUAL_FIT;
        }
    }
}

/* The score of a tie of the best elements of a word, or of its two best elements. */
static float top_score(const struct word_rivals *r, float less)
{
    if (r->all < 2 || less < r->fit[1] - EQUAL_FIT)
        return 0;
    int crowd = r->tied > 2 ? r->tied - 2 : 0;
    return 1 / (1 + r->fit[0] - r->fit[1]) / (1 + CROWD * (float)crowd);
}

static void find_best(struct match *m)
{
    for (int w = 0; w < m->n; w++) {
        m->best = fmaxf(m->best, m->columns[w].all > 1 ? top_score(&m->columns[w], m->columns[w].fit[1]) : 0);
        m->best = fmaxf(m->best, m->tables[w].all > 1 ? top_score(&m->tables[w], m->tables[w].fit[1]) : 0);
    }
}

static void put(float *out, int more, float a, float b)
{
    out[more] = a > b ? a : b;
    out[more + 1] = a > b ? b : a;
}

static float clip(float x)
{
    return x > 1 ? 1 : x < -1 ? -1 : x;
}

static int find_anchor(struct match *m, int u, int v)
{
    uint64_t both = m->hits[u].own & m->hits[v].own & m->distinct;
    float less = fminf(m->hits[u].fit, m->hits[v].fit), best = -HUGE_VALF;
    int anchor = NO_WORD;

    for (; both; both &= both - 1) {
        int w = __builtin_ctzll(both);
        const struct word_rivals *r = rivals_of(m, u, w);
        if (!r->all || !holds(m, u, w) || !holds(m, v, w))
            continue;
        float score = less - r->fit[0] - EQUAL_FIT * (float)r->all;
        if (score > best) {
            best = score;
            anchor = w;
        }
    }
    return anchor;
}

static bool ends(const struct match *m, int element, int word)
{
    const struct name *name = &m->names->list[element];
    return name->n && name->words[name->n - 1].stem == m->words[word].stem;
}

/* 1 / distance from a word to the nearest of other words; 0 if there are none. */
static float nearness(uint64_t words, int from)
{
    uint64_t before = words & (bit(from) - 1), after = words & ~(bit(from) | (bit(from) - 1));
    int distance = QUESTION_WORDS;

    if (before)
        distance = from - (63 - __builtin_clzll(before));
    if (after && __builtin_ctzll(after) - from < distance)
        distance = __builtin_ctzll(after) - from;
    return before || after ? 1 / (float)distance : 0;
}

/* Writes the three features of a word beside the anchor.  They stay 0 for NO_WORD. */
static void describe_beside(float *out, const struct match *m, int u, int v, int word)
{
    if (word == NO_WORD)
        return;
    bool first = (m->hits[u].own | table_hit(m, u)->own) & bit(word);
    bool second = (m->hits[v].own | table_hit(m, v)->own) & bit(word);
    out[0] = !(m->known & bit(word));
    out[1] = (m->known & bit(word)) && !first && !second;
    out[2] = first != second;
}

static int word_before(uint64_t content, int anchor)
{
    uint64_t before = content & (bit(anchor) - 1);
    int word = before ? 63 - __builtin_clzll(before) : NO_WORD;

    return word != NO_WORD && anchor - word <= BESIDE ? word : NO_WORD;
}

static int word_after(uint64_t content, int anchor)
{
    uint64_t after = content & ~(bit(anchor) | (bit(anchor) - 1));
    int word = after ? __builtin_ctzll(after) : NO_WORD;

    return word != NO_WORD && word - anchor <= BESIDE ? word : NO_WORD;
}

static void describe_anchor(float *out, struct match *m, int u, int v, int anchor)
{
    const struct word_rivals *r = rivals_of(m, u, anchor);
    const struct hit *a = &m->hits[u], *b = &m->hits[v];
    uint64_t beside = m->content & ~(a->own & b->own);

    out[MATCH_ANCHOR] = 1;
    out[MATCH_ANCHOR_HEAD] = ends(m, u, anchor) && ends(m, v, anchor);
    out[MATCH_ANCHOR_TABLE] = (m->in_tables & bit(anchor)) != 0;
    put(out, MATCH_GAP_MORE, clip((r->fit[0] - a->fit) / 3), clip((r->fit[0] - b->fit) / 3));
    out[MATCH_TIE] = fminf(a->fit, b->fit) >= r->fit[0] - EQUAL_FIT;
    out[MATCH_TIED] = clip(log2f((float)r->tied) / 4);
    out[MATCH_HITS] = clip(log2f((float)r->all) / 5);
    out[MATCH_TOP] = top_score(r, fminf(a->fit, b->fit));
    out[MATCH_BEST] = out[MATCH_TOP] > 0 && out[MATCH_TOP] >= m->best - EQUAL_FIT;
    put(out, MATCH_NEAR_MORE, nearness(table_hit(m, u)->own & ~bit(anchor), anchor),
        nearness(table_hit(m, v)->own & ~bit(anchor), anchor));
    describe_beside(out + MATCH_BEFORE_FREE, m, u, v, word_before(beside, anchor));
    describe_beside(out + MATCH_AFTER_FREE, m, u, v, word_after(beside, anchor));
}

/* The best fit of another element that has one of the words; -HUGE_VALF if there is none. */
static float best_other(struct match *m, int u, int v, uint64_t words)
{
    float best = -HUGE_VALF;

    for (words &= m->distinct; words; words &= words - 1) {
        const struct word_rivals *r = rivals_of(m, u, __builtin_ctzll(words));
        for (int i = 0; i < r->n; i++)
            if (r->element[i] != u && r->element[i] != v) {
                best = fmaxf(best, r->fit[i]);
                break;
            }
    }
    return best;
}

/* Evidence of the question's other words for one of the two tables. */
static void describe_context(float *out, const struct match *m, int u, int v)
{
    const struct schema *s = m->names->schema;
    int a = schema_table_of(s, u), b = schema_table_of(s, v);
    uint64_t own = m->hits[u].own | m->hits[v].own | m->hits[a].own | m->hits[b].own;

    if (a != b)
        put(out, MATCH_CONTEXT_MORE, clip((float)words_in(m, m->of_columns[a] & ~m->of_columns[b] & ~own) / 3),
            clip((float)words_in(m, m->of_columns[b] & ~m->of_columns[a] & ~own) / 3));
}

static int columns_meaning(const struct match_names *names, int table, unsigned meaning)
{
    const struct schema_table *t = &names->schema->tables[table];
    int n = 0;

    for (int c = t->first_column; c < t->first_column + t->n_columns; c++)
        n += (names->list[names->schema->n_tables + c].meaning & meaning) != 0;
    return n;
}

static void describe_meaning(float *out, const struct match *m, int u, int v)
{
    const struct match_names *names = m->names;
    unsigned both = names->list[u].meaning & names->list[v].meaning & m->asked;
    int a = schema_table_of(names->schema, u), b = schema_table_of(names->schema, v);

    put(out, MATCH_ASKED_MORE, (names->list[u].meaning & m->asked) != 0, (names->list[v].meaning & m->asked) != 0);
    out[MATCH_MEANT] = both != 0;
    if (both) {
        int n = columns_meaning(names, a, both) + (a == b ? 0 : columns_meaning(names, b, both));
        out[MATCH_MEANT_RIVALS] = clip(log2f((float)(n > 1 ? n : 1)) / 4);
    }
}

static void describe(float *out, struct match *m, int u, int v)
{
    const struct hit *a = &m->hits[u], *b = &m->hits[v];
    int anchor = find_anchor(m, u, v);

    memset(out, 0, MATCH_FEATURES * sizeof *out);
    if (anchor != NO_WORD)
        describe_anchor(out, m, u, v, anchor);
    float other = best_other(m, u, v, a->own | b->own);
    out[MATCH_DIFFERENCE] = clip(fabsf(a->fit - b->fit) / 3);
    out[MATCH_OTHER] = other > -HUGE_VALF ? clip((other - fmaxf(a->fit, b->fit)) / 3) : -1;
    put(out, MATCH_MISSED_MORE, clip(a->missed / 3), clip(b->missed / 3));
    put(out, MATCH_OWN_MORE, clip((float)words_in(m, a->own & ~b->own) / 2),
        clip((float)words_in(m, b->own & ~a->own) / 2));
    put(out, MATCH_COVER_MORE, a->cover, b->cover);
    put(out, MATCH_TABLE_MORE, table_hit(m, u)->cover, table_hit(m, v)->cover);
    out[MATCH_FREE] = clip((float)words_in(m, ~m->known) / 6);
    out[MATCH_CONTENT] = clip((float)words_in(m, m->content) / 12);
    describe_context(out, m, u, v);
    describe_meaning(out, m, u, v);
}

void match_features(const struct match_names *names, const char *question, const struct schema_pair *pairs, int n,
                    float *out, int stride)
{
    struct match m = { .names = names };

    m.hits = xmalloc((size_t)names->n * sizeof *m.hits + 1);
    m.of_columns = xcalloc((size_t)names->schema->n_tables, sizeof *m.of_columns);
    read_question(&m, question);
    meet_all(&m);
    count_rivals(&m);
    find_best(&m);
    for (int i = 0; i < n; i++)
        describe(out + (size_t)i * (size_t)stride, &m, pairs[i].u, pairs[i].v);
    free(m.hits);
    free(m.of_columns);
}
