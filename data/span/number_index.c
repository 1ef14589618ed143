#include "data/span/number_index.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { YEAR_WORDS = (YEAR_MAX - YEAR_MIN) / 64 + 1, ITEM = 8 /* bytes of a number */, FIRST_ITEMS = 16 };

void number_index_init(struct number_index *x, int n_columns, int64_t max_bytes)
{
    *x = (struct number_index){ .n_columns = n_columns, .max_bytes = max_bytes };
    x->columns = xcalloc((size_t)n_columns + 1, sizeof *x->columns);
}

void number_index_release(struct number_index *x)
{
    for (int c = 0; c < x->n_columns; c++) {
        free(x->columns[c].integers.items);
        free(x->columns[c].reals.items);
        free(x->columns[c].years);
    }
    free(x->columns);
    *x = (struct number_index){ 0 };
}

struct plain_number plain_integer(int64_t integer)
{
    return (struct plain_number){ .whole = true, .integer = integer, .real = (double)integer };
}

struct plain_number plain_real(double real)
{
    bool whole = fabs(real) <= 0x1p53 && real == trunc(real);
    return (struct plain_number){ .whole = whole, .integer = whole ? (int64_t)real : 0, .real = real };
}

bool plain_number_read(struct plain_number *number, const char *text)
{
    size_t sign = *text == '-' || *text == '+', n = strspn(text + sign, "0123456789."), digits = 0;
    char *end;

    for (size_t i = 0; i < n; i++)
        digits += text[sign + i] != '.';
    if (!digits || n - digits > 1 || text[sign + n])
        return false;
    errno = 0;
    int64_t integer = strtoll(text, &end, 10);
    *number = *end || errno ? plain_real(strtod(text, NULL)) : plain_integer(integer);
    return true;
}

static bool is_date_mark(char c)
{
    return c == '-' || c == '/' || c == '.';
}

static int digits_at(const char *text)
{
    return (int)strspn(text, "0123456789");
}

/* Reads a day or a month of one or two digits. */
static int day_at(const char *text)
{
    int n = digits_at(text);
    return n == 1 || n == 2 ? n : 0;
}

/* Reads a year of four digits; 0 otherwise. */
static int year_at(const char *text)
{
    int year = digits_at(text) == 4 ? (int)strtol(text, NULL, 10) : 0;
    return year >= YEAR_MIN && year <= YEAR_MAX ? year : 0;
}

static bool ends_date(char c)
{
    return !c || c == ' ' || c == 'T';
}

/* Reads the year at the end of "1 May 2023" or "May 1, 2023". */
static int named_month_year(const char *text)
{
    static const char *const months[] = { "jan", "feb", "mar", "apr", "may", "jun",
                                          "jul", "aug", "sep", "oct", "nov", "dec" };
    size_t n = strlen(text), start = strcspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");

    if (n < sizeof "May 2023" - 1 || n > sizeof "September 31st, 2023" - 1 || text[n - 5] != ' ')
        return 0;
    for (int i = 0; i < ARRAY_LEN(months); i++)
        if (strncasecmp(text + start, months[i], 3) == 0)
            return year_at(text + n - 4);
    return 0;
}

int date_year(const char *text)
{
    int year = year_at(text), first = day_at(text), second;

    if (year && is_date_mark(text[4]) && (second = day_at(text + 5))) {
        const char *rest = text + 5 + second;
        int day = *rest == text[4] ? day_at(rest + 1) : 0;
        return ends_date(*rest) || (day && ends_date(rest[1 + day])) ? year : 0;
    }
    if (!first || !is_date_mark(text[first]) || !(second = day_at(text + first + 1)))
        return named_month_year(text);
    const char *rest = text + first + 1 + second;
    return *rest == text[first] && ends_date(rest[1 + digits_at(rest + 1)]) ? year_at(rest + 1) : 0;
}

static int compare_integers(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int compare_reals(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void sort_unique(struct number_array *a, int (*compare)(const void *, const void *))
{
    char *at = a->items;
    int kept = 0;

    if (a->n)
        qsort(a->items, (size_t)a->n, ITEM, compare);
    for (int i = 0; i < a->n; i++)
        if (!i || compare(at + ITEM * (i - 1), at + ITEM * i) != 0)
            memmove(at + ITEM * kept++, at + ITEM * i, ITEM);
    a->n = kept;
}

/* Makes room for another number within the bound; removes duplicates first. */
static void grow(struct number_index *x, struct number_array *a, int (*compare)(const void *, const void *))
{
    int more = a->cap ? a->cap : FIRST_ITEMS;

    sort_unique(a, compare);
    if (a->n < a->cap / 2)
        return;
    x->cut = x->bytes + ITEM * (int64_t)more > x->max_bytes;
    if (x->cut)
        return;
    x->bytes += ITEM * (int64_t)more;
    a->cap += more;
    a->items = xrealloc(a->items, ITEM * (size_t)a->cap);
}

static void add_item(struct number_index *x, struct number_array *a, const void *item,
                     int (*compare)(const void *, const void *))
{
    if (a->n == a->cap && !x->cut)
        grow(x, a, compare);
    if (a->n < a->cap)
        memcpy((char *)a->items + ITEM * (size_t)a->n++, item, ITEM);
}

static bool has_item(const struct number_array *a, const void *item, int (*compare)(const void *, const void *))
{
    return a->n && bsearch(item, a->items, (size_t)a->n, ITEM, compare) != NULL;
}

void number_index_add(struct number_index *x, int column, struct plain_number number)
{
    struct column_numbers *c = &x->columns[column];

    if (number.whole)
        add_item(x, &c->integers, &number.integer, compare_integers);
    else if (isfinite(number.real))
        add_item(x, &c->reals, &number.real, compare_reals);
}

void number_index_add_text(struct number_index *x, int column, const char *text)
{
    struct column_numbers *c = &x->columns[column];
    struct plain_number number;
    int year = date_year(text);

    if (plain_number_read(&number, text))
        number_index_add(x, column, number);
    if (!year)
        return;
    if (!c->years)
        c->years = xcalloc(YEAR_WORDS, sizeof *c->years);
    c->years[(year - YEAR_MIN) / 64] |= UINT64_C(1) << (year - YEAR_MIN) % 64;
}

void number_index_finish(struct number_index *x)
{
    for (int c = 0; c < x->n_columns; c++) {
        sort_unique(&x->columns[c].integers, compare_integers);
        sort_unique(&x->columns[c].reals, compare_reals);
    }
}

bool number_index_has(const struct number_index *x, int column, struct plain_number number)
{
    const struct column_numbers *c = &x->columns[column];

    return number.whole ? has_item(&c->integers, &number.integer, compare_integers)
                        : has_item(&c->reals, &number.real, compare_reals);
}

bool number_index_has_year(const struct number_index *x, int column, int year)
{
    const uint64_t *years = x->columns[column].years;
    int bit = year - YEAR_MIN;

    return years && year >= YEAR_MIN && year <= YEAR_MAX && years[bit / 64] >> bit % 64 & 1;
}
