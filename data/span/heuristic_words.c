#include "data/span/heuristic_words.h"

#include "data/span/heuristic.h"
#include "data/span/measure_unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Tables that a question names. */

double heuristic_said(const struct spoken *run, const struct spoken *name)
{
    const struct spoken_word *head = spoken_head(name);
    int said = 0, words = 0;

    for (int i = 0; i < run->n; i++)
        if (!run->words[i].filler && !spoken_find(name, run->words[i].stem))
            return 0;
    for (int i = 0; i < name->n; i++)
        if (!name->words[i].filler) {
            words++;
            said += spoken_find(run, name->words[i].stem) != NULL;
        }
    if (said && said == words)
        return 1;
    return head && spoken_find(run, head->stem) ? PART_LIKENESS : 0;
}

static bool same_table(const struct span_column *a, const struct span_column *b)
{
    const char *x = a->sql_table ? a->sql_table : a->table, *y = b->sql_table ? b->sql_table : b->table;
    return x && y ? strcmp(x, y) == 0 : x == y;
}

/* The last word of a run from `first` whose words are all in the name, and the number of words of the name in it. */
static int run_of_name(const struct spoken *words, int first, const struct spoken *name, int *said)
{
    struct spoken run;
    int last = first - 1;

    run.n = 0;
    for (int i = first; i < words->n; i++) {
        const struct spoken_word *w = &words->words[i];
        bool repeated = !w->filler && spoken_find(&run, w->stem);
        if (repeated || (!w->filler && !spoken_find(name, w->stem)))
            break;
        run.words[run.n++] = *w;
        last = w->filler ? last : i;
        *said += !w->filler;
    }
    return last;
}

static void add_named(struct heuristic_words *w, struct named_table named)
{
    GROW(w->named, w->n_named, w->cap_named);
    w->named[w->n_named++] = named;
}

static void find_table(struct heuristic_words *w, int column)
{
    const struct spoken *name = &w->tables[column];
    const struct spoken_word *head = spoken_head(name);
    struct spoken run;
    int wanted = 0;

    for (int i = 0; i < name->n; i++)
        wanted += !name->words[i].filler;
    for (int i = 0; head && i < w->words.n; i++) {
        int said = 0, last = w->words.words[i].filler ? -1 : run_of_name(&w->words, i, name, &said);
        if (last < i)
            continue;
        spoken_part(&run, &w->words, i, last);
        if (said == wanted || spoken_find(&run, head->stem))
            add_named(w, (struct named_table){ column, i, last, said == wanted });
        i = last;
    }
}

/* Drops tables that are a part of a longer name: "order items" does not name "orders". */
static void drop_parts(struct heuristic_words *w)
{
    int kept = 0;

    for (int i = 0; i < w->n_named; i++) {
        const struct named_table *a = &w->named[i];
        bool part = false;
        for (int k = 0; k < w->n_named && !part; k++) {
            const struct named_table *b = &w->named[k];
            bool over = b->whole && b->first <= a->first && a->last <= b->last;
            part = over && (b->last - b->first > a->last - a->first || !a->whole);
        }
        w->named[i].column = part ? -1 : a->column;
    }
    for (int i = 0; i < w->n_named; i++)
        if (w->named[i].column >= 0)
            w->named[kept++] = w->named[i];
    w->n_named = kept;
}

void heuristic_words_init(struct heuristic_words *w, const struct tag_question *q)
{
    size_t n = (size_t)q->n_columns + 1;

    *w = (struct heuristic_words){ .q = q };
    spoken_read(&w->words, q->question);
    w->names = xcalloc(n, sizeof *w->names);
    w->tables = xcalloc(n, sizeof *w->tables);
    w->table_of = xcalloc(n, sizeof *w->table_of);
    for (int c = 0; c < q->n_columns; c++) {
        spoken_read(&w->names[c], q->columns[c].name);
        w->table_of[c] = c && same_table(&q->columns[c], &q->columns[c - 1]) ? w->table_of[c - 1] : c;
        if (w->table_of[c] != c || !q->columns[c].table)
            continue;
        spoken_read(&w->tables[c], q->columns[c].table);
        find_table(w, c);
    }
    drop_parts(w);
}

