// Formats answers of chat and text completions, whole or as server-sent events, for OpenAI's
// clients. One answer, one thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "server/chat/chat_call.h"
#include "server/chat/chat_tools.h"

namespace syrinx {

/// A part of an answer, or the whole answer.
struct AnswerPart {
  std::string text;
  std::vector<ToolCall> calls;
  std::vector<ScoredToken> tokens;  ///< set if the call asked for log probabilities
  /// Audio of a spoken answer in the call's format; in a stream with `apart`, samples of 16 bits.
  std::string audio = {};
};

class ChatWire {
 public:
  static constexpr int kApartRate = 24000;  ///< Hz of samples that are sent with `apart`

  /// `id` is unique to the answer; `created_s` in seconds since 1970.
  ChatWire(const ChatCall& call, std::string model, const std::string& id, int64_t created_s);

  /// Returns the id by which clients refer to a spoken answer.
  std::string audio_id() const { return "audio_" + id_; }
  /// Returns the whole answer, as one JSON object.
  std::string answer(const AnswerPart& part, const Outcome& outcome) const;

  // Return events of a stream, each followed by an empty line. first() may return an empty string.
  std::string first() const;
  std::string next(const AnswerPart& part);
  std::string last(const Outcome& outcome);

 private:
  std::string audio_delta(const char* field, const std::string& value) const;
  const char* finish_reason(const Outcome& outcome, bool called) const;
  std::string audio_chunk(const std::string& samples) const;
  const bool chat_, usage_, scored_, spoken_;
  const bool apart_;  // see ChatCall::apart
  const std::string model_, id_;
  const int64_t created_s_;
  int calls_ = 0;           // calls sent so far
  int64_t text_bytes_ = 0;  // bytes of text sent so far
};

/// Returns "data: {"error": ...}" with the empty line after it.
std::string chat_error_event(const ApiError& error);

}  // namespace syrinx
