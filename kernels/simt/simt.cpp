/*
 * The scheduler of threads, and their collectives.
 *
 * Each thread of a block is a fiber with a stack of its own. Fibers are made once, for the largest block so far, and
 * call the body of one block after another. One fiber runs at a time, and only give_way switches to another. A switch
 * therefore needs no lock, and the numbers of simt_seed decide every order.
 *
 * A lane of a warp is a bit. A warp has the set of its lanes that may run, and the block that of the warps with such a
 * lane. Choosing a thread is a search for a set bit. If no thread may run, the host runs. Either the block is done, or
 * all threads wait at one barrier, which the host opens. In all other cases the threads wait for each other in vain.
 *
 * Kernels that break a rule of CUDA end the program through CHECK, with kernel, block, seed, thread and source line.
 */
#include "kernels/simt/simt.h"

#include "kernels/base.h"
#include "kernels/simt/fiber.h"
#include "kernels/simt/poison.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>
#include <mutex>
#include <vector>

#ifdef SIMT_TSAN
extern "C" void __tsan_read_range(const void *p, unsigned long bytes);
extern "C" void __tsan_write_range(void *p, unsigned long bytes);
#endif

constexpr unsigned MAX_THREADS = 1024, MAX_WARPS = MAX_THREADS / SIMT_WARP;
/* Lanes of a warp need not be at the same collective: a lane leaves a shuffle as soon as the lane that it reads has
 * arrived. The last AHEAD collectives are kept, and next_meeting waits before it reuses one that is still needed. */
constexpr unsigned AHEAD = 4;
constexpr int COPY_GROUPS = 8; /* max running groups of copies of a thread, for ThreadSanitizer */

/*
 * The random order. The numbers are cheap (xorshift) and need not be uniform, only arbitrary and repeatable.
 */

struct draws {
    uint64_t state;
};

static unsigned draw(struct draws *d)
{
    d->state ^= d->state << 13;
    d->state ^= d->state >> 7;
    d->state ^= d->state << 17;
    return (unsigned)(d->state >> 16);
}

/* Begins the series with this number. */
static struct draws draws_begin(uint64_t seed, uint64_t number)
{
    struct draws d = { (seed + 1) * 0x9e3779b97f4a7c15u ^ (number + 1) * 0xbf58476d1ce4e5b9u };
    d.state = d.state ? d.state : 1;
    for (int i = 0; i < 4; i++)
        draw(&d);
    return d;
}

static unsigned draw_below(struct draws *d, unsigned n)
{
    return (unsigned)((uint64_t)draw(d) * n >> 32);
}

/* Draws one set bit of the mask, which is not 0. */
static int draw_bit(struct draws *d, unsigned mask)
{
    unsigned by = draw(d) & 31, turned = by ? mask >> by | mask << (32 - by) : mask;
    return (int)((unsigned)__builtin_ctz(turned) + by) & 31;
}

struct simt_thread *simt_current;
dim3 simt_block_index, simt_block_size, simt_grid_size;
unsigned char *simt_dynamic_shared;
std::vector<struct simt_call> *simt_record;
void *simt_stream;
bool simt_early;
static std::atomic<bool> waited; /* a thread of this launch has waited for the launches before */

struct async_copy {
    void *dst;
    const void *src;
    int bytes, group;
    bool late; /* arrives only at its wait */
};

struct simt_fiber {
    struct simt_thread thread;
    struct fiber fiber;
    struct simt_site site;                /* site of the last collective */
    unsigned round, warp_syncs, barriers; /* passed collectives of the warp, __syncwarp and __syncthreads */
    std::vector<struct async_copy> copies;
    int group, waited; /* number of the open group of copies, and of the first group that was not waited for */
    struct agent copier;
    char issued, arrived[COPY_GROUPS]; /* addresses for order_before and order_after */
};

/* One collective of a warp: the lanes that arrived, their data, and the lanes that wait. The slots stay valid after the
 * collective, because a slow lane may read them while others go on. */
struct meeting {
    unsigned round, came;
    struct simt_site site;
    unsigned wants[SIMT_WARP], waits_for[SIMT_WARP]; /* lanes that a waiting lane needs; lanes that wait for it */
    alignas(16) unsigned char slots[SIMT_WARP][SIMT_SLOT];
};

