// Reads the messages of a chat's body: roles, parts, recordings, tool calls, references to earlier
// answers. Throws ApiError, and jinja::Fault for deep nesting. Any thread; recordings are decoded,
// which takes time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "audio/recording.h"
#include "model/request.h"
#include "server/chat/chat_call.h"
#include "server/request/object_fields.h"

namespace syrinx {

/// The parts of the messages that are not text.
struct Heard {
  RecordingLimits limits;  ///< max_s: most seconds of all recordings; 0 if the model takes no audio
  bool recalls = false;
  FindAnswer find_answer = {};
  std::vector<std::shared_ptr<const Recording>> recordings = {};
  std::vector<EarlierAnswer> answers = {};
};

/// Returns the messages as JSON for templates.
std::string read_messages(const ChatFields& fields, Heard& heard);

/// Returns the text of the field "prediction": the answer that the client expects.
std::string read_prediction(const ChatFields& fields);

/// Returns a value as JSON text. The value was read from JSON, which bounds its size.
std::string json_of(const jinja::Value& value);

}  // namespace syrinx
