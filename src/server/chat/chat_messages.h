// The messages of a chat's body: roles, parts, recordings, calls of tools, answers that are named
// by their id. Throws ApiError, and jinja::Fault where something is nested too deeply. Any thread;
// recordings are decoded, which takes time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "audio/recording.h"
#include "model/request.h"
#include "server/chat/chat_call.h"
#include "server/request/object_fields.h"

namespace syrinx {

/// What the messages hold beside text.
struct Heard {
  RecordingLimits limits;  ///< max_s is of all recordings; 0: the model does not hear
  bool recalls = false;
  FindAnswer find_answer = {};
  std::vector<std::shared_ptr<const Recording>> recordings = {};
  std::vector<EarlierAnswer> answers = {};
};

/// Returns the messages as JSON for templates.
std::string read_messages(const ChatFields& fields, Heard& heard);

/// Returns what the client expects of the answer: a text, or the parts of one.
std::string read_prediction(const ChatFields& fields);

/// JSON text of a value that came as such, so that its size is bounded.
std::string json_of(const jinja::Value& value);

}  // namespace syrinx
