// State that the parts of a Realtime session share: settings, conversation, speech, typed text, and
// the lists to which they append events and requests for work. Not thread-safe.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "server/realtime/audio_in.h"
#include "server/realtime/conversation.h"
#include "server/realtime/hearings.h"
#include "server/realtime/idle_timer.h"
#include "server/realtime/realtime_config.h"
#include "server/realtime/realtime_facts.h"
#include "server/realtime/realtime_outbox.h"

namespace syrinx {

struct SessionState {
  explicit SessionState(RealtimeFacts all)
      : facts(std::move(all)),
        out(facts.id, facts.beta),
        audio(facts.open_activity, facts.ask_turn_end) {}

  /// Returns whether the user does not speak and no transcript is pending.
  bool silent() const { return !turn && hearings.empty(); }
  /// Returns whether a recogniser is needed for the user's turns.
  bool wants_hearing() const {
    return !facts.hears || config.transcription || (config.turns && config.turns->semantic);
  }
  /// Drops audio and recordings beyond their bounds.
  void bound_audio() {
    conversation.bound_audio();
    conversation.hear_newest(facts.hears_s);
  }

  const RealtimeFacts facts;
  RealtimeConfig config;
  RealtimeOutbox out;
  Conversation conversation;
  AudioIn audio;
  Hearings hearings;
  /// Id of the current turn's future item; unset while the user does not speak.
  std::optional<std::string> turn;
  std::string typed;       ///< text of a message that is not committed
  bool answering = false;  ///< a response of the conversation runs or waits
  IdleTimer idle;
};

}  // namespace syrinx