void heuristic_words_release(struct heuristic_words *w)
{
    free(w->names);
    free(w->tables);
    free(w->table_of);
    free(w->named);
    *w = (struct heuristic_words){ 0 };
}

/* Whether a word connects a name with its table: "the cities OF ALL employees", "customers WITH THEIR city". */
static bool binds(const struct spoken_word *w)
{
    static const char *const binding[] = { "all", "any", "each",  "every", "its", "it",
                                           "my",  "our", "their", "these", "thi", "those" };

    for (int i = 0; i < ARRAY_LEN(binding); i++)
        if (strcmp(w->stem, binding[i]) == 0)
            return true;
    return w->filler && strcmp(w->stem, "and") != 0 && strcmp(w->stem, "or") != 0;
}

static bool is_beside(const struct spoken *words, const struct named_table *t, int first, int last)
{
    int from = t->first > last ? last + 1 : t->last + 1, to = t->first > last ? t->first : first;
    bool beside = t->first > last || t->last < first;

    for (int i = from; i < to && beside; i++)
        beside = binds(&words->words[i]);
    return beside;
}

enum table_rank heuristic_table_rank(const struct heuristic_words *w, int column, int first, int last)
{
    enum table_rank rank = TABLE_UNNAMED;

    for (int i = 0; i < w->n_named; i++) {
        const struct named_table *t = &w->named[i];
        if (t->column != w->table_of[column])
            continue;
        enum table_rank here = is_beside(&w->words, t, first, last) ? TABLE_BESIDE
                               : t->whole                           ? TABLE_NAMED
                                                                    : TABLE_HINTED;
        rank = here > rank ? here : rank;
    }
    return rank;
}

/* Columns of numbers. A column must contain the number, and the question must determine the column. The evidence is a
 * name beside the number, the table of a key, a unit, or dates for a year. A number beside a column that lacks it, a
 * count ("the top 5") and a limit of another column ("over 50") are no values. */

enum { RUN_WORDS = 4 };

/* Stems before a number. */
static const char *const limits[] = {
    "above",     "almost",  "approximately", "around",  "below",   "beyond", "bigger", "cheaper", "exceed",  "exceeded",
    "exceeding", "fewer",   "greater",       "heavier", "higher",  "larger", "least",  "less",    "lighter", "longer",
    "lower",     "max",     "maximum",       "min",     "minimum", "more",   "most",   "nearly",  "over",    "roughly",
    "shorter",   "smaller", "taller",        "than",    "under",   "up",     NULL
};
static const char *const bounds[] = { "after", "before", "between", "since", "till", "until", "within", NULL };
static const char *const later[] = { "earlier", "later", "newer", "older", "recent", "sooner", NULL };
static const char *const dating[] = { "by", "during", "for", "from", "in", "on", "through", "year", NULL };
static const char *const counts[] = { "bottom", "first", "last", "limit", "next", "past", "previous", "top", NULL };
static const char *const having[] = { "had", "has", "have", "having", "with", NULL };
static const char *const numbering[] = { "code", "id", "key", "no", "nr", "num", "number", NULL };
static const char *const plain[] = { "about", "code",   "during", "equal",   "exactly", "had", "has",
                                     "have",  "having", "id",     "key",     "no",      "not", "nr",
                                     "num",   "number", "only",   "through", "whose",   NULL };
static const char *const months[] = { "jan",  "feb",  "mar",    "apr",       "may",     "jun",      "jul",      "aug",
                                      "sep",  "oct",  "nov",    "dec",       "january", "february", "march",    "april",
                                      "june", "july", "august", "september", "october", "november", "december", NULL };
/* Stems after "or". */
static const char *const beyond[] = { "above",  "below", "better", "earlier", "fewer",   "greater",
                                      "higher", "later", "less",   "lower",   "more",    "older",
                                      "over",   "under", "up",     "worse",   "younger", NULL };
static const char *const year_names[] = { "date", "season", "year", "yr", NULL };

static bool is_in(const char *const *list, const char *stem)
{
    for (; *list; list++)
        if (strcmp(*list, stem) == 0)
            return true;
    return false;
}

