#include "data/published/noisysp.h"

#include "data/base/log.h"
#include "data/base/records.h"
#include "data/span/heuristic.h"
#include "data/span/spoken.h"
#include "data/span/tag_source.h"
#include "data/span/tagging.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct conversion {
    struct out_file out;
    bool write;
    struct noisysp_counts *counts;
    int64_t n; /* number of the previous record */
};

static json_t *read_example(const struct conversion *k, const json_t *example, const char *where, struct error *err)
{
    struct span_record r;
    json_t *record = noisysp_read(example, k->n, where, err);

    if (!record || span_record_init(&r, json_incref(record), where, err)) { /* validates the record */
        json_decref(record);
        return NULL;
    }
    span_record_release(&r);
    return record;
}

static json_t *write_example(json_t *record, const char *where, struct error *err)
{
    struct span_record r;

    if (span_record_init(&r, json_incref(record), where, err))
        return NULL;
    json_t *example = noisysp_write(&r);
    span_record_release(&r);
    return example;
}

static int put(struct conversion *k, const json_t *o, struct error *err)
{
    if (k->write)
        fputs(k->counts->records ? "," : "[", k->out.f);
    k->counts->records++;
    return json_write_line(&k->out, o, err);
}

/* A record_fn. */
static int convert(void *user, json_t *record, const char *where, struct error *err)
{
    struct conversion *k = user;
    struct error bad = { 0 };

    k->n++;
    if (!k->write && json_is_false(json_object_get(record, "value_resolved"))) {
        k->counts->unresolved++;
        return 0;
    }
    json_t *o = k->write ? write_example(record, where, &bad) : read_example(k, record, where, &bad);
    if (!o) {
        k->counts->failed++;
        log_warn("left out: %s", bad.text);
        return 0;
    }
    int rc = put(k, o, err);
    json_decref(o);
    return rc;
}

int noisysp_convert(const struct noisysp_request *q, struct noisysp_counts *counts, struct error *err)
{
    struct conversion k = { .write = q->to == NOISYSP_TO_PUBLISHED,
                            .counts = counts,
                            .n = q->shard.range.some ? q->shard.range.first : 0 };

    *counts = (struct noisysp_counts){ 0 };
    if (out_file_open(&k.out, q->out, err))
        return -1;
    int rc = records_each_in_range(q->in, q->format_in, &q->shard.range, convert, &k, err);
    if (rc == 0 && k.write)
        fputs(counts->records ? "]\n" : "[]\n", k.out.f);
    if (rc == 0)
        rc = out_file_commit(&k.out, err);
    out_file_abort(&k.out);
    return rc;
}

/* Published form to marked words. */

/* Types of the tokens of the SQL. */
enum { TYPE_KEYWORD = 0, TYPE_COLUMN = 2, TYPE_VALUE = 3, TYPE_NULL = 5 };

struct example_reader {
    const json_t *example;
    json_t *tokens; /* of the question */
    char *question;
    int *start, *end; /* code points of each token */
    char **names;     /* squeezed identifiers of the columns with a name */
    json_t *columns;  /* these columns, in the form of a record */
    int n_tokens, n_columns;
    const char *where;
};

/* Removes blanks and double quotes and folds case, as the published code compares. */
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

/* A string, or a number as a string; the caller frees. NULL for other types. */
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

/* Whether the text contains all tokens in order; sets their positions. */
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

/* Reads the text, or joins its tokens if they differ from the text. */
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

/* The column of an identifier, or -1. */
static int find_column(const struct example_reader *x, const char *name, size_t n)
{
    for (int c = 0; c < x->n_columns; c++)
        if (strlen(x->names[c]) == n && strncmp(x->names[c], name, n) == 0)
            return c;
    return -1;
}

/* The distinct values of a column in the question, in order of the list. */
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

/* Adds a column. One without a name is skipped, since no question can name it. */
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

/* A concept of a value; names may contain the separator too. */
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

/* The concepts of the term's identifiers. */
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

/* The two columns whose names are most similar to the words. */
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

/* -1 if unmarked. */
static int label_of(const char *type)
{
    static const char *const types[SPAN_LABELS] = { "Column", "Value", "Ambiguity", "Unknown" };

    for (int l = 0; l < SPAN_LABELS; l++)
        if (strcmp(types[l], type) == 0)
            return l;
    return -1;
}

/* Adds tokens from..to as a span, unless its column or value is not in the schema. */
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

/* Whether the concepts have an equal one. */
static bool has_concept(const json_t *list, const json_t *concept)
{
    const json_t *o;
    size_t i;

    json_array_foreach(list, i, o) if (json_equal(o, concept)) return true;
    return false;
}