/* Lanes as bits: runnable, waiting for the block, or finished. */
struct warp {
    unsigned all, ready, at_barrier, left;
    struct meeting meetings[AHEAD];
    char order[2];
};

/* The fibers, one for each thread of the largest block so far.  They never end and wait for the next block. */
struct fibers {
    std::vector<struct simt_fiber *> list;
    ~fibers()
    {
        for (struct simt_fiber *f : list) {
            fiber_release(&f->fiber);
            delete f;
        }
    }
};

static struct {
    const struct simt_call *call;
    int threads, warps, warp_now;
    unsigned ready; /* warps with a runnable lane */
    struct warp warp[MAX_WARPS];
    struct fibers fibers;
    struct fiber host;
    uint64_t seed, launches;
    struct draws draws;
    unsigned patience; /* a thread gives way voluntarily once in patience + 1 times */
    int early_copies;
    char begin, end, barrier[2]; /* addresses for order_before and order_after */
} simt = {};

void simt_seed(uint64_t seed)
{
    simt.seed = seed;
    simt.launches = 0;
    poison_choose((unsigned)seed);
}

static unsigned bit(int lane)
{
    return 1u << lane;
}

static struct simt_fiber *fiber_of(int thread)
{
    return simt.fibers.list[(size_t)thread];
}

static struct warp *warp_of(const struct simt_thread *t)
{
    return &simt.warp[t->number / SIMT_WARP];
}

static void set_ready(struct warp *w, unsigned ready)
{
    unsigned mine = bit((int)(w - simt.warp));
    w->ready = ready;
    simt.ready = ready ? simt.ready | mine : simt.ready & ~mine;
}

/* Copies word by word, because ThreadSanitizer must not see a memcpy. */
static void copy_words(void *to, const void *from, size_t bytes)
{
    for (size_t i = 0; i < bytes / 4; i++)
        ((volatile unsigned *)to)[i] = ((const unsigned *)from)[i];
}

static void arrive(const struct async_copy *c)
{
    const unsigned zeros[4] = { 0 };
    copy_words(c->dst, zeros, 16);
    copy_words(c->dst, c->src, (size_t)c->bytes);
}

/* Lets one of the pending copies arrive, or none. A kernel that reads the destination before its wait sees old bytes in
 * some runs and new ones in others. */
static void arrive_some(void)
{
    struct simt_fiber *f = fiber_of((int)draw_below(&simt.draws, (unsigned)simt.threads));
    if (f->copies.empty())
        return;
    struct async_copy *c = &f->copies[draw_below(&simt.draws, (unsigned)f->copies.size())];
    if (!c->late) {
        arrive(c);
        c->late = true; /* the second time it changes nothing */
        simt.early_copies--;
    }
}

/* Switches to any runnable thread, else to the host. */
static void give_way(struct fiber *from)
{
    struct fiber *to = &simt.host;
    simt_current = nullptr;
    if (simt.early_copies)
        arrive_some();
    if (simt.ready) {
        if (!(simt.ready & bit(simt.warp_now)) || !(draw(&simt.draws) & simt.patience))
            simt.warp_now = draw_bit(&simt.draws, simt.ready);
        struct simt_fiber *f =
            fiber_of(simt.warp_now * SIMT_WARP + draw_bit(&simt.draws, simt.warp[simt.warp_now].ready));
        simt_current = &f->thread;
        to = &f->fiber;
    }
    if (to != from)
        fiber_switch(from, to);
}

/* A point at which a thread may be switched out. simt.patience is a mask: with 7, one of eight calls switches, and with
 * all bits set hardly any. Frequent switches interleave threads closely, rare ones let a thread run far ahead. */
static void pause(struct simt_thread *t)
{
    if (!(draw(&simt.draws) & simt.patience))
        give_way(&t->fiber->fiber);
}

/* Collectives. */

static const char *place(void)
{
    static char text[256];
    snprintf(text, sizeof text, "%s, block (%u, %u, %u), seed %llu", simt.call->name, simt_block_index.x,
             simt_block_index.y, simt_block_index.z, (unsigned long long)simt.seed);
    return text;
}

