#include "models/io/spec.h"

#include "data/base/json.h"

#include <string.h>

static json_t *value_of(const struct spec_field *f, const void *at)
{
    switch (f->type) {
    case SPEC_INT:
        return json_integer(*(const int *)at);
    case SPEC_WORD:
        return json_string(f->words[*(const int *)at]);
    case SPEC_FLOAT:
        return json_real(*(const float *)at);
    default:
        return json_real(*(const double *)at);
    }
}

void spec_write(json_t *o, const struct spec_field *fields, const void *spec)
{
    for (const struct spec_field *f = fields; f->name; f++)
        json_object_set_new(o, f->name, value_of(f, (const char *)spec + f->offset));
}

static int read_word(const json_t *o, const struct spec_field *f, int *out, const char *where, struct error *err)
{
    const char *word = f->words[0];

    if ((!f->optional || json_object_get(o, f->name)) && !(word = json_get_string(o, f->name, where, err)))
        return -1;
    for (int i = 0; f->words[i]; i++)
        if (!strcmp(f->words[i], word)) {
            *out = i;
            return 0;
        }
    return error_set(err, EXIT_CODE_CHECKPOINT, "%s: model: %s: unknown value \"%s\"", where, f->name, word);
}

static int read_int(const json_t *o, const struct spec_field *f, int *out, const char *where, struct error *err)
{
    int64_t x;

    if (json_get_int(o, f->name, (int64_t)f->low, (int64_t)f->high, &x, where, err))
        return -1;
    *out = (int)x;
    return 0;
}

static int read_real(const json_t *o, const struct spec_field *f, void *at, const char *where, struct error *err)
{
    double x;

    if (json_get_real(o, f->name, f->low, f->high, &x, where, err))
        return -1;
    if (f->type == SPEC_DOUBLE)
        *(double *)at = x;
    else
        *(float *)at = (float)x;
    return 0;
}

int spec_read(const json_t *o, const struct spec_field *fields, void *spec, const char *where, struct error *err)
{
    for (const struct spec_field *f = fields; f->name; f++) {
        void *at = (char *)spec + f->offset;
        if (f->optional && f->type != SPEC_WORD && !json_object_get(o, f->name))
            continue;
        int rc = f->type == SPEC_INT    ? read_int(o, f, at, where, err)
                 : f->type == SPEC_WORD ? read_word(o, f, at, where, err)
                                        : read_real(o, f, at, where, err);
        if (rc)
            return -1;
    }
    return 0;
}
