// A pipeline that is small enough to be read at once, for tests of the engine: an AR stage with a
// real paged cache and two codes a step (the second depends on the first), then two chunk stages,
// the first with left context and lookahead, the second with a stream state. Random but fixed
// weights. Speaks one step for each byte of the text; '|' begins a new segment, '@' one whose
// frames are a new stream, '&' one whose prompt contains the steps so far; "^" makes the AR stage
// throw,
// "~" makes its logits NaN, "`" those of the second code. Late text is taken byte by byte.
// Instructions are further prompt rows, one for each byte, with keys. Guidance: the companion sees
// the instructions ('.' where they say '#') and the codes, not the text. Bytes that make calls
// fail: at the byte \1 ready() throws, \2 advance(), \4 the first chunk stage's cut(), \5 its
// run(); a segment that begins with \3 throws in prefix_keys(); late text with \6 is an error, with
// \7 append_text() throws. A cloned voice is four numbers, the loudness of as many parts of a
// recording; it changes the input rows.
#pragma once

#include <memory>

#include "model/pipeline.h"

namespace syrinx {

struct ToyOptions {
  int steps_per_byte = 1;
  int max_positions = 4096;
  bool clones = false;  ///< has a voice encoder, mixes voices, takes embeddings of 4 values
};

/// Makes the toy pipeline: bytes of text to samples, without weights.
std::shared_ptr<const Pipeline> make_toy_pipeline(ToyOptions options = {});

}  // namespace syrinx
