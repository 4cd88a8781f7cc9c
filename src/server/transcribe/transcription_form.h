// A request to write down a recording: POST /v1/audio/transcriptions and /v1/audio/translations, as
// forms of OpenAI's API. Knows no sockets and no recogniser. Free functions; any thread.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ears/recogniser.h"
#include "server/net/multipart.h"
#include "server/request/api_error.h"

namespace syrinx {

struct TranscriptionCall {
  enum class Format { kJson, kText, kSrt, kVerboseJson, kVtt };

  std::string_view file;  ///< borrowed from the form
  std::string model;
  ListenOptions listen;  ///< without the client
  Format format = Format::kJson;
  bool segments = true, words = false;  ///< of verbose JSON
  bool stream = false;
};

/// Reads every field that OpenAI's API has; what it does not have is left unread, what cannot be
/// done here is refused.
std::variant<TranscriptionCall, ApiError> read_transcription(const std::vector<FormPart>& form,
                                                             bool translate);

/// The answer in the format that was asked for, and its type.
std::string transcription_body(const TranscriptionCall& call, const Transcript& transcript);
const char* transcription_type(TranscriptionCall::Format format);

/// The first event of a streamed answer: the recording is accepted, and `duration` seconds long. A
/// delta without text, which every client reads. `scores`: with empty log probabilities.
std::string transcript_accepted_event(double duration_s, bool scores);

/// Server-sent events of a streamed answer. `first`: nothing was said before; `scores`: with
/// log-probabilities.
std::string transcript_delta_event(const TranscriptSegment& segment, bool first, bool scores);
std::string transcript_done_event(const Transcript& transcript, bool scores);
std::string transcript_error_event(const ApiError& error);

}  // namespace syrinx
