/* Part of fake_cuda.h: blocks of memory, each at the end of pages of its own with a closed page behind. */
#include "tests/fake_cuda/fake_impl.h"

#include <map>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

constexpr size_t ALIGNMENT = 256, POISONED = (size_t)1 << 20;

struct block {
    size_t bytes, mapped;
    char *map;
    int where;
};

struct fake_cuda fake_cuda = { 2, CUDART_VERSION, (size_t)8 << 30, nullptr, 0, 0, 0, 0, false, 0 };
static std::map<const char *, struct block> blocks; /* by their first byte */

void fake_misuse(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fputs("fake CUDA: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    abort();
}

bool fake_fails(const char *call)
{
    if (!fake_cuda.fail || strcmp(fake_cuda.fail, call) || fake_cuda.fail_after-- > 0)
        return false;
    fake_cuda.fail = nullptr;
    return true;
}

size_t fake_memory_used(int device)
{
    size_t used = 0;
    for (const auto &one : blocks)
        used += one.second.where == device ? one.second.bytes : 0;
    return used;
}

static void protect(const struct block &b, bool open)
{
    if (b.where >= 0 && mprotect(b.map, b.mapped, open ? PROT_READ | PROT_WRITE : PROT_NONE) != 0)
        fake_misuse("mprotect of %zu bytes fails", b.mapped);
}

/* Bytes that look like numbers to nobody: a float, and two of bf16, that are NaN. */
void *fake_memory_take(int where, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    size_t mapped = (rounded + page - 1) / page * page;
    if (where >= 0 && (bytes > fake_cuda.memory || fake_memory_used(where) + bytes > fake_cuda.memory))
        return nullptr;
    void *map = mmap(nullptr, mapped + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED || mprotect(map, mapped, PROT_READ | PROT_WRITE) != 0)
        return nullptr;
    struct block b = { bytes, mapped, (char *)map, where };
    char *p = b.map + mapped - rounded;
    memset(p, 0xff, bytes < POISONED ? bytes : POISONED);
    protect(b, false);
    blocks[p] = b;
    fake_cuda.live++;
    return p;
}

void fake_memory_give(void *p, const char *call)
{
    auto found = blocks.find((char *)p);
    if (found == blocks.end())
        fake_misuse("%s of memory that is not its own", call);
    munmap(found->second.map, found->second.mapped + (size_t)sysconf(_SC_PAGESIZE));
    blocks.erase(found);
    fake_cuda.live--;
}

int fake_memory_place(const void *p, size_t bytes, const char *what)
{
    auto after = blocks.upper_bound((const char *)p);
    if (after == blocks.begin())
        return FAKE_PAGEABLE;
    const auto &at = *--after;
    size_t offset = (size_t)((const char *)p - at.first);
    if (offset >= at.second.bytes)
        return FAKE_PAGEABLE;
    if (bytes > at.second.bytes - offset)
        fake_misuse("%s: %zu bytes, where there are %zu", what, bytes, at.second.bytes - offset);
    return at.second.where;
}

void fake_memory_open(bool open)
{
    for (const auto &one : blocks)
        protect(one.second, open);
}
