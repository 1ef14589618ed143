/*
 * practice_domains_impl.h - what the lists of domains are written with, and the lists.
 */
#ifndef DATA_CONTRAST_PRACTICE_DOMAINS_IMPL_H
#define DATA_CONTRAST_PRACTICE_DOMAINS_IMPL_H

#include "data/contrast/practice_domains.h"

#define COLUMN(name, role, one, two, values, table)                                                                    \
    {                                                                                                                  \
        name, role, { one, two }, values, table                                                                        \
    }
#define KEY(name) COLUMN(name, PRACTICE_KEY, 0, 0, 0, 0)
#define LINK(name, table) COLUMN(name, PRACTICE_LINK, 0, 0, 0, table)
#define NAME(name, one, two, values) COLUMN(name, PRACTICE_NAME, one, two, values, 0)
#define CLASS(name, one, two, values) COLUMN(name, PRACTICE_CLASS, one, two, values, 0)
#define NUMBER(name, one, two, values) COLUMN(name, PRACTICE_NUMBER, one, two, values, 0)
#define TIME(name, one, two, values) COLUMN(name, PRACTICE_TIME, one, two, values, 0)

extern const struct practice_domain practice_domains_town[], practice_domains_travel[], practice_domains_nature[],
    practice_domains_work[];

#endif
