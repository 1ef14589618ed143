#include "models/text/component.h"

#include "models/text/utf8.h"

#include <string.h>

enum { MAX_DEPTH = 8 };

struct reading {
    const char *list, *known;
    component_fn *read;
    void *into;
    int depth;
};

static int read_component(struct reading *r, const json_t *o, const char *where, struct error *err);

static int read_list(struct reading *r, const struct component *c, struct error *err)
{
    const char *const fields[] = { r->list, NULL };
    const json_t *list = json_get_array(c->o, r->list, c->where, err), *o;
    char inside[COMPONENT_MAX_WHERE];
    size_t i;

    if (!list || component_only(c, fields, err))
        return -1;
    if (r->depth == MAX_DEPTH || json_array_size(list) > COMPONENT_MAX_STEPS)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: %s: expected at most %d components, %d deep, got %zu, %d deep",
                         c->where, r->list, COMPONENT_MAX_STEPS, MAX_DEPTH, json_array_size(list), r->depth);
    r->depth++;
    json_array_foreach(list, i, o)
    {
        snprintf(inside, sizeof inside, "%s: %s[%zu]", c->where, r->list, i);
        if (read_component(r, o, inside, err))
            return -1;
    }
    r->depth--;
    return 0;
}

static int read_component(struct reading *r, const json_t *o, const char *where, struct error *err)
{
    const char *type = json_is_object(o) ? json_get_string(o, "type", where, err) : NULL;
    struct component c = { o, type, where };

    if (!json_is_object(o))
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: expected an object", where);
    if (!type)
        return -1;
    if (strcmp(type, "Sequence") == 0)
        return read_list(r, &c, err);
    int rc = r->read(r->into, &c, err);
    if (rc > 0)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: type: expected Sequence, %s, got \"%.80s\"", where, r->known,
                         type);
    return rc;
}

int components_read(const json_t *root, const char *field, const char *list, component_fn *read, const char *known,
                    void *into, const char *where, struct error *err)
{
    struct reading r = { .list = list, .known = known, .read = read, .into = into };
    const json_t *o = json_object_get(root, field);
    char inside[COMPONENT_MAX_WHERE];

    if (!o || json_is_null(o))
        return 0;
    snprintf(inside, sizeof inside, "%s: %s", where, field);
    return read_component(&r, o, inside, err);
}

int component_only(const struct component *c, const char *const *fields, struct error *err)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)c->o, key, value)
    {
        int i = 0;
        while (fields[i] && strcmp(fields[i], key) != 0)
            i++;
        if (!fields[i] && strcmp(key, "type") != 0)
            return error_set(err, EXIT_CODE_CHECKPOINT, "%s: unknown field \"%.80s\"", c->where, key);
    }
    return 0;
}

int component_bool(const struct component *c, const char *field, bool *out, struct error *err)
{
    return json_object_get(c->o, field) ? json_get_bool(c->o, field, out, c->where, err) : 0;
}

const char *component_text(const struct component *c, const char *field, struct error *err)
{
    const char *text = json_get_string(c->o, field, c->where, err);

    if (!text || strlen(text) <= COMPONENT_MAX_TEXT)
        return text;
    error_set(err, EXIT_CODE_CHECKPOINT, "%s: %s: expected at most %d bytes, got %zu", c->where, field,
              COMPONENT_MAX_TEXT, strlen(text));
    return NULL;
}

const char *component_char(const struct component *c, const char *field, struct error *err)
{
    const char *text = component_text(c, field, err);
    uint32_t cp;
    bool valid;

    if (!text || (*text && (size_t)utf8_read(text, (int64_t)strlen(text), &cp, &valid) == strlen(text)))
        return text;
    error_set(err, EXIT_CODE_CHECKPOINT, "%s: %s: expected one character, got \"%.80s\"", c->where, field, text);
    return NULL;
}
