// Formats a transcript for clients: JSON of OpenAI's API, SubRip, WebVTT. Free functions; any
// thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ears/recogniser.h"

namespace syrinx {

/// Returns the transcript as SubRip, with one cue per segment. If words have times, long segments
/// are divided between words into cues of two lines.
std::string transcript_srt(const Transcript& transcript);
/// Returns the transcript as WebVTT, with the cues of transcript_srt().
std::string transcript_vtt(const Transcript& transcript);

/// Selects optional fields of verbose_json.
struct VerboseParts {
  bool segments = true, words = false;
  bool translated = false;
};
/// Returns {"task", "language", "duration", "text", "segments", "words", "usage"}. The usage is a
/// duration, because OpenAI's TranscriptionVerbose allows no other usage.
std::string transcript_verbose_json(const Transcript& transcript, const VerboseParts& parts);
/// Returns {"text", "usage"}, with "logprobs" if `scores` is set.
std::string transcript_json(const Transcript& transcript, bool scores = false);
/// Returns [{"token", "logprob", "bytes"}], the log-probabilities of OpenAI's API.
std::string logprobs_json(std::span<const ScoredPiece> pieces);
/// Returns the scored pieces of all segments.
std::vector<ScoredPiece> pieces_of(const Transcript& transcript);
/// Returns {"type": "tokens", ...} if tokens are counted, else {"type": "duration", "seconds"}.
std::string usage_json(const Transcript& transcript);

}  // namespace syrinx
