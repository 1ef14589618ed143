/* Part of noisysp.h: the published form to a record with marked words. */
#include "data/noisysp/noisysp.h"
#include "data/span/heuristic.h"
#include "data/span/tagging.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct example_reader {
    const json_t *example;
    json_t *tokens; /* of the question */
    char *question;
    int *start, *end; /* code points of each token */
    char **names;     /* identifiers of the columns that have a name, squeezed */
    json_t *columns;  /* those, as a record has them */
    int n_tokens, n_columns;
    const char *where;
};

/* As the published code compares: without blanks and double quotes, in lower case. */
static char *squeeze(const char *text)
{
    char *to = xmalloc(strlen(text) + 1);
    size_t n = 0;

    for (; *text; text++)
        if (*text != ' ' && *text != '"')
            to[n++] = (char)tolower((unsigned char)*text);
    to[n] = '\0';
    return to;
}

/* A string, or a number as one; the caller frees.  NULL for anything else. */
static char *text_of(const json_t *v)
{
    if (json_is_string(v))
        return xstrdup(json_string_value(v));
    return json_is_number(v) ? json_dumps(v, JSON_ENCODE_ANY) : NULL;
}

static int read_tokens(struct example_reader *x, struct error *err)
{
    const json_t *question = json_get_object(x->example, "question", x->where, err);
    json_t *token;
    size_t i;

    x->tokens = question ? json_get_array(question, "tokens", x->where, err) : NULL;
    if (!x->tokens)
        return -1;
    x->n_tokens = (int)json_array_size(x->tokens);
    if (!x->n_tokens)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"tokens\": expected words, got none", x->where);
    json_array_foreach(x->tokens, i, token)
    {
        const char *text = json_get_string(token, "token", x->where, err);
        if (!text || !*text)
            return text ? error_set(err, EXIT_CODE_DATA, "%s: field \"token\": expected a word, got \"\"", x->where)
                        : -1;
    }
    return 0;
}

static const char *token_at(const struct example_reader *x, int i)
{
    return json_string_value(json_object_get(json_array_get(x->tokens, (size_t)i), "token"));
}

/* Whether the text has all tokens, one after the other; places them there. */
static bool place_tokens(struct example_reader *x, const char *text)
{
    int letters = 0;

    for (int i = 0; i < x->n_tokens; i++) {
        const char *token = token_at(x, i);
        size_t n = strlen(token);
        for (; isspace((unsigned char)*text); text++)
            letters++;
        if (strncasecmp(text, token, n) != 0)
            return false;
        x->start[i] = letters;
        x->end[i] = letters += text_letters(token, n);
        text += n;
    }
    return true;
}

static char *join_tokens(const struct example_reader *x)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    CHECK(out, "no memory for a question");
    for (int i = 0; i < x->n_tokens; i++)
        fprintf(out, "%s%s", i ? " " : "", token_at(x, i));
    CHECK(fclose(out) == 0, "no memory for a question");
    return text;
}

/* The text, or its tokens side by side where they were written in another way there. */
static int read_question(struct example_reader *x, struct error *err)
{
    if (read_tokens(x, err))
        return -1;
    const char *text = json_get_string(json_object_get(x->example, "question"), "text", x->where, err);
    if (!text)
        return -1;
    x->start = xcalloc((size_t)x->n_tokens, sizeof *x->start);
    x->end = xcalloc((size_t)x->n_tokens, sizeof *x->end);
    x->question = place_tokens(x, text) ? xstrdup(text) : join_tokens(x);
    return place_tokens(x, x->question) ? 0 : error_set(err, EXIT_CODE_DATA, "%s: tokens with blanks", x->where);
}

/* The column of an identifier, -1 where there is none. */
static int find_column(const struct example_reader *x, const char *name, size_t n)
{
    for (int c = 0; c < x->n_columns; c++)
        if (strlen(x->names[c]) == n && strncmp(x->names[c], name, n) == 0)
            return c;
    return -1;
}

/* What the question says of a column, once each, in the order of the list. */
static json_t *values_of(const struct example_reader *x, const char *identifier)
{
    json_t *values = json_array(), *matches = json_object_get(x->example, "matched_values"), *m, *seen = json_object();
    size_t i;

    json_array_foreach(matches, i, m)
    {
        const char *column = json_string_value(json_object_get(m, "column"));
        char *text = text_of(json_object_get(m, "name"));
        if (column && text && strcmp(column, identifier) == 0 && !json_object_get(seen, text)) {
            json_object_set_new(seen, text, json_true());
            json_array_append_new(values, json_string(text));
        }
        free(text);
    }
    json_decref(seen);
    return values;
}

