#include "infer/api/library.h"

#include "data/base/log.h"
#include "data/base/startup.h"
#include "kernels/module_path.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <omp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pid_t owner; /* the process that set the library up */
static locale_t neutral;
static int processors;

/* Searches for the worker and the detector beside the library.  A program that links the static library has no such
 * folder, and keeps that of the program.  RTLD_DI_ORIGIN is the folder at the time of loading, even if the working
 * directory has changed since. */
static void find_folder(void)
{
    Dl_info info;
    struct link_map *map = NULL;
    char folder[PATH_MAX];

    if (dladdr1((const void *)&owner, &info, (void **)&map, RTLD_DL_LINKMAP) && map && *map->l_name &&
        dlinfo(map, RTLD_DI_ORIGIN, folder) == 0)
        module_path_library(folder);
}

static void set_up(void)
{
    owner = getpid();
    base_is_guest = true;
    base_warn = log_warn;
    log_set_sink(NULL, NULL);
    neutral = newlocale(LC_ALL_MASK, "C", NULL);
    CHECK(neutral, "no locale C");
    processors = getenv("OMP_NUM_THREADS") ? omp_get_max_threads() : threads_available();
    find_folder();
}

void library_open(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, set_up);
}

int library_enter(struct library_visit *v, int threads, struct error *err)
{
    library_open();
    if (getpid() != owner)
        return error_set(
            err, EXIT_CODE_FAILURE,
            "libambit was used before fork(): expected its first use after fork(), or exec() in the child");
    if (omp_in_parallel() && threads != 1)
        return error_set(err, EXIT_CODE_USAGE,
                         "a call inside an OpenMP parallel region: expected a handle with \"threads\": 1");
    *v = (struct library_visit){ uselocale(neutral), omp_get_max_threads(), omp_get_dynamic() };
    omp_set_dynamic(0);
    omp_set_num_threads(threads ? threads : processors);
    return 0;
}

void library_leave(const struct library_visit *v)
{
    omp_set_num_threads(v->threads);
    omp_set_dynamic(v->dynamic);
    uselocale(v->locale);
}
