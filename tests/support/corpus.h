/*
 * corpus.h - a hand-made corpus in the forms of Spider and AmbiQT: harbours with boats and crews.
 */
#ifndef TESTS_SUPPORT_CORPUS_H
#define TESTS_SUPPORT_CORPUS_H

/* Writes tables.json, train_spider.json, dev.json, two_col_synonyms.json and the four training files into dir: n
 * databases harbour_0 to harbour_<n-1>, each with two records of each kind that can be paired. */
void corpus_write(const char *dir, int n);
/* Appends a line to a file of dir. */
void corpus_append(const char *dir, const char *name, const char *line);

#endif
