#include "data/exec/exec_json.h"

#include <stdlib.h>

static json_t *hex_json(const char *field, const struct cell *c)
{
    static const char digits[] = "0123456789abcdef";
    size_t n = (size_t)c->n;
    char *hex = xmalloc(2 * n + 1);

    for (size_t i = 0; i < n; i++) {
        hex[2 * i] = digits[(unsigned char)c->bytes[i] >> 4];
        hex[2 * i + 1] = digits[c->bytes[i] & 15];
    }
    json_t *o = json_pack("{s:s#}", field, hex, (int)(2 * n));
    free(hex);
    return o;
}

static json_t *cell_json(const struct cell *c)
{
    json_t *v = NULL;

    switch (c->type) {
    case CELL_INTEGER:
        return json_integer(c->integer);
    case CELL_REAL:
        v = json_real(c->real);
        return v ? v : json_pack("{s:s}", "real", c->real < 0 ? "-inf" : "inf");
    case CELL_TEXT:
        v = json_stringn(c->bytes, (size_t)c->n);
        return v ? v : hex_json("text", c);
    case CELL_BLOB:
        return hex_json("blob", c);
    default:
        return json_null();
    }
}

static json_t *rows_json(const struct exec_result *r)
{
    json_t *rows = json_array();

    for (int64_t i = 0; i < r->n; i++) {
        json_t *row = json_array();
        for (int c = 0; c < r->columns; c++)
            json_array_append_new(row, cell_json(&r->cells[i * r->columns + c]));
        json_array_append_new(rows, row);
    }
    return rows;
}

static json_t *names_json(const struct exec_result *r)
{
    json_t *names = json_array();

    for (int c = 0; c < r->columns; c++)
        json_array_append_new(names, json_message(r->names[c]));
    return names;
}

json_t *exec_result_json(const struct exec_result *r)
{
    const char *status = exec_status_name(r->status);

    if (r->status == EXEC_OK)
        return json_pack("{s:s, s:o, s:o}", "status", status, "columns", names_json(r), "rows", rows_json(r));
    return json_pack("{s:s, s:o}", "status", status, "message", json_message(r->message));
}
