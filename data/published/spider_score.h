/*
 * spider_score.h - the rules spider and bird of `ambit-data score`: top 1 and any of the first k predictions.
 *
 * spider: Spider's exact set match, as a whole and by component, and its execution match (ambiqt_same_columns), by
 * hardness (Yu et al., EMNLP 2018). Spider's evaluator stops at a gold statement outside its grammar; here the record
 * is skipped. bird: BIRD's execution accuracy, equal sets of rows, by difficulty (Li et al., NeurIPS 2023).
 */
#ifndef DATA_PUBLISHED_SPIDER_SCORE_H
#define DATA_PUBLISHED_SPIDER_SCORE_H

#include "data/eval/score.h"

score_rule score_spider, score_bird;

#endif
