/*
 * mutants.h - kernels that are broken in one of many ways, chosen by AMBIT_MUTANT when the module is loaded.
 *
 * mutate_barriers.sh numbers the ways and writes each into a copy of the sources as an expression that takes the place
 * of the sound one; so every file is compiled once.  0, or nothing, breaks none.  Numbers of guards that would have
 * answered otherwise at least once are appended to the file AMBIT_MUTANTS_SEEN: the others change nothing.
 */
#ifndef TESTS_MUTANTS_H
#define TESTS_MUTANTS_H

#include <stdio.h>
#include <stdlib.h>

static int mutant_chosen()
{
    const char *number = getenv("AMBIT_MUTANT");
    return number ? (int)strtol(number, nullptr, 10) : 0;
}

static const int mutant = mutant_chosen();

enum { MUTANTS_MAX = 4096 };

/* Of one source; written when the module is unloaded. */
struct mutants_seen {
    const char *file = getenv("AMBIT_MUTANTS_SEEN");
    bool differs[MUTANTS_MAX] = {};
    ~mutants_seen()
    {
        FILE *f = file ? fopen(file, "a") : nullptr;
        for (int i = 0; f && i < MUTANTS_MAX; i++)
            if (differs[i])
                fprintf(f, "%d\n", i);
        if (f)
            fclose(f);
    }
};

static mutants_seen seen;

/*
 * `a <LESS(7)> b` is a < b with its place among the operators: (a < LESS(7)) > b.  Mutant 7 is a <= b, 8 is
 * a + 1 < b.  `a <LEAST(7)> b` is a >= b so: a > b and a + 1 >= b.
 */
enum mutant_relation { MUTANT_LESS, MUTANT_LEAST };

template <mutant_relation R, int NUMBER>
struct mutant_operator {
    static_assert(NUMBER + 1 < MUTANTS_MAX, "more mutants than places");
};

template <mutant_relation R, int NUMBER, typename A>
struct mutant_left {
    A a;
};

template <mutant_relation R, int NUMBER, typename A>
static inline mutant_left<R, NUMBER, A> operator<(A a, mutant_operator<R, NUMBER>)
{
    return { a };
}

template <mutant_relation R, int NUMBER, typename A, typename B>
static inline bool operator>(mutant_left<R, NUMBER, A> left, B b)
{
    bool sound = R == MUTANT_LESS ? left.a < b : left.a >= b;
    bool other = R == MUTANT_LESS ? left.a <= b : left.a > b;
    bool next = R == MUTANT_LESS ? left.a + 1LL < b : left.a + 1LL >= b; /* no int overflows */
    if (seen.file) {
        seen.differs[NUMBER] |= other != sound;
        seen.differs[NUMBER + 1] |= next != sound;
    }
    return mutant == NUMBER ? other : mutant == NUMBER + 1 ? next : sound;
}

#define LESS(number)                                                                                                   \
    mutant_operator<MUTANT_LESS, number>                                                                               \
    {                                                                                                                  \
    }
#define LEAST(number)                                                                                                  \
    mutant_operator<MUTANT_LEAST, number>                                                                              \
    {                                                                                                                  \
    }

#endif
