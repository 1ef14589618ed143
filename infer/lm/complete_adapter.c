/* Part of complete.h: the adapters that records name. */
#include "data/util/sums.h"
#include "infer/lm/complete_impl.h"

static int find(struct completion *r, const json_t *v, const char *where, struct error *err)
{
    const char *dir = json_string_value(v);

    if (!v)
        return 0;
    if (!json_is_null(v) && (!dir || !*dir))
        return error_set(err, EXIT_CODE_DATA, "%s: adapter: expected a folder's name, or null for none, got %s", where,
                         dir ? "\"\"" : json_type_name(v));
    int number = llama_model_adapter(&r->model, dir, err);
    return number < 0 ? error_prefix(err, "%s: adapter %s", where, dir ? dir : "null") : number;
}

void complete_adapter(struct completion *r, int i, const json_t *record, const char *where)
{
    const json_t *v = json_object_get(record, "adapter");
    struct lm_text *p = &r->window[i];
    struct error err;

    if (p->error)
        return;
    int number = find(r, v, where, &err);
    if (number < 0) {
        p->error = xstrdup(err.text);
        return;
    }
    r->adapters[i] = number;
    if (number && !r->adapter_keys[number])
        r->adapter_keys[number] = sum_folder(HASH_START, json_string_value(v));
    r->keys[i] ^= r->adapter_keys[number];
}
