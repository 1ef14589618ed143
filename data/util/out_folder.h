/*
 * out_folder.h - a folder whose files appear together or not at all.
 *
 * They are written to FOLDER/.tmp, and moved from there when all of them are whole: what writes a folder of files knows
 * nothing of this.
 */
#ifndef DATA_UTIL_OUT_FOLDER_H
#define DATA_UTIL_OUT_FOLDER_H

#include "kernels/base.h"

struct out_folder {
    char *path, *tmp; /* tmp is where to write */
    bool made;        /* it was not there */
};

/* The caller aborts either way. */
int out_folder_open(struct out_folder *o, const char *path, struct error *err);
/* Moves the files, as out_files_commit does. */
int out_folder_commit(struct out_folder *o, bool force, struct error *err);
/* Removes what was not moved; harmless after commit or on a zeroed struct. */
void out_folder_abort(struct out_folder *o);

#endif
