#include "models/hf/base_hash.h"

#include "models/checkpoint/checksum.h"
#include "models/checkpoint/safetensors.h"

#include <string.h>

int base_hash(const char *dir, uint64_t *hash, struct error *err)
{
    struct safetensors s;
    struct checksum sum;

    if (safetensors_open(&s, dir, err))
        return -1;
    checksum_init(&sum);
    for (int i = 0; i < s.n; i++) {
        checksum_update(&sum, s.entries[i].name, strlen(s.entries[i].name));
        checksum_update(&sum, s.entries[i].data, s.entries[i].bytes);
    }
    *hash = checksum_final(&sum);
    safetensors_close(&s);
    return 0;
}
