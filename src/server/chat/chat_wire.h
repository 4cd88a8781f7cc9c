// What goes over the wire of chat and text completions: whole answers and server-sent events, as
// OpenAI's clients know them. One answer, one thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "server/chat/chat_call.h"
#include "server/chat/chat_tools.h"

namespace syrinx {

/// A part of an answer, or all of it.
struct AnswerPart {
  std::string text;
  std::vector<ToolCall> calls;
  std::vector<ScoredToken> tokens;  ///< where the call asked for their log-probabilities
  /// Bytes of the call's format, where it is heard; of what is streamed apart, of kPcm.
  std::string audio = {};
};

class ChatWire {
 public:
  static constexpr int kApartRate = 24000;  ///< Hz of samples that are sent apart

  /// `id` is unique to the answer; `created_s` in seconds since 1970.
  ChatWire(const ChatCall& call, std::string model, const std::string& id, int64_t created_s);

  /// What clients name an answer by that is heard.
  std::string audio_id() const { return "audio_" + id_; }
  /// The whole answer, as one JSON object.
  std::string answer(const AnswerPart& part, const Outcome& outcome) const;

  // Events of a stream, each with the empty line after it; first() may be empty.
  std::string first() const;
  std::string next(const AnswerPart& part);
  std::string last(const Outcome& outcome);

 private:
  std::string audio_delta(const char* field, const std::string& value) const;
  const char* finish_reason(const Outcome& outcome, bool called) const;
  std::string audio_chunk(const std::string& samples) const;
  const bool chat_, usage_, scored_, spoken_;
  const bool apart_;  // as ChatCall; `audio` of a part in a stream is samples of 16 bits then
  const std::string model_, id_;
  const int64_t created_s_;
  int calls_ = 0;           // sent so far
  int64_t text_bytes_ = 0;  // sent so far
};

/// "data: {"error": ...}" with the empty line after it.
std::string chat_error_event(const ApiError& error);

}  // namespace syrinx
