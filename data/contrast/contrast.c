#include "data/contrast/contrast_impl.h"

#include "data/contrast/probe.h"
#include "data/schema/schema_build.h"

#include <stdio.h>
#include <stdlib.h>

enum { SQL_ARENA_BYTES = 64 << 20 };

static void contrast_release(struct contrast *c)
{
    for (int i = 0; i < c->question_keys.n; i++)
        free(c->questions[i].touched);
    for (int i = 0; i < c->element_keys.n; i++) {
        free(c->elements[i].repeated);
        schema_release(&c->elements[i].both.schema);
        schema_release(&c->elements[i].one.schema);
    }
    free(c->questions);
    free(c->elements);
    free(c->records);
    strings_release(&c->question_keys);
    strings_release(&c->element_keys);
    arena_release(&c->sql);
}

/* Neither a fold nor a leak may be trusted to the way it was built. */
static int check(const struct dataset *d, struct error *err)
{
    struct probe_report crossed;

    if (dataset_check_folds(d, err) || dataset_check_balance(d, err))
        return -1;
    probe_run(&crossed, d, PROBE_CROSSED);
    return probe_check(&crossed, err);
}

void contrast_corpora_release(struct contrast_corpora *c)
{
    schema_set_close(&c->schemas);
    spider_release(&c->spider);
    ambiqt_release(&c->ambiqt);
}

static int read_spider(struct contrast_corpora *c, const char *dir, struct error *err)
{
    char *path = NULL;
    CHECK(asprintf(&path, "%s/tables.json", dir) >= 0, "cannot format a path in %s", dir);
    int rc = schema_set_open(&c->schemas, path, err);
    free(path);
    if (rc)
        return rc;
    CHECK(asprintf(&path, "%s/train_spider.json", dir) >= 0, "cannot format a path in %s", dir);
    rc = spider_read(&c->spider, path, err);
    free(path);
    return rc;
}

int contrast_build_from(struct dataset *out, const struct contrast_options *o, const struct contrast_corpora *in,
                        struct error *err)
{
    struct contrast c = { .options = o, .in = in, .rng = { .seed = o->seed } };

    *out = (struct dataset){ 0 };
    int rc = arena_init(&c.sql, SQL_ARENA_BYTES, err);
    if (rc == 0)
        rc = contrast_collect(&c, err);
    if (rc == 0)
        rc = contrast_emit(&c, out, err);
    if (rc == 0)
        rc = check(out, err);
    contrast_release(&c);
    return rc;
}

int contrast_build(struct dataset *out, const struct contrast_options *o, const char *ambiqt, const char *spider,
                   struct error *err)
{
    struct contrast_corpora in = { 0 };

    *out = (struct dataset){ 0 };
    int rc = read_spider(&in, spider, err);
    for (int k = 0; k < SIA_KINDS && rc == 0; k++)
        rc = ambiqt_read_train(&in.ambiqt, (enum sia_kind)k, ambiqt, err);
    if (rc == 0)
        rc = contrast_build_from(out, o, &in, err);
    contrast_corpora_release(&in);
    return rc;
}
