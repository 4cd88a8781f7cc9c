// The abilities of a Realtime API session, independent of its settings. The session's thread calls
// the functions.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>

#include "model/pipeline.h"
#include "server/realtime/audio_in.h"
#include "server/realtime/realtime_config.h"
#include "server/request/api_error.h"

namespace syrinx {

struct RealtimeFacts : RealtimeAbility {
  std::string id = {};  ///< part of every id
  bool hears = false;   ///< the model takes audio, so it needs no transcripts
  double hears_s =
      std::numeric_limits<double>::infinity();  ///< most seconds of recordings in a prompt
  /// See HearingFacts::ahead; unset if the model does not process a turn while it is spoken.
  std::optional<HearingFacts::Stretches> hears_ahead = {};
  bool beta = false;  ///< events in both directions have the names of the beta
  /// The reason why the session cannot answer; empty if it can.
  std::string no_answer = {};
  /// Checks a voice's name and returns an error if it is unknown.
  std::function<std::optional<ApiError>(const std::string&)> refuse_voice = {};
  OpenActivity open_activity = {};
  /// Checks whether a speaker has finished. Empty means that only words and pitch decide.
  AskTurnEnd ask_turn_end = {};

  /// Throws an ApiError that names `param` if `wish` has another voice than `now` and that voice is
  /// unknown.
  void check_voice(const AnswerConfig& wish, const AnswerConfig& now, const char* param) const;
};

}  // namespace syrinx
