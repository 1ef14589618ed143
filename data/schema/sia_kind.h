/*
 * sia_kind.h - the four kinds of schema-induced ambiguity of AmbiQT (Bhaskar et al. 2023).
 */
#ifndef DATA_SCHEMA_SIA_KIND_H
#define DATA_SCHEMA_SIA_KIND_H

/* Two columns, two tables, a column that also stands in a split-off table, an aggregate that also stands precomputed in
 * a table of its own. */
enum sia_kind { SIA_COLUMN, SIA_TABLE, SIA_JOIN, SIA_AGGREGATE, SIA_KINDS };
/* "C", "T", "J", "P". */
extern const char *const sia_kind_letters[SIA_KINDS];
const char *sia_kind_letter(enum sia_kind k);

#endif
