// The settings of a Realtime API session, read from `session.update` and sent in
// `session.updated`, and the settings that one response may override. Call from any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ears/end_of_turn.h"
#include "predict/prediction.h"
#include "server/realtime/spoken_bytes.h"
#include "server/request/object_fields.h"

namespace syrinx {

/// The setting `turn_detection`; without it, the client ends turns itself.
struct TurnDetection {
  bool semantic = false;
  double threshold = 0.5;
  int prefix_ms = 300, silence_ms = 500;
  int idle_ms = 0;  ///< silence after which an answer is due, in ms; 0 means never
  std::string eagerness = "auto";
  bool create_response = true, interrupt_response = true;
};

/// The setting `audio.input.transcription`. Without it, audio may still be recognised, but
/// transcripts are not sent.
struct TranscriptionWish {
  std::string model, language, prompt;  ///< empty if not given
  bool scores = false;                  ///< send log-probabilities if the recogniser has them
  bool partial = false;                 ///< request hypotheses during speech
};

/// The settings of answers for a session or for one response.
struct AnswerConfig {
  bool spoken = true;  ///< output_modalities: ["audio"], else ["text"]
  std::string instructions = {};
  RealtimeFormat format = {};
  std::string voice = {};  ///< empty means the default voice
  double speed = 1;
  JsonIn tools = JsonIn::array();
  JsonIn tool_choice = "auto";
  int max_tokens = 0;                      ///< 0 means no limit ("inf")
  std::optional<double> temperature = {};  ///< setting of the beta; unset means the model's default
};

/// Which part of a conversation is removed when the model has no room for all of it.
struct Truncation {
  bool disabled = false;     ///< nothing is removed; a prompt that does not fit fails
  double keep = 1;           ///< largest share of ContextWindow::room that remains after a removal
  int64_t most = 0;          ///< most tokens after the instructions; 0 means no limit
  JsonIn as_given = "auto";  ///< the setting as the client gave it
};

struct RealtimeConfig {
  bool transcribes = false;  ///< type "transcription": the session never answers
  AnswerConfig answer = {};
  RealtimeFormat input = {};
  std::optional<TranscriptionWish> transcription = {};
  std::optional<TurnDetection> turns = TurnDetection{};
  bool predict = false;        ///< Syrinx only: draft answers during the question
  Prediction prediction = {};  ///< how answers are drafted
  JsonIn noise_reduction = {};
  /// Settings that are only sent back, without effect here.
  JsonIn include = {}, tracing = {}, prompt = {}, reasoning = {};
  Truncation truncation = {};
};

Eagerness eagerness_of(const TurnDetection& turns);

/// The abilities of a session, independent of its settings.
struct RealtimeAbility {
  std::string model = {};          ///< the model's name in events
  std::string default_voice = {};  ///< the default voice's name in events
  bool speaks = true;              ///< the session has a voice
  bool calls_tools = false;        ///< the model can be forced to call a tool
  bool may_predict = false;        ///< RealtimeConfig::predict may be set
  bool predicts = false;           ///< default of RealtimeConfig::predict
  Prediction prediction = {};      ///< default of RealtimeConfig::prediction
};

/// Merges the fields of `session` into `config`; null means the default. Throws an ApiError, and
/// then changes nothing.
void merge_session(const JsonFields& session, const RealtimeAbility& ability,
                   RealtimeConfig& config);
/// Merges the fields that `response` has in common with a session.
void merge_response(const JsonFields& response, const RealtimeAbility& ability,
                    AnswerConfig& config);

/// Returns the whole effective configuration.
JsonOut session_object(const RealtimeConfig& config, const RealtimeAbility& ability,
                       const std::string& id);
JsonOut modalities_of(const AnswerConfig& config);
JsonOut max_tokens_of(const AnswerConfig& config);
/// Returns {"output": {"format", "voice"}}, for a session also with "speed".
JsonOut output_object(const AnswerConfig& config, const RealtimeAbility& ability, bool speed);

}  // namespace syrinx
