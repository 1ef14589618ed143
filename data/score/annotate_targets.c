/* Part of annotate.h: what models that write all of a question's answer at once are taught. */
#include "data/score/annotate_impl.h"

#include <stdio.h>
#include <stdlib.h>

int annotate_golds(const struct annotation *a, struct exec_db *db, bool published, struct error *err)
{
    struct trial t;

    trial_run(&t, published ? TRIAL_PUBLISHED : TRIAL_STRICT, db, trial_texts_part(&a->gold_sql, 0, a->gold_sql.n),
              (struct trial_text){ 0 });
    int rc = t.why ? error_set(err, EXIT_CODE_DATA, "%s", t.why) : 0;
    trial_release(&t);
    return rc;
}

static json_t *gold_json(const struct annotate_gold *g)
{
    return json_pack("{s:s*, s:s}", "text", g->text, "sql", g->sql);
}

/* What the target has of a gold; NULL with an error. */
static const char *part_of(const struct annotation *a, int gold, enum annotate_target target, struct error *err)
{
    const struct annotate_gold *g = &a->golds[gold];

    if (target == ANNOTATE_E2E)
        return g->sql;
    if (!g->text)
        error_set(err, EXIT_CODE_DATA, "gold %d has no text, which --target gold teaches", gold + 1);
    return g->text;
}

json_t *annotation_target_json(const struct annotation *a, enum annotate_target target, struct error *err)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    json_t *golds = json_array(), *o = NULL;
    const char *part = "";

    CHECK(out, "out of memory");
    for (int g = 0; g < a->n_golds && (part = part_of(a, g, target, err)); g++) {
        fprintf(out, "%s%s", g == 0 ? "" : target == ANNOTATE_E2E ? "\n\n" : "\n", part);
        json_array_append_new(golds, gold_json(&a->golds[g]));
    }
    CHECK(fclose(out) == 0, "out of memory");
    if (part)
        o = json_pack("{s:s, s:O}", "target", text, "golds", golds);
    json_decref(golds);
    free(text);
    return o;
}
