// The actions that a session of the Realtime API requests, in order, and the news about their
// results. An utterance is identified by the id of its item, an answer by the id of its response.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/engine.h"
#include "server/chat/chat_call.h"
#include "server/chat/chat_tools.h"
#include "server/realtime/realtime_config.h"

namespace syrinx {

// ---- Actions.

/// Sends an event to the client.
struct SendEvent {
  std::string json;
};
/// Starts to recognise an utterance; its samples follow in HearSamples, at kHearingRate.
struct OpenHearing {
  std::string item;
  TranscriptionWish wish;
};

/// Adds samples to an utterance.
struct HearSamples {
  std::string item;
  std::vector<float> samples;
};
/// Reports that the speaker pauses or resumes; see Listener::pause().
struct PauseHearing {
  std::string item;
  bool pauses = false;
};
/// Ends an utterance; HearingNews with the result follow.
struct EndHearing {
  std::string item;
};
/// Stops recognising an utterance; no HearingNews follows.
struct DropHearing {
  std::string item;
};

/// Reports the end of a turn that the voice detector found; for metrics.
struct TurnOver {
  std::string item;
  int64_t silence_ms = 0;  ///< silence from the end of speech to the end of the turn
  bool heard = false;      ///< the turn is being recognised, so a last HearingNews will follow
  bool answers = false;    ///< an answer follows without another event of the client
};

/// Requests the answer of a response; AnswerNews follow.
struct BeginAnswer {
  std::string response;
  AnswerConfig config;  ///< without tools and tool choice, which are in the body
  JsonIn body;          ///< the chat request: messages, tools, max_completion_tokens
  std::map<std::string, NamedAnswer> answers = {};  ///< answers that the body names
  bool foreseen = false;                            ///< this answer may use the drafts made ahead
  /// Which messages are removed if the prompt is too long.
  Truncation truncation = {};
  size_t instructions = 0;  ///< number of messages that are never removed
  /// The last item of each message after the instructions, if the messages are the session's.
  std::vector<std::string> items = {};
};
/// Reports that more of a spoken or typed question is known. An answer may be drafted ahead for
/// RealtimeSession::foreseen().
struct Foresee {
  bool pauses = false;  ///< the user pauses, so the question may be whole
};
/// Drops the drafts made after Foresee.
struct ForgetForeseen {};
/// Reports that a further stretch of the current turn is final, for a model that takes audio
/// itself. RealtimeSession::heard_so_far() returns the request for the turn so far.
struct HearAhead {};
/// Reports that the turn is complete.
struct HeardAll {};
/// Drops the work begun after HearAhead.
struct ForgetHeard {};
/// Stops an answer; no AnswerNews follows.
struct StopAnswer {
  std::string response;
};
using RealtimeAction = std::variant<SendEvent, OpenHearing, HearSamples, PauseHearing, EndHearing,
                                    DropHearing, TurnOver, BeginAnswer, StopAnswer, Foresee,
                                    ForgetForeseen, HearAhead, HeardAll, ForgetHeard>;
using RealtimeActions = std::vector<RealtimeAction>;

// ---- News.

/// News of an utterance's transcript.
struct HearingNews {
  std::vector<std::string> segments = {};   ///< new parts of the text; they are final
  std::optional<std::string> partial = {};  ///< hypothesis of the text after the segments
  bool grows = false;                       ///< every later hypothesis begins with `partial`
  std::optional<bool> done = {};            ///< whether the speaker has finished, if this changed
  std::optional<ApiError> error = {};       ///< set at the end if recognition has failed
  std::optional<std::string> text = {};     ///< set at the end: the transcript
  JsonOut usage = {}, logprobs = {};        ///< null if not requested or unknown

  bool ends() const { return text || error; }
};

/// News of an answer.
struct AnswerNews {
  std::string text = {};
  std::vector<ToolCall> calls = {};
  std::string audio = {};         ///< bytes of the answer's format
  std::vector<int32_t> ids = {};  ///< see Sink::answer_ids()
  /// words of `text`, each with its time in the answer in seconds
  std::vector<std::pair<std::string, double>> words = {};
  std::optional<ApiError> unspoken = {};  ///< why nothing of the text has speech
  std::optional<Outcome> outcome = {};    ///< set at the end
  std::optional<ApiError> error = {};     ///< set at the end if the answer has failed

  bool ends() const { return outcome || error; }
};

}  // namespace syrinx