void simt_sync_block(struct simt_site site)
{
    struct simt_thread *t = simt_current;
    struct warp *w = warp_of(t);
    /* Barriers alternate between two addresses. Otherwise a thread that arrives at the next barrier early would seem
     * ordered before threads that have not left this one. */
    char *order = &simt.barrier[t->fiber->barriers++ % 2];

    order_before(order);
    t->fiber->site = site;
    w->at_barrier |= bit(t->lane);
    set_ready(w, w->ready & ~bit(t->lane));
    give_way(&t->fiber->fiber);
    order_after(order);
}

/* Makes the lane wait for the first needed lane that has not arrived, or makes it runnable. Waiting for one lane at a
 * time is enough: when that lane arrives, this function is called again. */
static void wait_or_run(struct warp *w, struct meeting *m, int lane)
{
    unsigned missing = m->wants[lane] & ~m->came;
    if (missing)
        m->waits_for[__builtin_ctz(missing)] |= bit(lane);
    set_ready(w, missing ? w->ready & ~bit(lane) : w->ready | bit(lane));
}

static void wait_for(struct simt_thread *t, struct meeting *m, unsigned lanes)
{
    if (!(lanes & ~m->came))
        return;
    m->wants[t->lane] = lanes;
    wait_or_run(warp_of(t), m, t->lane);
    give_way(&t->fiber->fiber);
}

/* Notes the arrival of a lane, and wakes the lanes that wait for it. */
static void come(struct simt_thread *t, struct meeting *m)
{
    unsigned waiting = m->waits_for[t->lane];
    m->waits_for[t->lane] = 0;
    m->came |= bit(t->lane);
    for (; waiting; waiting &= waiting - 1)
        wait_or_run(warp_of(t), m, __builtin_ctz(waiting));
}

static bool same(struct simt_site a, struct simt_site b)
{
    return a.line == b.line && (a.file == b.file || strcmp(a.file, b.file) == 0);
}

/* Returns the meeting of this lane's next collective.  Its slots are free once all lanes have reached the collective
 * after their last use. */
static struct meeting *next_meeting(struct simt_thread *t, struct simt_site site)
{
    struct warp *w = warp_of(t);
    unsigned round = ++t->fiber->round;
    struct meeting *m = &w->meetings[round % AHEAD], *after = &w->meetings[(round + 1) % AHEAD];

    t->fiber->site = site;
    if (after->round && after->round < round) /* otherwise other lanes are already at the collective after mine */
        wait_for(t, after, w->all);
    if (m->round != round) {
        m->round = round;
        m->came = 0;
        m->site = site;
    }
    CHECK(same(m->site, site), "%s: the lanes of a warp part: thread %d at %s:%d, others at %s:%d", place(), t->number,
          site.file, site.line, m->site.file, m->site.line);
    return m;
}

const unsigned char *simt_exchange(const void *mine, size_t size, unsigned mask, struct simt_site site, unsigned from)
{
    struct simt_thread *t = simt_current;

    CHECK(size <= SIMT_SLOT && size % 4 == 0, "%s: %zu bytes in one exchange", place(), size);
    CHECK(mask == 0xffffffffu && warp_of(t)->all == mask,
          "%s, thread %d: %s:%d: mask %08x over lanes %08x; collectives take whole warps", place(), t->number,
          site.file, site.line, mask, warp_of(t)->all);
    struct meeting *m = next_meeting(t, site);
    copy_words(m->slots[t->lane], mine, size);
    come(t, m);
    pause(t);
    wait_for(t, m, from);
    return m->slots[0];
}

void simt_sync_warp(unsigned mask, struct simt_site site)
{
    struct simt_thread *t = simt_current;
    char *order = &warp_of(t)->order[t->fiber->warp_syncs++ % 2];
    order_before(order);
    simt_exchange(nullptr, 0, mask, site);
    order_after(order);
}

/* Asynchronous copies. */

void simt_copy_start(void *dst, const void *src, int bytes)
{
    struct simt_fiber *f = simt_current->fiber;
    /* Half of the copies arrive only at their wait. The others arrive at once, or at some switch before the wait. Until
     * then the destination is poisoned. */
    struct async_copy c = { dst, src, bytes, f->group, draw(&simt.draws) % 4 < 2 };

    /* To ThreadSanitizer, the copier is a thread of its own: it starts after the issue, and only the wait for its group
     * orders its accesses before those of the kernel. */

#ifdef SIMT_TSAN
    if (!f->copier.known)
        f->copier = agent_new();
    order_before(&f->issued);
    struct agent me = agent_switch(f->copier);
    order_after(&f->issued);
    __tsan_read_range(src, (unsigned long)bytes);
    __tsan_write_range(dst, 16);
    order_before(&f->arrived[f->group % COPY_GROUPS]);
    agent_switch(me);
#endif
    if (!c.late && draw(&simt.draws) % 2) {
        arrive(&c);
    } else {
        poison(dst, 16);
        f->copies.push_back(c);
        simt.early_copies += !c.late;
    }
    pause(simt_current);
}

