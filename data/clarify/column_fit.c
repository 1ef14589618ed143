#include "data/clarify/column_fit.h"

#include "data/base/strings.h"
#include "data/span/number_match.h"
#include "data/synth/sql_edit.h"

#include <stdlib.h>
#include <string.h>

/* --- The question --- */

enum { DATE_BYTES = 24, YEARS_FROM = 1700, YEARS_TO = 2100 };

static bool is_one_of(const char *const *list, int n, const char *stem)
{
    for (int i = 0; i < n; i++)
        if (strcmp(list[i], stem) == 0)
            return true;
    return false;
}

/* Index of the word that contains byte `from` of the question; the number of words if there is none. */
static int word_at(const struct spoken *s, int from)
{
    int i = 0;

    while (i < s->n && s->words[i].to <= from)
        i++;
    return i;
}

/* "in 2019", "between 2010 and 2019", "older than 2019" and the like. */
static bool is_year(const struct fit_question *q, const struct spoken *s, int number)
{
    static const char *const before[] = { "in",   "since", "before", "after",   "during", "from",   "until", "till",
                                          "than", "by",    "of",     "between", "and",    "year",   "on",    "for",
                                          "or",   "to",    "spring", "summer",  "autumn", "winter", "fall",  "season" };
    int i = word_at(s, q->numbers[number].from);

    return q->numbers[number].plain_year && !q->units[number] && i > 0 &&
           is_one_of(before, ARRAY_LEN(before), s->words[i - 1].stem);
}

/* "last month", "yesterday", "February". */
static bool says_period(const struct spoken *s)
{
    static const char *const words[] = { "january",   "february", "april",    "june",     "july",      "august",
                                         "september", "october",  "november", "december", "yesterday", "today" };
    static const char *const which[] = { "last", "this", "next", "past", "previous", "current" };
    static const char *const periods[] = { "day", "week", "month", "quarter", "year" };

    for (int i = 0; i < s->n; i++)
        if (is_one_of(words, ARRAY_LEN(words), s->words[i].stem) ||
            (i > 0 && is_one_of(which, ARRAY_LEN(which), s->words[i - 1].stem) &&
             is_one_of(periods, ARRAY_LEN(periods), s->words[i].stem)))
            return true;
    return false;
}

/* Whether a text has a date such as 2019-05-01, without the punctuation around it. */
static bool says_date(const char *text)
{
    char date[DATE_BYTES];

    while (*(text += strcspn(text, "0123456789"))) {
        size_t n = strcspn(text, " ,;?!)\"'"), kept = n;
        while (kept && text[kept - 1] == '.')
            kept--;
        if (kept < sizeof date) {
            memcpy(date, text, kept);
            date[kept] = 0;
            if (date_year(date))
                return true;
        }
        text += n;
    }
    return false;
}

void fit_question_read(struct fit_question *q, const char *text)
{
    struct spoken s;
    int at = 0;

    *q = (struct fit_question){ 0 };
    spoken_read(&s, text);
    while (q->n < FIT_NUMBERS && number_read_next(&q->numbers[q->n], text, &at)) {
        int words, last = word_at(&s, q->numbers[q->n].from);
        while (last + 1 < s.n && s.words[last + 1].from < q->numbers[q->n].to)
            last++;
        q->units[q->n] = measure_unit_of(&q->numbers[q->n], text, &s, last, &words);
        q->n++;
    }
    q->time = says_period(&s) || says_date(text);
    for (int i = 0; i < q->n; i++)
        q->time = q->time || is_year(q, &s, i);
}

/* --- The columns --- */

void column_fit_open(struct column_fit *f, const struct schema *schema, struct exec_db *db)
{
    *f = (struct column_fit){ schema, db, xcalloc((size_t)schema->n_columns + 1, sizeof *f->times) };
}

void column_fit_close(struct column_fit *f)
{
    free(f->times);
    *f = (struct column_fit){ 0 };
}

/* Whether a name says that its numbers are years. */
static bool names_years(const struct schema_column *c)
{
    static const char *const words[] = { "year", "yr", "date", "season", "founded", "established", "built", "born" };
    struct spoken name;

    spoken_read(&name, c->text);
    for (int i = 0; i < name.n; i++)
        if (is_one_of(words, ARRAY_LEN(words), name.words[i].stem))
            return true;
    return false;
}

static bool is_time(const struct cell *cell, bool years)
{
    if (cell->type == CELL_INTEGER)
        return years && cell->integer >= YEARS_FROM && cell->integer <= YEARS_TO;
    return cell->type == CELL_TEXT &&
           (date_year(cell->bytes) || (years && cell->n == 4 && strspn(cell->bytes, "0123456789") == 4));
}

/* Whether most of the first values are times.  Numbers are years only by the name of their column. */
static bool holds_times(const struct column_fit *f, const struct schema_column *c)
{
    struct strings pool = { 0 };
    const char *name = sql_written_name(&pool, c->name),
               *table = sql_written_name(&pool, f->schema->tables[c->table].name);
    struct exec_result r =
        exec_run(f->db, strings_printf(&pool, "SELECT %s FROM %s WHERE %s IS NOT NULL LIMIT 50", name, table, name));
    bool years = names_years(c);
    int64_t times = 0;

    for (int64_t i = 0; r.status == EXEC_OK && i < r.n; i++)
        times += is_time(&r.cells[i], years);
    bool most = r.status == EXEC_OK && times * 2 > r.n;
    exec_result_release(&r);
    strings_release(&pool);
    return most;
}

bool column_fit_times(struct column_fit *f, int column)
{
    const struct schema_column *c = &f->schema->columns[column];

    if (f->times[column] == TIMES_UNREAD) {
        bool times = c->type == COLUMN_TIME || (f->db ? holds_times(f, c) : names_years(c));
        f->times[column] = times ? TIMES_YES : TIMES_NO;
    }
    return f->times[column] == TIMES_YES;
}

bool column_fit_measures(const struct column_fit *f, int column, const struct measure_unit *unit)
{
    const struct schema_column *c = &f->schema->columns[column];
    struct spoken name;

    spoken_read(&name, c->text);
    if (measure_unit_names(unit, &name))
        return true;
    spoken_read(&name, f->schema->tables[c->table].text);
    return measure_unit_names(unit, &name);
}
