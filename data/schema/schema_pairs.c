#include "data/schema/schema_pairs.h"

#include "data/schema/element_name.h"
#include "data/schema/lexicon.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Names and keys of all elements, computed once. */

/* Each element has two spellings, as in SQL and in natural words.  A relation holds if it holds in either spelling. */
enum spelling { SPELLED_NAME, SPELLED_TEXT, SPELLINGS };

struct pair_view {
    const struct schema *schema;
    int n; /* number of elements */
    struct element_name *names[SPELLINGS];
    uint64_t *keys[SPELLINGS];  /* element_name_key of the whole name */
    uint64_t *bases[SPELLINGS]; /* key of the name without its aggregate word; 0 if it has none */
    uint64_t *sets;             /* SPELLED_NAME keys of the columns, ascending within each table */
    bool *foreign;              /* columns that are part of a foreign key */
    unsigned *meanings;         /* name_meaning of each element, with MEANS_TIME for columns of a time type */
};

/* An element with a key.  After sorting, elements with the same key are adjacent. */
struct element_key {
    uint64_t key;
    int element;
};

static int by_value(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

/* For qsort: by key, then element. */
static int element_key_compare(const void *x, const void *y)
{
    const struct element_key *a = x, *b = y;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->element > b->element) - (a->element < b->element);
}

/* Words such as "count" and "number", which stand before or behind the counted noun. */
static bool is_counting_word(uint32_t word)
{
    return word == word_hash("count") || word == word_hash("number") || word == word_hash("num") ||
           word == word_hash("total") || word == word_hash("cnt");
}

static bool is_aggregate_word(uint32_t word)
{
    static const char *const list[] = { "avg",    "average", "mean", "max",   "maximum", "highest", "min", "minimum",
                                        "lowest", "total",   "sum",  "count", "number",  "num",     "cnt" };
    for (int i = 0; i < ARRAY_LEN(list); i++)
        if (word == word_hash(list[i]))
            return true;
    return false;
}

static uint64_t base_key(const struct element_name *n)
{
    int last = n->n_words - 1;

    if (last < 1)
        return 0;
    if (is_aggregate_word(n->words[0]) || n->words[0] == word_hash("no"))
        return element_name_key(n, 1, n->n_words);
    return is_aggregate_word(n->words[last]) ? element_name_key(n, 0, last) : 0;
}

static void read_names(struct pair_view *v, enum spelling k)
{
    const struct schema *s = v->schema;

    v->names[k] = xmalloc((size_t)v->n * sizeof *v->names[k]);
    v->keys[k] = xmalloc((size_t)v->n * sizeof *v->keys[k]);
    v->bases[k] = xmalloc((size_t)v->n * sizeof *v->bases[k]);
    for (int i = 0; i < v->n; i++) {
        struct element_name *name = &v->names[k][i];
        if (i < s->n_tables)
            element_name_read(name, k == SPELLED_NAME ? s->tables[i].name : s->tables[i].text);
        else
            element_name_read(name,
                              k == SPELLED_NAME ? s->columns[i - s->n_tables].name : s->columns[i - s->n_tables].text);
        v->keys[k][i] = element_name_key(name, 0, name->n_words);
        v->bases[k][i] = base_key(name);
    }
}

static void read_meanings(struct pair_view *v)
{
    const struct schema *s = v->schema;

    v->meanings = xmalloc((size_t)v->n * sizeof *v->meanings + 1);
    for (int i = 0; i < v->n; i++)
        v->meanings[i] = name_meaning(&v->names[SPELLED_TEXT][i]);
    for (int c = 0; c < s->n_columns; c++)
        if (s->columns[c].type == COLUMN_TIME)
            v->meanings[s->n_tables + c] |= MEANS_TIME;
}

static void pair_view_open(struct pair_view *v, const struct schema *s)
{
    *v = (struct pair_view){ .schema = s, .n = s->n_tables + s->n_columns };
    for (int k = 0; k < SPELLINGS; k++)
        read_names(v, (enum spelling)k);
    read_meanings(v);
    v->sets = xmalloc((size_t)s->n_columns * sizeof *v->sets);
    v->foreign = xcalloc((size_t)s->n_columns, sizeof *v->foreign);
    if (s->n_columns)
        memcpy(v->sets, v->keys[SPELLED_NAME] + s->n_tables, (size_t)s->n_columns * sizeof *v->sets);
    for (int t = 0; t < s->n_tables; t++)
        if (s->tables[t].n_columns)
            qsort(v->sets + s->tables[t].first_column, (size_t)s->tables[t].n_columns, sizeof *v->sets, by_value);
    for (int i = 0; i < s->n_foreign_keys; i++)
        v->foreign[s->foreign_keys[i].from] = v->foreign[s->foreign_keys[i].to] = true;
}

static void pair_view_close(struct pair_view *v)
{
    for (int k = 0; k < SPELLINGS; k++) {
        free(v->names[k]);
        free(v->keys[k]);
        free(v->bases[k]);
    }
    free(v->sets);
    free(v->foreign);
    free(v->meanings);
    *v = (struct pair_view){ 0 };
}

static bool same_name(const struct pair_view *v, int a, int b)
{
    return v->keys[SPELLED_NAME][a] == v->keys[SPELLED_NAME][b] || v->keys[SPELLED_TEXT][a] == v->keys[SPELLED_TEXT][b];
}

