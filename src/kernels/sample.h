// Batched sampling: every row of logits has its own parameters and rules, and gives the same id in
// whatever batch it is. Order of the steps as in transformers: repetition penalty, allowed ids,
// temperature, top-k, top-p, min-p, softmax, draw. A row that cannot be sampled says so in its
// status and disturbs no other.
// Legend: B rows, V vocabulary.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "kernels/guidance.h"
#include "tensor/context.h"

namespace syrinx {

/// How an id is drawn; the defaults change nothing.
struct SampleParams {
  float temperature = 1;         ///< <= 1e-5: the largest logit, lowest id on ties
  int top_k = 0;                 ///< 0: off. Ties with the k-th are kept.
  float top_p = 1;               ///< >= 1: off
  float min_p = 0;               ///< 0: off
  float repetition_penalty = 1;  ///< 1: off. l < 0 ? l * p : l / p for every id of the history
  int penalty_window = 0;        ///< ids of the history that count, the last ones; 0: all
  /// Repetition-aware sampling (VALL-E 2, arXiv 2406.05370): an id that is among the last
  /// ras_window of the history at least ras_repeats times is drawn again, from all other ids. 0:
  /// off. When on, top-k and top-p are one filter: the fewest best ids that hold top_p of the whole
  /// mass, at most top_k; min-p is off (CosyVoice:cosyvoice/utils/common.py).
  int ras_window = 0, ras_repeats = 1;
  /// Min-p before top-p, which then holds a share of the ids that min-p kept (Chatterbox). Top-k is
  /// off.
  bool min_p_first = false;
  /// The repetition penalty comes after the filters, so it does not change which ids they keep
  /// (chatterbox:models/t3/t3.py, inference_turbo). On the CPU only.
  bool penalty_last = false;
  /// The repetition penalty counts once for every occurrence of an id, not once for each id.
  bool penalty_each = false;
  /// Top-k and top-p are one filter of the logits before the temperature. It keeps, among the best
  /// top_k, each id whose mass, together with that of all better ids, is at most top_p of the
  /// whole, and always the best one. An id that repeats is drawn again in the same way, itself
  /// included, with ras_temperature and ras_top_p. Min-p is off. On the CPU only.
  /// (fish-speech:fish_speech/models/text2semantic/inference.py)
  bool filter_first = false;
  float ras_temperature = 1, ras_top_p = 1;
};

/// Ids [begin, end).
struct IdRange {
  int32_t begin = 0, end = 0;
};

/// The ids that may be chosen for a row. Without ranges every id is allowed.
struct SampleRule {
  static constexpr int kMostRanges = 16;
  std::array<IdRange, kMostRanges> allowed{};  ///< rising, disjoint
  int ranges = 0;
  int32_t forced = -1;  ///< >= 0: this id, whatever the logits say
  /// >= 0: this id if fewer than wanted_among of the allowed ones have a larger logit, after the
  /// repetition penalty; else as without it.
  int32_t wanted = -1;
  int wanted_among = 1;
  /// Only ids whose bit is set are allowed: bit id % 64 of word id / 64. Ids beyond the mask are
  /// not allowed. Empty: no mask. Borrowed until the id is drawn. On the CPU only.
  std::span<const uint64_t> mask = {};
};

/// The inputs of one draw.
struct SampleRow {
  SampleParams params;
  SampleRule rule;
  std::span<const int32_t>
      history;  ///< ids for the penalty, oldest first; others than [0, V) are ignored
  uint64_t seed = 0;
  uint32_t step = 0;      ///< of the request, from 0
  uint32_t codebook = 0;  ///< within the step
};

/// Why no id was drawn.
enum class SampleStatus : uint8_t {
  kOk,
  kNotFinite,       ///< a NaN or +inf among the allowed logits
  kNothingAllowed,  ///< no allowed id, or all of them -inf
};
/// For messages, e.g. "the logits are not finite"; static storage.
const char* sample_status_text(SampleStatus status);

/// ids[i] drawn from logits[i]; -1 where status[i] is not kOk. logits [B, V] f32, unchanged.
void sample(StepContext& ctx, const View& logits, std::span<const SampleRow> rows,
            std::span<int32_t> ids, std::span<SampleStatus> status);

/// Draws code `column` of a step where the kernels of the next codes can read it, without waiting:
/// row i of the logits goes to codes[places[i].row] and, when guided, to the row after it as well.
/// codes i32 [E, K]; status i32 [B, K], a SampleStatus each. A row that cannot be sampled has code
/// 0, which is harmless to the others. All views lie on the device of `logits`; `rows` is host
/// memory.
void sample_codes(StepContext& ctx, const View& logits, std::span<const SampleRow> rows,
                  std::span<const GuidedRow> places, int column, const View& codes,
                  const View& status);

/// Philox 4x32-10 (Salmon et al., SC 2011): counter-based, so a draw needs no state.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// Uniform in [0, 1), 24 bits: key = seed, counter = (step, codebook, stream, 0).
float philox_uniform(uint64_t seed, uint32_t step, uint32_t codebook, uint32_t stream = 0);

/// out[i] = standard normal number i of (seed, step), by Box-Muller; for noise of flows and
/// vocoders.
void philox_normal(uint64_t seed, uint32_t step, uint32_t stream, std::span<float> out);

}  // namespace syrinx
