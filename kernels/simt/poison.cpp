/*
 * Poison, and the search for the static shared memory that a kernel uses.
 *
 * The linker script shared.ld puts the shared variables of all kernels between two symbols. It does not say which
 * kernel uses which of them. After blocks 1, 2, 4, 8 and so on of a kernel, a search therefore adds the lines without
 * poison to the kernel's list. After each block, only the listed lines are poisoned again.
 */
#include "kernels/simt/poison.h"

#include <stdint.h>

#include <map>
#include <vector>

extern "C" {
extern unsigned char simt_shared_begin[] __attribute__((weak, visibility("hidden")));
extern unsigned char simt_shared_end[] __attribute__((weak, visibility("hidden")));
}

constexpr size_t LINE = 64;
static unsigned char value = 0xff;

struct memory_range {
    unsigned char *begin, *end;
};

/* The memory that a kernel is known to use. */
struct kernel_memory {
    std::vector<struct memory_range> spans;
    unsigned blocks;
};

/* Shared memory has red zones around its variables, which poison may overwrite and the search may read. */
#define UNSEEN __attribute__((no_sanitize_address))

UNSEEN static void fill(volatile unsigned char *p, size_t bytes)
{
    uint64_t word = 0x0101010101010101u * value;
    for (; bytes && (uintptr_t)p % sizeof word; bytes--)
        *p++ = value;
    for (; bytes >= sizeof word; bytes -= sizeof word, p += sizeof word)
        *(volatile uint64_t *)p = word;
    for (; bytes; bytes--)
        *p++ = value;
}

/* Returns whether a line still holds nothing but poison. */
UNSEEN static bool poisoned(const unsigned char *line)
{
    uint64_t word = 0x0101010101010101u * value, other = 0;
    for (size_t i = 0; i < LINE; i += sizeof word)
        other |= *(const uint64_t *)(line + i) ^ word;
    return other == 0;
}

void poison_choose(unsigned number)
{
    value = number % 2 ? 0xff : 0x7e; /* as f32: NaN or 8.5e37; as bf16 likewise */
    fill(simt_shared_begin, (size_t)(simt_shared_end - simt_shared_begin));
}

void poison(void *p, size_t bytes)
{
    fill((unsigned char *)p, bytes);
}

/* Adds the lines that a kernel has written to its list, and poisons them. */
static void learn(struct kernel_memory &u)
{
    for (unsigned char *line = simt_shared_begin; line < simt_shared_end; line += LINE) {
        if (poisoned(line))
            continue;
        if (!u.spans.empty() && u.spans.back().end == line)
            u.spans.back().end += LINE;
        else
            u.spans.push_back({ line, line + LINE });
        fill(line, LINE);
    }
}

void poison_shared(const void *kernel)
{
    static std::map<const void *, struct kernel_memory> uses;
    struct kernel_memory &u = uses[kernel];

    for (const struct memory_range &s : u.spans)
        fill(s.begin, (size_t)(s.end - s.begin));
    u.blocks++;
    if ((u.blocks & (u.blocks - 1)) == 0) /* a power of two: the search reads all shared memory and is slow */
        learn(u);
}
