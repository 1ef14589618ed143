#include "infer/parse/elsewhere.h"

#include "data/base/json.h"
#include "data/base/records.h"
#include "data/prompt/prompt.h"
#include "data/sql/sql.h"
#include "data/sql/sql_lex.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Text of the schema: "table : column (value, value), ... | ...", of the record or of its database, with values if
 * there are any.  The caller frees it. */
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

/* {"id", "messages"}; a new reference. */
static json_t *prompt_of(struct parse_stages *f, const struct parse_case *c, enum query_prompt form)
{
    char *schema = schema_with_values(f, c);
    const struct query_question q = { c->db_id, c->question, schema, c->schema };
    json_t *o =
        json_pack("{s:O, s:o}", "id", json_object_get(c->record, "id"), "messages", query_prompt_messages(form, &q));

    free(schema);
    return o;
}

int parse_elsewhere_write(struct parse_stages *f, const struct parse_case *c, struct error *err)
{
    json_t *o = prompt_of(f, c, query_prompt_of(f->q->write));
    int rc = json_write_line(&f->prompts, o, err);

    json_decref(o);
    return rc;
}

/* A completion that goes on with the SELECT at the end of a zero-shot prompt has no statement of its own. */
static void read_continued(struct text_items *sql, const char *answer)
{
    char *text = output_answer(answer), *whole = NULL;

    if (strcasestr(text, " from ") || strcasestr(text, "\nfrom ")) {
        CHECK(asprintf(&whole, "SELECT %s", text) >= 0, "out of memory");
        output_sql(sql, whole, false);
    }
    free(whole);
    free(text);
}

/* Finds the statements of a completion; one without any is noted with its text.  The caller releases them. */
static struct text_items read_answer(struct parse_case *c, const char *answer)
{
    struct text_items sql = { 0 };

    output_sql(&sql, answer, false);
    if (sql.n == 0)
        read_continued(&sql, answer);
    c->unread += sql.n == 0;
    if (sql.n == 0)
        parse_case_note(c, "completion", answer, output_lacks(answer, "SQL statement"));
    return sql;
}

/* Adds the statements of a completion. */
static void take_answer(struct parse_case *c, const char *answer)
{
    struct text_items sql = read_answer(c, answer);

    for (int i = 0; i < sql.n; i++) {
        char *line = sql_normal_line(sql.items[i]);
        parse_list_add_exact(&c->plain, line, NAN);
        free(line);
    }
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

/* Whether the log-probabilities of all statements are known. */
static bool has_logs(const struct ask *q, const struct text_items *sql)
{
    bool all = true;

    for (int i = 0; i < q->n; i++)
        for (int k = 0; k < sql[i].n; k++)
            all &= !isnan(asked_text_logp(&q->texts[i], sql[i].items[k]));
    return all;
}

/* Adds the statements of a prompt's samples.  Statements of one sample share its weight. */
static void take_samples(struct parse_case *c, const struct ask *q)
{
    struct text_items *sql = xcalloc((size_t)q->n + 1, sizeof *sql);
    int read = 0;

    for (int i = 0; i < q->n; i++)
        read += (sql[i] = read_answer(c, q->texts[i].text)).n > 0;
    bool logs = has_logs(q, sql);
    for (int i = 0; i < q->n; i++)
        for (int k = 0; k < sql[i].n; k++) {
            char *line = sql_normal_line(sql[i].items[k]);
            if (logs)
                parse_list_add_exact(&c->plain, line, asked_text_logp(&q->texts[i], sql[i].items[k]));
            else
                parse_list_add_share(&c->plain, line, 1.0 / sql[i].n / read);
            free(line);
        }
    for (int i = 0; i < q->n; i++)
        text_items_release(&sql[i]);
    free(sql);
    parse_list_sort(&c->plain);
}

/* Takes the completions of a case. */
static void take_reply(struct parse_case *c, const struct ask *q, bool list)
{
    if (q->error) {
        c->error = xstrdup(q->error);
        return;
    }
    if (list)
        take_answer(c, q->texts[0].text);
    else
        take_samples(c, q);
    if (c->plain.n == 0)
        c->error = xstrdup(output_lacks(q->texts[0].text, "SQL statement"));
}

/* Makes a prompt for every case without error, in order.  Returns their number. */
static int64_t make_prompts(struct parse_stages *f, struct ask *asks)
{
    bool list = f->q->strategy == PARSE_LIST;
    struct completer *server = f->q->models.sql;
    int64_t n = 0;

    for (int64_t i = 0; i < f->n; i++)
        if (!f->cases[i].error)
            asks[n++].prompt = prompt_of(f, &f->cases[i], list ? QUERY_PROMPT_LIST : QUERY_PROMPT_ONE);
    server->set = f->q->set;
    server->set.answers = list ? 1 : (int)f->q->beams;
    server->set.keep = !list;
    if (list)
        server->set.draw.temperature = 0;
    return n;
}

static void release_asks(struct ask *asks, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        ask_release(&asks[i]);
    free(asks);
}

int parse_elsewhere_ask(struct parse_stages *f, struct error *err)
{
    struct ask *asks = xcalloc((size_t)f->n + 1, sizeof *asks);
    int64_t n = make_prompts(f, asks), k = 0;
    int rc = completer_ask(f->q->models.sql, asks, n, err);

    for (int64_t i = 0; i < f->n && rc == 0; i++)
        if (!f->cases[i].error)
            take_reply(&f->cases[i], &asks[k++], f->q->strategy == PARSE_LIST);
    release_asks(asks, n);
    return rc;
}

int parse_elsewhere_measure(struct parse_stages *f, struct error *err)
{
    struct ask *asks = xcalloc((size_t)f->n + 1, sizeof *asks);
    int64_t n = make_prompts(f, asks);
    int rc = completer_measure(f->q->models.sql, asks, n, err);

    release_asks(asks, n);
    return rc;
}
