// What a session of the Realtime API asks for, in order, and the news of what becomes of it.
// Values; utterances and answers go by the names of their items and responses.
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

// ---- What it asks for.

/// Goes to the client.
struct SendEvent {
  std::string json;
};
/// An utterance begins to be heard; its samples come with HearSamples, at kHearingRate.
struct OpenHearing {
  std::string item;
  TranscriptionWish wish;
};

/// More of an utterance.
struct HearSamples {
  std::string item;
  std::vector<float> samples;
};
/// The speaker pauses, or goes on, as Listener::pause().
struct PauseHearing {
  std::string item;
  bool pauses = false;
};
/// No more will come. Answered by HearingNews with a result.
struct EndHearing {
  std::string item;
};
/// Its hearing ends; no news follow.
struct DropHearing {
  std::string item;
};

/// The detector of voices has found the end of a turn; for measuring.
struct TurnOver {
  std::string item;
  int64_t silence_ms = 0;  ///< behind its last voice
  bool heard = false;      ///< HearingNews of it will end
  bool answers = false;    ///< an answer follows without another event of the client
};

/// A response is to be made. Answered by AnswerNews.
struct BeginAnswer {
  std::string response;
  AnswerConfig config;  ///< without tools and choice, which are in the body
  JsonIn body;          ///< of a chat request: messages, tools, max_completion_tokens
  std::map<std::string, NamedAnswer> answers = {};  ///< that the body names
  bool foreseen = false;  ///< what was foreseen may serve it, and serves no other
  /// What leaves the messages if there is no room for all of them.
  Truncation truncation = {};
  size_t instructions = 0;  ///< number of messages that never leave
  /// The last item of each message behind them, where they are the session's.
  std::vector<std::string> items = {};
};
/// Something is being said or typed, and more of it is known: RealtimeSession::foreseen() is what
/// would be asked if that were all. An answer to it may be made ahead.
struct Foresee {};
/// There will be no such answer.
struct ForgetForeseen {};
/// A stretch more of a turn that goes on is there for a model that hears by itself:
/// RealtimeSession::heard_so_far() is what would be asked if that were all.
struct HearAhead {};
/// All of the turn is there.
struct HeardAll {};
/// There will be no such answer.
struct ForgetHeard {};
/// No news follow.
struct StopAnswer {
  std::string response;
};
using RealtimeAction = std::variant<SendEvent, OpenHearing, HearSamples, PauseHearing, EndHearing,
                                    DropHearing, TurnOver, BeginAnswer, StopAnswer, Foresee,
                                    ForgetForeseen, HearAhead, HeardAll, ForgetHeard>;
using RealtimeActions = std::vector<RealtimeAction>;

// ---- What becomes of it.

/// What has been heard of an utterance.
struct HearingNews {
  std::vector<std::string> segments = {};   ///< settled
  std::optional<std::string> partial = {};  ///< what seems to be said after them
  std::optional<ApiError> error = {};       ///< the end: it could not be heard
  std::optional<std::string> text = {};     ///< the end: the transcript
  JsonOut usage = {}, logprobs = {};        ///< with it; null: not asked for, or not known

  bool ends() const { return text || error; }
};

/// What has been made of a response.
struct AnswerNews {
  std::string text = {};
  std::vector<ToolCall> calls = {};
  std::string audio = {};                                  ///< bytes of the answer's format
  std::vector<int32_t> ids = {};                           ///< as Sink::answer_ids()
  std::vector<std::pair<std::string, double>> words = {};  ///< as in `text`; seconds of the answer
  std::optional<Outcome> outcome = {};                     ///< the end
  std::optional<ApiError> error = {};                      ///< the end: it failed

  bool ends() const { return outcome || error; }
};

}  // namespace syrinx
