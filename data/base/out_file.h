/*
 * out_file.h - output files and folders that appear complete or not at all.
 *
 * A file is written to NAME.tmp beside its target and renamed at the end, so an interrupted run leaves no partial file.
 * If NAME ends in .gz, .xz or .zst, the file is compressed (compression.h).
 *
 * The caller ends every open out_file or out_folder with _abort, also after _commit.  Failures to write have
 * EXIT_CODE_FAILURE.
 */
#ifndef DATA_BASE_OUT_FILE_H
#define DATA_BASE_OUT_FILE_H

#include "kernels/base.h"

#include <stdbool.h>
#include <stdio.h>

/* An output file; "-" is standard output. */
struct out_file {
    FILE *f;
    char *path, *tmp; /* NULL for standard output */
    bool compressed;
    int fd; /* descriptor that f compresses into */
};
/* Opens the temporary file, or standard output.  -1 with EXIT_CODE_FAILURE. */
int out_file_open(struct out_file *o, const char *path, struct error *err);
/* Flushes, syncs and renames.  On failure, such as a full disk, it returns -1 and removes the temporary file. */
int out_file_commit(struct out_file *o, struct error *err);
/* Commits all files or none.  Without force it returns -1 with EXIT_CODE_USAGE if a target exists with other contents,
 * so a command can be repeated into the same folder.  Files that are not open are skipped.  The caller aborts all of
 * them. */
int out_files_commit(struct out_file *files, int n, bool force, struct error *err);
/* For a file that was written under another name: -1 with EXIT_CODE_USAGE if path exists with other contents. */
int out_file_may_replace(const char *made, const char *path, struct error *err);
/* Removes the temporary file.  Harmless after commit or on a zeroed struct. */
void out_file_abort(struct out_file *o);

/* Reports that path could not be opened to be written, by errno; says so if its folder is missing.  Returns -1 with
 * EXIT_CODE_FAILURE. */
int out_file_cannot_write(const char *path, struct error *err);

/* Makes a folder and the folders above it, like mkdir -p. */
int make_dirs(const char *path, struct error *err);
/* Whether both paths exist and name the same file or folder. */
bool same_path(const char *a, const char *b);

/*
 * A folder whose files appear together or not at all.
 *
 * The files are written to FOLDER/.tmp and moved when all of them are complete.  Code that writes several files into a
 * folder needs no change for this.
 */
struct out_folder {
    char *path, *tmp; /* write into tmp */
    bool made;        /* the folder did not exist */
};

/* The caller aborts, also after failure. */
int out_folder_open(struct out_folder *o, const char *path, struct error *err);
/* Moves the files under the same rule as out_files_commit. */
int out_folder_commit(struct out_folder *o, bool force, struct error *err);
/* Removes the files that were not moved.  Harmless after commit or on a zeroed struct. */
void out_folder_abort(struct out_folder *o);

#endif
