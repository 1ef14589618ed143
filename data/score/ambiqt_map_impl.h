/*
 * ambiqt_map_impl.h - what the parts of ambiqt_map.h share.
 */
#ifndef DATA_SCORE_AMBIQT_MAP_IMPL_H
#define DATA_SCORE_AMBIQT_MAP_IMPL_H

#include "data/score/ambiqt_map.h"

/* Ours of kind P; NULL when the prediction is no second reading.  The caller frees. */
char *ambiqt_map_aggregate(const struct ambiqt_record *r, const char *sql);

#endif
