/*
 * module_path.h - where the files are that the programs open at run time: device modules, the worker that runs SQL,
 * data.
 *
 * They lie in lib/ambit and share/ambit, beside the folder of the programs: the layout of a build folder and of an
 * installation.
 */
#ifndef KERNELS_MODULE_PATH_H
#define KERNELS_MODULE_PATH_H

#include "kernels/base.h"

/* Looks for the file in the folder that the variable AMBIT_MODULE_PATH names, beside the program, and where this build
 * is to be installed.  NULL when it is in none, with the folders in *looked unless that is NULL.  The caller frees. */
char *module_path(const char *file, char **looked);
/* The same for a file or folder of share/ambit, which no variable names. */
char *share_path(const char *file, char **looked);

#endif