/* The context of a number. */
struct number_place {
    const struct said_number *number;
    int first, last;   /* its words */
    int before;        /* the nearest meaningful word before it, or -1 */
    bool limit, bound; /* "over", "at least"; "after", "between", also before years */
    bool count;        /* "the top 5" */
    bool dated;        /* "in 2023" */
    bool counts;       /* a word after it is counted */
    const struct measure_unit *unit;
    int behind; /* the first word after it and its unit */
};

static const struct spoken_word *word_at(const struct heuristic_words *w, int i)
{
    return i >= 0 && i < w->words.n ? &w->words.words[i] : NULL;
}

static void find_words(struct number_place *p, const struct heuristic_words *w)
{
    for (p->first = 0; p->first < w->words.n && w->words.words[p->first].to <= p->number->from;)
        p->first++;
    for (p->last = p->first; word_at(w, p->last + 1) && w->words.words[p->last + 1].from < p->number->to;)
        p->last++;
}

/* The number whose words end with word i, or NULL. */
static const struct said_number *number_at(const struct heuristic_words *w, int i)
{
    const struct spoken_word *word = &w->words.words[i];

    for (int k = 0; k < w->q->n_numbers; k++)
        if (w->q->numbers[k].from <= word->from && word->from < w->q->numbers[k].to)
            return &w->q->numbers[k];
    return NULL;
}

static bool is_sign(const char *question, int from)
{
    while (from > 0 && (question[from - 1] == ' ' || question[from - 1] == '='))
        from--;
    return (from > 0 && (question[from - 1] == '<' || question[from - 1] == '>')) ||
           (from > 2 && memcmp(question + from - 3, "\xe2\x89", 2) == 0);
}

static void read_before(struct number_place *p, const struct heuristic_words *w);

/* In "between 10 and 20" and "orders 17 and 18" the second number shares the context of the first. It does not if it
 * counts something else, as in "below 70 and at least 100 trips". */
static void follow(struct number_place *p, const struct heuristic_words *w, const struct said_number *first)
{
    struct number_place of = { .number = first };

    find_words(&of, w);
    read_before(&of, w);
    p->before = of.before;
    p->limit |= of.limit;
    p->bound |= of.bound;
    p->count |= of.count;
    p->dated |= of.dated;
}

/* Whether the word only connects a name with its number. */
static bool leads(const struct spoken_word *word)
{
    return word->filler || is_in(plain, word->stem) || is_in(later, word->stem) || is_in(months, word->stem);
}

static bool is_conjunction(const struct spoken_word *word)
{
    return strcmp(word->stem, "and") == 0 || strcmp(word->stem, "or") == 0;
}

/* Whether words before a conjunction apply to the number after it: "10 and 20", "less than or equal to 20". */
static bool goes_on(const struct heuristic_words *w, int conjunction)
{
    return conjunction > 0 && (number_at(w, conjunction - 1) || is_in(limits, w->words.words[conjunction - 1].stem));
}

static void read_word_before(struct number_place *p, const struct heuristic_words *w, int i)
{
    const struct spoken_word *word = &w->words.words[i];
    bool dated = i > 0 && strcmp(word->stem, "than") == 0 && is_in(later, w->words.words[i - 1].stem);

    p->bound |= is_in(bounds, word->stem) || dated;
    p->limit |= is_in(limits, word->stem) && !dated;
    p->count |= is_in(counts, word->stem);
    p->dated |= is_in(dating, word->stem) || is_in(bounds, word->stem) || is_in(months, word->stem);
    if (!leads(word) && !is_in(limits, word->stem) && !is_in(bounds, word->stem))
        p->before = i;
}

static void read_before(struct number_place *p, const struct heuristic_words *w)
{
    p->before = -1;
    p->limit |= is_sign(w->q->question, p->number->from) || p->number->at_least;
    for (int i = p->first - 1; i >= 0 && p->before < 0; i--) {
        const struct said_number *other = number_at(w, i);
        if (other && !p->counts)
            follow(p, w, other);
        if (other || (is_conjunction(&w->words.words[i]) && !goes_on(w, i)))
            return;
        read_word_before(p, w, i);
    }
}