/* A column without a name is passed over, as nothing that a question can say. */
static int add_column(struct example_reader *x, const json_t *column, struct error *err)
{
    const char *name = json_get_string(column, "name", x->where, err);
    const char *table = json_string_value(json_object_get(column, "table"));
    int64_t type;

    if (!name || json_get_int(column, "data_type", 0, 3, &type, x->where, err))
        return -1;
    if (!*name)
        return 0;
    char *identifier;
    CHECK(asprintf(&identifier, "%s%s%s", table ? table : "", table ? NOISYSP_COLUMN : "", name) >= 0, "no memory");
    json_t *o = json_pack("{s:s*, s:s, s:s, s:o}", "table", table, "name", name, "type",
                          column_type_name((enum column_type)type), "values", values_of(x, identifier));
    x->names[x->n_columns++] = squeeze(identifier);
    free(identifier);
    json_array_append_new(x->columns, o);
    return 0;
}

static int read_columns(struct example_reader *x, struct error *err)
{
    const json_t *schema = json_get_object(x->example, "schema", x->where, err);
    json_t *list = schema ? json_get_array(schema, "columns", x->where, err) : NULL, *column;
    size_t i;

    if (!list)
        return -1;
    x->columns = json_array();
    x->names = xcalloc(json_array_size(list) + 1, sizeof *x->names);
    json_array_foreach(list, i, column)
    {
        if (add_column(x, column, err))
            return -1;
    }
    return 0;
}

static json_t *find_value(const struct example_reader *x, int column, const char *name)
{
    json_t *values = json_object_get(json_array_get(x->columns, (size_t)column), "values"), *v, *found = NULL;
    size_t i;

    json_array_foreach(values, i, v)
    {
        char *has = squeeze(json_string_value(v));
        if (strcmp(has, name) == 0)
            found = v;
        free(has);
    }
    return found;
}

static json_t *column_concept(const struct example_reader *x, const char *identifier)
{
    char *name = squeeze(identifier);
    int c = find_column(x, name, strlen(name));

    free(name);
    return c < 0 ? NULL : json_pack("{s:i}", "column", c);
}

/* Names may have the sign between column and value too. */
static json_t *value_concept(const struct example_reader *x, const char *identifier)
{
    char *name = squeeze(identifier);
    json_t *found = NULL;

    for (const char *at = name; !found && (at = strstr(at, NOISYSP_COLUMN)); at++) {
        int c = find_column(x, name, (size_t)(at - name));
        json_t *value = c < 0 ? NULL : find_value(x, c, at + strlen(NOISYSP_COLUMN));
        found = value ? json_pack("{s:i, s:O}", "column", c, "value", value) : NULL;
    }
    free(name);
    return found;
}

/* What the term's identifiers name. */
static json_t *named(const struct example_reader *x, const char *term)
{
    json_t *list = json_array();

    for (const char *end; *term; term = end) {
        const char *next = strstr(term, NOISYSP_OR);
        char *one = strndup(term, next ? (size_t)(next - term) : strlen(term));
        CHECK(one, "no memory for a name");
        json_t *o = column_concept(x, one);
        if (o || (o = value_concept(x, one)))
            json_array_append_new(list, o);
        free(one);
        end = next ? next + strlen(NOISYSP_OR) : "";
    }
    return list;
}

/* The two columns whose names are most like the words. */
static json_t *likeliest(const struct example_reader *x, const char *words)
{
    double best[2] = { -1, -1 };
    int column[2] = { -1, -1 };

    for (int c = 0; c < x->n_columns; c++) {
        const json_t *o = json_array_get(x->columns, (size_t)c);
        double likeness = heuristic_likeness(words, json_string_value(json_object_get(o, "name")));
        int k = likeness > best[0] ? 0 : 1;
        if (likeness <= best[k])
            continue;
        best[1] = k ? likeness : best[0];
        column[1] = k ? c : column[0];
        best[0] = k ? best[0] : likeness;
        column[0] = k ? column[0] : c;
    }
    return json_pack("[{s:i}, {s:i}]", "column", column[0], "column", column[1]);
}

