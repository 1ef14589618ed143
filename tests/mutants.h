/*
 * mutants.h - kernels that are broken in one of many ways, chosen by AMBIT_MUTANT when the module is loaded.
 *
 * mutate_barriers.sh numbers the ways and writes each into a copy of the sources as an expression that takes the place
 * of the sound one; so every file is compiled once.  0, or nothing, breaks none.
 */
#ifndef TESTS_MUTANTS_H
#define TESTS_MUTANTS_H

#include <stdlib.h>

static int mutant_chosen()
{
    const char *number = getenv("AMBIT_MUTANT");
    return number ? (int)strtol(number, nullptr, 10) : 0;
}

static const int mutant = mutant_chosen();

/*
 * `a <LESS(7)> b` is a < b with its place among the operators: (a < LESS(7)) > b.  Mutant 7 is a <= b, 8 is
 * a + 1 < b.  `a <LEAST(7)> b` is a >= b so: a > b and a + 1 >= b.
 */
enum mutant_relation { MUTANT_LESS, MUTANT_LEAST };

template <mutant_relation R>
struct mutant_operator {
    int number;
};

template <mutant_relation R, typename A>
struct mutant_left {
    A a;
    int number;
};

template <mutant_relation R, typename A>
static inline mutant_left<R, A> operator<(A a, mutant_operator<R> m)
{
    return { a, m.number };
}

template <mutant_relation R, typename A, typename B>
static inline bool operator>(mutant_left<R, A> left, B b)
{
    if (mutant == left.number)
        return R == MUTANT_LESS ? left.a <= b : left.a > b;
    if (mutant == left.number + 1)
        return R == MUTANT_LESS ? left.a + 1 < b : left.a + 1 >= b;
    return R == MUTANT_LESS ? left.a < b : left.a >= b;
}

#define LESS(number)                                                                                                   \
    mutant_operator<MUTANT_LESS>                                                                                       \
    {                                                                                                                  \
        number                                                                                                         \
    }
#define LEAST(number)                                                                                                  \
    mutant_operator<MUTANT_LEAST>                                                                                      \
    {                                                                                                                  \
        number                                                                                                         \
    }

#endif
