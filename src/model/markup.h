// A request's text as a client wrote it, in SSML, brought to what models take. Any thread.
#pragma once

#include <string>
#include <vector>

#include "model/pipeline.h"
#include "model/request.h"
#include "model/sequence.h"
#include "text/ssml.h"

namespace syrinx {

struct Markup {
  std::vector<TextMark> marks;        ///< places in RequestText::text, in order
  std::vector<std::string> warnings;  ///< omitted parts, as texts for users without a full stop
};

/// Replaces a text in SSML (text/ssml.h) by its words, sayings and deliveries. What the model
/// cannot do is left out with a warning; a rate or a pitch beyond its bounds becomes the bound.
/// Call it after the request's language and speed are known. An Error names "input", and the line.
Result<Markup> take_ssml(const PipelineInfo& info, SpeechRequest& request);

/// Does the same with a document that is parsed already.
Markup take_ssml(const PipelineInfo& info, Ssml ssml, SpeechRequest& request);

/// Makes `size` bytes of a text from byte `begin` on the text of `part`, with their sayings.
void take_part(const SpeechRequest& whole, int64_t begin, int64_t size, SpeechRequest& part);

/// Returns the time of each mark in frames: that of the first word behind it, or `end`.
std::vector<int64_t> mark_frames(const std::vector<TextMark>& marks,
                                 const std::vector<WordMark>& words, int64_t end);

}  // namespace syrinx
