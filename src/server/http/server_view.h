// The server's state at one moment, for replies. Borrows everything; any thread.
#pragma once

#include <cstdint>

#include "audio/decode_helper.h"
#include "ears/ears.h"
#include "predict/counters.h"
#include "server/access/access.h"
#include "server/access/api_keys.h"
#include "server/models/model_table.h"
#include "server/realtime/turn_times.h"
#include "server/voices/voice_desk.h"

namespace syrinx {

struct ServerView {
  const ModelTable* models = nullptr;               ///< null while the first model is being loaded
  const ApiKeys* keys = nullptr;                    ///< null admits each request
  const ApiKeys* metrics_keys = nullptr;            ///< null opens /metrics to all
  const AccessRules* access = nullptr;              ///< null admits every browser
  const VoiceDesk* voices = nullptr;                ///< null means only the models' own voices
  const Ears* ears = nullptr;                       ///< null means that no recogniser is installed
  const PredictionCounters* predictions = nullptr;  ///< null means that nothing is predicted
  const TurnMetrics* turns = nullptr;               ///< null means that no turn is measured
  const DecodeHelper* decoder = nullptr;            ///< null means that the server decodes itself
  bool voice_uploads = true;                        ///< clients may add and remove voices
  bool draining = false;
  int connections = 0;  ///< open connections
  int streams = 0;      ///< speech requests that are being answered
  int64_t requests = 0;
  uint64_t lost_lines = 0;  ///< lines of the log that were dropped because nothing read them
  double uptime_s = 0;
};

/// Returns whether speech requests are accepted.
bool is_ready(const ServerView& server);
/// Returns "loading", "ready", "waiting" (for a stage in other processes), "lost" (the GPU,
/// tensor/device_health.h) or "draining".
const char* state_name(const ServerView& server);

/// Returns whether a model clones voices, or may do so once it is loaded.
bool may_clone(const ServerView& server);
/// Returns whether a model accepts recordings in a chat, or may do so once it is loaded.
bool may_hear(const ServerView& server);
/// Returns whether the server has a recogniser, or a model that has one or is not loaded yet.
bool may_transcribe(const ServerView& server);

}  // namespace syrinx
