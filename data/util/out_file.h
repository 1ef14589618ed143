/*
 * out_file.h - files that appear whole or not at all, and the folders that they stand in.
 *
 * What is written goes to NAME.tmp beside the target, which is renamed at the end: nothing half-written stays.  A name
 * that ends in .gz, .xz or .zst has its file compressed (compression.h).
 */
#ifndef DATA_UTIL_OUT_FILE_H
#define DATA_UTIL_OUT_FILE_H

#include "kernels/base.h"

#include <stdbool.h>
#include <stdio.h>

/* A file that appears whole or not at all; "-" is standard output. */
struct out_file {
    FILE *f;
    char *path, *tmp; /* NULL for standard output */
    bool compressed;
    int fd; /* which f compresses to */
};
int out_file_open(struct out_file *o, const char *path, struct error *err);
/* Flushes, syncs and renames; -1 (disk full, say) removes the temporary file. */
int out_file_commit(struct out_file *o, struct error *err);
/* Commits all, or none: unless force, -1 with EXIT_CODE_USAGE where one would replace a file that holds something else,
 * so that the same command may make its folder again.  Files that are not open are passed over; the caller aborts. */
int out_files_commit(struct out_file *files, int n, bool force, struct error *err);
/* For a file that was made under another name: -1 with EXIT_CODE_USAGE when path holds something else. */
int out_file_may_replace(const char *made, const char *path, struct error *err);
/* Removes the temporary file; harmless after commit or on a zeroed struct. */
void out_file_abort(struct out_file *o);

/* mkdir -p. */
int make_dirs(const char *path, struct error *err);
/* Whether both are there and are one folder or file, by whatever names. */
bool same_path(const char *a, const char *b);

/*
 * A folder whose files appear together or not at all.
 *
 * They are written to FOLDER/.tmp, and moved from there when all of them are whole: what writes a folder of files knows
 * nothing of this.
 */
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
