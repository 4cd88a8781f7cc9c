// What can be done in a session of the Realtime API, whatever it is set to. Values; their owner
// says on which threads their functions may be called.
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
  std::string id = {};  ///< what ids are made of
  bool hears = false;   ///< what answers hears by itself: no transcript is waited for
  double hears_s = std::numeric_limits<double>::infinity();  ///< of recordings in a prompt, at most
  /// And while it is spoken; as PipelineInfo.
  std::optional<HearingFacts::Stretches> hears_ahead = {};
  bool beta = false;  ///< events have the names of the beta, in and out
  /// Why there can be no answers; empty: there can be.
  std::string no_answer = {};
  /// Checks a voice's name.
  std::function<std::optional<ApiError>(const std::string&)> refuse_voice = {};
  OpenActivity open_activity = {};
  AskTurnEnd ask_turn_end = {};  ///< empty: words and pitch alone decide

  /// Throws an ApiError that names `param` where the voice of `wish` is another than that of `now`
  /// and there is none of its name.
  void check_voice(const AnswerConfig& wish, const AnswerConfig& now, const char* param) const;
};

}  // namespace syrinx