/* Whether the name of table b is that of table a followed by that of a column. */
static bool name_extends(const struct pair_view *v, int b, int a, int column)
{
    for (int k = 0; k < SPELLINGS; k++) {
        const struct element_name *whole = &v->names[k][b], *head = &v->names[k][a], *tail = &v->names[k][column];
        if (whole->n_words == head->n_words + tail->n_words && head->n_words && tail->n_words &&
            memcmp(whole->words, head->words, (size_t)head->n_words * sizeof *head->words) == 0 &&
            memcmp(whole->words + head->n_words, tail->words, (size_t)tail->n_words * sizeof *tail->words) == 0)
            return true;
    }
    return false;
}

/* Whether element b has the name of an aggregate of element a, as max_price of price. */
static bool is_aggregate_of(const struct pair_view *v, int b, int a)
{
    for (int k = 0; k < SPELLINGS; k++)
        if (v->bases[k][b] && v->bases[k][b] == v->keys[k][a])
            return true;
    return false;
}

/* Number of names that the columns of two tables share. */
static int shared_columns(const struct pair_view *v, int a, int b)
{
    const struct schema_table *x = &v->schema->tables[a], *y = &v->schema->tables[b];
    int i = x->first_column, k = y->first_column, both = 0;

    while (i < x->first_column + x->n_columns && k < y->first_column + y->n_columns) {
        uint64_t p = v->sets[i], q = v->sets[k];
        both += p == q;
        i += p <= q;
        k += q <= p;
    }
    return both;
}

static bool key_found(const struct pair_view *v, int a, int b)
{
    const struct schema *s = v->schema;
    const struct schema_table *x = &s->tables[a], *y = &s->tables[b];

    for (int c = x->first_column; c < x->first_column + x->n_columns; c++)
        for (int d = y->first_column; s->columns[c].primary && d < y->first_column + y->n_columns; d++)
            if (same_name(v, s->n_tables + c, s->n_tables + d))
                return true;
    return false;
}

/* Whether a primary key column of one table has a namesake in the other. */
static bool key_shared(const struct pair_view *v, int a, int b)
{
    return key_found(v, a, b) || key_found(v, b, a);
}

static bool contains_words(const struct element_name *a, const struct element_name *b)
{
    return element_name_compare_words(a, b).contains > 0;
}

/* Whether two tables may hold the same things.  Either one name contains the words of the other, or columns have
 * namesakes: at least two, and half of those of the smaller table. */
static bool like_tables(const struct pair_view *v, int a, int b)
{
    const struct schema_table *x = &v->schema->tables[a], *y = &v->schema->tables[b];
    int fewer = x->n_columns < y->n_columns ? x->n_columns : y->n_columns, both = shared_columns(v, a, b);

    return (both >= 2 && 2 * both >= fewer) || contains_words(&v->names[SPELLED_TEXT][a], &v->names[SPELLED_TEXT][b]);
}

/* Number of joins between tables, by foreign keys or by column names that look like keys. */

/* Joins between tables.  A column joins its table with another one by a foreign key or, if undeclared, by its name. */
struct table_reach {
    int *start, *to; /* neighbours of table t, ascending: to[start[t]] .. to[start[t + 1] - 1] */
    int *target;     /* [n_columns] the table that a column refers to; -1: none */
};
enum { REACH_FAR = 3 };

struct table_link {
    int from, to;
};

static int by_tables(const void *x, const void *y)
{
    const struct table_link *a = x, *b = y;

    return a->from != b->from ? (a->from > b->from) - (a->from < b->from) : (a->to > b->to) - (a->to < b->to);
}

struct link_list {
    struct table_link *list;
    int n, cap;
};

static void add_link(struct link_list *l, int from, int to)
{
    if (from == to)
        return;
    GROW(l->list, l->n, l->cap);
    l->list[l->n++] = (struct table_link){ from, to };
    GROW(l->list, l->n, l->cap);
    l->list[l->n++] = (struct table_link){ to, from };
}

static int find_element(const struct element_key *list, int n, uint64_t key)
{
    int low = 0, high = n;

    while (low < high) {
        int mid = low + (high - low) / 2;
        if (list[mid].key < key)
            low = mid + 1;
        else
            high = mid;
    }
    return low < n && list[low].key == key ? list[low].element : -1;
}

static bool is_key_word(uint32_t word)
{
    static const char *const list[] = { "id", "code", "no", "key", "number", "nr", "ref", "fk", "uid", "uuid" };

    for (int i = 0; i < ARRAY_LEN(list); i++)
        if (word == word_hash(list[i]))
            return true;
    return false;
}

/* Names that undeclared keys refer to: those of tables, and those of primary keys with at least two words. */
struct key_names {
    struct element_key *keys, *tables;
    int n_keys, n_tables;
};

static void key_names_init(struct key_names *k, const struct pair_view *v)
{
    const struct schema *s = v->schema;

    *k = (struct key_names){ .keys = xmalloc(((size_t)s->n_columns + 1) * sizeof *k->keys),
                             .tables = xmalloc(((size_t)s->n_tables + 1) * sizeof *k->tables),
                             .n_tables = s->n_tables };
    for (int c = 0; c < s->n_columns; c++)
        if (s->columns[c].primary && v->names[SPELLED_TEXT][s->n_tables + c].n_words > 1)
            k->keys[k->n_keys++] = (struct element_key){ v->keys[SPELLED_TEXT][s->n_tables + c], s->columns[c].table };
    for (int t = 0; t < s->n_tables; t++)
        k->tables[t] = (struct element_key){ v->keys[SPELLED_TEXT][t], t };
    qsort(k->keys, (size_t)k->n_keys, sizeof *k->keys, element_key_compare);
    qsort(k->tables, (size_t)k->n_tables, sizeof *k->tables, element_key_compare);
}

/* The table that the name of a column refers to; -1: none. customer_id refers to the table customer, or to a table with
 * that primary key. */
