// The bodies of POST /v1/chat/completions and /v1/completions: OpenAI's fields and some that others
// have added, checked and turned into a SpeechRequest. Knows no sockets; any thread. Every refusal
// names the field at fault.
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

/// An answer of this server that a client names by its id.
constexpr size_t kMaxRecordings = 64;  ///< of a conversation

struct NamedAnswer {
  EarlierAnswer made;  ///< without ids: only the text is known
  std::string text = {};
};
/// The answer of an id; nothing: there is none, or none of this client. Any thread.
using FindAnswer = std::function<std::optional<NamedAnswer>(const std::string& id)>;
/// Those of a list.
FindAnswer find_among(std::map<std::string, NamedAnswer> answers);

/// Which of the two routes was asked.
enum class ChatKind { kChat, kCompletion };

/// What a model can do beyond reading and writing.
struct ChatAbility {
  bool speaks = false;         ///< answers aloud
  double hears_s = 0;          ///< as PipelineInfo
  bool first_channel = false;  ///< HearingFacts::first_channel
  /// Whose children decode recordings; null: this process does.
  const DecodeHelper* decoder = nullptr;
  bool recalls = false;         ///< WritingFacts::recalls
  FindAnswer find_answer = {};  ///< empty: there are none
  bool calls_tools = false;     ///< WritingFacts::calls_tools
  bool writes_json = false;     ///< WritingFacts::writes_json

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
  bool usage = false;   ///< a last event with the usage
  bool speaks = false;  ///< the answer is heard, its text the transcript
  AudioFormat format = AudioFormat::kWav;
  /// Told as vLLM-Omni does: what is heard is a choice of its own, or chunks of its own kind.
  bool apart = false;
  std::vector<std::string> tool_names;  ///< that the answer may call; empty: none
};

/// A body that is a JSON object. Cheap to copy.
class ChatBody {
 public:
  static std::variant<ChatBody, ApiError> parse(ChatKind kind, std::string_view body);

  /// The field "model" where it is a text, or "".
  const std::string& model() const { return model_; }
  /// Checks the fields. Unknown ones are ignored and null counts as absent.
  /// Recordings are decoded, which takes its time.
  std::variant<ChatCall, ApiError> call(const ChatAbility& model = {}) const;

 private:
  ChatKind kind_ = ChatKind::kChat;
  jinja::Value fields_;
  std::string model_;
};

/// Why a model cannot answer at this route: one that speaks is asked to write, or the other way
/// round. Nothing: it can.
std::optional<ApiError> refuse_kind(const PipelineInfo& info, bool asked_to_write);

}  // namespace syrinx