/* The concept of a token of the SQL, a new reference; NULL: none, or one that the schema and matched values lack. */
static json_t *sql_concept(const struct example_reader *x, int64_t type, const char *text)
{
    int keyword = type == TYPE_KEYWORD ? sql_keyword_find(text) : -1;

    if (keyword >= 0)
        return json_pack("{s:s}", "keyword", sql_keyword_name((enum sql_keyword)keyword));
    return type == TYPE_COLUMN ? column_concept(x, text) : type == TYPE_VALUE ? value_concept(x, text) : NULL;
}

/* Reads the tokens of the SQL into the list of concepts. An example without tokens has none. */
static int read_sql(json_t *concepts, const struct example_reader *x, struct error *err)
{
    const json_t *sql = json_get_object(x->example, "sql", x->where, err), *token;
    json_t *tokens = sql ? json_get_array(sql, "tokens", x->where, err) : NULL;
    size_t i;

    json_array_foreach(tokens, i, token)
    {
        int64_t type;
        const char *text = json_get_string(token, "value", x->where, err);
        if (!text || json_get_int(token, "type", 0, TYPE_NULL, &type, x->where, err))
            return -1;
        json_t *concept = sql_concept(x, type, text);
        if (concept && !has_concept(concepts, concept))
            json_array_append(concepts, concept);
        json_decref(concept);
    }
    return tokens ? 0 : -1;
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
    json_t *spans = json_array(), *concepts = json_array(), *record = NULL;
    bool has_sql = json_object_get(example, "sql") != NULL;
    char counted[32];

    snprintf(counted, sizeof counted, "%lld", (long long)number);
    if (dataset && read_question(&x, err) == 0 && read_columns(&x, err) == 0 && read_spans(spans, &x, err) == 0 &&
        (!has_sql || read_sql(concepts, &x, err) == 0)) {
        const char *db_id = json_get_string(json_object_get(example, "schema"), "db_id", where, err);
        if (db_id)
            record = json_pack("{s:s, s:s, s:s, s:s, s:s, s:O, s:O, s:O*}", "id", id && *id ? id : counted, "source",
                               dataset, "db_id", db_id, "question", x.question, "type", "noisysp", "columns", x.columns,
                               "spans", spans, "concepts", json_array_size(concepts) ? concepts : NULL);
    }
    json_decref(spans);
    json_decref(concepts);
    release(&x);
    return record;
}

/* Marked words to the published form. */

enum { FIELD_SELECT = 0, FIELD_WHERE = 3 }; /* clauses of the SQL */

/* A word, or one character between words. */
struct token {
    int from, to, start, end; /* bytes, code points */
};

struct tokens {
    const char *text;
    struct token *items;
    int n, cap;
};

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

static void read_sql_tokens(struct tokens *t, const char *text)
{
    int letters = 0;

    *t = (struct tokens){ .text = text };
    for (int i = 0, to; text[i]; i = to) {
        to = i + 1;
        while (in_word(text[i]) && in_word(text[to]))
            to++;
        int n = text_letters(text + i, (size_t)(to - i));
        if (!isspace((unsigned char)text[i])) {
            GROW(t->items, t->n, t->cap);
            t->items[t->n++] = (struct token){ i, to, letters, letters + n };
        }
        letters += n;
    }
}

static json_t *token_text(const struct tokens *t, int i)
{
    return json_stringn(t->text + t->items[i].from, (size_t)(t->items[i].to - t->items[i].from));
}

/* Lower case, without a plural ending. */
static json_t *lemma_of(const struct tokens *t, int i)
{
    json_t *text = token_text(t, i);
    struct spoken word;

    spoken_read(&word, json_string_value(text));
    json_t *lemma = word.n == 1 && word.words[0].to < SPOKEN_STEM ? json_string(word.words[0].stem) : NULL;
    return lemma ? (json_decref(text), lemma) : text;
}

/* Tokens from..to, inclusive. */
static json_t *tokens_json(const struct tokens *t, int from, int to)
{
    json_t *list = json_array();

    for (int i = from; i <= to; i++)
        json_array_append_new(list, json_pack("{s:o, s:o}", "token", token_text(t, i), "lemma", lemma_of(t, i)));
    return list;
}

static json_t *name_json(const char *name)
{
    struct tokens t;

    read_sql_tokens(&t, name);
    json_t *list = tokens_json(&t, 0, t.n - 1);
    free(t.items);
    return list;
}

/* Finds the tokens in a range of code points; false without any. */
static bool find_tokens(const struct tokens *t, int start, int end, int *from, int *to)
{
    *from = t->n;
    *to = -1;
    for (int i = 0; i < t->n; i++)
        if (t->items[i].end > start && t->items[i].start < end) {
            *from = i < *from ? i : *from;
            *to = i;
        }
    return *to >= 0;
}