static int referred(const struct key_names *k, const struct pair_view *v, int column)
{
    const struct schema *s = v->schema;
    const struct element_name *n = &v->names[SPELLED_TEXT][s->n_tables + column];
    int last = n->n_words - 1, table = -1;

    if (last < 1)
        return -1;
    if (is_key_word(n->words[last]))
        table = find_element(k->tables, k->n_tables, element_name_key(n, 0, last));
    if (table < 0 || table == s->columns[column].table)
        table = find_element(k->keys, k->n_keys, v->keys[SPELLED_TEXT][s->n_tables + column]);
    return table == s->columns[column].table ? -1 : table;
}

static void refer(struct table_reach *r, struct link_list *l, const struct pair_view *v)
{
    const struct schema *s = v->schema;
    struct key_names names;

    key_names_init(&names, v);
    for (int c = 0; c < s->n_columns; c++)
        r->target[c] = referred(&names, v, c);
    for (int i = 0; i < s->n_foreign_keys; i++)
        r->target[s->foreign_keys[i].from] = s->columns[s->foreign_keys[i].to].table;
    for (int c = 0; c < s->n_columns; c++)
        if (r->target[c] >= 0)
            add_link(l, s->columns[c].table, r->target[c]);
    for (int i = 0; i < s->n_foreign_keys; i++)
        add_link(l, s->columns[s->foreign_keys[i].from].table, s->columns[s->foreign_keys[i].to].table);
    free(names.keys);
    free(names.tables);
}

static void table_reach_open(struct table_reach *r, const struct pair_view *v)
{
    int tables = v->schema->n_tables, n = 0;
    struct link_list l = { 0 };

    *r = (struct table_reach){ .start = xcalloc((size_t)tables + 1, sizeof *r->start),
                               .target = xmalloc(((size_t)v->schema->n_columns + 1) * sizeof *r->target) };
    refer(r, &l, v);
    if (l.n)
        qsort(l.list, (size_t)l.n, sizeof *l.list, by_tables);
    r->to = xmalloc(((size_t)l.n + 1) * sizeof *r->to);
    for (int i = 0; i < l.n; i++)
        if (!i || by_tables(&l.list[i], &l.list[i - 1]) != 0) {
            r->to[n++] = l.list[i].to;
            r->start[l.list[i].from + 1] = n;
        }
    for (int t = 0; t < tables; t++)
        r->start[t + 1] = r->start[t + 1] > r->start[t] ? r->start[t + 1] : r->start[t];
    free(l.list);
}

static void table_reach_close(struct table_reach *r)
{
    free(r->start);
    free(r->to);
    free(r->target);
    *r = (struct table_reach){ 0 };
}

/* 0 for the same table, 1 or 2 joins, REACH_FAR for more. */
static int table_reach(const struct table_reach *r, int a, int b)
{
    int i = r->start[a], k = r->start[b];
    bool common = false;

    if (a == b)
        return 0;
    for (int j = r->start[a]; j < r->start[a + 1]; j++)
        if (r->to[j] == b)
            return 1;
    while (i < r->start[a + 1] && k < r->start[b + 1]) {
        int x = r->to[i], y = r->to[k];
        common |= x == y;
        i += x <= y;
        k += y <= x;
    }
    return common ? 2 : REACH_FAR;
}

/* The features of pairs. */

static float log_share(int n, float scale)
{
    return log2f(1 + (float)n) / scale;
}

/* Counts of a schema, computed once. */
struct counts {
    float *family;          /* for each column: share of the other columns of its table that share a word with it */
    int *namesakes;         /* for each element: tables or columns of its group with the same key */
    int *rivals[SIA_TYPES]; /* for each element: candidates of the type within a group that contain it */
    int *group;             /* for each table: schema_groups */
    int *tables, *columns;  /* for each representative: tables and columns of its group */
};

static void count_groups(struct counts *c, const struct schema *s)
{
    c->group = schema_groups(s);
    c->tables = xcalloc((size_t)s->n_tables, sizeof *c->tables);
    c->columns = xcalloc((size_t)s->n_tables, sizeof *c->columns);
    for (int t = 0; t < s->n_tables; t++) {
        c->tables[c->group[t]]++;
        c->columns[c->group[t]] += s->tables[t].n_columns;
    }
}

/* The size of the groups of two tables together. */
static int in_groups(const struct counts *c, const int *sizes, int a, int b)
{
    int x = c->group[a], y = c->group[b];
    return sizes[x] + (x == y ? 0 : sizes[y]);
}

static bool in_one_group(const struct counts *c, const struct schema *s, const struct schema_pair *p)
{
    return c->group[schema_table_of(s, p->u)] == c->group[schema_table_of(s, p->v)];
}

/* Counts elements with the same name in the same group. */
static void count_namesakes(int *out, const struct pair_view *v, const int *group, int from, int to)
{
    int n = to - from;
    struct element_key *list = xmalloc((size_t)n * sizeof *list);

    for (int i = 0; i < n; i++) {
        uint64_t at = (uint64_t)group[schema_table_of(v->schema, from + i)];
        list[i] = (struct element_key){ hash_bytes(v->keys[SPELLED_TEXT][from + i], &at, sizeof at), from + i };
    }
    if (n)
        qsort(list, (size_t)n, sizeof *list, element_key_compare);
    for (int i = 0, end; i < n; i = end) {
        for (end = i; end < n && list[end].key == list[i].key; end++)
            ;
        for (int k = i; k < end; k++)
            out[list[k].element] = end - i;
    }
    free(list);
}

