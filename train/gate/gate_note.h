/*
 * gate_note.h - what a detector says of itself where it was taught less than one should know when reading its findings.
 */
#ifndef TRAIN_GATE_GATE_NOTE_H
#define TRAIN_GATE_GATE_NOTE_H

#include "train/gate/gate_data.h"

enum { GATE_NOTE = 256 };
/* "" where there is nothing to say. */
void gate_note(const struct gate_fold *train, char text[GATE_NOTE]);

#endif