/* Superlatives mark counts: "the 3 youngest". */
static bool is_superlative(const char *stem)
{
    static const char *const words[] = { "best", "first", "last", "least", "most", "top", "worst", NULL };
    size_t n = strlen(stem);

    return is_in(words, stem) || (n > 5 && strcmp(stem + n - 3, "est") == 0);
}

static void read_behind(struct number_place *p, const struct heuristic_words *w)
{
    int words = 0;

    p->unit = measure_unit_of(p->number, w->q->question, &w->words, p->last, &words);
    p->behind = p->last + 1 + words;
    const struct spoken_word *next = word_at(w, p->behind), *after = word_at(w, p->behind + 1);
    p->limit |= next && after && strcmp(next->stem, "or") == 0 && is_in(beyond, after->stem);
    p->count |= next && is_superlative(next->stem);
    p->counts = next && !next->filler && !number_at(w, p->behind);
}

static const struct number_holder *holder_of(const struct number_place *p, int column)
{
    for (int i = 0; i < p->number->n_holders; i++)
        if (p->number->holders[i].column == column)
            return &p->number->holders[i];
    return NULL;
}

/* The best column so far. */
struct number_choice {
    int column; /* -1: none */
    double score;
};

static int compare_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

/* Updates the choice; ties go to the first name, independent of the order of columns. */
static void choose(struct number_choice *best, const struct heuristic_words *w, int column, double score)
{
    const struct span_column *a = &w->q->columns[column], *b = best->column < 0 ? a : &w->q->columns[best->column];
    int table = compare_text(a->table, b->table), name = compare_text(a->name, b->name);

    if (best->column >= 0 && (score < best->score || (score <= best->score && (table ? table : name) >= 0)))
        return;
    *best = (struct number_choice){ column, score };
}

/* The score of the table's evidence, below any difference between names. */
static double hint_score(const struct heuristic_words *w, const struct number_place *p, int column)
{
    return (int)heuristic_table_rank(w, column, p->first, p->last) / 100.0;
}

/* The similarity of words first to last and the column; names such as "id" alone do not count. */
static double said_of(const struct heuristic_words *w, int first, int last, const struct spoken *name)
{
    struct spoken run;
    bool says = false;

    if (first < 0 || last >= w->words.n || w->words.words[first].filler || w->words.words[last].filler)
        return 0;
    spoken_part(&run, &w->words, first, last);
    for (int i = 0; i < run.n; i++)
        says |= !run.words[i].filler && !is_in(plain, run.words[i].stem);
    return says ? heuristic_said(&run, name) : 0;
}

/* The similarity of the words before the number, or after its unit, and the column. */
static double said_beside(const struct heuristic_words *w, const struct number_place *p, const struct spoken *name)
{
    double best = 0;

    for (int k = 0; k < RUN_WORDS; k++) {
        for (int last = p->before; last >= 0 && last < p->first && (last == p->before || leads(&w->words.words[last]));
             last++)
            best = fmax(best, said_of(w, p->before - k, last, name));
        if (p->unit)
            best = fmax(best, said_of(w, p->behind, p->behind + k, name));
    }
    return best;
}

double heuristic_said_before(const struct heuristic_words *w, int column, int first)
{
    struct number_place p = { .first = first, .last = first, .before = first - 1 };

    while (p.before >= 0 && leads(&w->words.words[p.before]) && !is_conjunction(&w->words.words[p.before]))
        p.before--;
    return said_beside(w, &p, &w->names[column]);
}

/* Whether a name denotes an undeclared key: "id", "number", or one of them with the table's head word. */
static bool is_named_as_key(const struct spoken *name, const struct spoken *table)
{
    const struct spoken_word *head = spoken_head(table);
    bool numbered = false, other = false;

    for (int i = 0; i < name->n; i++) {
        bool numbers = is_in(plain, name->words[i].stem);
        if (!numbers && !spoken_find(table, name->words[i].stem))
            return false;
        numbered |= numbers;
        other |= !numbers;
    }
    return numbered && (!other || (head && spoken_find(name, head->stem)));
}

/* Whether the column identifies the rows of its table. */
static bool is_key(const struct heuristic_words *w, int column)
{
    int table = w->table_of[column];

    for (int c = table; c < w->q->n_columns && w->table_of[c] == table; c++)
        if (w->q->columns[c].is_key)
            return w->q->columns[column].is_key;
    return is_named_as_key(&w->names[column], &w->tables[table]);
}