static void count_family(float *out, const struct pair_view *v, const struct schema_table *t)
{
    const struct element_name *names = v->names[SPELLED_TEXT] + v->schema->n_tables;
    int first = t->first_column, end = first + t->n_columns;

    for (int a = first; a < end; a++)
        for (int b = a + 1; b < end && b <= a + PAIR_WIDE_TABLE; b++)
            if (element_name_shares_word(&names[a], &names[b])) {
                out[a] += 1 / (float)(t->n_columns - 1);
                out[b] += 1 / (float)(t->n_columns - 1);
            }
}

static void count(struct counts *c, const struct pair_view *v, const struct schema_pair *pairs, int n)
{
    count_groups(c, v->schema);
    c->namesakes = xcalloc((size_t)v->n, sizeof *c->namesakes);
    count_namesakes(c->namesakes, v, c->group, 0, v->schema->n_tables);
    count_namesakes(c->namesakes, v, c->group, v->schema->n_tables, v->n);
    c->family = xcalloc((size_t)v->schema->n_columns, sizeof *c->family);
    for (int t = 0; t < v->schema->n_tables; t++)
        count_family(c->family, v, &v->schema->tables[t]);
    for (int k = 0; k < SIA_TYPES; k++)
        c->rivals[k] = xcalloc((size_t)v->n, sizeof *c->rivals[k]);
    for (int i = 0; i < n; i++)
        if (in_one_group(c, v->schema, &pairs[i])) {
            c->rivals[pairs[i].type][pairs[i].u]++;
            c->rivals[pairs[i].type][pairs[i].v]++;
        }
}

static void counts_release(struct counts *c)
{
    free(c->namesakes);
    free(c->family);
    for (int k = 0; k < SIA_TYPES; k++)
        free(c->rivals[k]);
    free(c->group);
    free(c->tables);
    free(c->columns);
}

static void name_features(float *f, const struct pair_view *v, int a, int b)
{
    const struct element_name *x = &v->names[SPELLED_TEXT][a], *y = &v->names[SPELLED_TEXT][b];
    struct name_similarity s = element_name_compare(x, y);
    int shorter = x->n_chars < y->n_chars ? x->n_chars : y->n_chars, both = x->n_chars + y->n_chars;

    f[PAIR_EQUAL] = s.equal;
    f[PAIR_SAME_SET] = s.same_set;
    f[PAIR_WORDS] = s.words;
    f[PAIR_HEAD] = s.head;
    f[PAIR_CONTAINS] = s.contains;
    f[PAIR_TRIGRAMS] = s.trigrams;
    f[PAIR_EDIT] = s.edit;
    f[PAIR_PREFIX] = s.prefix;
    f[PAIR_SUFFIX] = s.suffix;
    f[PAIR_WORD_COUNTS] = (float)abs(x->n_words - y->n_words) / 4;
    f[PAIR_WORDS_U] = (float)x->n_words / 4;
    f[PAIR_WORDS_V] = (float)y->n_words / 4;
    f[PAIR_LETTERS_U] = (float)x->n_chars / 24;
    f[PAIR_LETTERS_V] = (float)y->n_chars / 24;
    f[PAIR_LENGTHS] = both > shorter ? (float)shorter / (float)(both - shorter) : 1;
}

static bool repeats_table(const struct pair_view *v, int column, int table)
{
    const struct element_name *c = &v->names[SPELLED_TEXT][column], *t = &v->names[SPELLED_TEXT][table];

    for (int i = 0; i < c->n_words; i++)
        for (int k = 0; k < t->n_words; k++)
            if (c->words[i] == t->words[k])
                return true;
    return false;
}

static void column_features(float *f, const struct pair_view *v, int a, int b)
{
    const struct schema *s = v->schema;
    const struct schema_column *x = &s->columns[a - s->n_tables], *y = &s->columns[b - s->n_tables];
    bool fa = v->foreign[a - s->n_tables], fb = v->foreign[b - s->n_tables];

    f[PAIR_SAME_TYPE] = x->type == y->type;
    f[PAIR_NUMBER] = x->type == COLUMN_NUMBER;
    f[PAIR_TEXT] = x->type == COLUMN_TEXT;
    f[PAIR_TIME] = x->type == COLUMN_TIME;
    f[PAIR_BOTH_PRIMARY] = x->primary && y->primary;
    f[PAIR_ONE_PRIMARY] = x->primary != y->primary;
    f[PAIR_BOTH_FOREIGN] = fa && fb;
    f[PAIR_ONE_FOREIGN] = fa != fb;
    f[PAIR_TABLE_WORD] = 0.5f * (float)(repeats_table(v, a, x->table) + repeats_table(v, b, y->table));
    f[PAIR_AGGREGATE_OF] = is_aggregate_of(v, b, a);
    f[PAIR_AGGREGATE_WORD] =
        0.5f * (float)(v->bases[SPELLED_TEXT][a] != 0) + 0.5f * (float)(v->bases[SPELLED_TEXT][b] != 0);
}

static bool linked(const struct schema *s, int a, int b)
{
    for (int i = 0; i < s->n_foreign_keys; i++) {
        int x = s->columns[s->foreign_keys[i].from].table, y = s->columns[s->foreign_keys[i].to].table;
        if ((x == a && y == b) || (x == b && y == a))
            return true;
    }
    return false;
}

static bool begins(const struct element_name *whole, const struct element_name *head)
{
    if (!head->n_words || head->n_words > whole->n_words)
        return false;
    return element_name_key(whole, 0, head->n_words) == element_name_key(head, 0, head->n_words);
}

