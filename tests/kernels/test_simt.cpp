/* The emulator by itself: what a GPU would do comes out, what a GPU would leave undefined aborts with the place. */
#include "kernels/simt/cuda_names.h"

extern "C" {
#include "tests/support/support.h"
}

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define LAUNCH(kernel, grid, block, smem, ...)                                                                         \
    simt_launch(#kernel, kernel, dim3(grid), dim3(block), (smem), __VA_ARGS__)

static unsigned global_thread()
{
    return blockIdx.x * blockDim.x + threadIdx.x;
}

__global__ void index_kernel(int *out)
{
    out[global_thread()] = (int)(100 * blockIdx.x + threadIdx.x);
}

static void test_every_thread_runs_once(void **)
{
    int out[5 * 33] = { 0 };
    LAUNCH(index_kernel, 5, 33, 0, out);
    for (int b = 0; b < 5; b++)
        for (int t = 0; t < 33; t++)
            assert_int_equal(out[b * 33 + t], 100 * b + t);
}

__global__ void shuffle_kernel(int *xored, int *down, int *first)
{
    int i = (int)global_thread();
    xored[i] = __shfl_xor_sync(0xffffffffu, i, 5);
    down[i] = __shfl_down_sync(0xffffffffu, i, 3);
    first[i] = __shfl_sync(0xffffffffu, i, 0);
}

static void test_shuffles(void **)
{
    int xored[128], down[128], first[128];
    LAUNCH(shuffle_kernel, 2, 64, 0, xored, down, first);
    for (int i = 0; i < 128; i++) {
        assert_int_equal(xored[i], i ^ 5);
        assert_int_equal(down[i], i % 32 < 29 ? i + 3 : i);
        assert_int_equal(first[i], i / 32 * 32);
    }
}

/* Each thread passes its number around the whole block, through static and through dynamic shared memory. */
__global__ void ring_kernel(int *out)
{
    __shared__ int fixed[96];
    int *dynamic = (int *)simt_dynamic_shared, me = (int)threadIdx.x, value = me;
    for (int turn = 0; turn < 10; turn++) {
        fixed[me] = value;
        __syncthreads();
        dynamic[me] = fixed[(me + 1) % 96];
        __syncthreads();
        value = dynamic[(me + 1) % 96];
    }
    out[global_thread()] = value;
}

static void test_barriers(void **)
{
    int out[2 * 96];
    LAUNCH(ring_kernel, 2, 96, 96 * sizeof(int), out);
    for (int i = 0; i < 2 * 96; i++)
        assert_int_equal(out[i], (i % 96 + 20) % 96);
}

__global__ void early_exit_kernel(int *out, int n)
{
    int i = (int)global_thread();
    if (i >= n)
        return;
    out[i] = 1;
}

static void test_early_exit(void **)
{
    int out[100] = { 0 };
    LAUNCH(early_exit_kernel, 2, 64, 0, out, 70);
    for (int i = 0; i < 100; i++)
        assert_int_equal(out[i], i < 70);
}

/* A copy arrives at any time before its group was waited for; then it is there. */
__global__ void copy_kernel(const int *in, int *before, int *after)
{
    alignas(16) __shared__ int tile[4];
    for (int i = 0; i < 4; i++)
        tile[i] = -1;
    simt_copy_start(tile, in, 8);
    simt_copy_commit();
    simt_copy_wait(1);
    before[blockIdx.x] = tile[0];
    simt_copy_wait(0);
    for (int i = 0; i < 4; i++)
        after[4 * blockIdx.x + (unsigned)i] = tile[i];
}

static void test_copies_arrive_at_any_time(void **)
{
    int in[4] = { 7, 8, 9, 10 }, before[64], after[4 * 64], early = 0;
    LAUNCH(copy_kernel, 64, 1, 0, in, before, after);
    for (int i = 0; i < 64; i++) {
        early += before[i] == 7;
        assert_int_equal(after[4 * i], 7);
        assert_int_equal(after[4 * i + 1], 8);
        assert_int_equal(after[4 * i + 2], 0);
        assert_int_equal(after[4 * i + 3], 0);
    }
    assert_in_range(early, 1, 63);
}

/* Without a barrier before the write this kernel gives some blocks another answer than others. */
__global__ void race_kernel(int *out)
{
    __shared__ int last;
    last = (int)threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0)
        out[blockIdx.x] = last;
}

