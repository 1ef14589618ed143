/*
 * mixture.h - several data folders as one data set, listed in a JSONL file.
 *
 *   {"data": "natural"}
 *   {"data": "contrast", "share": 0.3, "name": "ambiqt"}
 *
 * Paths are relative to the file. `share` (default: 1) is the number of copies of the training examples. A share of 0.3
 * keeps 30 % of them; 2.5 has all of them twice and half of them a third time. `name` (default: the folder's name)
 * prefixes the ids of examples and schemas, so that ids of two folders never collide.
 *
 * Source databases keep their names. An example is rejected if an earlier folder has its source database or its
 * question in another split.
 */
#ifndef DATA_CORPORA_MIXTURE_H
#define DATA_CORPORA_MIXTURE_H

#include "data/corpora/dataset.h"

enum { MIXTURE_PARTS = 12 }; /* maximum number of folders */

/* The folders in file order. example.part points to their names. */
struct mixture {
    struct mixture_part {
        const char *name, *metric; /* the name, and "valid_ap/" with the name */
        int left_out;              /* examples rejected because of an earlier folder's splits */
    } parts[MIXTURE_PARTS];
    int n;
    struct strings text; /* owns the names */
};

/* Reads a mixture. The caller releases both in any case. Returns -1 with EXIT_CODE_DATA; the message has file and line.
 */
int mixture_read(struct mixture *m, struct dataset *d, const char *path, uint64_t seed, struct error *err);
void mixture_release(struct mixture *m);

#endif
