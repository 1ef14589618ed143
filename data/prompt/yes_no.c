#include "data/prompt/yes_no.h"

#include "data/prompt/model_output.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char question_task[] =
    "Is the question ambiguous, so that it may be read in several ways when a database is asked? Answer with one word, "
    "yes or no.\n";
static const char schema_task[] =
    "A question to a database is ambiguous for its schema when it has several right readings there: two columns fit it, "
    "two tables fit it, a value is kept in two places, or an aggregate can be computed and is stored too. Is the question "
    "ambiguous for the schema? Answer with one word, yes or no.\n";

static void write_name(FILE *f, const struct schema *s, int column)
{
    const struct schema_column *c = &s->columns[column];
    fprintf(f, "%s.%s", s->tables[c->table].name, c->name);
}

/* A line for each table, and one of keys. */
static void write_schema(FILE *f, const struct schema *s)
{
    fputs("Schema:\n", f);
    for (int t = 0; t < s->n_tables; t++) {
        const struct schema_table *table = &s->tables[t];
        fprintf(f, "%s:", table->name);
        for (int i = 0; i < table->n_columns; i++)
            fprintf(f, "%s %s", i ? "," : "", s->columns[table->first_column + i].name);
        fputc('\n', f);
    }
    for (int k = 0; k < s->n_foreign_keys; k++) {
        fputs(k ? ", " : "Keys: ", f);
        write_name(f, s, s->foreign_keys[k].from);
        fputs(" = ", f);
        write_name(f, s, s->foreign_keys[k].to);
    }
    if (s->n_foreign_keys)
        fputc('\n', f);
}

static void write_case(FILE *f, enum yes_no_form form, const struct schema_set *schemas, const struct example *e)
{
    fputc('\n', f);
    if (form == YES_NO_SCHEMA)
        write_schema(f, schema_find(schemas, e->db_id));
    fprintf(f, "Question: %s\nAnswer:", e->question);
}

char *yes_no_prompt(enum yes_no_form form, const struct schema_set *schemas, const struct example *const *shots, int n,
                    const struct schema_set *shown, const struct example *asked)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    CHECK(f, "no memory for a prompt");
    fputs(form == YES_NO_QUESTION ? question_task : schema_task, f);
    for (int i = 0; i < n; i++) {
        write_case(f, form, shown, shots[i]);
        fprintf(f, " %s\n", shots[i]->ambiguous ? "yes" : "no");
    }
    write_case(f, form, schemas, asked);
    CHECK(fclose(f) == 0, "no memory for a prompt");
    return text;
}

/* The word at `text`: 1 for yes, 0 for no, -1 for another one. */
static int read_word(const char *text)
{
    int n = 0;

    while (isalnum((unsigned char)text[n]) || text[n] == '\'')
        n++;
    return n == 3 && strncasecmp(text, "yes", 3) == 0 ? 1 : n == 2 && strncasecmp(text, "no", 2) == 0 ? 0 : -1;
}

static const char *next_word(const char *text)
{
    while (*text && !isalnum((unsigned char)*text))
        text++;
    return text;
}

/* Behind a label of at most three words and a colon: "Final answer: ". */
static const char *behind_label(const char *text)
{
    const char *at = text;

    for (int words = 0; words < 3 && isalpha((unsigned char)*at); words++) {
        while (isalpha((unsigned char)*at))
            at++;
        at += strspn(at, " *_");
        if (*at == ':')
            return next_word(at);
    }
    return text;
}

/* Behind "Answer:" and what is like it, and the signs before the first word. */
static const char *first_word(const char *text)
{
    static const char *const labels[] = { "final answer", "the answer is", "the answer", "answer" };
    const char *word = next_word(text);

    if (read_word(word) >= 0)
        return word;
    for (int i = 0; i < ARRAY_LEN(labels); i++) {
        size_t n = strlen(labels[i]);
        if (strncasecmp(word, labels[i], n) == 0 && word[n] && !isalnum((unsigned char)word[n]))
            return next_word(word + n);
    }
    return behind_label(word);
}

/* Whether the other word is offered beside the first: "yes or no", "Yes/No". */
static bool says_both(const char *word, int says)
{
    const char *next = next_word(word + (says ? 3 : 2));

    if (strncasecmp(next, "or ", 3) == 0 || strncasecmp(next, "and ", 4) == 0)
        next = next_word(next + 3);
    else if (word[says ? 3 : 2] != '/')
        return false;
    return read_word(next) == !says;
}

int yes_no_read(const char *answer)
{
    char *text = output_answer(answer);
    const char *word = first_word(text);
    int says = read_word(word);

    if (says >= 0 && says_both(word, says))
        says = -1;
    free(text);
    return says;
}
