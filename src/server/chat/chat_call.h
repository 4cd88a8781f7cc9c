// Parses and checks the bodies of POST /v1/chat/completions and /v1/completions. Turns OpenAI's
// fields, and some fields of other servers, into a SpeechRequest. Uses no sockets; any thread.
// Every refusal names the invalid field.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "audio/audio_format.h"
#include "model/pipeline.h"
#include "model/request.h"
#include "server/request/api_error.h"
#include "text/jinja/value.h"

namespace syrinx {

class DecodeHelper;

constexpr size_t kMaxRecordings = 64;  ///< most recordings in a conversation

/// An earlier answer of this server, which a client refers to by its id.
struct NamedAnswer {
  EarlierAnswer made;  ///< has no ids if only the text is known
  std::string text = {};
};
/// Finds an earlier answer of this client by its id; returns nothing for an unknown id. Any thread.
using FindAnswer = std::function<std::optional<NamedAnswer>(const std::string& id)>;
/// Returns a function that finds answers in a map.
FindAnswer find_among(std::map<std::string, NamedAnswer> answers);

/// The route of the call.
enum class ChatKind { kChat, kCompletion };

/// What a model can do beyond reading and writing text.
struct ChatAbility {
  bool speaks = false;         ///< answers with speech
  double hears_s = 0;          ///< see HearingFacts::seconds
  bool first_channel = false;  ///< see HearingFacts::first_channel
  /// Decodes recordings in other processes. Null means that this process decodes them.
  const DecodeHelper* decoder = nullptr;
  bool recalls = false;         ///< see WritingFacts::recalls
  FindAnswer find_answer = {};  ///< empty when the server keeps no answers
  bool calls_tools = false;     ///< see WritingFacts::calls_tools
  bool writes_json = false;     ///< see WritingFacts::writes_json

  static ChatAbility of(const PipelineInfo& info, const DecodeHelper* decoder = nullptr) {
    return {info.speaks && info.converses, info.hearing.seconds,
            info.hearing.first_channel,    decoder,
            info.writing.recalls,          {},
            info.writing.calls_tools,      info.writing.writes_json};
  }
};

/// A checked call. Without "seed" in the body the request has a random one.
struct ChatCall {
  ChatKind kind = ChatKind::kChat;
  SpeechRequest request;
  bool stream = false;
  bool usage = false;   ///< ends the stream with an event that reports the usage
  bool speaks = false;  ///< the answer is speech; its text is the transcript
  AudioFormat format = AudioFormat::kWav;
  /// Whether speech is sent as vLLM-Omni sends it: as a separate choice, or in separate chunks.
  bool apart = false;
  std::vector<std::string> tool_names;  ///< tools that the answer may call; may be empty
};

/// A body that is a JSON object. Cheap to copy.
class ChatBody {
 public:
  static std::variant<ChatBody, ApiError> parse(ChatKind kind, std::string_view body);

  /// Returns the field "model"; an empty string if the field is not a string.
  const std::string& model() const { return model_; }
  /// Checks the fields. Unknown fields are ignored and null counts as absent. Decodes recordings,
  /// which takes time.
  std::variant<ChatCall, ApiError> call(const ChatAbility& model = {}) const;

 private:
  ChatKind kind_ = ChatKind::kChat;
  jinja::Value fields_;
  std::string model_;
};

/// Returns an error if the model cannot answer at this route: it only speaks, or it only writes.
std::optional<ApiError> refuse_kind(const PipelineInfo& info, bool asked_to_write);

}  // namespace syrinx
