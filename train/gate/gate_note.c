#include "train/gate/gate_note.h"

#include "data/contrast/practice_domains.h"

#include <stdio.h>
#include <string.h>

static bool is_practice(const char *db)
{
    for (int i = 0; practice_domain(i); i++)
        if (strcmp(practice_domain(i)->name, db) == 0)
            return true;
    return false;
}

void gate_note(const struct gate_fold *train, char text[GATE_NOTE])
{
    int practice = 0, own = 0, pairs = 0, relevance = 0;

    for (int i = 0; i < train->n; i++) {
        const struct example *e = train->list[i].record;
        practice += e->slice != EXAMPLE_OWN && is_practice(e->source_db);
        own += e->slice == EXAMPLE_OWN;
        pairs += train->list[i].pair >= 0;
        relevance += train->list[i].knows_relevance;
    }
    *text = 0;
    if (practice == train->n)
        snprintf(text, GATE_NOTE,
                 "this detector learned from made-up practice data alone: it knows little English and "
                 "small schemas only; ambit-train gatekeeper makes a better one of a pretrained --encoder and --labels "
                 "of your own");
    else if (own == train->n)
        snprintf(text, GATE_NOTE, "this detector learned from %d labelled questions%s%s", own,
                 pairs ? "" : "; which alternatives it names was not taught",
                 relevance ? "" : "; the relevance of elements was not taught");
}