/* Whether the name of table b is that of table a followed by that of the column, or of any column of a. */
static bool extended(const struct pair_view *v, int a, int b, int column)
{
    const struct schema_table *t = &v->schema->tables[a];

    if (column >= v->schema->n_tables)
        return name_extends(v, b, a, column);
    for (int c = t->first_column; c < t->first_column + t->n_columns; c++)
        if (name_extends(v, b, a, v->schema->n_tables + c))
            return true;
    return false;
}

static int aggregate_siblings(const struct pair_view *v, int a, int table)
{
    const struct schema_table *t = &v->schema->tables[table];
    int n = 0;

    for (int c = t->first_column; c < t->first_column + t->n_columns; c++)
        n += is_aggregate_of(v, v->schema->n_tables + c, a);
    return n;
}

/* a and b are two different tables. */
static void table_features(float *f, const struct pair_view *v, int a, int b)
{
    const struct schema_table *t = v->schema->tables;
    const struct element_name *x = &v->names[SPELLED_TEXT][a], *y = &v->names[SPELLED_TEXT][b];
    int both = shared_columns(v, a, b), any = t[a].n_columns + t[b].n_columns - both;
    int fewer = t[a].n_columns < t[b].n_columns ? t[a].n_columns : t[b].n_columns;

    f[PAIR_LINKED] = linked(v->schema, a, b);
    f[PAIR_COLUMNS_JACCARD] = any ? (float)both / (float)any : 0;
    f[PAIR_COLUMNS_EQUAL] = both && both == any;
    f[PAIR_COLUMNS_CONTAINED] = fewer ? (float)both / (float)fewer : 0;
    f[PAIR_KEY_SHARED] = key_shared(v, a, b);
    f[PAIR_TABLE_BEGINS] = begins(x, y) || begins(y, x);
    f[PAIR_TABLE_TRIGRAMS] = element_name_trigrams(x, y);
    f[PAIR_TABLE_HEAD] = x->n_words && y->n_words && x->words[x->n_words - 1] == y->words[y->n_words - 1];
}

static void size_features(float *f, const struct pair_view *v, const struct counts *c, const struct schema_pair *p)
{
    const struct schema *s = v->schema;
    const int *rivals = c->rivals[p->type];
    int a = schema_table_of(s, p->u), b = schema_table_of(s, p->v);

    f[PAIR_COLUMNS_U] = log_share(s->tables[a].n_columns, 8);
    f[PAIR_COLUMNS_V] = log_share(s->tables[b].n_columns, 8);
    f[PAIR_GROUP_TABLES] = log_share(in_groups(c, c->tables, a, b), 8);
    f[PAIR_GROUP_COLUMNS] = log_share(in_groups(c, c->columns, a, b), 8);
    f[PAIR_NAMESAKES_U] = log_share(c->namesakes[p->u] - 1, 4);
    f[PAIR_NAMESAKES_V] = log_share(c->namesakes[p->v] - 1, 4);
    f[PAIR_RIVALS] = log_share(rivals[p->u] + rivals[p->v] - (in_one_group(c, s, p) ? 2 : 0), 8);
}

static void meaning_features(float *f, const struct pair_view *v, int a, int b)
{
    static const struct {
        enum pair_feature feature;
        unsigned meaning;
    } list[] = { { PAIR_MONEY, MEANS_MONEY }, { PAIR_MEANS_TIME, MEANS_TIME }, { PAIR_PERSON, MEANS_PERSON },
                 { PAIR_PLACE, MEANS_PLACE }, { PAIR_STATUS, MEANS_STATUS },   { PAIR_NAME, MEANS_NAME } };

    f[PAIR_SAME_MEANING] = (v->meanings[a] & v->meanings[b]) != 0;
    for (int i = 0; i < ARRAY_LEN(list); i++)
        f[list[i].feature] = 0.5f * (float)((v->meanings[a] & list[i].meaning) != 0) +
                             0.5f * (float)((v->meanings[b] & list[i].meaning) != 0);
    f[PAIR_MODIFIED_ONE] = f[PAIR_CONTAINS] > 0 && !(f[PAIR_SAME_SET] > 0);
    f[PAIR_MODIFIED_BOTH] = f[PAIR_WORDS] > 0 && !(f[PAIR_CONTAINS] > 0);
}

static bool same_target(const struct table_reach *r, int a, int b)
{
    return r->target[a] >= 0 && r->target[a] == r->target[b];
}

/* Features that all pairs of elements of two tables share, kept from one pair to the next. */
struct tables_known {
    int a, b;
    float features[SCHEMA_PAIR_FEATURES];
};

static void describe_tables(float *f, struct tables_known *known, const struct pair_view *v,
                            const struct table_reach *r, int a, int b)
{
    if (known->a != a || known->b != b) {
        *known = (struct tables_known){ .a = a, .b = b };
        table_features(known->features, v, a, b);
        int reach = table_reach(r, a, b);
        known->features[PAIR_ACROSS] = 1;
        known->features[PAIR_ONE_JOIN] = reach == 1;
        known->features[PAIR_TWO_JOINS] = reach == 2;
        known->features[PAIR_LIKE_TABLES] = like_tables(v, a, b);
    }
    for (int i = 0; i < SCHEMA_PAIR_FEATURES; i++)
        f[i] += known->features[i];
}

