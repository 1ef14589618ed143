#include "data/synth/schema_edit_find.h"

#include "data/sql/sql_resolve.h"
#include "data/synth/element_style.h"
#include "data/synth/lexicon.h"
#include "data/synth/schema_ask.h"
#include "data/synth/schema_edit.h"
#include "data/synth/sql_edit.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Mentions of an edit in a question, and questions that say one of its two names. */

enum { STEM = 4 /* characters by which "ship", "shipped" and "shipping" are one word */ };

static bool is_letter(char c)
{
    return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

/* Returns the length of the plural ending at the text. -1 if a different word continues there. */
static int plural_ending(const char *text)
{
    int n = text[0] == 's' || text[0] == 'S' ? 1 : strncasecmp(text, "es", 2) == 0 ? 2 : 0;

    return is_letter(text[n]) ? -1 : n;
}

int edit_stands_at(const char *text, const char *words)
{
    size_t n = strlen(words);

    if (strncasecmp(text, words, n) == 0) {
        int more = plural_ending(text + n);
        if (more >= 0)
            return (int)n + more;
    }
    if (n > 1 && words[n - 1] == 's' && strncasecmp(text, words, n - 1) == 0 && !is_letter(text[n - 1]))
        return (int)n - 1;
    if (n > 1 && words[n - 1] == 'y' && strncasecmp(text, words, n - 1) == 0 &&
        strncasecmp(text + n - 1, "ies", 3) == 0 && !is_letter(text[n + 2]))
        return (int)n + 2;
    return 0;
}

int edit_mentions(const char *text, const char *words, int *at)
{
    int n = 0;

    for (const char *p = text; *p; p++)
        if ((p == text || !is_letter(p[-1])) && edit_stands_at(p, words) && n++ == 0 && at)
            *at = (int)(p - text);
    return n;
}

static bool same_stem(const char *a, size_t n, const char *b, size_t m)
{
    size_t shorter = n < m ? n : m;

    if (strncasecmp(a, b, shorter < STEM ? shorter : STEM) != 0)
        return false;
    return shorter >= STEM || n == m;
}

static bool says_word(const char *text, const char *word, size_t n)
{
    for (const char *p = text; *p;) {
        size_t length = 0;
        while (is_letter(p[length]))
            length++;
        if (length && same_stem(p, length, word, n))
            return true;
        p += length ? length : 1;
    }
    return false;
}

/* Returns true if the text has a word of the name that the head lacks. */
static bool says_own(const char *text, const char *name, const char *head)
{
    static const char *const little[] = { "of", "at", "by", "id", "to", "the", "in", "and" };

    for (const char *w = name; *w;) {
        size_t n = strcspn(w, " ");
        bool own = !says_word(head, w, n);
        for (int i = 0; i < ARRAY_LEN(little); i++)
            own = own && !(strlen(little[i]) == n && strncmp(w, little[i], n) == 0);
        if (own && says_word(text, w, n))
            return true;
        w += n + (w[n] == ' ');
    }
    return false;
}

bool edit_says_member(const char *text, const struct edit *e)
{
    for (int i = 0; i < 2; i++)
        if ((e->names[i] && says_own(text, e->names[i], e->head)) ||
            (e->phrases[i] && says_own(text, e->phrases[i], e->head)))
            return true;
    return false;
}

static bool is_vowel(char c)
{
    return c && strchr("aeiouAEIOU", c) != NULL;
}

/* Returns the end of the text before the phrase. *article is the article to write instead of the last one. */
static int article_end(const char *text, int at, const char *phrase, const char **article)
{
    *article = "";
    if (at >= 3 && strncasecmp(text + at - 3, " a ", 3) == 0 && is_vowel(phrase[0])) {
        *article = "an ";
        return at - 2;
    }
    if (at >= 4 && strncasecmp(text + at - 4, " an ", 4) == 0 && !is_vowel(phrase[0])) {
        *article = "a ";
        return at - 3;
    }
    return at;
}

/* Writes the phrase with the head in the number and spelling of the question. */
static void put_phrase(FILE *f, const char *phrase, const char *head, const char *said, int n)
{
    const char *inside = strstr(phrase, head);

    if (inside)
        fprintf(f, "%.*s%.*s%s", (int)(inside - phrase), phrase, n, said, inside + strlen(head));
    else
        fputs(phrase, f);
}

const char *edit_say(struct edit_database *d, const char *text, const struct edit *e, int which)
{
    char said[1024], article_text[8];
    const char *article;
    int at;

    if (!e->phrases[which] || edit_mentions(text, e->head, &at) != 1)
        return NULL;
    int n = edit_stands_at(text + at, e->head), before = article_end(text, at, e->phrases[which], &article);
    snprintf(article_text, sizeof article_text, "%s", article);
    FILE *f = fmemopen(said, sizeof said, "w");
    CHECK(f, "cannot write to memory");
    fprintf(f, "%.*s%s", before, text, article_text);
    put_phrase(f, e->phrases[which], e->head, text + at, n);
    fputs(text + at + n, f);
    if (fclose(f) || strlen(said) + 1 >= sizeof said)
        return NULL;
    if (at == 0)
        said[0] = (char)toupper((unsigned char)said[0]);
    return strings_keep(&d->text, said);
}

/* Statements with the names of an edited schema. */

struct renamer {
    const struct schema *from;
    const char *const *tables, *const *columns;
    bool refused;
};

static void settle_table(struct renamer *r, struct sql_name *name, int table)
{
    if (name->text && strcasecmp(name->text, r->from->tables[table].name) == 0)
        sql_settle_name(name, r->tables[table]);
}

static void rename_expr(void *context, struct sql_expr *e, struct sql_core *core)
{
    struct renamer *r = context;

    (void)core;
    if (e->kind != SQL_EXPR_COLUMN || e->column < 0)
        return;
    const struct schema_column *c = &r->from->columns[e->column];
    if (e->source && strcasecmp(e->name.text, c->name) != 0)
        return;
    sql_settle_name(&e->name, r->columns[e->column]);
    if (e->table && e->source && e->source->table >= 0 && !e->source->alias.text)
        settle_table(r, e->table, e->source->table);
}

static void rename_source(void *context, struct sql_source *s, struct sql_core *core)
{
    struct renamer *r = context;

    (void)core;
    r->refused = r->refused || s->natural || s->columns;
    if (s->kind == SQL_SOURCE_TABLE && !s->cte && s->table >= 0)
        sql_settle_name(&s->name, r->tables[s->table]);
}

static void rename_core(void *context, struct sql_core *core, struct sql_select *select)
{
    struct renamer *r = context;

    (void)select;
    for (struct sql_result *x = core->results; x; x = x->next)
        for (int t = 0; x->table.text && t < r->from->n_tables; t++)
            settle_table(r, &x->table, t);
}

const char *edit_rename_sql(struct edit_database *d, const char *sql, const char *const *tables,
                            const char *const *columns, const struct schema *to)
{
    struct renamer r = { .from = d->schema, .tables = tables, .columns = columns };
    const struct sql_walker walker = {
        .context = &r, .expr = rename_expr, .source = rename_source, .core = rename_core
    };
    struct sql_uses uses;
    const char *out = NULL;
    size_t mark = arena_mark(d->sql);

    struct sql_query *q = sql_parse(d->sql, sql, NULL);
    if (q && sql_resolve(d->sql, q, d->schema, &uses, NULL) == 0) {
        sql_walk(&walker, q->select);
        const char *text = r.refused ? NULL : sql_print(d->sql, q);
        q = text ? sql_parse(d->sql, text, NULL) : NULL;
        if (q && sql_resolve(d->sql, q, to, &uses, NULL) == 0)
            out = strings_keep(&d->text, text);
    }
    arena_reset(d->sql, mark);
    return out;
}

static void note_use(enum edit_use *use, enum sql_clause clause)
{
    enum edit_use found = clause == SQL_WHERE ? USE_COMPARED : USE_SHOWN;

    if (found > *use)
        *use = found;
}

bool edit_uses(struct edit_database *d, const char *sql, enum edit_use *uses)
{
    struct sql_uses list;
    size_t mark = arena_mark(d->sql);
    struct sql_query *q = sql_parse(d->sql, sql, NULL);
    bool ok = q && sql_resolve(d->sql, q, d->schema, &list, NULL) == 0;

    for (int i = 0; ok && i < list.n; i++) {
        if (list.list[i].table >= 0)
            note_use(&uses[list.list[i].table], list.list[i].clause);
        if (list.list[i].column >= 0)
            note_use(&uses[d->schema->n_tables + list.list[i].column], list.list[i].clause);
    }
    arena_reset(d->sql, mark);
    return ok;
}

/* The edits that a schema allows. */

enum { ROLE_TABLES = NOUN_TRADE | NOUN_EVENT | NOUN_TRANSPORT | NOUN_PROJECT | NOUN_GOODS | NOUN_WORK | NOUN_COMPANY };

enum { COLUMN_EDITS = 3, TABLE_EDITS = 3 /* maximum of one element, with different pairs of names */ };
enum { SUM_EDITS = 2 /* of one column, with different names */ };

/* Columns that describe another one, by the last word of that column's name. */
static const struct {
    const char *head, *beside;
} beside_columns[] = {
    { "price", "currency|valid until" },
    { "amount", "currency|rounding" },
    { "cost", "currency|center id" },
    { "salary", "currency|grade" },
    { "fee", "currency|type" },
    { "budget", "currency|year" },
    { "revenue", "currency|year" },
    { "weight", "unit|category" },
    { "height", "unit|category" },
    { "length", "unit" },
    { "distance", "unit" },
    { "speed", "unit|limit" },
    { "capacity", "unit|notes" },
    { "area", "unit|code" },
    { "email", "verified|opt in" },
    { "address", "verified|type" },
    { "phone", "verified|extension" },
    { "number", "prefix|format" },
    { "name", "prefix|suffix|language" },
    { "title", "language|format" },
    { "description", "language|format" },
    { "code", "type|version" },
    { "status", "reason|changed at" },
    { "rating", "count|scale" },
    { "score", "scale|date" },
    { "grade", "scale|date" },
    { "date", "precision|confirmed" },
    { "time", "zone" },
    { "year", "confirmed" },
    { "age", "group" },
    { "country", "code|region" },
    { "city", "code|district" },
    { "state", "code" },
    { "location", "code|type" },
    { "type", "description|code" },
    { "points", "deducted" },
    { "rank", "date" },
    { "population", "density|year" },
    { "duration", "unit" },
    { "quantity", "unit" },
    { "balance", "date|currency" },
    { "major", "code" },
    { "party", "code" },
    { "team", "color" },
    { "position", "code" },
    { "language", "code" },
    { "nationality", "code" },
    { "director", "fee" },
    { "owner", "since" },
    { "attendance", "source" },
    { "enrollment", "deadline" },
};

static const char *const beside_any[] = { "source", "notes", "updated at", "comment" };

static const char *const beside_table[] = { "types", "statuses", "notes", "categories", "tags", "settings", "files" };

static const char *const details[] = { "details", "info", "profiles", "attributes", "extras", "facts" };

static struct edit *add(struct edit_database *d, enum edit_type type, int table, int column)
{
    GROW(d->edits, d->n_edits, d->edits_cap);
    struct edit *e = &d->edits[d->n_edits++];
    *e = (struct edit){ .type = type, .table = table, .column = column };
    return e;
}

/* Returns the length of the table's words before the column's own: "customer " in "customer phone". */
static int prefix_length(const char *words, const char *own)
{
    return (int)(own - words);
}

/* Sometimes inverts the name: "address billing" for "billing address". */
static const char *turned(struct edit_database *d, const char *name, const char *head)
{
    size_t n = strlen(name), m = strlen(head);

    if (n > m + 1 && strcmp(name + n - m, head) == 0 && name[n - m - 1] == ' ')
        return strings_printf(&d->text, "%s %.*s", head, (int)(n - m - 1), name);
    return name;
}

static void set_members(struct edit_database *d, struct edit *e, const struct lexicon_member *m, int prefix,
                        const char *words, bool turn)
{
    for (int i = 0; i < 2; i++) {
        const char *name = turn ? turned(d, m[i].name, e->head) : m[i].name;
        e->names[i] = strings_printf(&d->text, "%.*s%s", prefix, words, name);
        e->phrases[i] = strings_keep(&d->text, m[i].phrase);
    }
}

/* Returns the next entry for a column's words, for its last word (no classes) or for tables (no words). */
static const struct lexicon_entry *next_entry(const char *head, unsigned classes, const struct lexicon_entry *after)
{
    if (!head)
        return lexicon_table(classes, after);
    return classes ? lexicon_column(head, classes, after) : lexicon_last_word(head, after);
}

/* Draws one of the fitting entries. */
static const struct lexicon_entry *draw_entry(struct edit_database *d, const char *head, unsigned classes)
{
    const struct lexicon_entry *chosen = NULL;
    uint32_t n = 0;

    for (const struct lexicon_entry *e = NULL; (e = next_entry(head, classes, e));)
        if (rng_below(d->rng, ++n) == 0)
            chosen = e;
    return chosen;
}

static const char *last_word(const char *words)
{
    const char *space = strrchr(words, ' ');
    return space ? space + 1 : words;
}

static bool has_edit(const struct edit_database *d, const struct edit *e)
{
    for (int i = 0; i < d->n_edits - 1; i++)
        if (d->edits[i].type == e->type && d->edits[i].table == e->table && d->edits[i].column == e->column &&
            d->edits[i].names[0] && e->names[0] && strcmp(d->edits[i].names[0], e->names[0]) == 0 &&
            strcmp(d->edits[i].names[1], e->names[1]) == 0)
            return true;
    return false;
}

static void find_column(struct edit_database *d, int column)
{
    const struct schema_column *c = &d->schema->columns[column];
    const char *table = d->schema->tables[c->table].text, *words = c->text;
    const char *head = element_own_words(words, table);
    unsigned classes = noun_classes(table);

    for (int i = 0; i < COLUMN_EDITS; i++) {
        struct lexicon_member m[2];
        const struct lexicon_entry *entry = draw_entry(d, head, classes);
        if (!entry)
            entry = draw_entry(d, last_word(head), 0);
        if (!entry)
            return;
        struct edit *e = add(d, EDIT_COLUMN, c->table, column);
        lexicon_draw(m, entry, head, d->rng);
        e->head = head;
        int prefix = rng_below(d->rng, 2) ? prefix_length(words, head) : 0;
        set_members(d, e, m, prefix, words, rng_below(d->rng, 6) == 0);
        if (has_edit(d, e)) {
            d->n_edits--;
            continue;
        }
        struct edit one = *e;
        one.type = EDIT_RENAMED;
        one.which = (int)rng_below(d->rng, 2);
        *add(d, EDIT_RENAMED, c->table, column) = one;
    }
}

static void find_details(struct edit_database *d, int column)
{
    const struct schema_column *c = &d->schema->columns[column];
    const char *table = d->schema->tables[c->table].text, *one = element_singular(&d->text, table);
    const char *own = element_own_words(c->text, table);

    if (strstr(own, "name") || strstr(own, "title") || strcmp(element_singular(&d->text, own), one) == 0 ||
        edit_mentions(one, last_word(own), NULL))
        return;
    struct edit *e = add(d, EDIT_DETAILS, c->table, column);
    e->head = own;
    e->names[0] = strings_printf(&d->text, "%s %s", one, details[rng_below(d->rng, ARRAY_LEN(details))]);
}

/* Draws one of "a|b|c". text keeps it. */
static const char *draw_part(struct edit_database *d, const char *list)
{
    uint32_t n = 1;

    for (const char *p = list; *p; p++)
        n += *p == '|';
    for (uint32_t skip = rng_below(d->rng, n); skip > 0; skip--)
        list = strchr(list, '|') + 1;
    return strings_printf(&d->text, "%.*s", (int)strcspn(list, "|"), list);
}

static void find_beside(struct edit_database *d, int column)
{
    const struct schema_column *c = &d->schema->columns[column];
    const char *last = last_word(c->text), *part = NULL;
    struct edit *e = add(d, EDIT_BESIDE, c->table, column);

    for (int i = 0; i < ARRAY_LEN(beside_columns); i++)
        if (strcmp(beside_columns[i].head, last) == 0)
            part = draw_part(d, beside_columns[i].beside);
    if (!part)
        part = beside_any[rng_below(d->rng, ARRAY_LEN(beside_any))];
    e->head = element_own_words(c->text, d->schema->tables[c->table].text);
    e->names[0] = strings_printf(&d->text, "%s %s", c->text, part);
}

static void find_table(struct edit_database *d, int table)
{
    const char *words = d->schema->tables[table].text;

    for (int i = 0; i < TABLE_EDITS; i++) {
        struct lexicon_member m[2];
        const struct lexicon_entry *entry = draw_entry(d, NULL, noun_classes(words));
        struct edit *e = add(d, EDIT_TABLE, table, -1);
        lexicon_draw(m, entry, words, d->rng);
        e->head = words;
        set_members(d, e, m, 0, words, false);
        if (has_edit(d, e))
            d->n_edits--;
    }
    struct edit *e = add(d, EDIT_BESIDE_TABLE, table, -1);
    e->head = words;
    e->names[0] = strings_printf(&d->text, "%s %s", element_singular(&d->text, words),
                                 beside_table[rng_below(d->rng, ARRAY_LEN(beside_table))]);
}

static void find_role(struct edit_database *d, const struct schema_foreign_key *k)
{
    const struct schema_column *from = &d->schema->columns[k->from];
    const struct schema_table *to = &d->schema->tables[d->schema->columns[k->to].table];
    const struct lexicon_entry *chosen = NULL;
    uint32_t n = 0;

    if (!(noun_classes(d->schema->tables[from->table].text) & ROLE_TABLES) || from->primary ||
        from->table == d->schema->columns[k->to].table || d->schema->tables[from->table].n_columns < 4)
        return;
    for (const struct lexicon_entry *e = NULL; (e = lexicon_role(to->text, e));)
        if (rng_below(d->rng, ++n) == 0)
            chosen = e;
    if (!chosen)
        return;
    struct lexicon_member m[2];
    struct edit *e = add(d, EDIT_ROLE, from->table, k->from);
    lexicon_draw(m, chosen, "", d->rng);
    e->head = to->text;
    for (int i = 0; i < 2; i++) {
        e->names[i] = strings_printf(&d->text, "%s id", m[i].name);
        e->phrases[i] = strings_keep(&d->text, m[i].phrase);
    }
}

/* Returns true if a key joins the tables. */
static bool joined(const struct schema *s, int a, int b)
{
    for (int i = 0; i < s->n_foreign_keys; i++) {
        int from = s->columns[s->foreign_keys[i].from].table, to = s->columns[s->foreign_keys[i].to].table;
        if ((from == a && to == b) || (from == b && to == a))
            return true;
    }
    return false;
}

static bool common_neighbour(const struct schema *s, int a, int b)
{
    for (int t = 0; t < s->n_tables; t++)
        if (t != a && t != b && joined(s, a, t) && joined(s, t, b))
            return true;
    return false;
}

static bool has_last_word(const struct schema *s, int table, const char *word)
{
    const struct schema_table *t = &s->tables[table];

    for (int c = t->first_column; c < t->first_column + t->n_columns; c++)
        if (strcmp(last_word(s->columns[c].text), word) == 0)
            return true;
    return false;
}

/* Returns true for columns with contact data. */
static bool is_contact(const char *own)
{
    static const char *const heads[] = { "email", "phone", "address", "city", "country" };

    for (int i = 0; i < ARRAY_LEN(heads); i++)
        if (strcmp(own, heads[i]) == 0)
            return true;
    return false;
}

/* Returns true for columns that any table may have. */
static bool goes_anywhere(const char *own)
{
    static const char *const heads[] = { "status",     "date",     "type",   "description", "name",     "title",
                                         "code",       "location", "city",   "notes",       "amount",   "price",
                                         "start date", "end date", "year",   "rating",      "quantity", "comments",
                                         "category",   "country",  "cost",   "email",       "phone",    "address",
                                         "details",    "time",     "region", "state",       "level",    "score" };

    for (int i = 0; i < ARRAY_LEN(heads); i++)
        if (strcmp(own, heads[i]) == 0)
            return true;
    return false;
}

static void find_near(struct edit_database *d, int column)
{
    const struct schema *s = d->schema;
    int table = s->columns[column].table;
    const char *own = element_own_words(s->columns[column].text, s->tables[table].text);

    for (int t = 0; t < s->n_tables && goes_anywhere(own); t++) {
        if (t == table || has_last_word(s, t, last_word(own)) ||
            !(joined(s, table, t) || common_neighbour(s, table, t)) ||
            (is_contact(own) &&
             !(noun_classes(s->tables[t].text) & (NOUN_PERSON | NOUN_COMPANY | NOUN_TRADE | NOUN_EVENT))))
            continue;
        struct edit *e = add(d, EDIT_NEAR, table, column);
        e->other = t;
        e->head = own;
        e->names[0] = own;
    }
}

/* A number of rows, and sums of the columns that can be added. */
static void find_stored(struct edit_database *d, const struct schema_foreign_key *k)
{
    static const char *const totals[] = { "total %s", "%s total", "sum %s", "overall %s", "%s to date" };
    const struct schema *s = d->schema;
    int child = s->columns[k->from].table, parent = s->columns[k->to].table, from = s->tables[child].first_column;
    const char *one = element_singular(&d->text, s->tables[child].text), *many = element_plural(&d->text, one);
    const char *counts[] = { strings_printf(&d->text, "%s count", one), strings_printf(&d->text, "number of %s", many),
                             strings_printf(&d->text, "num %s", many) };

    if (child == parent)
        return;
    struct edit *e = add(d, EDIT_STORED, parent, -1);
    e->other = child;
    e->names[0] = counts[rng_below(d->rng, ARRAY_LEN(counts))];
    for (int c = from; c < from + s->tables[child].n_columns; c++) {
        const char *own = element_own_words(s->columns[c].text, s->tables[child].text);
        for (int i = 0; i < SUM_EDITS && asking_can_add(s, c); i++) {
            e = add(d, EDIT_STORED, parent, -1);
            e->other = child;
            e->names[0] = strings_printf(&d->text, totals[rng_below(d->rng, ARRAY_LEN(totals))], own);
        }
    }
}

static void find_people(struct edit_database *d, int table)
{
    static const char *const tables[] = { "staff",      "customers", "suppliers", "employees", "members",  "contacts",
                                          "volunteers", "partners",  "guests",    "agents",    "managers", "clients" };
    const char *words = d->schema->tables[table].text;

    if (!(noun_classes(words) & NOUN_PERSON) || !has_last_word(d->schema, table, "name"))
        return;
    for (int i = 0; i < 2; i++) {
        const char *name = tables[rng_below(d->rng, ARRAY_LEN(tables))];
        if (edit_mentions(words, element_singular(&d->text, name), NULL))
            continue;
        struct edit *e = add(d, EDIT_PEOPLE, table, -1);
        e->names[0] = name;
        e->head = words;
    }
}

void edit_find(struct edit_database *d)
{
    const struct schema *s = d->schema;

    for (int c = 0; c < s->n_columns; c++)
        if (!schema_column_is_key(s, c)) {
            find_column(d, c);
            find_details(d, c);
            find_beside(d, c);
            find_near(d, c);
        }
    for (int t = 0; t < s->n_tables; t++) {
        find_table(d, t);
        find_people(d, t);
    }
    for (int i = 0; i < s->n_foreign_keys; i++) {
        find_role(d, &s->foreign_keys[i]);
        find_stored(d, &s->foreign_keys[i]);
    }
}
