/* Part of schema_pairs.h: the features of a pair. */
#include "data/schema/schema_pairs_impl.h"

#include "data/schema/schema_groups.h"

#include <math.h>
#include <stdlib.h>

static float log_share(int n, float most)
{
    return log2f(1 + (float)n) / most;
}

/* What is counted once per schema. */
struct counts {
    float *family;          /* per column: share of its table's others that have a word in common with it */
    int *namesakes;         /* per element: how many elements of its sort and group have its key */
    int *rivals[SIA_KINDS]; /* per element: candidates of the kind, within a group, that touch it */
    int *group;             /* per table: schema_groups */
    int *tables, *columns;  /* per table that stands for others: how many of both */
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

/* Of the groups of two tables together. */
static int in_groups(const struct counts *c, const int *sizes, int a, int b)
{
    int x = c->group[a], y = c->group[b];
    return sizes[x] + (x == y ? 0 : sizes[y]);
}

static bool in_one_group(const struct counts *c, const struct schema *s, const struct schema_pair *p)
{
    return c->group[schema_table_of(s, p->u)] == c->group[schema_table_of(s, p->v)];
}

/* Elements of one name in one group. */
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
    for (int k = 0; k < SIA_KINDS; k++)
        c->rivals[k] = xcalloc((size_t)v->n, sizeof *c->rivals[k]);
    for (int i = 0; i < n; i++)
        if (in_one_group(c, v->schema, &pairs[i])) {
            c->rivals[pairs[i].kind][pairs[i].u]++;
            c->rivals[pairs[i].kind][pairs[i].v]++;
        }
}

static void counts_release(struct counts *c)
{
    free(c->namesakes);
    free(c->family);
    for (int k = 0; k < SIA_KINDS; k++)
        free(c->rivals[k]);
    free(c->group);
    free(c->tables);
    free(c->columns);
}

static void name_features(float *f, const struct pair_view *v, int a, int b)
{
    const struct element_name *x = &v->names[SPELLED_TEXT][a], *y = &v->names[SPELLED_TEXT][b];
    struct name_similarity s = element_name_compare(x, y);
    int shorter = x->n_letters < y->n_letters ? x->n_letters : y->n_letters, both = x->n_letters + y->n_letters;

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
    f[PAIR_LETTERS_U] = (float)x->n_letters / 24;
    f[PAIR_LETTERS_V] = (float)y->n_letters / 24;
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

/* One table's name is the other's and then that of the column, or of any column of the other. */
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
    const int *rivals = c->rivals[p->kind];
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

/* Those that all pairs of elements of two tables have in common, kept from one pair to the next. */
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

void pair_features(const struct pair_view *v, const struct table_reach *r, struct schema_pair *pairs, int n)
{
    struct counts c;
    struct tables_known known = { -1, -1, { 0 } };

    count(&c, v, pairs, n);
    for (int i = 0; i < n; i++) {
        struct schema_pair *p = &pairs[i];
        int a = schema_table_of(v->schema, p->u), b = schema_table_of(v->schema, p->v);
        p->features[PAIR_IS_COLUMN + p->kind] = 1;
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