void simt_copy_commit(void)
{
    simt_current->fiber->group++;
}

void simt_copy_wait(int pending)
{
    struct simt_fiber *f = simt_current->fiber;
    size_t done = 0;

    for (; done < f->copies.size() && f->copies[done].group < f->group - pending; done++) {
        arrive(&f->copies[done]);
        simt.early_copies -= !f->copies[done].late;
    }
    f->copies.erase(f->copies.begin(), f->copies.begin() + (ptrdiff_t)done);
    for (; f->waited < f->group - pending; f->waited++)
        order_after(&f->arrived[f->waited % COPY_GROUPS]);
    pause(simt_current);
}

/* Threads. */

/* The entry of every fiber. It runs one block, waits as finished until the next block makes it runnable, and never
 * returns. */
static void fiber_main(void)
{
    struct simt_fiber *f = simt_current->fiber;
    fiber_arrived(&f->fiber);
    for (;;) {
        order_after(&simt.begin);
        simt.call->body();
        simt_copy_commit();
        simt_copy_wait(0);
        order_before(&simt.end);
        struct warp *w = warp_of(&f->thread);
        w->left |= bit(f->thread.lane);
        set_ready(w, w->ready & ~bit(f->thread.lane));
        give_way(&f->fiber);
    }
}

static struct simt_fiber *thread_new(int number)
{
    struct simt_fiber *f = new simt_fiber();
    fiber_init(&f->fiber, fiber_main);
    f->thread.number = number;
    f->thread.lane = number % SIMT_WARP;
    f->thread.fiber = f;
    return f;
}

static void prepare_threads(dim3 block)
{
    simt.threads = (int)(block.x * block.y * block.z);
    simt.warps = (simt.threads + SIMT_WARP - 1) / SIMT_WARP;
    for (int i = (int)simt.fibers.list.size(); i < simt.threads; i++)
        simt.fibers.list.push_back(thread_new(i));
    for (unsigned i = 0; i < (unsigned)simt.threads; i++)
        fiber_of((int)i)->thread.index = dim3(i % block.x, i / block.x % block.y, i / block.x / block.y);
}

/* Blocks. */

/* Checks that all lanes of a warp have passed the same number of collectives. That the collectives were the same was
 * checked at each of them. */
static void check_rounds(void)
{
    for (int i = 0; i < simt.threads; i++) {
        const struct simt_fiber *f = fiber_of(i), *other = fiber_of(i / SIMT_WARP * SIMT_WARP);
        const struct simt_fiber *ahead = f->round > other->round ? f : other, *behind = ahead == f ? other : f;
        CHECK(f->round == other->round, "%s: thread %d was at %s:%d, where thread %d never came", place(),
              ahead->thread.number, ahead->site.file, ahead->site.line, behind->thread.number);
    }
}

/* Opens the barrier. No thread may run here. All of them must therefore wait at one __syncthreads; anything else would
 * hang a GPU, or is undefined there. */
static void release_barrier(void)
{
    const struct simt_fiber *first = fiber_of(0);

    for (int i = 0; i < simt.threads; i++) {
        const struct simt_fiber *f = fiber_of(i);
        const struct warp *w = warp_of(&f->thread);
        CHECK((w->at_barrier | w->left) & bit(f->thread.lane), "%s: thread %d waits at %s:%d for lanes that never come",
              place(), i, f->site.file, f->site.line);
    }
    for (int i = 0; i < simt.threads; i++) {
        const struct simt_fiber *f = fiber_of(i);
        CHECK(!(warp_of(&f->thread)->left & bit(f->thread.lane)),
              "%s: thread %d has left while others wait at a __syncthreads", place(), i);
        CHECK(same(f->site, first->site),
              "%s: thread %d waits at the __syncthreads of %s:%d, thread %d at that of %s:%d", place(), i, f->site.file,
              f->site.line, first->thread.number, first->site.file, first->site.line);
    }
    check_rounds();
    for (int i = 0; i < simt.warps; i++) {
        simt.warp[i].at_barrier = 0;
        set_ready(&simt.warp[i], simt.warp[i].all);
    }
}

