/*
 * hostile_schemas.h - schemas that names, keys and sizes make hard, and templates for them.
 */
#ifndef TESTS_SUPPORT_HOSTILE_SCHEMAS_H
#define TESTS_SUPPORT_HOSTILE_SCHEMAS_H

enum { HOSTILE_SCHEMAS = 20, HOSTILE_TEMPLATES = 10 };

extern const char hostile_question[];
extern const char *const hostile_templates[HOSTILE_TEMPLATES];
/* SQL that creates schema i, 0 .. HOSTILE_SCHEMAS - 1; the caller frees. */
char *hostile_script(int i);

#endif
