/*
 * build.h - version, commit and options of this build, for --version, reports and the metadata of models.
 *
 * The strings are constants of the build.  Nothing is freed and nothing fails.
 */
#ifndef DATA_BASE_BUILD_H
#define DATA_BASE_BUILD_H

const char *build_version(void); /* "0.1.0" */
const char *build_commit(void);  /* found when the build was configured; "unknown" outside a git checkout */
const char *build_date(void); /* date of that commit, "2026-01-31"; without a commit, the date of the configuration */
const char *build_summary(void); /* compiler, options and library versions; two lines without a final newline */

#endif
