/* Part of json.h: values on their way out. */
#include "data/util/json.h"
#include "data/util/json_text.h"

#include <errno.h>
#include <string.h>

json_t *json_message(const char *text)
{
    size_t n = strlen(text);
    json_t *message = json_stringn(text, n);
    while (!message && n)
        message = json_stringn(text, --n);
    return message;
}

static int cannot_write(struct error *err, const char *path)
{
    return error_set(err, EXIT_CODE_FAILURE, "%s: cannot write: %s", path, strerror(errno));
}

/* fwrite may succeed although the buffer that it filled could not be flushed: only ferror tells, while errno is new. */
static bool dump(const json_t *value, FILE *f, int indent, int digits)
{
    return json_put(f, value, indent, digits) && putc('\n', f) != EOF && !ferror(f);
}

int json_write_line(struct out_file *o, const json_t *value, struct error *err)
{
    if (!dump(value, o->f, 0, 9))
        return cannot_write(err, o->path ? o->path : "standard output");
    return 0;
}

static int write_file(const char *path, const json_t *value, int digits, struct error *err)
{
    struct out_file o;
    if (out_file_open(&o, path, err))
        return -1;
    if (!dump(value, o.f, 2, digits)) {
        cannot_write(err, path);
        out_file_abort(&o);
        return -1;
    }
    return out_file_commit(&o, err);
}

int json_write_file(const char *path, const json_t *value, struct error *err)
{
    return write_file(path, value, 9, err);
}

int json_write_file_exact(const char *path, const json_t *value, struct error *err)
{
    return write_file(path, value, JSON_EXACT, err);
}
