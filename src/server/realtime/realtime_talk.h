// A session of the Realtime API with its models, but without its socket. The models are a chain of
// recogniser, text model and voice (the cascade), or one model for all three. Executes the actions
// of a RealtimeSession. Encodes audio into messages only when the socket has sent the earlier
// messages. Only one thread may use it, but `wake` and read() may be called on any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ears/ears.h"
#include "server/dialects/contexts.h"
#include "server/dialects/wire_session.h"
#include "server/models/backend.h"
#include "server/realtime/audio_in.h"
#include "server/realtime/chat_check.h"
#include "server/realtime/foresight.h"
#include "server/realtime/hearing_ahead.h"
#include "server/realtime/predict_when.h"
#include "server/realtime/realtime_session.h"
#include "server/realtime/session_ears.h"
#include "server/realtime/turn_times.h"
#include "server/request/answer_queue.h"
#include "server/voices/voice_desk.h"

namespace syrinx {

/// The models and services of a session. `ears` and `voices` must outlive the RealtimeTalk.
struct RealtimeCast {
  std::shared_ptr<Backend> writer;   ///< writes answers; null if the session never answers
  std::shared_ptr<Backend> speaker;  ///< null for text answers only; may be the writer
  const Ears* ears = nullptr;
  VoiceDesk* voices = nullptr;
  uint64_t client = 0;  ///< see SpeechRequest
  bool strict = false;  ///< see SpeechBody::call()
  std::string id;       ///< a part of every id
  bool transcribes = false;
  bool beta = false;  ///< see RealtimeFacts
  /// See RealtimeFacts.
  std::function<std::unique_ptr<VoiceActivity>(double threshold)> open_activity = {};
  AskTurnEnd ask_turn_end = {};
  PostTask post = {};
  /// When answers are drafted during the question.
  PredictWhen predict = PredictWhen::kNever;
  Prediction prediction = {};  ///< how answers are drafted; a session may change it
  std::shared_ptr<PredictionCounters> predictions = {};  ///< may be null
  SentenceOptions first_sentence = {};      ///< end of the first sentence, which is spoken ahead
  std::shared_ptr<TurnMetrics> turns = {};  ///< may be null
  double max_transcript_wait_s = 5;         ///< see ServerOptions
};

class RealtimeTalk : public WireSession {
 public:
  RealtimeTalk(RealtimeCast cast, std::function<void()> wake);
  ~RealtimeTalk() override;
  RealtimeTalk(const RealtimeTalk&) = delete;
  RealtimeTalk& operator=(const RealtimeTalk&) = delete;

  Step read(std::string_view bytes, bool binary) override;
  bool full() const override;
  size_t max_message_bytes() const override;
  void tick(double now_s, bool stopping) override;
  const SendMessage* next(double now_s) override;
  void written() override;
  const std::optional<CloseConnection>& closing() const override { return closing_; }
  std::vector<std::string> take_troubles() override;
  std::string summary() const override;

 private:
  struct Answer {
    AnswerConfig config;
    std::shared_ptr<ChatCheck> check;
    std::vector<std::string> items;        // BeginAnswer::items, while the request is checked
    std::unique_ptr<Foresight> foresight;  // drafts for this answer; null without drafts
    // Set while it is unknown whether the held sentence can be used.
    std::optional<ContextOptions> voice;
    std::string unspoken;                  // text that is compared with the held sentence
    std::optional<SpeechRequest> request;  // set from submit() until ask() submits it
    // Returns whether HearingAhead's request still runs, so that the answer must wait; may be null.
    std::function<bool()> heard_ahead;
    std::shared_ptr<AnswerQueue> queue;  // set once submitted
    std::optional<RequestId> id;
    std::optional<ToolCallFinder> tools;
    std::unique_ptr<Encoder> encoder;  // encodes the speech of a model that speaks its own answers
    std::optional<Outcome> outcome;    // outcome of the text
    double spoken_s = 0;               // seconds of audio of the utterances that have ended
    size_t unwritten = 0;              // samples taken from `queue`, but not yet sent to the client
    std::optional<ApiError> error;
  };

  RealtimeFacts facts_of(const RealtimeCast& cast) const;
  /// Returns whether the model that writes also speaks its answers.
  bool by_itself() const {
    return cast_.writer && cast_.writer == cast_.speaker && cast_.writer->info().converses;
  }
  void carry_out(RealtimeActions& actions);
  void begin_answer(BeginAnswer& begin);
  void stop_answer(const std::string& id);
  void submit(Answer& answer);
  void ask(Answer& answer);
  bool pump();
  bool pump_hearing(const std::string& item);
  bool pump_answer(const std::string& id);
  bool pump_voice();
  void foresee(bool pauses);
  void hear_ahead();
  void speak(const std::string& id, Answer& answer, const std::string& text, bool over);
  void report(const std::string& id, const AnswerNews& news);
  void fail(const std::string& id, ApiError error);
  ApiError inner_fault(const Error& error);
  std::variant<ContextOptions, ApiError> voice_options(const AnswerConfig& config) const;

  const RealtimeCast cast_;
  const std::function<void()> wake_;
  RealtimeSession session_;
  SessionEars ears_;
  std::optional<SpeechContexts> contexts_;
  std::map<std::string, Answer> answers_;
  std::unique_ptr<Foresight> foresight_;  // drafts for the question that the user is asking
  int foresights_ = 0;
  std::unique_ptr<HearingAhead> ahead_;  // processes turns ahead, with a model that takes audio
  TurnClock clock_;
  std::deque<SendMessage> frames_;
  uint64_t frames_made_ = 0, frames_taken_ = 0;
  SendMessage current_;
  size_t backlog_bytes_ = 0;
  std::optional<CloseConnection> closing_;
  std::vector<std::string> troubles_;
  int answered_ = 0;
};

}  // namespace syrinx
