#include "tests/support/sql_pairs_impl.h"

#include <string.h>

uint64_t pair_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
}

uint64_t pair_child(uint64_t node, int k)
{
    return pair_mix(node ^ pair_mix((uint64_t)k + 1));
}

int pair_choose(struct speller *g, uint64_t node, int k, int n)
{
    int value = (int)(pair_child(node, k + 1000) % (uint64_t)n);
    return g->draws++ == g->twist ? (value + 1) % n : value;
}

int pair_spell(struct speller *g, int n)
{
    g->random = pair_mix(g->random);
    return (int)(g->random % (uint64_t)n);
}

int pair_count(const char *const *words)
{
    int n = 0;
    while (words[n])
        n++;
    return n;
}

const char *pair_choose_word(struct speller *g, uint64_t node, int k, const char *const *words)
{
    return words[pair_choose(g, node, k, pair_count(words))];
}

const char *pair_spell_word(struct speller *g, const char *const *words)
{
    return words[pair_spell(g, pair_count(words))];
}

void pair_draw(struct sql_pair *p, const struct pair_world *w, struct strings *pool, uint64_t seed)
{
    bool independent = pair_mix(seed ^ 1) % 20 == 0, twisted = pair_mix(seed ^ 2) % 5 == 0;

    *p = (struct sql_pair){ .ordered = true };
    for (int side = 0; side < 2; side++) {
        struct speller g = { .w = w, .pool = pool, .random = pair_mix(seed + (uint64_t)side), .twist = -1 };
        if (side == 1 && twisted)
            g.twist = (int)(pair_mix(seed ^ 3) % 30);
        p->sql[side] = pair_statement(&g, pair_mix(seed ^ (side == 1 && independent ? 5 : 4)));
        p->ordered = p->ordered && g.ordered;
        p->open = p->open || g.open;
    }
}

static uint64_t next(uint64_t *random)
{
    return *random = pair_mix(*random);
}

static const char *any(uint64_t *random, const char *const *words)
{
    return words[next(random) % (uint64_t)pair_count(words)];
}

static const char *create_table(struct pair_world *w, int t, uint64_t *random)
{
    static const char *const declared[] = { "INTEGER", "TEXT",           "REAL",    "NUMERIC", "BLOB",        "",
                                            "INT",     "FLOATING POINT", "CHARINT", "DATE",    "VARCHAR(20)", NULL };
    static const char *const names[] = { "k", "a", "b", "c" };
    int form = (int)(next(random) % 4);
    const char *text = strings_printf(&w->pool, "CREATE TABLE %s (", w->tables[t].name);

    for (int c = 0; c < PAIR_COLUMNS; c++) {
        const char *type = c == 0 && form == 1 ? "INTEGER" : any(random, declared);
        const char *collate = any(random, WORDS("", "", "", " COLLATE NOCASE", " COLLATE RTRIM", " COLLATE BINARY"));
        const char *key = c == 0 && form < 3 ? form == 0 ? " NOT NULL" : " PRIMARY KEY" : "";
        w->tables[t].columns[c] = names[c];
        text = strings_printf(&w->pool, "%s%s%s %s%s%s", text, c ? ", " : "", names[c], type, key, collate);
    }
    w->tables[t].rowid = form != 2;
    w->tables[t].number = form == 1;
    return strings_printf(&w->pool, "%s)%s;", text, form == 2 ? " WITHOUT ROWID" : "");
}

void pair_world_init(struct pair_world *w, uint64_t seed)
{
    static const char *const names[] = { "t", "u", "\"v w\"", "seen" };
    uint64_t random = pair_mix(seed);

    *w = (struct pair_world){ .script = "" };
    for (int i = 0; i < PAIR_VALUES; i++)
        w->values[i] = (int)(next(&random) % PAIR_LITERALS);
    for (int t = 0; t < PAIR_TABLES; t++)
        w->tables[t].name = names[t];
    for (int t = 0; t < PAIR_TABLES - 1; t++)
        w->script = strings_printf(&w->pool, "%s%s", w->script, create_table(w, t, &random));
    struct pair_table *view = &w->tables[PAIR_TABLES - 1];
    memcpy(view->columns, w->tables[0].columns, sizeof view->columns);
    w->script = strings_printf(&w->pool, "%sCREATE VIEW seen AS SELECT k, %s AS a, b, %s AS c FROM u;", w->script,
                               any(&random, WORDS("a", "+a", "lower(a)", "a COLLATE NOCASE")),
                               any(&random, WORDS("c", "CAST(c AS TEXT)", "c + 1")));
}

void pair_world_release(struct pair_world *w)
{
    strings_release(&w->pool);
}

const char *pair_rows(const struct pair_world *w, struct strings *pool, uint64_t seed)
{
    uint64_t random = pair_mix(seed);
    const char *text = "";

    for (int t = 0; t < PAIR_TABLES - 1; t++)
        for (int rows = (int)(next(&random) % 9); rows > 0; rows--) {
            const char *values[PAIR_COLUMNS];
            for (int c = 0; c < PAIR_COLUMNS; c++) {
                const char *const *group = pair_literals[w->values[next(&random) % PAIR_VALUES]];
                values[c] = any(&random, group);
                values[c] = *values[c] == '"' ? "'Abc'" : values[c];
            }
            if (w->tables[t].number)
                values[0] = any(&random, WORDS("1", "0", "-3", "2013", "10", "9007199254740993", "NULL"));
            text = strings_printf(pool, "%sINSERT OR IGNORE INTO %s VALUES (%s, %s, %s, %s);", text, w->tables[t].name,
                                  values[0], values[1], values[2], values[3]);
        }
    return text;
}
