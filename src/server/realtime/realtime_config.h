// What a session of the Realtime API is set to: read from `session.update` and sent in
// `session.updated`, and what one response may say otherwise. Values; any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "predict/prediction.h"
#include "server/realtime/end_of_turn.h"
#include "server/realtime/spoken_bytes.h"
#include "server/request/object_fields.h"

namespace syrinx {

/// `turn_detection`; none of it is manual mode.
struct TurnDetection {
  bool semantic = false;
  double threshold = 0.5;
  int prefix_ms = 300, silence_ms = 500;
  int idle_ms = 0;  ///< without speech, after which an answer is due; 0: none is
  std::string eagerness = "auto";
  bool create_response = true, interrupt_response = true;
};

/// `audio.input.transcription`; none: what a client says is recognised, and its transcript is not
/// sent.
struct TranscriptionWish {
  std::string model, language, prompt;  ///< empty: not given
  bool scores = false;                  ///< with log-probabilities, where there are any
  bool partial = false;                 ///< hypotheses are wanted while one speaks
};

/// What is said of the answers, of all of a session or of one.
struct AnswerConfig {
  bool spoken = true;  ///< output_modalities: ["audio"], else ["text"]
  std::string instructions = {};
  RealtimeFormat format = {};
  std::string voice = {};  ///< empty: the default
  double speed = 1;
  JsonIn tools = JsonIn::array();
  JsonIn tool_choice = "auto";
  int max_tokens = 0;                      ///< 0: "inf"
  std::optional<double> temperature = {};  ///< of the beta; empty: the model's own
};

/// What of a conversation is read no more once its model has no room for all of it.
struct Truncation {
  bool disabled = false;  ///< nothing: answers fail
  double keep = 1;        ///< share of the room that is filled once the oldest messages have left
  int64_t most = 0;       ///< tokens behind the instructions that are room; 0: all there are
  JsonIn told = "auto";   ///< as it was given
};

struct RealtimeConfig {
  bool transcribes = false;  ///< type "transcription": there are no answers
  AnswerConfig answer = {};
  RealtimeFormat input = {};
  std::optional<TranscriptionWish> transcription = {};
  std::optional<TurnDetection> turns = TurnDetection{};
  bool predict = false;        ///< ours: answers are drafted while the question is still being said
  Prediction prediction = {};  ///< and how
  JsonIn noise_reduction = {};
  /// Kept as they were given, and without effect here.
  JsonIn include = {}, tracing = {}, prompt = {}, reasoning = {};
  Truncation truncation = {};
};

Eagerness eagerness_of(const TurnDetection& turns);

/// What a session can do, whatever it is set to.
struct RealtimeAbility {
  std::string model = {};          ///< as events have it
  std::string default_voice = {};  ///< the same
  bool speaks = true;              ///< a voice is there
  bool calls_tools = false;        ///< what answers can be made to call a tool
  bool may_predict = false;        ///< RealtimeConfig::predict may be set
  bool predicts = false;           ///< and is, unless a client says otherwise
  Prediction prediction = {};      ///< how, unless a client says otherwise
};

/// Merges what `session` has into `config`: null is the default. Throws an ApiError, and then
/// changes nothing.
void merge_session(const JsonFields& session, const RealtimeAbility& ability,
                   RealtimeConfig& config);
/// The same with the fields of `response` that a session has, too.
void merge_response(const JsonFields& response, const RealtimeAbility& ability,
                    AnswerConfig& config);

/// The whole effective configuration.
JsonOut session_object(const RealtimeConfig& config, const RealtimeAbility& ability,
                       const std::string& id);
JsonOut modalities_of(const AnswerConfig& config);
JsonOut max_tokens_of(const AnswerConfig& config);
/// {"output": {"format", "voice"}} and, of a session, "speed".
JsonOut output_object(const AnswerConfig& config, const RealtimeAbility& ability, bool speed);

}  // namespace syrinx