static void test_order_is_drawn_from_the_seed(void **)
{
    int out[3][32], differ = 0;
    for (int i = 0; i < 3; i++) {
        simt_seed(i == 1 ? 2 : 3);
        LAUNCH(race_kernel, 32, 64, 0, out[i]);
    }
    for (int i = 1; i < 32; i++)
        differ += out[0][i] != out[0][0];
    assert_true(differ > 0);
    assert_memory_equal(out[0], out[2], sizeof out[0]);
    assert_memory_not_equal(out[0], out[1], sizeof out[0]);
}

/* Blocks and warps take the numbers of a counter in the order in which they run. */
__global__ void order_kernel(int *out, int *counter, int turns)
{
    for (int turn = 0; turn < turns; turn++) {
        int mine = atomicAdd(counter, 1);
        if (threadIdx.x % 32 == 0)
            out[turn * 4 + (int)global_thread() / 32] = mine;
        __syncwarp();
    }
}

static void test_blocks_come_in_any_order(void **)
{
    int out[4], counter = 0, turned = 0;
    for (int i = 0; i < 16; i++) {
        LAUNCH(order_kernel, 4, 32, 0, out, &counter, 1);
        turned += out[0] > out[1] || out[1] > out[2] || out[2] > out[3];
    }
    assert_in_range(turned, 1, 16);
}

static void test_warps_take_turns(void **)
{
    int out[100 * 4], counter = 0, mixed = 0;
    for (int i = 0; i < 16; i++) {
        LAUNCH(order_kernel, 1, 4 * 32, 0, out, &counter, 100);
        mixed += out[0] < out[99 * 4 + 1] && out[1] < out[99 * 4];
    }
    assert_in_range(mixed, 1, 16);
}

/* A lane's write before a shuffle may be invisible to others after it; after a __syncwarp it is visible. */
__global__ void shuffle_is_no_barrier_kernel(int *shuffled, int *synced)
{
    __shared__ int seen[32];
    int me = (int)threadIdx.x, i = (int)global_thread();
    seen[me] = me;
    int neighbour = __shfl_xor_sync(0xffffffffu, me, 1);
    shuffled[i] = seen[(neighbour + 16) % 32];
    __syncwarp();
    synced[i] = seen[(neighbour + 16) % 32];
}

static void test_a_shuffle_is_no_barrier(void **)
{
    int shuffled[32 * 32], synced[32 * 32], unseen = 0;
    LAUNCH(shuffle_is_no_barrier_kernel, 32, 32, 0, shuffled, synced);
    for (int i = 0; i < 32 * 32; i++) {
        int wanted = ((i % 32 ^ 1) + 16) % 32;
        unseen += shuffled[i] != wanted;
        assert_int_equal(synced[i], wanted);
    }
    assert_true(unseen > 0);
}

__global__ void stale_kernel(int *out)
{
    __shared__ int fixed[32];
    int *dynamic = (int *)simt_dynamic_shared, me = (int)threadIdx.x;
    out[2 * global_thread()] = fixed[me];
    out[2 * global_thread() + 1] = dynamic[me];
    fixed[me] = dynamic[me] = me;
}

static void test_blocks_find_no_values_of_the_last(void **)
{
    int out[2 * 32 * 8];
    for (uint64_t seed = 1; seed < 3; seed++) {
        simt_seed(seed);
        LAUNCH(stale_kernel, 8, 32, 32 * sizeof(int), out);
        for (int i = 0; i < 2 * 32 * 8; i++)
            assert_int_equal(out[i], seed == 1 ? -1 : 0x7e7e7e7e);
    }
}

__global__ void barrier_in_half_kernel(int half)
{
    if ((int)threadIdx.x < half)
        __syncthreads();
}

__global__ void two_barriers_kernel(int half)
{
    if ((int)threadIdx.x < half)
        __syncthreads();
    else
        __syncthreads();
}

__global__ void lanes_missing_kernel(int lanes)
{
    if ((int)threadIdx.x < lanes)
        __syncwarp();
    else
        __syncthreads();
}

__global__ void lanes_left_kernel(int lanes)
{
    if ((int)threadIdx.x < lanes)
        __syncwarp();
}

__global__ void shuffles_missing_kernel(int lanes)
{
    if ((int)threadIdx.x < lanes)
        __shfl_sync(0xffffffffu, 1, 0);
}

