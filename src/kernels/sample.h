// Batched sampling. Every row of logits has its own parameters and rules, and yields the same id in
// any batch. The order of the steps is that of transformers: repetition penalty, allowed ids,
// temperature, top-k, top-p, min-p, softmax, draw. A row that cannot be sampled reports it in its
// status and does not affect other rows.
// Legend: B rows, V vocabulary.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "kernels/guidance.h"
#include "tensor/context.h"

namespace syrinx {

/// Parameters of a draw. With the defaults, no id is filtered out.
struct SampleParams {
  float temperature = 1;         ///< if at most 1e-5, the best id is chosen; the lowest id on ties
  int top_k = 0;                 ///< 0 disables top-k; ids that tie with the k-th id are kept
  float top_p = 1;               ///< 1 or more disables top-p
  float min_p = 0;               ///< 0 disables min-p
  float repetition_penalty = 1;  ///< 1: no penalty; else logit l becomes l < 0 ? l * p : l / p
  int penalty_window = 0;        ///< number of last ids of the history to which it applies; 0: all
  /// Repetition-aware sampling (VALL-E 2, arXiv 2406.05370), disabled by a window of 0. If the
  /// drawn id occurs at least ras_repeats times in the last ras_window ids of the history, another
  /// id is drawn from all other ids. Top-k and top-p are then one filter: the fewest best ids with
  /// top_p of the mass, at most top_k. Min-p is off (CosyVoice:cosyvoice/utils/common.py).
  int ras_window = 0, ras_repeats = 1;
  /// Whether min-p comes before top-p. Top-p then refers to the mass of the ids that min-p keeps
  /// (Chatterbox). Top-k is off.
  bool min_p_first = false;
  /// Whether the repetition penalty comes after the filters, so that it does not affect which ids
  /// they keep. It then ignores penalty_window. (chatterbox:models/t3/t3.py, inference_turbo)
  bool penalty_last = false;
  /// Whether the repetition penalty is applied for each occurrence of an id, not once per id.
  bool penalty_each = false;
  /// Whether top-k and top-p are one filter of the logits before the temperature. Among the best
  /// top_k ids, it keeps the best id, and each id whose mass plus the mass of all better ids is at
  /// most top_p of the total. If the drawn id repeats, an id is drawn again with this filter, with
  /// ras_temperature and ras_top_p; it may be the same id. Min-p is off.
  /// (fish-speech:fish_speech/models/text2semantic/inference.py)
  bool filter_first = false;
  float ras_temperature = 1, ras_top_p = 1;
};

/// A range of ids: [begin, end).
struct IdRange {
  int32_t begin = 0, end = 0;
};

/// The ids that a row may choose. Without ranges, every id is allowed.
struct SampleRule {
  static constexpr int kMostRanges = 16;
  std::array<IdRange, kMostRanges> allowed{};  ///< ascending, without overlap
  int ranges = 0;
  int32_t forced = -1;  ///< if >= 0, this id is chosen for any logits
  /// If >= 0, this id is chosen if fewer than wanted_among allowed ids have a larger logit after
  /// the repetition penalty. Otherwise it has no effect.
  int32_t wanted = -1;
  int wanted_among = 1;
  /// Mask of allowed ids: bit id % 64 of word id / 64. Ids beyond the mask are not allowed. An
  /// empty mask allows all ids. The memory is borrowed until the id is drawn.
  std::span<const uint64_t> mask = {};
};

/// The inputs of one draw.
struct SampleRow {
  SampleParams params;
  SampleRule rule;
  std::span<const int32_t>
      history;  ///< ids for the penalty, oldest first; ids outside [0, V) are ignored
  uint64_t seed = 0;
  uint32_t step = 0;      ///< number of the step in the request, from 0
  uint32_t codebook = 0;  ///< number of the code in the step
};

/// Whether an id was drawn, or the reason why not.
enum class SampleStatus : uint8_t {
  kOk,
  kNotFinite,       ///< an allowed logit is NaN or +inf
  kNothingAllowed,  ///< no id is allowed, or all allowed logits are -inf
};
/// Returns a text for messages, e.g. "the logits are not finite". Its storage is static.
const char* sample_status_text(SampleStatus status);

/// Draws ids[i] from logits[i], or -1 if status[i] is not kOk. logits [B, V] f32 stay unchanged.
void sample(StepContext& ctx, const View& logits, std::span<const SampleRow> rows,
            std::span<int32_t> ids, std::span<SampleStatus> status);

/// Draws code `column` of a step into device memory, so that the kernels of the next codes can read
/// it without waiting for the host. The code of row i is written to codes[places[i].row] and, if
/// guided, to the row after it. codes i32 [E, K]; status i32 [B, K], each a SampleStatus. A row
/// that cannot be sampled gets code 0, which does not affect other rows. All views are on the
/// device of `logits`; `rows` is in host memory.
void sample_codes(StepContext& ctx, const View& logits, std::span<const SampleRow> rows,
                  std::span<const GuidedRow> places, int column, const View& codes,
                  const View& status);

/// Computes Philox 4x32-10 (Salmon et al., SC 2011): counter-based, so a draw needs no state.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// Returns a uniform number in [0, 1), 24 bits. Key: seed. Counter: (step, codebook, stream, 0).
float philox_uniform(uint64_t seed, uint32_t step, uint32_t codebook, uint32_t stream = 0);

/// Writes standard normal number i of (seed, step) to out[i], by Box-Muller. For the noise of flows
/// and vocoders.
void philox_normal(uint64_t seed, uint32_t step, uint32_t stream, std::span<float> out);

}  // namespace syrinx