static char *identifier_of(const struct span_record *r, int column, const char *value)
{
    const struct span_column *c = &r->columns[column];
    char *name;

    CHECK(asprintf(&name, "%s%s%s%s%s", c->table ? c->table : "", c->table ? NOISYSP_COLUMN : "", c->name,
                   value ? NOISYSP_COLUMN : "", value ? value : "") >= 0,
          "no memory for a name");
    return name;
}

static json_t *columns_json(const struct span_record *r)
{
    json_t *list = json_array();

    for (int i = 0; i < r->n_columns; i++) {
        const struct span_column *c = &r->columns[i];
        int type = c->type == COLUMN_OTHERS ? COLUMN_TEXT : (int)c->type;
        json_t *o = json_pack("{s:s, s:o, s:i, s:s*}", "name", c->name, "tokens", name_json(c->name), "data_type", type,
                              "table", c->table);
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *table_json(const struct span_record *r, const char *table)
{
    json_t *columns = json_array();

    for (int i = 0; i < r->n_columns; i++)
        if (r->columns[i].table && strcmp(r->columns[i].table, table) == 0) {
            char *name = identifier_of(r, i, NULL);
            json_array_append_new(columns, json_string(name));
            free(name);
        }
    return json_pack("{s:s, s:o, s:o}", "name", table, "tokens", name_json(table), "columns", columns);
}

/* null for a record about one table. */
static json_t *tables_json(const struct span_record *r)
{
    json_t *list = json_array(), *seen = json_object();

    for (int i = 0; i < r->n_columns; i++) {
        const char *table = r->columns[i].table;
        if (table && !json_object_get(seen, table)) {
            json_object_set_new(seen, table, json_true());
            json_array_append_new(list, table_json(r, table));
        }
    }
    json_decref(seen);
    if (json_array_size(list))
        return list;
    json_decref(list);
    return json_null();
}

static json_t *binding(const struct tokens *t, int i, const char *type, const char *term)
{
    return json_pack("{s:o, s:s, s:s, s:f}", "token", token_text(t, i), "term_type", type, "term_value", term,
                     "confidence", 1.0);
}

/* The identifiers of a span; the caller frees. */
static char *term_of(const struct span_record *r, const struct marked_span *s)
{
    char *term = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&term, &size);

    CHECK(out, "no memory for a name");
    for (int i = 0; i < s->n_alternatives; i++) {
        char *name = identifier_of(r, s->alternatives[i].column, s->alternatives[i].value);
        fprintf(out, "%s%s", i ? NOISYSP_OR : "", name);
        free(name);
    }
    CHECK(fclose(out) == 0, "no memory for a name");
    return term;
}

static json_t *bindings_json(const struct span_record *r, const struct tokens *t)
{
    static const char *const types[SPAN_LABELS] = { "Column", "Value", "Ambiguity", "Unknown" };
    json_t *list = json_array();
    int from, to;

    for (int i = 0; i < t->n; i++)
        json_array_append_new(list, binding(t, i, "Null", ""));
    for (int i = 0; i < r->n_spans; i++) {
        char *term = term_of(r, &r->spans[i]);
        if (find_tokens(t, r->spans[i].start, r->spans[i].end, &from, &to))
            for (int k = from; k <= to; k++)
                json_array_set_new(list, (size_t)k, binding(t, k, types[r->spans[i].label], term));
        free(term);
    }
    return list;
}

static void add_match(json_t *list, const struct span_record *r, const struct tokens *t, const struct tag_value *v)
{
    char *column = identifier_of(r, v->column, NULL);
    int from, to;

    if (find_tokens(t, v->start, v->end, &from, &to))
        json_array_append_new(list, json_pack("{s:s, s:o, s:s, s:{s:i, s:i}, s:f}", "name", v->text, "tokens",
                                              tokens_json(t, from, to), "column", column, "span", "start", from, "end",
                                              to, "score", v->score));
    free(column);
}

static bool is_found(const struct tag_question *q, const struct span_concept *c)
{
    for (int i = 0; i < q->n_values; i++)
        if (q->values[i].column == c->column && strcmp(q->values[i].text, c->value) == 0)
            return true;
    return false;
}

/* The values in the question: matches, and those that the marked words name. */
static json_t *matches_json(const struct span_record *r, const struct tokens *t)
{
    struct tag_source source;
    struct tag_matches found;
    json_t *list = json_array();

    tag_source_of(&source, r->columns, r->n_columns);
    struct tag_question q = tag_source_ask(&source, r->question, &found);
    for (int i = 0; i < q.n_values; i++)
        add_match(list, r, t, &q.values[i]);
    for (int i = 0; i < r->n_spans; i++)
        for (int k = 0; k < r->spans[i].n_alternatives; k++) {
            const struct span_concept *c = &r->spans[i].alternatives[k];
            struct tag_value v = { c->column, c->value, r->spans[i].start, r->spans[i].end, 1 };
            if (c->value && !is_found(&q, c))
                add_match(list, r, t, &v);
        }
    tag_matches_release(&found);
    tag_source_close(&source);
    return list;
}

static bool same_token(const struct tokens *a, int i, const struct tokens *b, int k)
{
    size_t n = (size_t)(a->items[i].to - a->items[i].from);

    return n == (size_t)(b->items[k].to - b->items[k].from) &&
           strncasecmp(a->text + a->items[i].from, b->text + b->items[k].from, n) == 0;
}

/* Whether n tokens of the question from `from` on occur in the name, in order. */
static bool is_in_name(const struct tokens *t, int from, int n, const struct tokens *name)
{
    for (int i = 0; i + n <= name->n; i++) {
        int same = 0;
        while (same < n && same_token(t, from + same, name, i + same))
            same++;
        if (same == n)
            return true;
    }
    return false;
}

static json_t *run_json(int from, int to)
{
    return json_pack("{s:i, s:i}", "start", from, "end", to);
}

/* Adds the longest run from each token that occurs in a name, except runs within the previous one. */
static void add_runs(json_t *list, const struct tokens *t, const struct tokens *names, int n_names)
{
    for (int i = 0, covered = 0; i < t->n; i++) {
        int longest = 1;
        for (int c = 0; c < n_names; c++)
            while (i + longest < t->n && is_in_name(t, i, longest + 1, &names[c]))
                longest++;
        if (longest > 1 && i + longest > covered)
            json_array_append_new(list, run_json(i, (covered = i + longest) - 1));
    }
}

/* Each token, and each run of several tokens that a column name contains. */
static json_t *erased_json(const struct span_record *r, const struct tokens *t)
{
    struct tokens *names = xcalloc((size_t)r->n_columns + 1, sizeof *names);
    json_t *list = json_array();

    for (int c = 0; c < r->n_columns; c++)
        read_sql_tokens(&names[c], r->columns[c].name);
    for (int i = 0; i < t->n; i++)
        json_array_append_new(list, run_json(i, i));
    add_runs(list, t, names, r->n_columns);
    for (int c = 0; c < r->n_columns; c++)
        free(names[c].items);
    free(names);
    return list;
}

/* Adds a token of the SQL for a column or a value. */
static void add_sql_token(json_t *tokens, const struct span_record *r, const struct span_concept *c)
{
    char *name = identifier_of(r, c->column, c->value);

    json_array_append_new(tokens, json_pack("{s:i, s:i, s:s}", "type", c->value ? TYPE_VALUE : TYPE_COLUMN, "field",
                                            c->value ? FIELD_WHERE : FIELD_SELECT, "value", name));
    free(name);
}

/* The concepts of the record's SQL, or else the columns and values that its marked words name. */
static json_t *sql_json(const struct span_record *r)
{
    json_t *tokens = json_array();

    for (int k = 0; k < SQL_KEYWORDS && r->has_sql; k++)
        if (r->sql.keywords >> k & 1)
            json_array_append_new(tokens, json_pack("{s:i, s:i, s:s}", "type", TYPE_KEYWORD, "field", FIELD_SELECT,
                                                    "value", sql_keyword_name((enum sql_keyword)k)));
    for (int i = 0; i < r->sql.n && r->has_sql; i++)
        add_sql_token(tokens, r, &r->sql.items[i]);
    for (int i = 0; i < r->n_spans && !r->has_sql; i++)
        if (r->spans[i].label == SPAN_COL || r->spans[i].label == SPAN_VAL)
            add_sql_token(tokens, r, &r->spans[i].alternatives[0]);
    return json_pack("{s:s, s:o, s:{}}", "db_id", r->db_id, "tokens", tokens, "sql_dict");
}

/* The published code requires names with this prefix. */
static json_t *dataset_json(const char *source)
{
    bool known = strncmp(source, "wikisql", 7) == 0 || strncmp(source, "wikitq", 6) == 0;
    return json_sprintf("%s%s", known ? "" : "wikisql__", source);
}

json_t *noisysp_write(const struct span_record *r)
{
    struct tokens t;

    read_sql_tokens(&t, r->question);
    json_t *o =
        json_pack("{s:o, s:{s:s, s:o}, s:{s:s, s:o, s:o}, s:o, s:o, s:o, s:o, s:s, s:s, s:b}", "dataset",
                  dataset_json(r->source), "question", "text", r->question, "tokens", tokens_json(&t, 0, t.n - 1),
                  "schema", "db_id", r->db_id, "columns", columns_json(r), "tables", tables_json(r), "sql", sql_json(r),
                  "matched_values", matches_json(r, &t), "erased_ngrams", erased_json(r, &t), "binding_result",
                  bindings_json(r, &t), "uuid", r->id, "unique_str", r->id, "value_resolved", true);
    free(t.items);
    return o;
}
