/*
 * mixture.h - several data folders read as one: a JSONL file that names them.
 *
 *   {"data": "natural"}
 *   {"data": "contrast", "share": 0.3, "name": "ambiqt"}
 *
 * A path is relative to the file.  `share` says how often each training example comes: 0.3 of them once, or with 2.5
 * all twice and half of them once more; by default 1.  `name`, by default the folder's own, stands before its ids of
 * examples and schemas, so that those of two folders never meet.  Source databases keep their names: examples of a
 * later folder whose source database, or whose question, an earlier one has in another fold are left out.
 */
#ifndef DATA_CORPORA_MIXTURE_H
#define DATA_CORPORA_MIXTURE_H

#include "data/corpora/dataset.h"

enum { MIXTURE_PARTS = 12 }; /* folders at most */

/* Of each part, in the order of the file; names are those of example.part. */
struct mixture {
    struct mixture_part {
        const char *name, *metric; /* the name, and it behind "valid_ap/" */
        int left_out;              /* examples, because of an earlier part's folds */
    } parts[MIXTURE_PARTS];
    int n;
    struct strings text; /* owns the names */
};

/* The caller releases both either way.  -1 with EXIT_CODE_DATA naming file and line. */
int mixture_read(struct mixture *m, struct dataset *d, const char *path, uint64_t seed, struct error *err);
void mixture_release(struct mixture *m);

#endif
