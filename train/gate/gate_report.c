#include "train/gate/gate_report.h"

#include "data/util/json.h"
#include "train/gate/gate_page.h"

#include <stdio.h>

static int write_json(const struct gate_trainer *t, const struct gate_findings *f, struct error *err)
{
    char path[4096];
    json_t *o = gate_findings_json(f, "crossed");

    snprintf(path, sizeof path, "%s/test.json", t->run.set.out);
    int rc = json_write_file(path, o, err);
    json_decref(o);
    return rc;
}

/* The caller releases the answers where it returns 0. */
static int find(struct gate_trainer *t, struct gate_findings *f, struct gate_answers *a, struct error *err)
{
    struct gate_answers presence;
    int rc = gate_eval(t, FOLD_TEST, false, a, err);

    if (rc)
        return rc;
    if ((rc = gate_eval(t, FOLD_TEST, true, &presence, err)) == 0) {
        gate_findings_init(f, &t->model, a, &presence, t->mixture.n ? &t->mixture : NULL, t->run.set.seed);
        gate_answers_release(&presence);
    } else
        gate_answers_release(a);
    return rc;
}

int gate_report(struct gate_trainer *t, struct error *err)
{
    struct gate_findings f;
    struct gate_answers a;
    int rc = find(t, &f, &a, err);

    if (rc)
        return rc;
    gate_findings_probe(&f, &t->records, PROBE_CROSSED);
    gate_findings_print(&f);
    rc = write_json(t, &f, err) || gate_page(t, &f, &a, err) ? -1 : 0;
    gate_answers_release(&a);
    return rc;
}
