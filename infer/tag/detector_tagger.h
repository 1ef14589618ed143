/*
 * detector_tagger.h - the tagger of a detector with a head for words (models/gatekeeper/gate_words.h).
 *
 * The detector reads the schema of a question's columns.  Columns that a record brings along become a schema of their
 * own.  Only the encoder's layers before the head's are computed.
 */
#ifndef INFER_TAG_DETECTOR_TAGGER_H
#define INFER_TAG_DETECTOR_TAGGER_H

#include "infer/tag/tagger.h"

/* Opens the detector in the folder q->model.  Returns -1 with EXIT_CODE_CHECKPOINT if it has no head for words. */
tagger_open_fn tagger_open_detector;

#endif
