/*
 * module_path.h - the paths of files that the programs open at run time: device modules, the worker that runs SQL,
 * data.
 *
 * The files lie in lib/ambit and share/ambit, beside the folder of the programs, in a build folder and in an
 * installation.  A shared library searches beside itself, because the program is somebody else's.
 */
#ifndef KERNELS_MODULE_PATH_H
#define KERNELS_MODULE_PATH_H

#include "kernels/base.h"

/* Returns the path of a file, which the caller frees.  The function searches three folders: that of the variable
 * AMBIT_MODULE_PATH, the one beside the program, and the installation folder of this build.  Returns NULL if the file
 * is in none, and then lists the folders in *looked, unless that is NULL. */
char *module_path(const char *file, char **looked);
/* Like module_path, for a file or folder of share/ambit, which no variable names. */
char *share_path(const char *file, char **looked);

/* The path of ambit-sql-worker, which the caller frees.  NULL with EXIT_CODE_FAILURE if it is in no folder. */
char *sql_worker_path(struct error *err);

/* Makes all of them search beside a shared library in place of the program: folder is the library's absolute folder.
 * Call it before them, in one thread.  Returns false if the path is too long. */
bool module_path_library(const char *folder);

#endif
