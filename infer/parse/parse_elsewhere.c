/* Part of parse_stages.h: statements of models that run elsewhere: their prompts, and what they answered. */
#include "data/prompt/prompt.h"
#include "data/sql/sql_lex.h"
#include "data/util/json.h"
#include "data/util/records.h"
#include "infer/parse/parse_stages_impl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "table : column (value, value), ... | ...": the record's own, or of its database; without values where there are
 * none. The caller frees. */
static char *schema_with_values(struct parse_stages *f, const struct parse_case *c)
{
    const char *own = json_string_value(json_object_get(c->record, "schema_with_content"));
    struct column_samples *samples = c->own.n ? NULL : schema_catalog_samples(&f->schemas, c->db_id);
    const struct schema *s = c->schema;
    char *text = NULL;
    size_t size;

    if (own || !samples)
        return xstrdup(own ? own : c->schema_text);
    FILE *out = open_memstream(&text, &size);
    CHECK(out, "no memory for a schema's text");
    for (int t = 0; t < s->n_tables; t++) {
        fprintf(out, "%s%s :", t ? " | " : "", s->tables[t].name);
        for (int i = 0; i < s->tables[t].n_columns; i++) {
            int column = s->tables[t].first_column + i;
            const char *values = column_samples_text(samples, column);
            fprintf(out, "%s %s", i ? "," : "", s->columns[column].name);
            if (*values)
                fprintf(out, " (%s)", values);
        }
    }
    CHECK(fclose(out) == 0, "no memory for a schema's text");
    return text;
}

void parse_elsewhere_read(struct parse_stages *f, struct parse_case *c)
{
    char number[RECORD_ID_TEXT];
    const char *id = record_id_text(c->record, number);
    int n = f->ids.n;

    if (c->record && strings_add(&f->ids, id) < n && !c->error)
        CHECK(asprintf(&c->error, "the id %s came before; answers are told apart by it", id) >= 0, "out of memory");
}

int parse_elsewhere_write(struct parse_stages *f, const struct parse_case *c, struct error *err)
{
    char *schema = schema_with_values(f, c), *text;
    enum query_prompt form = strcmp(f->q->write, "one") == 0 ? QUERY_PROMPT_ONE : QUERY_PROMPT_LIST;

    text = query_prompt_text(form, c->question, schema);
    json_t *o = json_pack("{s:O, s:[{s:s, s:s}]}", "id", json_object_get(c->record, "id"), "messages", "role", "user",
                          "content", text);
    int rc = json_write_line(&f->prompts, o, err);
    json_decref(o);
    free(text);
    free(schema);
    return rc;
}

/* The statements of an answer; one that has none is noted, with its text. */
static void take_answer(struct parse_case *c, const char *answer)
{
    struct text_items sql = { 0 };

    output_sql(&sql, answer, false);
    for (int i = 0; i < sql.n; i++) {
        char *line = sql_normal_line(sql.items[i]);
        parse_list_add_exact(&c->plain, line, NAN);
        free(line);
    }
    if (sql.n == 0)
        parse_case_note(c, "answer", answer, output_lacks(answer, "SQL statement"));
    text_items_release(&sql);
}

void parse_elsewhere_take(struct parse_stages *f)
{
    for (int64_t i = 0; i < f->n; i++) {
        struct parse_case *c = &f->cases[i];
        const struct text_items *answers = c->error ? NULL : query_answers_find(&f->answers, c->record);
        if (!answers && !c->error)
            CHECK(asprintf(&c->error, "no answer to its prompt in %s", f->q->answers) >= 0, "out of memory");
        for (int k = 0; answers && k < answers->n; k++)
            take_answer(c, answers->items[k]);
        if (!c->error && c->plain.n == 0)
            c->error =
                xstrdup(answers->n ? output_lacks(answers->items[0], "SQL statement") : "its list of answers is empty");
    }
}
