#!/usr/bin/env python3
"""numpy_shuffle.txt: what numpy.random.seed(42) and numpy.random.shuffle make of arrays of names, as AMBROSIA was split
anew ("Disambiguate First, Parse Later"): a line for each size, where the second and the third fold
begin, and the places that the shuffled names had.
usage: make_shuffle.py >numpy_shuffle.txt"""
import numpy

for n in [1, 2, 3, 4, 7, 8, 9, 10, 16, 31, 32, 33, 64, 85, 100, 127, 128, 129, 255, 257, 846, 1025]:
    names = numpy.array([f"data/made/database_{i}.sqlite" for i in range(n)], dtype=object)
    place = {name: i for i, name in enumerate(names)}
    numpy.random.seed(42)
    numpy.random.shuffle(names)
    print(n, int(0.8 * len(names)), int(0.9 * len(names)), *[place[name] for name in names])
