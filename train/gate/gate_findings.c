#include "train/gate/gate_findings.h"

#include <math.h>
#include <stdio.h>

void gate_findings_init(struct gate_findings *f, const struct gate_model *m, const struct gate_answers *a,
                        const struct gate_answers *presence, const struct mixture *mixture, uint64_t seed)
{
    *f = (struct gate_findings){ .threshold = m->threshold, .temperature = m->temperature, .mixture = mixture };
    f->all = gate_measure(m, a, GATE_KINDS, seed);
    gate_row_fill(&f->rows[GATE_KINDS], "all", &f->all);
    for (int k = 0; k < GATE_KINDS; k++) {
        f->kinds[k] = gate_measure(m, a, k, seed);
        gate_row_fill(&f->rows[k], gate_kind_name(k), &f->kinds[k]);
    }
    for (int i = 0; mixture && i < mixture->n; i++) {
        f->parts[i] = gate_measure_part(m, a, mixture->parts[i].name, seed);
        gate_row_fill(&f->rows[GATE_KINDS + 1 + i], mixture->parts[i].name, &f->parts[i]);
    }
    f->relevance_ap = stats_average_precision(gate_answers_relevance(a));
    f->relevance_auc = stats_auc(gate_answers_relevance(a));
    if (presence)
        f->presence = gate_measure(m, presence, GATE_KINDS, seed);
}

void gate_findings_probe(struct gate_findings *f, const struct dataset *d, enum probe_set set)
{
    f->probe_set = set;
    probe_run(&f->probes, d, set);
}

int gate_findings_rows(const struct gate_findings *f, struct gate_row shown[GATE_ROWS])
{
    int n = 0;

    for (int i = 0; i <= GATE_KINDS; i++)
        if (i == GATE_KINDS || f->kinds[i].n)
            shown[n++] = f->rows[i];
    for (int i = 0; f->mixture && i < f->mixture->n; i++)
        shown[n++] = f->rows[GATE_KINDS + 1 + i];
    return n;
}

void gate_findings_print(const struct gate_findings *f)
{
    struct gate_row shown[GATE_ROWS];

    gate_rows_print(gate_columns[0], shown, gate_findings_rows(f, shown));
    gate_summary_print(&f->all);
    if (f->presence.n)
        printf("presence slice: %d questions, none ambiguous, %lld called so\n", f->presence.n,
               (long long)f->presence.confusion.fp);
    if (f->probes.n)
        probe_print(&f->probes, f->probe_set, stdout);
    if (isfinite(f->relevance_ap))
        printf("relevance of elements: AP %.4f, AUC %.4f\n", f->relevance_ap, f->relevance_auc);
}

/* Names of the probes in the order of enum probe. */
static const char *const probe_names[PROBES] = { "question_only", "schema_only", "always_yes", "and_comma_rule",
                                                 "name_similarity" };

static json_t *probes_json(const struct probe_report *p)
{
    json_t *o = json_object();

    for (int i = 0; p->n && i < PROBES; i++)
        json_object_set_new(o, probe_names[i],
                            json_pack("{s:o, s:o, s:o}", "ap", json_finite(p->ap[i]), "auc", json_finite(p->auc[i]),
                                      "f1", json_finite(p->f1[i])));
    return o;
}

json_t *gate_findings_json(const struct gate_findings *f, const char *name)
{
    json_t *kinds = json_object(), *parts = f->mixture ? json_object() : NULL;

    for (int i = 0; parts && i < f->mixture->n; i++)
        json_object_set_new(parts, f->mixture->parts[i].name, gate_measures_json(&f->parts[i]));
    for (int k = 0; k < GATE_KINDS; k++)
        if (k < SIA_KINDS || f->kinds[k].n)
            json_object_set_new(kinds, gate_kind_name(k), gate_measures_json(&f->kinds[k]));
    return json_pack("{s:o, s:o, s:o*, s:o, s:o, s:{s:o, s:o}, s:f, s:f}", name, gate_measures_json(&f->all), "kinds",
                     kinds, "parts", parts, "presence", gate_measures_json(&f->presence), "probes",
                     probes_json(&f->probes), "relevance", "ap", json_finite(f->relevance_ap), "auc",
                     json_finite(f->relevance_auc), "threshold", f->threshold, "temperature", f->temperature);
}
