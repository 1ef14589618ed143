/* Part of table_corpus.h: the reader of WikiTableQuestions with Squall. */
#include "data/base/log.h"
#include "data/base/records.h"
#include "data/corpora/table_corpus.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The first two columns of each file are the row's number and a mark of sums. The columns c1, c2 and so on follow. */
enum { FIRST_COLUMN = 2, MAX_ID = 64 };

struct squall_reader {
    struct table_corpus *c;
    const char *dir;
};

static bool is_id(const char *id)
{
    size_t n = strlen(id);

    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)id[i]) && id[i] != '_' && id[i] != '-')
            return false;
    return n && n <= MAX_ID;
}

static enum column_type type_of(const char *type)
{
    static const char *const numbers[] = { "number", "rank", "percentage", "unitnum", "fraction" };

    if (strncmp(type, "date", 4) == 0 || strncmp(type, "time", 4) == 0)
        return COLUMN_TIME;
    for (int i = 0; i < ARRAY_LEN(numbers); i++)
        if (strncmp(type, numbers[i], strlen(numbers[i])) == 0 && !strstr(type, "span") && !strstr(type, "text"))
            return COLUMN_NUMBER;
    return COLUMN_TEXT;
}

/* Reads a column. `forms`: its cells as text, then in other types. */
static int read_column(struct table_corpus *c, struct corpus_column *column, const json_t *name, const json_t *type,
                       const json_t *forms, const char *where, struct error *err)
{
    const json_t *text = json_array_get(forms, 0);
    json_t *cells = text ? json_get_array(text, "data", where, err) : NULL, *cell;
    size_t i;

    if (!json_is_string(name) || !json_is_string(type))
        return error_set(err, EXIT_CODE_DATA, "%s: fields \"headers\" and \"types\": expected strings, got %s and %s",
                         where, json_type_name(name), json_type_name(type));
    if (!text)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"contents\": expected the cells of each column, got none",
                         where);
    if (!cells)
        return -1;
    corpus_column_name(c, column, json_string_value(name));
    column->type = type_of(json_string_value(type));
    json_array_foreach(cells, i, cell)
    {
        corpus_column_add(c, column, cell);
    }
    return 0;
}

static int read_columns(struct table_corpus *c, const char *id, const json_t *table, const char *path,
                        struct error *err)
{
    json_t *headers = json_get_array(table, "headers", path, err);
    json_t *types = headers ? json_get_array(table, "types", path, err) : NULL;
    json_t *contents = types ? json_get_array(table, "contents", path, err) : NULL;
    size_t n = json_array_size(headers);

    if (!contents)
        return -1;
    if (n <= FIRST_COLUMN || json_array_size(types) != n || json_array_size(contents) != n)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: expected as many headers, types and contents, at least %d, got %zu, %zu and %zu", path,
                         FIRST_COLUMN + 1, n, json_array_size(types), json_array_size(contents));
    n -= FIRST_COLUMN;
    struct corpus_table *t = table_corpus_add_table(c, id, n > CORPUS_COLUMNS ? CORPUS_COLUMNS + 1 : (int)n, path, err);
    for (size_t i = 0; t && i < n; i++)
        if (read_column(c, &t->columns[i], json_array_get(headers, i + FIRST_COLUMN),
                        json_array_get(types, i + FIRST_COLUMN), json_array_get(contents, i + FIRST_COLUMN), path, err))
            return -1;
    return t ? 0 : -1;
}

/* The number of the table, which is read at first; -1 with err. */
static int find_table(struct squall_reader *s, const char *id, struct error *err)
{
    int at = strings_find(&s->c->ids, id);
    char path[4096];

    if (at >= 0)
        return at;
    snprintf(path, sizeof path, "%s/tables/json/%s.json", s->dir, id);
    json_t *table = json_read_file(path, err);
    int rc = table ? read_columns(s->c, id, table, path, err) : -1;
    json_decref(table);
    return rc ? -1 : s->c->n_tables - 1;
}

/* The words of the question, with blanks between them. */
static const char *read_words(struct table_corpus *c, const json_t *record, const char *where, struct error *err)
{
    json_t *words = json_get_array(record, "nl", where, err), *word;
    const char *text = NULL;
    char *joined = NULL;
    size_t i, size = 0;
    FILE *f = open_memstream(&joined, &size);
    bool good = words != NULL;

    CHECK(f, "no memory for a question");
    json_array_foreach(words, i, word)
    {
        if (good && !json_is_string(word)) {
            error_set(err, EXIT_CODE_DATA, "%s: field \"nl\": expected strings, got %s", where, json_type_name(word));
            good = false;
        }
        fprintf(f, "%s%s", i ? " " : "", good ? json_string_value(word) : "");
    }
    CHECK(fclose(f) == 0, "no memory for a question");
    if (good && *joined)
        text = strings_keep(&c->text, joined);
    else if (good)
        error_set(err, EXIT_CODE_DATA, "%s: field \"nl\": expected words, got none", where);
    free(joined);
    return text;
}

/* The column of "c3", or of "c3" with a suffix such as "_number", from 0; -1: none. */
static int column_of(const char *name, int n_columns)
{
    char *end;

    if (*name != 'c' || !isdigit((unsigned char)name[1]))
        return -1;
    long number = strtol(name + 1, &end, 10);
    return (*end == '\0' || *end == '_') && number >= 1 && number <= n_columns ? (int)number - 1 : -1;
}

