/* Feeds every file of a corpus folder to a fuzz target, so that ctest replays it without a fuzzer. */
#include "tests/support/fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

static void replay(const char *dir, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "rb");
    CHECK(f, "cannot open %s", path);
    fseek(f, 0, SEEK_END);
    size_t size = (size_t)ftell(f);
    rewind(f);
    uint8_t *data = xmalloc(size);
    CHECK(fread(data, 1, size, f) == size, "cannot read %s", path);
    fclose(f);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
}

int main(int argc, char **argv)
{
    DIR *d = argc > 1 ? opendir(argv[1]) : NULL;
    int n = 0;

    CHECK(d, "no corpus folder %s", argc > 1 ? argv[1] : "given");
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        if (e->d_name[0] != '.') {
            replay(argv[1], e->d_name);
            n++;
        }
    closedir(d);
    printf("%d files replayed\n", n);
    return n == 0;
}