/* Scores a count of a column: "cars with 4 cylinders". */
static double counted_behind(const struct heuristic_words *w, const struct number_place *p, int column)
{
    double best = 0;

    for (int k = 0; k < RUN_WORDS && w->q->columns[column].type == COLUMN_NUMBER && !w->q->columns[column].is_key; k++)
        best = fmax(best, said_of(w, p->behind, p->behind + k, &w->names[column]));
    return best;
}

/* The same for a column. The whole name of a table does not denote a column of an unnamed table. */
static double column_beside(const struct heuristic_words *w, const struct number_place *p, int column)
{
    double said = fmax(said_beside(w, p, &w->names[column]), counted_behind(w, p, column));
    bool table = false;

    for (int i = 0; said > 0 && i < w->n_named; i++)
        table |= w->named[i].whole && w->named[i].first <= p->before && p->before <= w->named[i].last;
    return table && heuristic_table_rank(w, column, p->first, p->last) == TABLE_UNNAMED ? 0 : said;
}

/* The type of name beside a number. */
enum named_beside { NAMES_NOTHING, NAMES_TABLE, NAMES_COLUMN, NAMES_DATES };

/* Whether the number counts the following noun: "customers who have 3 orders", not "customers with number 3 here". */
static bool counts_what_is_had(const struct heuristic_words *w, const struct number_place *p)
{
    for (int i = p->first - 1; p->counts && i > p->before && !is_in(numbering, w->words.words[i].stem); i--)
        if (is_in(having, w->words.words[i].stem))
            return true;
    return false;
}

/* Whether a column may contain dates: times, and texts of a named table, as in "courses that started in 2019". */
static bool may_hold_dates(const struct heuristic_words *w, const struct number_place *p, int column)
{
    enum column_type type = w->q->columns[column].type;

    return type == COLUMN_TIME ||
           (type == COLUMN_TEXT && heuristic_table_rank(w, column, p->first, p->last) >= TABLE_NAMED);
}

/* Whether the number is a year by context: "orders from 2020", even if a column contains that number. */
static bool tells_year(const struct number_place *p)
{
    return p->dated && p->number->plain_year;
}

/* The score of a column by its name, or as the key of a named table. */
static enum named_beside score_beside(double *score, const struct heuristic_words *w, const struct number_place *p,
                                      int column)
{
    bool keyed = !p->limit && !p->bound && !p->unit && !counts_what_is_had(w, p);
    double said = column_beside(w, p, column);
    double table = said > 0 || !keyed ? 0 : said_beside(w, p, &w->tables[w->table_of[column]]);

    *score = table > 0 && is_key(w, column) && !tells_year(p) ? table : said;
    if (said > 0)
        return may_hold_dates(w, p, column) ? NAMES_DATES : NAMES_COLUMN;
    return table > 0 ? NAMES_TABLE : NAMES_NOTHING;
}

/* Chooses among the columns that words beside the number name, and keys of named tables. Tables that the question
 * names take precedence, even if their columns lack the number. *named also reports columns that lack it. */
static struct number_choice choose_beside(const struct heuristic_words *w, const struct number_place *p,
                                          enum named_beside *named)
{
    double *score = xcalloc((size_t)w->q->n_columns + 1, sizeof *score);
    enum table_rank best_rank = TABLE_UNNAMED;
    struct number_choice best = { -1, 0 };

    *named = NAMES_NOTHING;
    for (int c = 0; c < w->q->n_columns; c++) {
        enum named_beside here = score_beside(&score[c], w, p, c);
        *named = here > *named ? here : *named;
        if (score[c] > 0 && heuristic_table_rank(w, c, p->first, p->last) >= TABLE_NAMED)
            best_rank = TABLE_NAMED;
    }
    for (int c = 0; c < w->q->n_columns; c++)
        if (score[c] > 0 && holder_of(p, c) && heuristic_table_rank(w, c, p->first, p->last) >= best_rank)
            choose(&best, w, c, score[c] + hint_score(w, p, c) + (w->q->columns[c].is_key ? 0.005 : 0));
    free(score);
    return best;
}

