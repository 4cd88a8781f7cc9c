// Converts a client's SSML text to the fields of a request that models read. Any thread.
#pragma once

#include <string>
#include <vector>

#include "model/pipeline.h"
#include "model/request.h"
#include "model/sequence.h"
#include "text/ssml.h"

namespace syrinx {

struct Markup {
  std::vector<TextMark> marks;  ///< positions in RequestText::text, in order
  /// messages about omitted markup, for users, without a full stop
  std::vector<std::string> warnings;
};

/// Replaces a text in SSML (text/ssml.h) by its words, sayings and deliveries. Omits markup that
/// the model does not support, with a warning; limits a rate or pitch to the model's bounds. Call
/// it after the request's language and speed are known. An Error has the parameter "input" and
/// gives the line.
Result<Markup> take_ssml(const PipelineInfo& info, SpeechRequest& request);

/// Does the same for a parsed document.
Markup take_ssml(const PipelineInfo& info, Ssml ssml, SpeechRequest& request);

/// Sets the text of `part` to `size` bytes of `whole` from byte `begin` on, with their sayings.
void take_part(const SpeechRequest& whole, int64_t begin, int64_t size, SpeechRequest& part);

/// Returns the time of each mark in frames: the time of the first word after it, or `end`.
std::vector<int64_t> mark_frames(const std::vector<TextMark>& marks,
                                 const std::vector<WordMark>& words, int64_t end);

}  // namespace syrinx
