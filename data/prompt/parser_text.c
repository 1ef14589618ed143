#include "data/prompt/parser_text.h"

#include "data/corpora/ambiqt_text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char *const names_of_models[] = { "t2s", "template-gen", "template-fill", "direct" };

/* The prefixes of published inputs, and the tasks in words for chat models. */
static const char *const tasks[] = { "semantic parse", "template generation", "template fill", "semantic parse" };
static const char *const requests[] = {
    "Write the SQL statement that answers the question.",
    "Write how many joins the SQL statement that answers the question has and how many items it selects, then its "
    "template: the statement with the words table, column, string and number in the places of names and values.",
    "Write the SQL statement of this template that answers the question.",
    "Write how many joins the SQL statement that answers the question has and how many items it selects, then the "
    "statement.",
};

const char *parser_model_name(enum parser_model m)
{
    return names_of_models[m];
}

__attribute__((format(printf, 1, 2))) static char *format(const char *fmt, ...)
{
    char *s = NULL;
    va_list args;

    va_start(args, fmt);
    CHECK(vasprintf(&s, fmt, args) >= 0, "cannot format \"%s\"", fmt);
    va_end(args);
    return s;
}

/* Reduces runs of blanks to one, trims the ends and replaces " , " by ", ". */
static char *single_blanks(const char *text)
{
    struct ambiqt_words w;
    size_t n = 0;

    ambiqt_words_split_blanks(&w, text);
    char *s = xmalloc(strlen(text) + 1);
    for (int i = 0; i < w.n; i++) {
        bool comma = strcmp(w.items[i], ",") == 0 && i && i + 1 < w.n;
        if (i && !comma)
            s[n++] = ' ';
        n += (size_t)(stpcpy(s + n, w.items[i]) - (s + n));
    }
    s[n] = 0;
    ambiqt_words_release(&w);
    return s;
}

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static bool is_quote(char c)
{
    return c == '"' || c == '\'';
}

char *parser_normal_query(const char *sql)
{
    char *s = single_blanks(sql);

    for (char *p = s, *end; *p; p = end) {
        for (end = p + 1; is_word_char(*p) && is_word_char(*end); end++)
            ;
        if (!is_word_char(*p) || (p > s && is_quote(p[-1])) || is_quote(*end))
            continue;
        for (; p < end; p++)
            *p = (char)tolower((unsigned char)*p);
    }
    return s;
}

static char *chat_input(enum parser_model m, const struct parser_question *q, const char *template)
{
    bool fill = m == PARSER_FILL;

    return format("Database %s: %s\nQuestion: %s\n%s%s%s%s", q->db_id, q->schema, q->question, fill ? "Template: " : "",
                  fill ? template : "", fill ? "\n" : "", requests[m]);
}

char *parser_input(enum parser_form f, enum parser_model m, const struct parser_question *q, const char *template)
{
    CHECK((template != NULL) == (m == PARSER_FILL), "%s: template %s", names_of_models[m],
          template ? template : "none");
    if (f == PARSER_CHAT)
        return chat_input(m, q, template);
    if (m == PARSER_FILL)
        return format("%s: %s | %s | %s @ %s", tasks[m], q->question, q->db_id, q->schema, template);
    char *question = single_blanks(q->question);
    char *s = format("%s: %s | %s | %s", tasks[m], question, q->db_id, q->schema);
    free(question);
    return s;
}

char *parser_target(enum parser_form f, enum parser_model m, const char *db_id, const char *sql,
                    const struct template_names *names)
{
    bool chat = f == PARSER_CHAT, planned = m == PARSER_TEMPLATE || m == PARSER_DIRECT;
    char *normal = parser_normal_query(sql), *plan = planned ? sql_plan_text(sql_plan_of(sql)) : NULL;
    char *template = m == PARSER_TEMPLATE ? sql_template(names, normal, SQL_TEMPLATE_TRAINING) : NULL;

    char *s = format("%s%s%s%s%s", chat ? "" : db_id, chat ? "" : " | ", planned ? plan : "", planned ? " " : "",
                     template ? template : normal);
    free(template);
    free(plan);
    free(normal);
    return s;
}

char *parser_schema(const struct schema *s)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    CHECK(f, "no memory for a schema's text");
    for (int t = 0; t < s->n_tables; t++) {
        const struct schema_table *table = s->tables + t;
        fprintf(f, "%s%s :", t ? " | " : "", table->name);
        for (int c = 0; c < table->n_columns; c++)
            fprintf(f, "%s %s", c ? "," : "", s->columns[table->first_column + c].name);
    }
    CHECK(fclose(f) == 0, "no memory for a schema's text");
    for (char *p = text; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return text;
}

const char *parser_behind_name(const char *text)
{
    static const char blanks[] = " \t\r\n";
    const char *name = text + strspn(text, blanks), *end = name + strcspn(name, " \t\r\n|");

    end += strspn(end, blanks);
    text = *end == '|' ? end + 1 : text;
    return text + strspn(text, blanks);
}

int parser_read_template(struct sql_plan *p, const char **template, const char *text, struct error *err)
{
    return sql_plan_parse(p, parser_behind_name(text), template, err);
}

const char *parser_behind_plan(const char *text)
{
    const char *own = parser_behind_name(text), *behind;
    struct sql_plan plan;

    return sql_plan_parse(&plan, own, &behind, NULL) == 0 ? behind : own;
}

/* Whether a statement has the template, with either reading of its numbers. */
static bool has_template(const struct template_names *names, const char *sql, const char *template)
{
    bool has = false;

    for (int any = 0; any < 2 && !has; any++) {
        const struct template_names n = { names->tables, names->columns, any };
        char *own = sql_template(&n, sql, SQL_TEMPLATE_INFERENCE);
        has = strcmp(own, template) == 0;
        free(own);
    }
    return has;
}

void parser_read_sql(struct strings *out, const char *const *texts, int n, const struct template_names *names,
                     const char *template)
{
    for (int i = 0; i < n; i++) {
        char *sql = ambiqt_normalize(parser_behind_plan(texts[i]));
        if (*sql && (!template || has_template(names, sql, template)))
            strings_add(out, sql);
        free(sql);
    }
}
