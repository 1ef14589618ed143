#include "data/base/build.h"

const char *build_version(void)
{
    return AMBIT_VERSION;
}

const char *build_commit(void)
{
    return AMBIT_COMMIT;
}

const char *build_date(void)
{
    return AMBIT_DATE;
}

const char *build_summary(void)
{
    return AMBIT_BUILD;
}
