/*
 * build.h - what this build is: for --version, for reports and for what is stored beside a model.
 */
#ifndef DATA_UTIL_BUILD_H
#define DATA_UTIL_BUILD_H

const char *build_version(void); /* "0.1.0" */
const char *build_commit(void);  /* as found when the build was configured; "unknown" outside a git checkout */
const char *build_date(void);    /* of that commit, "2026-01-31"; without one, of the configuration */
const char *build_summary(void); /* compiler, options and library versions; two lines without a final newline */

#endif
