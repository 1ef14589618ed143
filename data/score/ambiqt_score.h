/*
 * ambiqt_score.h - which readings of a record are among a system's predictions, by AmbiQT's three measures.
 */
#ifndef DATA_SCORE_AMBIQT_SCORE_H
#define DATA_SCORE_AMBIQT_SCORE_H

#include "data/score/ambiqt_cases.h"
#include "data/score/ambiqt_exec.h"

enum ambiqt_measure { AMBIQT_EM, AMBIQT_EXM, AMBIQT_DIRECT, AMBIQT_MEASURES };
/* "em", "exm", "direct". */
const char *ambiqt_measure_name(enum ambiqt_measure m);

/* Of each measure: is the first, is the second reading among them. */
struct ambiqt_found {
    bool reading[AMBIQT_MEASURES][2];
};

/*
 * Predictions are mapped (ambiqt_map.h), each for each reading, and compared with the normalised original gold query.
 * Of kinds J and P a prediction that is the first reading is not the second too, for each measure alone.
 *
 * direct compares rows in order where the gold orders them at its top level; as published, where its text says
 * " order by " anywhere, so also in a sub-query or a string.
 *
 * As published, a gold query that fails is met by every prediction that does not; ours says why it fails and nothing
 * meets it.  runner may be NULL: then only exact set match is decided, and the runner is at the record's database.
 */
struct ambiqt_judge {
    const struct spider_schema *schema;
    struct ambiqt_runner *runner;
    bool published;
};
/* What was odd about it goes to the skipped records of c. */
struct ambiqt_found ambiqt_score(const struct ambiqt_judge *judge, struct ambiqt_cases *c,
                                 const struct ambiqt_case *of);

#endif