static void pair_features(const struct pair_view *v, const struct table_reach *r, struct schema_pair *pairs, int n)
{
    struct counts c;
    struct tables_known known = { -1, -1, { 0 } };

    count(&c, v, pairs, n);
    for (int i = 0; i < n; i++) {
        struct schema_pair *p = &pairs[i];
        int a = schema_table_of(v->schema, p->u), b = schema_table_of(v->schema, p->v);
        p->features[PAIR_IS_COLUMN + p->type] = 1;
        name_features(p->features, v, p->u, p->v);
        if (p->u >= v->schema->n_tables) {
            column_features(p->features, v, p->u, p->v);
            p->features[PAIR_SAME_TARGET] = same_target(r, p->u - v->schema->n_tables, p->v - v->schema->n_tables);
            p->features[PAIR_FAMILY_U] = c.family[p->u - v->schema->n_tables];
            p->features[PAIR_FAMILY_V] = c.family[p->v - v->schema->n_tables];
            p->features[PAIR_AGGREGATE_SIBLINGS] = (float)aggregate_siblings(v, p->u, b) / 4;
        }
        if (a != b) {
            describe_tables(p->features, &known, v, r, a, b);
            p->features[PAIR_TABLE_EXTENDED] = extended(v, a, b, p->u) || (p->u == a && extended(v, b, a, b));
        }
        meaning_features(p->features, v, p->u, p->v);
        size_features(p->features, v, &c, p);
    }
    counts_release(&c);
}

/* The choice of candidates. */

enum {
    FEW_NEIGHBOURS = 24, /* a table with more neighbours does not make its neighbours candidates */
    FEW_TABLES = 24,     /* with at most as many tables, all of them are compared */
    MANY_TABLES = 512,   /* with more tables, only tables that keys join are compared */
    SMALL_TABLE = 3,     /* maximum columns of a table that looks split off: the key, the column, perhaps one more */
    MANY_NAMESAKES = 8   /* with more elements of one name, a candidate also needs related tables */
};

struct draft_pair {
    int u, v;
    enum sia_type type;
    bool across; /* elements of two tables */
};

struct drafts {
    struct draft_pair *list;
    int n, cap;
};

/* The order of u and v says which one is the original, unless both are of one kind. */
static void add(struct drafts *d, int u, int v, enum sia_type type)
{
    GROW(d->list, d->n, d->cap);
    bool kept = u < v || ambiguity_types[type].new_table;
    d->list[d->n++] = (struct draft_pair){ kept ? u : v, kept ? v : u, type, false };
}

static struct element_key *columns_by_key(const struct pair_view *v, enum spelling k)
{
    const struct schema *s = v->schema;
    struct element_key *list = xmalloc((size_t)s->n_columns * sizeof *list);

    for (int c = 0; c < s->n_columns; c++)
        list[c] = (struct element_key){ v->keys[k][s->n_tables + c], s->n_tables + c };
    if (s->n_columns)
        qsort(list, (size_t)s->n_columns, sizeof *list, element_key_compare);
    return list;
}

/* The first position whose key is not below the given key. */
static int find_key(const struct element_key *list, int n, uint64_t key)
{
    int low = 0;

    while (low < n) {
        int mid = low + (n - low) / 2;
        if (list[mid].key < key)
            low = mid + 1;
        else
            n = mid;
    }
    return low;
}

/* Whether the table of column b looks split off from the table of column a.  It is named after both, or small with the
 * same key. */
static bool split_off(const struct pair_view *v, int a, int b)
{
    int from = schema_table_of(v->schema, a), to = schema_table_of(v->schema, b);
    const struct schema_table *t = v->schema->tables;

    if (from == to)
        return false;
    if (name_extends(v, to, from, a))
        return true;
    const struct schema_column *x = &v->schema->columns[a - v->schema->n_tables];
    const struct schema_column *y = &v->schema->columns[b - v->schema->n_tables];
    return !x->primary && !y->primary && t[to].n_columns <= SMALL_TABLE && t[from].n_columns > t[to].n_columns &&
           key_shared(v, from, to);
}

static void add_joins(struct drafts *d, const struct pair_view *v)
{
    for (int k = 0; k < SPELLINGS; k++) {
        struct element_key *list = columns_by_key(v, (enum spelling)k);
        int n = v->schema->n_columns;
        for (int i = 0; i < n; i++)
            for (int j = i + 1; j < n && j <= i + PAIR_WIDE_TABLE && list[j].key == list[i].key; j++)
                if (split_off(v, list[i].element, list[j].element))
                    add(d, list[i].element, list[j].element, SIA_JOIN);
                else if (split_off(v, list[j].element, list[i].element))
                    add(d, list[j].element, list[i].element, SIA_JOIN);
        free(list);
    }
}

static bool related(const struct pair_view *v, int a, int b)
{
    int x = schema_table_of(v->schema, a), y = schema_table_of(v->schema, b);
    return x == y || name_extends(v, y, x, a) || key_shared(v, x, y);
}

static void add_aggregates(struct drafts *d, const struct pair_view *v)
{
    for (int k = 0; k < SPELLINGS; k++) {
        struct element_key *list = columns_by_key(v, (enum spelling)k);
        int n = v->schema->n_columns;
        for (int b = v->schema->n_tables; b < v->n; b++) {
            uint64_t key = v->bases[k][b];
            int first = find_key(list, n, key), end = key ? find_key(list, n, key + 1) : first;
            for (int i = first; i < end && i < first + PAIR_WIDE_TABLE; i++)
                if (end - first <= MANY_NAMESAKES || related(v, list[i].element, b))
                    add(d, list[i].element, b, SIA_AGGREGATE);
        }
        free(list);
    }
}

/* Whether all words of b except "of" are among words [first, end) of a. */
static bool holds_words(const struct element_name *a, int first, int end, const struct element_name *b)
{
    uint32_t of = word_hash("of");

    for (int i = 0; i < b->n_words; i++) {
        bool found = b->words[i] == of;
        for (int k = first; k < end; k++)
            found |= a->words[k] == b->words[i];
        if (!found)
            return false;
    }
    return b->n_words > 0;
}