static json_t *alternatives_of(const struct example_reader *x, enum span_label label, const char *term,
                               const char *words)
{
    json_t *list = label == SPAN_AMB ? named(x, term) : json_array(), *one = NULL;

    if (label == SPAN_COL || label == SPAN_VAL)
        one = (label == SPAN_COL ? column_concept : value_concept)(x, term);
    if (one)
        json_array_append_new(list, one);
    if (label != SPAN_AMB || json_array_size(list) > 1 || x->n_columns < 2)
        return list;
    json_decref(list);
    return likeliest(x, words);
}

/* -1 of what is not marked. */
static int label_of(const char *type)
{
    static const char *const types[SPAN_LABELS] = { "Column", "Value", "Ambiguity", "Unknown" };

    for (int l = 0; l < SPAN_LABELS; l++)
        if (strcmp(types[l], type) == 0)
            return l;
    return -1;
}

/* Tokens from..to: one span, but for columns and values that the schema has not. */
static void add_span(json_t *spans, const struct example_reader *x, int from, int to, int label, const char *term)
{
    const char *text = text_from_letter(x->question, x->start[from]);
    char *words = strndup(text, (size_t)(text_from_letter(text, x->end[to - 1] - x->start[from]) - text));

    CHECK(words, "no memory for a span");
    json_t *list = alternatives_of(x, (enum span_label)label, term, words);
    free(words);
    if (label != SPAN_UNK && !json_array_size(list)) {
        json_decref(list);
        return;
    }
    json_array_append_new(spans, json_pack("{s:i, s:i, s:s, s:o}", "start", x->start[from], "end", x->end[to - 1],
                                           "label", span_label_name((enum span_label)label), "alternatives", list));
}

static int check_bindings(const struct example_reader *x, const json_t *list, struct error *err)
{
    const json_t *item;
    size_t i;

    if ((int)json_array_size(list) != x->n_tokens)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: field \"binding_result\": expected one for each of %d words, got %zu", x->where,
                         x->n_tokens, json_array_size(list));
    json_array_foreach(list, i, item)
    {
        if (!json_get_string(item, "term_type", x->where, err))
            return -1;
    }
    return 0;
}

static int read_spans(json_t *spans, const struct example_reader *x, struct error *err)
{
    json_t *list = json_get_array(x->example, "binding_result", x->where, err);

    if (!list || check_bindings(x, list, err))
        return -1;
    for (int i = 0, to; i < x->n_tokens; i = to) {
        const json_t *item = json_array_get(list, (size_t)i), *next;
        const char *term = json_string_value(json_object_get(item, "term_value"));
        int label = label_of(json_string_value(json_object_get(item, "term_type")));
        for (to = i + 1; (next = json_array_get(list, (size_t)to)); to++)
            if (!json_equal(json_object_get(next, "term_type"), json_object_get(item, "term_type")) ||
                !json_equal(json_object_get(next, "term_value"), json_object_get(item, "term_value")))
                break;
        if (label >= 0)
            add_span(spans, x, i, to, label, term ? term : "");
    }
    return 0;
}

static void release(struct example_reader *x)
{
    for (int i = 0; i < x->n_columns; i++)
        free(x->names[i]);
    free(x->names);
    free(x->start);
    free(x->end);
    free(x->question);
    json_decref(x->columns);
}

json_t *noisysp_read(const json_t *example, int64_t number, const char *where, struct error *err)
{
    struct example_reader x = { .example = example, .where = where };
    const char *id = json_string_value(json_object_get(example, "uuid"));
    const char *dataset = json_get_string(example, "dataset", where, err);
    json_t *spans = json_array(), *record = NULL;
    char counted[32];

    snprintf(counted, sizeof counted, "%lld", (long long)number);
    if (dataset && read_question(&x, err) == 0 && read_columns(&x, err) == 0 && read_spans(spans, &x, err) == 0) {
        const char *db_id = json_get_string(json_object_get(example, "schema"), "db_id", where, err);
        if (db_id)
            record = json_pack("{s:s, s:s, s:s, s:s, s:s, s:O, s:O}", "id", id && *id ? id : counted, "source", dataset,
                               "db_id", db_id, "question", x.question, "kind", "noisysp", "columns", x.columns, "spans",
                               spans);
    }
    json_decref(spans);
    release(&x);
    return record;
}
