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
  std::vector<std::string> warnings;  ///< parts that were left out, for people, without a full stop
};

/// Replaces a text in SSML (text/ssml.h) by its words, sayings and deliveries. What the model
/// cannot do is left out with a warning; a rate or a pitch beyond its bounds becomes the bound. The
/// request's language and speed are settled before. An Error names "input", and the line.
Result<Markup> take_ssml(const PipelineInfo& info, SpeechRequest& request);

/// The same with a document that was read already.
Markup take_ssml(const PipelineInfo& info, Ssml ssml, SpeechRequest& request);

/// `size` bytes of a text from byte `begin` on, and how they are said, as the text of `part`.
void take_part(const SpeechRequest& whole, int64_t begin, int64_t size, SpeechRequest& part);

/// When the marks sound, in frames: with the first word behind each, or at `end`.
std::vector<int64_t> mark_frames(const std::vector<TextMark>& marks,
                                 const std::vector<WordMark>& words, int64_t end);

}  // namespace syrinx
