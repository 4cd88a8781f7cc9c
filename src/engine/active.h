// One accepted request inside the engine. Engine thread only.
#pragma once

#include <memory>
#include <vector>

#include "engine/engine.h"
#include "engine/lane.h"
#include "engine/repetition.h"

namespace syrinx {

struct Active {
  RequestId id = 0;
  uint64_t seed = 0;
  std::shared_ptr<Sink> sink;
  std::unique_ptr<RequestState> state;

  // AR stage (CONTRACT.md, I1)
  std::vector<int32_t> pages;
  int kv_len = 0;
  int steps = 0;             ///< of the current segment
  uint32_t total_steps = 0;  ///< of the request
  bool ar_open = true;
  FinishReason reason = FinishReason::kStop;
  RepetitionGuard guard;

  // Chunk stages: lane i feeds link i
  Lane<int32_t> codes;
  std::vector<Lane<float>> values;  ///< lanes 1 ..
  std::vector<std::unique_ptr<StreamState>> streams;

  // Delivery
  double submitted_s = 0;
  double playing_since_s = 0;  ///< when the listener could start
  Outcome outcome;

  Active(ChunkPolicy policy, int width) : codes(policy, width) {}

  bool started() const { return outcome.audio_s > 0; }
  int rows_due() const { return state->prompt_rows() + steps - kv_len; }
  /// Seconds until the listener has played all that was delivered.
  double slack_s(double now) const { return playing_since_s + outcome.audio_s - now; }
};

}  // namespace syrinx
