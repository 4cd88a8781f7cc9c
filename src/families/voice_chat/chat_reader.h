// The messages of a chat: their texts, and the places of recordings and earlier answers in them, in
// order. A reader belongs to one prompt and one thread. Errors have the parameter "messages".
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "families/voice_chat/earlier_answer.h"
#include "model/request.h"

namespace syrinx {

using ChatJson = nlohmann::ordered_json;

Error refused_chat(std::string what);
/// Returns the error for a message with a role that the model does not accept.
Error refused_role(const std::string& role);
/// Returns the error for a chat whose messages are not a list.
Error no_list_of_messages();

/// Returns the messages, each an object with a role.
Result<ChatJson> messages_of(const Chat& chat);
/// Does the same for a model that cannot call tools.
Result<ChatJson> messages_without_tools(const Chat& chat);
/// Returns the role of a message. Empty if it has no role.
std::string role_of(const ChatJson& message);
/// Returns whether a part of a content is the place of a recording.
bool is_recording(const ChatJson& part);
/// Returns whether a content is the place of an earlier answer.
bool is_answer(const ChatJson& content);
/// Returns the text of a content or of a part, without recordings.
Result<std::string> text_of(const ChatJson& content);

/// Returns the one of a model's ids of roles that a message has.
Result<int32_t> role_id(const ChatJson& message, int32_t system, int32_t user, int32_t assistant);

/// A part of a message: a text, or the place of a recording.
struct ChatPart {
  bool recording = false;
  std::string text;
};
/// Returns the parts of a message, at least one. `between` joins neighbouring texts. Only a user's
/// message may have recordings.
Result<std::vector<ChatPart>> parts_of(const ChatJson& message, std::string_view between);

/// Counts the places of recordings and earlier answers while a chat is read in order. One thread.
class ChatReader {
 public:
  ChatReader(size_t recordings, std::span<const EarlierAnswer> answers)
      : recordings_(recordings), answers_(answers) {}

  /// Returns the index of the recording for the next place.
  Result<size_t> recording();
  /// Returns the ids of the next place's answer, up to the last code that was played (known_ids()).
  template <typename IsCode>
  Result<std::span<const int32_t>> answer(double codes_a_second, int64_t known, IsCode&& is_code) {
    if (answers_.empty()) {
      return refused_chat("the chat has more places for answers than the request has answers");
    }
    const EarlierAnswer& next = answers_.front();
    answers_ = answers_.subspan(1);
    return known_ids(next, codes_a_second, known, is_code);
  }
  /// Returns an Error if the request has more recordings or answers than the chat has places.
  Status end() const;

 private:
  size_t recordings_, next_ = 0;
  std::span<const EarlierAnswer> answers_;  // answers without a place so far
};

}  // namespace syrinx
