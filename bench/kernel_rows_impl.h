/*
 * kernel_rows_impl.h - declarations shared by the sources of kernel_rows.h.
 */
#ifndef BENCH_KERNEL_ROWS_IMPL_H
#define BENCH_KERNEL_ROWS_IMPL_H

#include "bench/kernel_rows.h"

/* Add an input of random numbers to the row, or one that is a parameter; without a record the parameter is frozen. */
struct tensor *bench_input(struct ctx *c, struct bench *b, int64_t rows, int64_t cols, enum dtype dtype);
void bench_param(struct ctx *c, struct bench *b, int64_t rows, int64_t cols, enum dtype dtype);
/* Random numbers; t rows in sequences of a length; n random rows below that number. */
struct tensor *bench_noise(struct ctx *c, int64_t rows, int64_t cols, enum dtype dtype);
struct seqs bench_seqs(struct ctx *c, int64_t t, int64_t n);
struct index bench_index(struct ctx *c, int64_t n, int64_t rows);
/* Inputs x, a frozen w and A, B; the adapter of the last two. */
void make_lora(struct ctx *c, struct bench *b);
struct lora bench_adapter(const struct bench *b);

/* Ops on few or many decoded rows. */
void make_maps(struct ctx *c, struct bench *b);
void make_halves(struct ctx *c, struct bench *b);
struct tensor *run_linear_group(struct ctx *c, struct bench *b);
struct tensor *run_linear_glu(struct ctx *c, struct bench *b);
struct tensor *run_linear_logits(struct ctx *c, struct bench *b);
double linear_group_flops(const struct row *row);
void make_paged_beams(struct ctx *c, struct bench *b);
void make_paged_alone(struct ctx *c, struct bench *b);
void make_paged_begun(struct ctx *c, struct bench *b);
struct tensor *run_paged(struct ctx *c, struct bench *b);
void make_cache_rows(struct ctx *c, struct bench *b);
struct tensor *run_cache_rows(struct ctx *c, struct bench *b);

/* Logits, probabilities, losses. */
void make_logits(struct ctx *c, struct bench *b);
struct tensor *run_segment_softmax(struct ctx *c, struct bench *b);
struct tensor *run_probability_bce(struct ctx *c, struct bench *b);
struct tensor *run_policy_loss(struct ctx *c, struct bench *b);
struct tensor *run_noisy_or(struct ctx *c, struct bench *b);
struct tensor *run_and_logits(struct ctx *c, struct bench *b);
struct tensor *run_bce(struct ctx *c, struct bench *b);
void make_classes(struct ctx *c, struct bench *b);
struct tensor *run_cross_entropy(struct ctx *c, struct bench *b);
void make_crf(struct ctx *c, struct bench *b);
struct tensor *run_crf_log_z(struct ctx *c, struct bench *b);
struct tensor *run_viterbi(struct ctx *c, struct bench *b);

/* Between logits and tokens. */
void make_decode_logits(struct ctx *c, struct bench *b);
void make_beam_step(struct ctx *c, struct bench *b);
void make_draw(struct ctx *c, struct bench *b);
struct tensor *run_candidates(struct ctx *c, struct bench *b);
struct tensor *run_allowed_candidates(struct ctx *c, struct bench *b);
struct tensor *run_beam_step(struct ctx *c, struct bench *b);
struct tensor *run_top_p(struct ctx *c, struct bench *b);
struct tensor *run_top_k_p(struct ctx *c, struct bench *b);
struct tensor *run_greedy(struct ctx *c, struct bench *b);

#endif
