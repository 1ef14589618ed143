#include "data/contrast_impl.h"

#include "data/schema_build.h"

#include <stdlib.h>
#include <string.h>

static const float COLUMN_SHARE = 0.6f, TABLE_SHARE = 0.4f; /* of the schemas that get one */
enum { TABLE_COLUMNS = 12 };                                /* wider tables are not copied: schemas stay readable */

/* What is put before a name makes it mean something else. */
static const char *const modifiers[] = {
    "previous", "next",      "former",    "planned",  "estimated", "expected",  "actual",    "annual",     "monthly",
    "weekly",   "daily",     "quarterly", "regional", "national",  "foreign",   "domestic",  "local",      "global",
    "internal", "external",  "public",    "private",  "personal",  "joint",     "temporary", "permanent",  "pending",
    "rejected", "cancelled", "archived",  "deleted",  "draft",     "backup",    "secondary", "additional", "optional",
    "minimum",  "maximum",   "average",   "total",    "partial",   "remaining", "first",     "last",       "early",
    "late",     "old",       "new",       "junior",   "senior",    "male",      "female",    "adult",      "child",
    "morning",  "evening",   "summer",    "winter",   "indoor",    "outdoor",   "upper",     "lower",      "left",
    "right",    "front",     "rear",      "positive", "negative",  "parent",    "sibling",   "emergency",  "home",
    "work",     "school",    "billing",   "shipping", "purchase",  "sale",      "legal",     "tax",        "guest",
    "away",     "entry",     "exit",      "start",    "end",       "birth",     "death",     "travel",     "holiday",
};

/* The name under one modifier, or with it in place of its first word; text keeps it. */
static const char *modified(struct strings *text, const char *name, struct rng *rng)
{
    const char *modifier = modifiers[rng_below(rng, ARRAY_LEN(modifiers))], *gap = strpbrk(name, "_ ");

    return strings_printf(text, "%s_%s", modifier, gap && gap[1] && rng_below(rng, 2) ? gap + 1 : name);
}

static bool is_taken(const struct schema *s, const struct alteration *a, const char *name)
{
    const char *const others[] = { a->names[0], a->names[1], a->new_table };

    for (int i = 0; i < s->n_tables; i++)
        if (strcasecmp(s->tables[i].name, name) == 0 || schema_column_find(s, i, name) >= 0)
            return true;
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (others[i] && strcasecmp(others[i], name) == 0)
            return true;
    return strchr(name, '.') != NULL;
}

static void add(struct contrast *c, struct stranger_list *l, const struct schema *s, const struct alteration *a,
                struct stranger x, const char *name, struct rng *rng)
{
    x.name = modified(&c->names, name, rng);
    if (!is_taken(s, a, x.name))
        l->list[l->n++] = x;
}

static void draw(struct contrast *c, struct stranger_list *l, const struct schema *s, const struct alteration *a,
                 struct rng *rng)
{
    int column = (int)rng_below(rng, (uint32_t)s->n_columns), table = (int)rng_below(rng, (uint32_t)s->n_tables);
    const struct schema_column *k = &s->columns[column];
    const struct schema_table *t = &s->tables[table];

    if (rng_uniform(rng) < COLUMN_SHARE && !k->primary && column != a->column)
        add(c, l, s, a, (struct stranger){ k->table, column, NULL }, k->name, rng);
    if (rng_uniform(rng) < TABLE_SHARE && table != a->table && t->n_columns <= TABLE_COLUMNS)
        add(c, l, s, a, (struct stranger){ table, -1, NULL }, t->name, rng);
}

void contrast_add_strangers(struct contrast *c, struct contrast_schema *of, int db, const struct alteration *a,
                            struct rng *rng)
{
    const struct schema *s = &c->in->schemas.schemas[db];
    struct alteration strange = *a;
    struct rng placed = of->placed;
    struct schema out;

    draw(c, &strange.strangers, s, a, rng);
    CHECK(alter_schema(&out, s, &strange, of->form, of->schema.db_id, &placed) == 0, "%s with strangers", s->db_id);
    schema_release(&of->schema);
    of->schema = out;
    of->strangers = strange.strangers;
}