/* Whether a column has the name of a row count of the table (number of orders, order count). */
static bool counts_rows(const struct pair_view *v, int column, int table)
{
    const struct element_name *c = &v->names[SPELLED_TEXT][column], *t = &v->names[SPELLED_TEXT][table];
    bool first = v->bases[SPELLED_TEXT][column] && (is_counting_word(c->words[0]) || c->words[0] == word_hash("no"));
    bool last = v->bases[SPELLED_TEXT][column] && is_counting_word(c->words[c->n_words - 1]);

    return (first && holds_words(c, 1, c->n_words, t)) || (!first && last && holds_words(c, 0, c->n_words - 1, t));
}

/* Pairs a stored row count with the keys of the counted table, which stand for its rows. */
static void add_counts(struct drafts *d, const struct pair_view *v, const struct table_reach *r)
{
    const struct schema *s = v->schema;

    for (int b = s->n_tables; b < v->n; b++)
        for (int t = 0; v->bases[SPELLED_TEXT][b] && t < s->n_tables; t++) {
            if (t == schema_table_of(s, b) || !counts_rows(v, b, t))
                continue;
            int first = s->tables[t].first_column;
            for (int c = first; c < first + s->tables[t].n_columns; c++)
                if (c == first || s->columns[c].primary || r->target[c] >= 0)
                    add(d, s->n_tables + c, b, SIA_AGGREGATE);
        }
}

/* Whether a question may mean either table: they share columns, a word or a meaning, or a key joins them. */
static bool could_be_tables(const struct pair_view *v, const struct table_reach *r, int a, int b)
{
    const struct element_name *x = &v->names[SPELLED_TEXT][a], *y = &v->names[SPELLED_TEXT][b];

    return (v->meanings[a] & v->meanings[b]) || element_name_shares_word(x, y) || table_reach(r, a, b) <= 1 ||
           like_tables(v, a, b);
}

/* Tables that share half of all their columns, and those that could_be_tables accepts. */
static void add_tables(struct drafts *d, const struct pair_view *v, const struct table_reach *r)
{
    const struct schema_table *t = v->schema->tables;

    for (int a = 0; a < v->schema->n_tables; a++)
        for (int b = a + 1; b < v->schema->n_tables; b++) {
            int both = shared_columns(v, a, b), any = t[a].n_columns + t[b].n_columns - both;
            bool like = both && 2 * both >= any;
            bool few = v->schema->n_tables <= FEW_TABLES && any > both;
            if (like || few || (v->schema->n_tables <= MANY_TABLES && could_be_tables(v, r, a, b)))
                add(d, a, b, SIA_TABLE);
        }
}

static void add_similar_columns(struct drafts *d, const struct pair_view *v, int first, int n)
{
    struct similar_pair *pairs = NULL;
    int n_pairs = 0, cap = 0;
    const struct schema_column *columns = v->schema->columns - v->schema->n_tables;

    similar_names(v->names[SPELLED_TEXT], first, first + n, &pairs, &n_pairs, &cap);
    for (int i = 0; i < n_pairs; i++)
        if (columns[pairs[i].a].type == columns[pairs[i].b].type)
            add(d, pairs[i].a, pairs[i].b, SIA_COLUMN);
    free(pairs);
}

/* Whether two columns of one table could hold the same thing: their names share a word; or they share a type or a
 * meaning, and both or neither are keys. */
static bool could_be_duplicates(const struct pair_view *v, int a, int b)
{
    const struct schema *s = v->schema;
    const struct schema_column *x = &s->columns[a], *y = &s->columns[b];

    if (element_name_shares_word(&v->names[SPELLED_TEXT][s->n_tables + a], &v->names[SPELLED_TEXT][s->n_tables + b]))
        return true;
    if (x->type != y->type && !(v->meanings[s->n_tables + a] & v->meanings[s->n_tables + b]))
        return false;
    return x->primary == y->primary && v->foreign[a] == v->foreign[b];
}

static void add_columns(struct drafts *d, const struct pair_view *v)
{
    const struct schema *s = v->schema;

    for (int t = 0; t < s->n_tables; t++) {
        int first = s->tables[t].first_column, n = s->tables[t].n_columns;
        if (n > PAIR_WIDE_TABLE) {
            add_similar_columns(d, v, s->n_tables + first, n);
            continue;
        }
        for (int a = first; a < first + n; a++)
            for (int b = a + 1; b < first + n; b++)
                if (could_be_duplicates(v, a, b))
                    add(d, s->n_tables + a, s->n_tables + b, SIA_COLUMN);
    }
}

/* Whether one of two columns may be stored and computed from the other one: both hold numbers. */
static bool both_numbers(const struct schema *s, int x, int y)
{
    return s->columns[x].type == COLUMN_NUMBER && s->columns[y].type == COLUMN_NUMBER;
}

/* Whether a question may mean either of two columns of different tables.  Keys with different names qualify if they
 * refer to the same table.  For other columns, the condition is weaker the fewer joins lie between their tables. */
static bool could_be_meant(const struct pair_view *v, const struct table_reach *r, int a, int b, bool near, bool like)
{
    const struct schema *s = v->schema;
    int x = a - s->n_tables, y = b - s->n_tables;
    bool key = s->columns[x].primary || r->target[x] >= 0, other = s->columns[y].primary || r->target[y] >= 0;

    if (same_name(v, a, b))
        return !key && !other;
    if (key || other)
        return r->target[x] >= 0 && r->target[x] == r->target[y];
    struct name_similarity n = element_name_compare_words(&v->names[SPELLED_TEXT][a], &v->names[SPELLED_TEXT][b]);
    if (n.head > 0 || n.contains > 0)
        return true;
    unsigned both = v->meanings[a] & v->meanings[b];
    if (near && both_numbers(s, x, y))
        return true;
    return both & MEANS_CONTACT || ((near || like) && (n.words > 0 || both));
}