static bool has_word(const struct spoken *name, const char *const *stems)
{
    for (int i = 0; i < name->n; i++)
        if (is_in(stems, name->words[i].stem))
            return true;
    return false;
}

static struct number_choice choose_by_unit(const struct heuristic_words *w, const struct number_place *p)
{
    enum table_rank least = TABLE_UNNAMED;
    struct number_choice best = { -1, 0 };

    for (int c = 0; c < w->q->n_columns && least == TABLE_UNNAMED; c++)
        if (measure_unit_names(p->unit, &w->names[c]) && heuristic_table_rank(w, c, p->first, p->last) >= TABLE_NAMED)
            least = TABLE_NAMED;
    for (int c = 0; c < w->q->n_columns; c++)
        if (measure_unit_names(p->unit, &w->names[c]) && holder_of(p, c) &&
            heuristic_table_rank(w, c, p->first, p->last) >= least)
            choose(&best, w, c, PART_LIKENESS + hint_score(w, p, c));
    return best;
}

/* Whether a name is generic: "year", "date". */
static bool is_any_year(const struct spoken *name)
{
    bool any = name->n > 0;

    for (int i = 0; i < name->n; i++)
        any &= is_in(year_names, name->words[i].stem);
    return any;
}

static bool may_be_dated(const struct heuristic_words *w, int column)
{
    return w->q->columns[column].type == COLUMN_TIME || has_word(&w->names[column], year_names);
}

/* Chooses among dates of tables that the question names. Other tables count only if those have no dates and no words
 * beside the year name a column: "started in 2019" is not the year of something else. */
static struct number_choice choose_by_year(const struct heuristic_words *w, const struct number_place *p,
                                           enum named_beside named)
{
    enum table_rank least = named == NAMES_DATES ? TABLE_NAMED : TABLE_UNNAMED;
    struct number_choice best = { -1, 0 };

    for (int c = 0; c < w->q->n_columns && least == TABLE_UNNAMED; c++)
        if (may_be_dated(w, c) && heuristic_table_rank(w, c, p->first, p->last) >= TABLE_NAMED)
            least = TABLE_NAMED;
    for (int c = 0; c < w->q->n_columns; c++) {
        const struct number_holder *holder = holder_of(p, c);
        bool dated = has_word(&w->names[c], year_names);
        bool fits = holder && (holder->by_year || dated);
        if (fits && heuristic_table_rank(w, c, p->first, p->last) >= least)
            choose(&best, w, c,
                   PART_LIKENESS + hint_score(w, p, c) + (holder->by_year ? 0 : 0.01) + 0.002 * dated +
                       0.015 * is_any_year(&w->names[c]));
    }
    return best;
}

/* Chooses the only column that contains a long number. */
static struct number_choice choose_only(const struct number_place *p)
{
    bool is_long = fabs(p->number->value.real) >= 100 || !p->number->value.whole;

    if (p->number->n_holders != 1 || p->limit || p->bound || p->counts || !is_long)
        return (struct number_choice){ -1, 0 };
    return (struct number_choice){ p->number->holders[0].column, PART_LIKENESS };
}

static struct number_choice choose_column(const struct heuristic_words *w, const struct number_place *p)
{
    enum named_beside named;
    struct number_choice best = choose_beside(w, p, &named);

    bool year = p->number->plain_year && !p->limit && !p->unit;

    if (best.column < 0 && year && (named < NAMES_COLUMN || p->dated))
        best = choose_by_year(w, p, named);
    if (best.column >= 0 || named != NAMES_NOTHING)
        return best;
    return p->unit ? choose_by_unit(w, p) : choose_only(p);
}

bool heuristic_number(struct tag_concept *value, const struct heuristic_words *w, int number)
{
    struct number_place p = { .number = &w->q->numbers[number] };

    find_words(&p, w);
    if (p.first == w->words.n || p.number->ordinal)
        return false;
    read_behind(&p, w);
    read_before(&p, w);
    struct number_choice best = p.count ? (struct number_choice){ -1, 0 } : choose_column(w, &p);
    if (best.column < 0)
        return false;
    *value = (struct tag_concept){ TAG_VALUE, best.column, holder_of(&p, best.column)->text, fmin(best.score, 1) };
    return true;
}
