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

/* Behind "Answer:" and what is like it, and the signs before the first word. */
static const char *first_word(const char *text)
{
    static const char *const labels[] = { "final answer", "the answer is", "the answer", "answer" };
    const char *word = text;

    while (*word && !isalnum((unsigned char)*word))
        word++;
    for (int i = 0; i < ARRAY_LEN(labels); i++) {
        size_t n = strlen(labels[i]);
        if (strncasecmp(word, labels[i], n) != 0 || !word[n] || isalnum((unsigned char)word[n]))
            continue;
        for (word += n; *word && !isalnum((unsigned char)*word);)
            word++;
        return word;
    }
    return word;
}

int yes_no_read(const char *answer)
{
    char *text = output_answer(answer);
    const char *word = first_word(text);
    int n = 0, says = -1;

    while (isalnum((unsigned char)word[n]) || word[n] == '\'')
        n++;
    if (n == 3 && strncasecmp(word, "yes", 3) == 0)
        says = 1;
    else if (n == 2 && strncasecmp(word, "no", 2) == 0)
        says = 0;
    free(text);
    return says;
}
