#include "data/exec/witness.h"

#include "data/exec/perturb.h"
#include "data/exec/result_match.h"
#include "data/sql/sql_lex.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct exec_limits witness_limits = { .steps = 20000000, .rows = 20000, .bytes = 1 << 20, .seconds = 5 };

/* What stands in quotes of one kind, as a text in SQL's own. */
static void add_text(struct strings *literals, const char *token, int n)
{
    char *text = xmalloc(2 * (size_t)n + 3), *to = text;
    char quote = *token;

    *to++ = '\'';
    for (int i = 1; i < n - 1; i++) {
        i += token[i] == quote && token[i + 1] == quote; /* which stand for one */
        if (token[i] == '\'')
            *to++ = '\'';
        *to++ = token[i];
    }
    *to++ = '\'';
    *to = '\0';
    strings_add(literals, text);
    free(text);
}

/* Tables that a statement names, and what it compares with; a name in double quotes may be a text. */
static void look_at(bool *wanted, struct strings *literals, const struct schema *s, const char *sql)
{
    int n;
    struct sql_token *tokens = sql_lex(sql, &n);

    for (int i = 0; i < n; i++) {
        const char *at = sql + tokens[i].begin;
        int length = tokens[i].end - tokens[i].begin;
        bool quoted = length > 1 && strchr("\"`[", *at);
        if (tokens[i].kind == TOKEN_NUMBER)
            strings_printf(literals, "%.*s", length, at);
        if (tokens[i].kind == TOKEN_STRING || (quoted && *at == '"'))
            add_text(literals, at, length);
        char *name = strndup(quoted ? at + 1 : at, (size_t)(quoted ? length - 2 : length));
        int table = schema_table_find(s, name);
        if (table >= 0)
            wanted[table] = true;
        free(name);
    }
    free(tokens);
}

static int open_copies(struct witness *w, const struct perturb_source *source, uint64_t seed, struct error *err)
{
    for (int k = 0; k < WITNESS_COPIES; k++) {
        char *script = perturb_script(source, seed, k, WITNESS_COPIES, err);
        w->dbs[1 + k] = script ? exec_open_script(script, &witness_limits, err) : NULL;
        free(script);
        if (!w->dbs[1 + k])
            return error_prefix(err, "no perturbed copy can be made");
    }
    return 0;
}

int witness_open(struct witness *w, struct exec_db *db, const struct schema *s, const char *const *sql, int n,
                 uint64_t seed, struct error *err)
{
    bool *wanted = xcalloc((size_t)s->n_tables + 1, sizeof *wanted);
    struct strings literals = { 0 };
    const struct perturb_source source = { db, s, wanted, &literals };

    *w = (struct witness){ { db } };
    for (int i = 0; i < n; i++)
        look_at(wanted, &literals, s, sql[i]);
    int rc = open_copies(w, &source, seed, err);
    strings_release(&literals);
    free(wanted);
    return rc;
}

void witness_release(struct witness *w)
{
    for (int k = 1; k < WITNESSES; k++)
        exec_close(w->dbs[k]);
    *w = (struct witness){ 0 };
}

void witness_ask(struct testimony *t, const struct witness *w, const char *sql, bool ordered)
{
    *t = (struct testimony){ .ordered = ordered };
    for (int k = 0; k < WITNESSES; k++)
        t->results[k] = exec_run(w->dbs[k], sql);
}

void testimony_release(struct testimony *t)
{
    for (int k = 0; k < WITNESSES; k++)
        exec_result_release(&t->results[k]);
}

static bool same_rows(const struct exec_result *a, const struct exec_result *b, bool ordered)
{
    return a->status == EXEC_OK && b->status == EXEC_OK && match_rows(a, b, ordered);
}

bool testimony_same(const struct testimony *a, const struct testimony *b)
{
    int64_t rows = 0;

    for (int k = 0; k < WITNESSES; k++) {
        if (!same_rows(&a->results[k], &b->results[k], a->ordered || b->ordered))
            return false;
        rows += a->results[k].n;
    }
    return rows > 0;
}

bool testimony_gives(const struct testimony *t, const struct testimony *gold)
{
    return same_rows(&t->results[0], &gold->results[0], gold->ordered);
}
