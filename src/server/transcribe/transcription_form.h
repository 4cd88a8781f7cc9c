// Parses requests to transcribe a recording: POST /v1/audio/transcriptions and
// /v1/audio/translations, as forms of OpenAI's API. Uses no sockets and no recogniser. Free
// functions; thread-safe.
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
  ListenOptions listen;  ///< options for the recogniser; the caller sets `client`
  Format format = Format::kJson;
  bool segments = true, words = false;  ///< which parts a verbose JSON answer has
  bool stream = false;
};

/// Reads every field of OpenAI's API; ignores unknown fields and refuses unsupported values.
std::variant<TranscriptionCall, ApiError> read_transcription(const std::vector<FormPart>& form,
                                                             bool translate);

/// Returns the answer in the requested format. The next function returns its content type.
std::string transcription_body(const TranscriptionCall& call, const Transcript& transcript);
const char* transcription_type(TranscriptionCall::Format format);

/// Returns the first event of a streamed answer, which reports that the recording is accepted, and
/// its duration in seconds. The event is a delta without text, which every client can read.
/// `scores`: adds empty log probabilities.
std::string transcript_accepted_event(double duration_s, bool scores);

/// Return server-sent events of a streamed answer. `first`: no event with text was sent before.
/// `scores`: adds log probabilities.
std::string transcript_delta_event(const TranscriptSegment& segment, bool first, bool scores);
std::string transcript_done_event(const Transcript& transcript, bool scores);
std::string transcript_error_event(const ApiError& error);

}  // namespace syrinx