static void add_between(struct drafts *d, const struct pair_view *v, const struct table_reach *r, int a, int b)
{
    const struct schema *s = v->schema;
    const struct schema_table *x = &s->tables[a], *y = &s->tables[b];
    bool near = table_reach(r, a, b) <= 1, like = like_tables(v, a, b);

    if (x->n_columns > PAIR_WIDE_TABLE || y->n_columns > PAIR_WIDE_TABLE)
        return;
    for (int i = x->first_column; i < x->first_column + x->n_columns; i++)
        for (int k = y->first_column; k < y->first_column + y->n_columns; k++)
            if (could_be_meant(v, r, s->n_tables + i, s->n_tables + k, near, like))
                add(d, s->n_tables + i, s->n_tables + k, SIA_COLUMN);
}

static bool brought_together(const struct pair_view *v, const struct table_reach *r, int a, int b)
{
    int reach = table_reach(r, a, b);
    bool hub = r->start[a + 1] - r->start[a] > FEW_NEIGHBOURS || r->start[b + 1] - r->start[b] > FEW_NEIGHBOURS;

    return reach <= (hub ? 1 : 2) || v->schema->n_tables <= FEW_TABLES ||
           (v->schema->n_tables <= MANY_TABLES && like_tables(v, a, b));
}

/* Columns of the same name in different tables that are not keys. */
static void add_namesakes(struct drafts *d, const struct pair_view *v, const struct table_reach *r)
{
    struct element_key *list = columns_by_key(v, SPELLED_TEXT);
    int n = v->schema->n_columns;

    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n && j <= i + MANY_NAMESAKES && list[j].key == list[i].key; j++) {
            int a = schema_table_of(v->schema, list[i].element), b = schema_table_of(v->schema, list[j].element);
            if (a != b && could_be_meant(v, r, list[i].element, list[j].element, false, false))
                add(d, list[i].element, list[j].element, SIA_COLUMN);
        }
    free(list);
}

static void add_across(struct drafts *d, const struct pair_view *v, const struct table_reach *r)
{
    add_namesakes(d, v, r);
    for (int a = 0; a < v->schema->n_tables; a++)
        for (int b = a + 1; b < v->schema->n_tables; b++)
            if (brought_together(v, r, a, b))
                add_between(d, v, r, a, b);
}

/* Makes pairs of the same two elements adjacent, the more specific type first. */
static int by_elements(const void *x, const void *y)
{
    const struct draft_pair *a = x, *b = y;
    int la = a->u < a->v ? a->u : a->v, lb = b->u < b->v ? b->u : b->v;
    int ha = a->u + a->v - la, hb = b->u + b->v - lb;

    if (la != lb || ha != hb)
        return la != lb ? (la > lb) - (la < lb) : (ha > hb) - (ha < hb);
    return a->type != b->type ? (a->type < b->type) - (a->type > b->type) : (a->u > b->u) - (a->u < b->u);
}

/* The order of the list.  Type C comes last, with columns of two tables at the end, where the limit cuts. */
static int by_rank(const void *x, const void *y)
{
    const struct draft_pair *a = x, *b = y;
    int ka = ((int)a->type + SIA_TYPES - 1) % SIA_TYPES, kb = ((int)b->type + SIA_TYPES - 1) % SIA_TYPES;

    if (ka != kb)
        return (ka > kb) - (ka < kb);
    if (a->across != b->across)
        return a->across - b->across;
    return a->u != b->u ? (a->u > b->u) - (a->u < b->u) : (a->v > b->v) - (a->v < b->v);
}

static int keep_best(struct drafts *d, const struct schema *s)
{
    int n = 0;

    if (!d->n)
        return 0;
    qsort(d->list, (size_t)d->n, sizeof *d->list, by_elements);
    for (int i = 0; i < d->n; i++) {
        const struct draft_pair *p = &d->list[i], *q = n ? &d->list[n - 1] : NULL;
        if (!q || !((p->u == q->u && p->v == q->v) || (p->u == q->v && p->v == q->u)))
            d->list[n++] = *p;
    }
    for (int i = 0; i < n; i++)
        d->list[i].across = schema_table_of(s, d->list[i].u) != schema_table_of(s, d->list[i].v);
    qsort(d->list, (size_t)n, sizeof *d->list, by_rank);
    return n < SCHEMA_PAIRS_MAX ? n : SCHEMA_PAIRS_MAX;
}

struct schema_pair *schema_pairs(const struct schema *s, int *n)
{
    struct drafts d = { 0 };
    struct pair_view v;
    struct table_reach r;

    pair_view_open(&v, s);
    table_reach_open(&r, &v);
    add_joins(&d, &v);
    add_aggregates(&d, &v);
    add_counts(&d, &v, &r);
    add_tables(&d, &v, &r);
    add_columns(&d, &v);
    add_across(&d, &v, &r);
    *n = keep_best(&d, s);
    struct schema_pair *out = xmalloc((size_t)*n * sizeof *out);
    for (int i = 0; i < *n; i++)
        out[i] = (struct schema_pair){ .u = d.list[i].u, .v = d.list[i].v, .type = d.list[i].type };
    pair_features(&v, &r, out, *n);
    table_reach_close(&r);
    pair_view_close(&v);
    free(d.list);
    return out;
}