static bool all_left(void)
{
    for (int i = 0; i < simt.warps; i++)
        if (simt.warp[i].left != simt.warp[i].all)
            return false;
    return true;
}

static void prepare_block(void)
{
    static const unsigned patience[] = { 7, 63, 1023, 0xffffffffu }; /* masks, see pause */
    simt.patience = patience[draw(&simt.draws) % 4];
    simt.warp_now = 0;
    for (int i = 0; i < simt.warps; i++) {
        struct warp *w = &simt.warp[i];
        int lanes = simt.threads - i * SIMT_WARP < SIMT_WARP ? simt.threads - i * SIMT_WARP : SIMT_WARP;
        w->all = lanes == SIMT_WARP ? 0xffffffffu : bit(lanes) - 1;
        w->at_barrier = w->left = 0;
        for (struct meeting &m : w->meetings)
            m.round = 0;
        set_ready(w, w->all);
    }
    for (int i = 0; i < simt.threads; i++)
        fiber_of(i)->round = fiber_of(i)->barriers = 0; /* the threads of an earlier, smaller block have passed more */
}

/* Runs one block. Dynamic shared memory is allocated with exactly the requested size, so that AddressSanitizer finds
 * accesses behind it. */
static void run_block(void)
{
    simt_dynamic_shared = (unsigned char *)xmalloc(simt.call->shared);
    poison(simt_dynamic_shared, simt.call->shared);
    prepare_block();
    order_before(&simt.begin);
    for (;;) {
        give_way(&simt.host);
        if (all_left())
            break;
        release_barrier();
    }
    check_rounds();
    order_after(&simt.end);
    poison_shared(simt.call->kernel);
    free(simt_dynamic_shared);
}

static void check_sizes(const char *kernel, dim3 grid, dim3 block)
{
    CHECK(grid.x > 0 && grid.x < 1u << 31 && grid.y > 0 && grid.y < 1u << 16 && grid.z > 0 && grid.z < 1u << 16,
          "%s: a grid of %u x %u x %u blocks", kernel, grid.x, grid.y, grid.z);
    CHECK(block.x > 0 && block.y > 0 && block.z > 0 && block.x <= MAX_THREADS && block.y <= MAX_THREADS &&
              block.z <= 64 && block.x * block.y * block.z <= MAX_THREADS,
          "%s: a block of %u x %u x %u threads", kernel, block.x, block.y, block.z);
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    return b ? common_divisor(b, a % b) : a;
}

/* Runs all blocks in an arbitrary order. Steps that are coprime to the number of blocks reach each block once, without
 * a list of the blocks. */
static void run_blocks(dim3 grid)
{
    uint64_t n = (uint64_t)grid.x * grid.y * grid.z, by = draw(&simt.draws) % n, at = draw(&simt.draws) % n;
    while (common_divisor(by, n) != 1)
        by = draw(&simt.draws) % n + 1;
    for (uint64_t i = 0; i < n; i++, at = (at + by) % n) {
        simt_block_index =
            dim3((unsigned)(at % grid.x), (unsigned)(at / grid.x % grid.y), (unsigned)(at / grid.x / grid.y));
        run_block();
    }
}

void simt_run(const struct simt_call &call)
{
    static std::mutex one_at_a_time;
    static thread_local bool running;

    CHECK(!running, "%s: the kernel before it crashed", call.name);
    running = true;
    std::lock_guard<std::mutex> lock(one_at_a_time);

    check_sizes(call.name, call.grid, call.block);
    if (!simt.launches && !simt.seed)
        simt_seed(1);
    simt.call = &call;
    simt_grid_size = call.grid;
    simt_block_size = call.block;
    fiber_adopt(&simt.host);
    prepare_threads(call.block);
    simt.draws = draws_begin(simt.seed, simt.launches++);
    waited = false;
    run_blocks(call.grid);
    CHECK(waited || !call.early, "%s: launched early, and no thread waits for the launches before", call.name);
    running = false;
}

void simt_dependency_wait(void)
{
    waited = true;
}
