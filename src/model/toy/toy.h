// A small pipeline for tests of the engine: an AR stage with a real paged cache and two codes
// per step (the second depends on the first), then two chunk stages. The first chunk stage has
// left context and lookahead, the second a stream state. Fixed random weights. Speaks one step
// per byte of the text. '|' begins a new segment, '@' a segment whose frames are a new stream,
// and '&' a segment whose prompt contains the steps so far. '^' makes the AR stage throw, '~'
// makes its logits NaN, and '`' makes the logits of the second code NaN. Late text is read
// byte by byte. Instructions are further prompt rows with keys, one row per byte. Guidance:
// the companion's rows have the codes and the instructions, each '#' replaced by '.', but not
// the text. Bytes that make calls fail: \1 ready() throws, \2 advance() throws, \3
// prefix_keys() of a segment that begins with it throws, \4 the first chunk stage's cut()
// throws, \5 its run() throws. Late text with \6 is an error; with \7 append_text() throws. A
// cloned voice is four numbers, the loudness of the quarters of a recording; it changes the
// input rows.
#pragma once

#include <memory>

#include "model/pipeline.h"

namespace syrinx {

struct ToyOptions {
  int steps_per_byte = 1;
  int max_positions = 4096;
  bool clones = false;  ///< has a voice encoder, mixes voices, accepts embeddings of 4 values
};

/// Makes the toy pipeline, which maps bytes of text to samples without weight files.
std::shared_ptr<const Pipeline> make_toy_pipeline(ToyOptions options = {});

}  // namespace syrinx
