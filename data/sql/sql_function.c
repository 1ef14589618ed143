#include "data/sql/sql_function.h"

#include <stddef.h>
#include <strings.h>

enum { MANY = 127 };

static const struct sql_function functions[] = {
    { "->", 2, 2, SQL_FUNCTION_SCALAR },
    { "->>", 2, 2, SQL_FUNCTION_SCALAR },
    { "abs", 1, 1, SQL_FUNCTION_SCALAR },
    { "acos", 1, 1, SQL_FUNCTION_SCALAR },
    { "acosh", 1, 1, SQL_FUNCTION_SCALAR },
    { "asin", 1, 1, SQL_FUNCTION_SCALAR },
    { "asinh", 1, 1, SQL_FUNCTION_SCALAR },
    { "atan", 1, 1, SQL_FUNCTION_SCALAR },
    { "atan2", 2, 2, SQL_FUNCTION_SCALAR },
    { "atanh", 1, 1, SQL_FUNCTION_SCALAR },
    { "avg", 1, 1, SQL_FUNCTION_AGGREGATE },
    { "bm25", 0, MANY, SQL_FUNCTION_SCALAR },
    { "ceil", 1, 1, SQL_FUNCTION_SCALAR },
    { "ceiling", 1, 1, SQL_FUNCTION_SCALAR },
    { "changes", 0, 0, SQL_FUNCTION_SCALAR },
    { "char", 0, MANY, SQL_FUNCTION_SCALAR },
    { "coalesce", 2, MANY, SQL_FUNCTION_SCALAR },
    { "cos", 1, 1, SQL_FUNCTION_SCALAR },
    { "cosh", 1, 1, SQL_FUNCTION_SCALAR },
    { "count", 0, 1, SQL_FUNCTION_AGGREGATE },
    { "cume_dist", 0, 0, SQL_FUNCTION_WINDOW },
    { "date", 0, MANY, SQL_FUNCTION_SCALAR },
    { "datetime", 0, MANY, SQL_FUNCTION_SCALAR },
    { "degrees", 1, 1, SQL_FUNCTION_SCALAR },
    { "dense_rank", 0, 0, SQL_FUNCTION_WINDOW },
    { "exp", 1, 1, SQL_FUNCTION_SCALAR },
    { "first_value", 1, 1, SQL_FUNCTION_WINDOW },
    { "floor", 1, 1, SQL_FUNCTION_SCALAR },
    { "format", 0, MANY, SQL_FUNCTION_SCALAR },
    { "fts3_tokenizer", 1, 2, SQL_FUNCTION_SCALAR },
    { "fts5", 1, 1, SQL_FUNCTION_SCALAR },
    { "fts5_source_id", 0, 0, SQL_FUNCTION_SCALAR },
    { "glob", 2, 2, SQL_FUNCTION_SCALAR },
    { "group_concat", 1, 2, SQL_FUNCTION_AGGREGATE },
    { "hex", 1, 1, SQL_FUNCTION_SCALAR },
    { "highlight", 0, MANY, SQL_FUNCTION_SCALAR },
    { "ifnull", 2, 2, SQL_FUNCTION_SCALAR },
    { "iif", 3, 3, SQL_FUNCTION_SCALAR },
    { "instr", 2, 2, SQL_FUNCTION_SCALAR },
    { "json", 1, 1, SQL_FUNCTION_SCALAR },
    { "json_array", 0, MANY, SQL_FUNCTION_SCALAR },
    { "json_array_length", 1, 2, SQL_FUNCTION_SCALAR },
    { "json_extract", 0, MANY, SQL_FUNCTION_SCALAR },
    { "json_group_array", 1, 1, SQL_FUNCTION_AGGREGATE },
    { "json_group_object", 2, 2, SQL_FUNCTION_AGGREGATE },
    { "json_insert", 0, MANY, SQL_FUNCTION_SCALAR },
    { "json_object", 0, MANY, SQL_FUNCTION_SCALAR },
    { "json_patch", 2, 2, SQL_FUNCTION_SCALAR },
    { "json_quote", 1, 1, SQL_FUNCTION_SCALAR },
    { "json_remove", 0, MANY, SQL_FUNCTION_SCALAR },
    { "json_replace", 0, MANY, SQL_FUNCTION_SCALAR },
    { "json_set", 0, MANY, SQL_FUNCTION_SCALAR },
    { "json_type", 1, 2, SQL_FUNCTION_SCALAR },
    { "json_valid", 1, 1, SQL_FUNCTION_SCALAR },
    { "julianday", 0, MANY, SQL_FUNCTION_SCALAR },
    { "lag", 1, 3, SQL_FUNCTION_WINDOW },
    { "last_insert_rowid", 0, 0, SQL_FUNCTION_SCALAR },
    { "last_value", 1, 1, SQL_FUNCTION_WINDOW },
    { "lead", 1, 3, SQL_FUNCTION_WINDOW },
    { "length", 1, 1, SQL_FUNCTION_SCALAR },
    { "like", 2, 3, SQL_FUNCTION_SCALAR },
    { "likelihood", 2, 2, SQL_FUNCTION_SCALAR },
    { "likely", 1, 1, SQL_FUNCTION_SCALAR },
    { "ln", 1, 1, SQL_FUNCTION_SCALAR },
    { "load_extension", 1, 2, SQL_FUNCTION_SCALAR },
    { "log", 1, 2, SQL_FUNCTION_SCALAR },
    { "log10", 1, 1, SQL_FUNCTION_SCALAR },
    { "log2", 1, 1, SQL_FUNCTION_SCALAR },
    { "lower", 1, 1, SQL_FUNCTION_SCALAR },
    { "ltrim", 1, 2, SQL_FUNCTION_SCALAR },
    { "match", 2, 2, SQL_FUNCTION_SCALAR },
    { "matchinfo", 1, 2, SQL_FUNCTION_SCALAR },
    { "max", 1, 1, SQL_FUNCTION_AGGREGATE },
    { "max", 2, MANY, SQL_FUNCTION_SCALAR },
    { "min", 1, 1, SQL_FUNCTION_AGGREGATE },
    { "min", 2, MANY, SQL_FUNCTION_SCALAR },
    { "mod", 2, 2, SQL_FUNCTION_SCALAR },
    { "nth_value", 2, 2, SQL_FUNCTION_WINDOW },
    { "ntile", 1, 1, SQL_FUNCTION_WINDOW },
    { "nullif", 2, 2, SQL_FUNCTION_SCALAR },
    { "offsets", 1, 1, SQL_FUNCTION_SCALAR },
    { "optimize", 1, 1, SQL_FUNCTION_SCALAR },
    { "percent_rank", 0, 0, SQL_FUNCTION_WINDOW },
    { "pi", 0, 0, SQL_FUNCTION_SCALAR },
    { "pow", 2, 2, SQL_FUNCTION_SCALAR },
    { "power", 2, 2, SQL_FUNCTION_SCALAR },
    { "printf", 0, MANY, SQL_FUNCTION_SCALAR },
    { "quote", 1, 1, SQL_FUNCTION_SCALAR },
    { "radians", 1, 1, SQL_FUNCTION_SCALAR },
    { "random", 0, 0, SQL_FUNCTION_SCALAR },
    { "randomblob", 1, 1, SQL_FUNCTION_SCALAR },
    { "rank", 0, 0, SQL_FUNCTION_WINDOW },
    { "replace", 3, 3, SQL_FUNCTION_SCALAR },
    { "round", 1, 2, SQL_FUNCTION_SCALAR },
    { "row_number", 0, 0, SQL_FUNCTION_WINDOW },
    { "rtreecheck", 0, MANY, SQL_FUNCTION_SCALAR },
    { "rtreedepth", 1, 1, SQL_FUNCTION_SCALAR },
    { "rtreenode", 2, 2, SQL_FUNCTION_SCALAR },
    { "rtrim", 1, 2, SQL_FUNCTION_SCALAR },
    { "sign", 1, 1, SQL_FUNCTION_SCALAR },
    { "sin", 1, 1, SQL_FUNCTION_SCALAR },
    { "sinh", 1, 1, SQL_FUNCTION_SCALAR },
    { "snippet", 0, MANY, SQL_FUNCTION_SCALAR },
    { "soundex", 1, 1, SQL_FUNCTION_SCALAR },
    { "sqlite_compileoption_get", 1, 1, SQL_FUNCTION_SCALAR },
    { "sqlite_compileoption_used", 1, 1, SQL_FUNCTION_SCALAR },
    { "sqlite_log", 2, 2, SQL_FUNCTION_SCALAR },
    { "sqlite_source_id", 0, 0, SQL_FUNCTION_SCALAR },
    { "sqlite_version", 0, 0, SQL_FUNCTION_SCALAR },
    { "sqrt", 1, 1, SQL_FUNCTION_SCALAR },
    { "strftime", 0, MANY, SQL_FUNCTION_SCALAR },
    { "substr", 2, 3, SQL_FUNCTION_SCALAR },
    { "substring", 2, 3, SQL_FUNCTION_SCALAR },
    { "subtype", 1, 1, SQL_FUNCTION_SCALAR },
    { "sum", 1, 1, SQL_FUNCTION_AGGREGATE },
    { "tan", 1, 1, SQL_FUNCTION_SCALAR },
    { "tanh", 1, 1, SQL_FUNCTION_SCALAR },
    { "time", 0, MANY, SQL_FUNCTION_SCALAR },
    { "total", 1, 1, SQL_FUNCTION_AGGREGATE },
    { "total_changes", 0, 0, SQL_FUNCTION_SCALAR },
    { "trim", 1, 2, SQL_FUNCTION_SCALAR },
    { "trunc", 1, 1, SQL_FUNCTION_SCALAR },
    { "typeof", 1, 1, SQL_FUNCTION_SCALAR },
    { "unicode", 1, 1, SQL_FUNCTION_SCALAR },
    { "unixepoch", 0, MANY, SQL_FUNCTION_SCALAR },
    { "unlikely", 1, 1, SQL_FUNCTION_SCALAR },
    { "upper", 1, 1, SQL_FUNCTION_SCALAR },
    { "zeroblob", 1, 1, SQL_FUNCTION_SCALAR },
};

int sql_count_list(const struct sql_expr *list)
{
    int n = 0;
    for (; list; list = list->next)
        n++;
    return n;
}

const struct sql_function *sql_function_find(const char *name, int n)
{
    const struct sql_function *any = NULL;

    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const struct sql_function *f = &functions[i];
        if (strcasecmp(f->name, name) != 0)
            continue;
        if (n >= f->min_arguments && n <= f->max_arguments)
            return f;
        any = f;
    }
    return any;
}

const struct sql_function *sql_function_of(const struct sql_expr *call)
{
    return sql_function_find(call->name.text, sql_count_list(call->list));
}
