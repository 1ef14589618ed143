/*
 * reward_program.h - rewards by a program of the user, and its protocol.
 *
 * For each list of completions the program is started once. It reads a line of JSON for each completion and writes one
 * for each, in this order:
 *
 *   {"record": the whole record, "text": the completion}
 *   {"reward": a number}
 *
 * Other fields of its lines are ignored. The program keeps no state between its starts. A resumed run therefore gets
 * the rewards of an undisturbed one if the program is deterministic.
 */
#ifndef TRAIN_LM_REWARD_PROGRAM_H
#define TRAIN_LM_REWARD_PROGRAM_H

#include "train/lm/reward_judge.h"

enum { REWARD_MAX_LINE = 4096 /* mean number of bytes of a line of output */ };
/* Limit of the absolute value of a reward. */
#define REWARD_MAX 1e6

/* Runs j->program. Returns -1 with EXIT_CODE_FAILURE if the program fails, takes longer than j->timeout, or writes too
 * many bytes. Returns -1 with EXIT_CODE_DATA for a line that is no reward, or
 * another number of lines. Each message has the number of the line. */
reward_function reward_by_program;

#endif