/* The text of a literal without its quotes. */
static const char *literal_of(struct table_corpus *c, const char *text)
{
    size_t n = strlen(text);
    bool quoted = n >= 2 && (*text == '\'' || *text == '"') && text[n - 1] == *text;
    char *copy = xstrdup(quoted ? text + 1 : text), *to = copy;

    for (const char *from = copy, *end = copy + (quoted ? n - 2 : n); from < end; from++)
        if (!quoted || *from != '\\' || from + 1 == end)
            *to++ = *from;
    *to = '\0';
    const char *kept = strings_keep(&c->text, copy);
    free(copy);
    return kept;
}

/* Whether a literal behind the keyword is still compared with the column before it. */
static bool compares(const char *keyword)
{
    static const char *const words[] = { "=", "==", "!=", "<>", ">", "<", ">=", "<=", "in", "not", "like", "(", "," };

    for (int i = 0; i < ARRAY_LEN(words); i++)
        if (strcasecmp(keyword, words[i]) == 0)
            return true;
    return false;
}

/* Reads a token; *column is the column that a following literal is compared with, or -1. */
static int read_token(struct table_corpus *c, struct corpus_question *q, const json_t *token, int *column,
                      const char *where, struct error *err)
{
    const char *type = json_string_value(json_array_get(token, 0)), *text = json_string_value(json_array_get(token, 1));

    if (!type || !text)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"sql\": expected tokens [type, text, place], got another",
                         where);
    if (strcmp(type, "Column") == 0) {
        if ((*column = column_of(text, c->tables[q->table].n_columns)) < 0)
            return error_set(err, EXIT_CODE_DATA, "%s: field \"sql\": expected a column from c1 to c%d, got \"%s\"",
                             where, c->tables[q->table].n_columns, text);
        corpus_question_use(q, *column, NULL);
    } else if (strcmp(type, "Keyword") == 0) {
        int keyword = sql_keyword_find(text);
        q->keywords |= keyword < 0 ? 0 : 1u << keyword;
        *column = compares(text) ? *column : -1;
    } else if (strncmp(type, "Literal", 7) == 0) {
        if (*column >= 0)
            corpus_question_use(q, *column, literal_of(c, text));
    } else
        return error_set(err, EXIT_CODE_DATA,
                         "%s: field \"sql\": expected Keyword, Column, Literal.Number or Literal.String, got \"%s\"",
                         where, type);
    return 0;
}

/* A record_fn. */
static int read_question(void *user, json_t *record, const char *where, struct error *err)
{
    struct squall_reader *s = user;
    const char *id = json_get_string(record, "tbl", where, err);
    json_t *sql = id ? json_get_array(record, "sql", where, err) : NULL, *token;
    const char *text = sql ? read_words(s->c, record, where, err) : NULL;
    int column = -1;
    size_t i;

    if (!text)
        return -1;
    if (!is_id(id))
        return error_set(err, EXIT_CODE_DATA, "%s: field \"tbl\": expected a table such as 204_590, got \"%s\"", where,
                         id);
    int table = find_table(s, id, err);
    if (table < 0) {
        error_prefix(err, "%s: field \"tbl\"", where);
        return -1;
    }
    struct corpus_question *q = table_corpus_add_question(s->c, text, table);
    json_array_foreach(sql, i, token) if (read_token(s->c, q, token, &column, where, err)) return -1;
    return 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Reads all tables in the order of their names. */
static int read_tables(struct squall_reader *s, struct error *err)
{
    char path[4096], **list = NULL;
    int n = 0, cap = 0, rc = 0;

    snprintf(path, sizeof path, "%s/tables/json", s->dir);
    DIR *dir = opendir(path);
    if (!dir)
        return error_set(err, EXIT_CODE_DATA, "%s: expected data/squall.json or tables/json, got neither", s->dir);
    for (struct dirent *e; (e = readdir(dir));) {
        size_t length = strlen(e->d_name);
        if (length <= 5 || strcmp(e->d_name + length - 5, ".json") != 0)
            continue;
        GROW(list, n, cap);
        list[n] = xstrdup(e->d_name);
        list[n++][length - 5] = '\0';
    }
    closedir(dir);
    if (n)
        qsort(list, (size_t)n, sizeof *list, compare_names);
    for (int i = 0; i < n; i++) {
        if (rc == 0 && is_id(list[i]))
            rc = find_table(s, list[i], err) < 0 ? -1 : 0;
        free(list[i]);
    }
    free(list);
    return rc;
}

int squall_read(struct table_corpus *c, const char *dir, struct error *err)
{
    struct squall_reader s = { c, dir };
    char path[4096];

    *c = (struct table_corpus){ 0 };
    snprintf(path, sizeof path, "%s/data/squall.json", dir);
    if (access(path, F_OK) == 0)
        return records_each_as_is(path, RECORDS_AUTO, read_question, &s, err);
    int rc = read_tables(&s, err);
    if (rc == 0)
        log_warn("%s not found: expected Squall's questions; only the column names of %d tables are used", path,
                 c->n_tables);
    return rc;
}