__global__ void two_shuffles_kernel(int lanes)
{
    if ((int)threadIdx.x < lanes)
        __shfl_sync(0xffffffffu, 1, 0);
    else
        __shfl_sync(0xffffffffu, 2, 0);
}

__global__ void part_mask_kernel(int)
{
    __syncwarp(0xffffu);
}

__global__ void wait_in_last_kernel(unsigned last)
{
    if (blockIdx.x == last)
        simt_dependency_wait();
}

/* Runs fn in a child process, which must abort and say `wanted`. */
static void assert_aborts(void (*fn)(void), const char *wanted)
{
    int fd[2], status;
    char text[1024] = "";
    assert_int_equal(pipe(fd), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        dup2(fd[1], STDERR_FILENO);
        close(fd[0]);
        close(fd[1]);
        fn();
        _exit(0);
    }
    close(fd[1]);
    size_t n = 0;
    for (ssize_t got; n < sizeof text - 1 && (got = read(fd[0], text + n, sizeof text - 1 - n)) > 0;)
        n += (size_t)got;
    close(fd[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!strstr(text, wanted))
        fail_msg("expected \"%s\", got \"%s\"", wanted, text);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
}

/* A launch that may start early waits in at least one block. */
static void test_early_launches_wait(void **)
{
    simt_early = true;
    LAUNCH(wait_in_last_kernel, 3, 32, 0, 2u);
    LAUNCH(wait_in_last_kernel, 3, 32, 0, 3u); /* not early */
    assert_aborts([] { simt_early = true, LAUNCH(wait_in_last_kernel, 3, 32, 0, 3u); }, "no thread waits");
}

static void test_divergence_aborts(void **)
{
    assert_aborts([] { LAUNCH(barrier_in_half_kernel, 1, 64, 0, 32); }, "has left while others wait");
    assert_aborts([] { LAUNCH(two_barriers_kernel, 1, 64, 0, 32); }, "at that of");
    assert_aborts([] { LAUNCH(lanes_missing_kernel, 1, 64, 0, 7); }, "for lanes that never come");
    assert_aborts([] { LAUNCH(lanes_left_kernel, 1, 32, 0, 7); }, "for lanes that never come");
    assert_aborts([] { LAUNCH(shuffles_missing_kernel, 1, 32, 0, 7); }, "never came");
    assert_aborts([] { LAUNCH(two_shuffles_kernel, 1, 32, 0, 7); }, "the lanes of a warp part");
    assert_aborts([] { LAUNCH(part_mask_kernel, 1, 32, 0, 0); }, "collectives take whole warps");
    assert_aborts([] { LAUNCH(lanes_left_kernel, 1, 40, 0, 64); }, "collectives take whole warps");
    assert_aborts([] { LAUNCH(lanes_left_kernel, 0, 32, 0, 64); }, "a grid of 0");
    assert_aborts([] { LAUNCH(lanes_left_kernel, 1, 1056, 0, 64); }, "a block of 1056");
}

/* A stack that runs over meets its guard page rather than the next thread's stack. */
static int deep(volatile int *p, int n)
{
    volatile int room[256];
    room[n % 256] = n;
    return n == 0 ? *p : deep(room, n - 1) + room[n % 256];
}

__global__ void deep_kernel(int n)
{
    volatile int x = 1;
    deep(&x, n);
}

static void test_stack_overflow_is_caught(void **)
{
    assert_aborts([] { LAUNCH(deep_kernel, 1, 2, 0, 100000); }, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_thread_runs_once),
        cmocka_unit_test(test_shuffles),
        cmocka_unit_test(test_barriers),
        cmocka_unit_test(test_early_exit),
        cmocka_unit_test(test_copies_arrive_at_any_time),
        cmocka_unit_test(test_order_is_drawn_from_the_seed),
        cmocka_unit_test(test_blocks_come_in_any_order),
        cmocka_unit_test(test_warps_take_turns),
        cmocka_unit_test(test_a_shuffle_is_no_barrier),
        cmocka_unit_test(test_blocks_find_no_values_of_the_last),
        cmocka_unit_test(test_early_launches_wait),
        cmocka_unit_test(test_divergence_aborts),
        cmocka_unit_test(test_stack_overflow_is_caught),
    };
    return cmocka_run_group_tests_name("simt", tests, nullptr, nullptr);
}
