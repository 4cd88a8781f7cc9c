// A transcript as clients want it: JSON as OpenAI's API, SubRip, WebVTT. Free functions; any
// thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ears/recogniser.h"

namespace syrinx {

/// SubRip and WebVTT: a cue for each segment; where words have times, long segments are cut between
/// words into cues of two lines.
std::string transcript_srt(const Transcript& transcript);
/// The transcript as WebVTT, with cues as above.
std::string transcript_vtt(const Transcript& transcript);

/// The fields of verbose_json beside the text.
struct VerboseParts {
  bool segments = true, words = false;
  bool translated = false;
};
/// {"task", "language", "duration", "text", "segments", "words", "usage"}; its usage is a duration,
/// as OpenAI's TranscriptionVerbose has no other.
std::string transcript_verbose_json(const Transcript& transcript, const VerboseParts& parts);
/// {"text", "usage"}; `scores`: with "logprobs".
std::string transcript_json(const Transcript& transcript, bool scores = false);
/// [{"token", "logprob", "bytes"}], as OpenAI's API has log-probabilities.
std::string logprobs_json(std::span<const ScoredPiece> pieces);
/// Returns the scored pieces of all segments.
std::vector<ScoredPiece> pieces_of(const Transcript& transcript);
/// {"type": "tokens", ...} of a model that counts them, else {"type": "duration", "seconds"}.
std::string usage_json(const Transcript& transcript);

}  // namespace syrinx
