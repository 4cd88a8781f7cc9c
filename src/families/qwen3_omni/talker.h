// The talker of Qwen3-Omni: reads what the user said and what the thinker writes, and makes frames
// of codes. A row of its input is a part of text (an id of the thinker's, or a row that the thinker
// had where a recording was) plus a part of codec (nothing, an id, or a frame). The thinker may be
// behind: the text of a row is needed when the row runs, not before.
// Const after construction, shared by threads; CPU only, as its experts are.
// N rows, H width, T width of the thinker, C codes a frame, E rows whose codes are wanted.
#pragma once

#include <optional>
#include <vector>

#include "families/qwen3_omni/config.h"
#include "families/qwen3_tts/text_projection.h"
#include "io/weights.h"

namespace syrinx::qwen3_omni {

/// What a row of the talker's prompt is made of.
struct TalkerRow {
  int32_t text = -1;   ///< an id of the thinker's vocabulary
  int32_t heard = -1;  ///< or the position of the thinker whose row is heard instead
  int32_t codec = -1;  ///< an id of the talker's vocabulary; -1: none
  bool operator==(const TalkerRow&) const = default;
};

/// The talker's prompt for `ids`, the thinker's prompt: all that users said (turns of others are
/// left out), then the beginning of the answer: the three ids of its turn's head, the speaker, and
/// `first`, the first id that the thinker wrote. A row's text after the prompt is the thinker's
/// next id, after its last tts_eos, and then tts_pad. `ids` must end in the head of the answer's
/// turn.
std::vector<TalkerRow> talker_prompt(const ModelConfig& config, std::span<const int32_t> ids,
                                     int32_t speaker, int32_t first);

/// The text beside frame `frame` of the talker, its first being 0: the thinker's id after the ones
/// before, behind its last one tts_eos, and then tts_pad. `written` is what the thinker wrote so
/// far, without the end of its turn; `ended` says that no more comes. Nothing when the thinker is
/// behind.
std::optional<int32_t> talker_text(const TextIds& text, std::span<const int32_t> written,
                                   bool ended, int64_t frame);

class Talker {
 public:
  /// `weights` is the scope "talker"; it and `text_table`, the thinker's, must outlive this.
  Talker(const ModelConfig& config, const Weights& weights, const View& text_table,
         WeightType type);

  const Decoder& decoder() const { return decoder_; }
  const qwen3_tts::CodePredictor& predictor() const { return predictor_; }
  KvSpec kv_spec() const;
  size_t bytes() const;
  size_t scratch_bytes(int emits) const { return predictor_.scratch_bytes(emits); }

  /// x [N, H] of rows whose text is text[i], or row -1 - text[i] of `heard` [M, T] when that is
  /// negative, and whose codes are codes [N, C], negative ones adding nothing; an id of the codec
  /// stands alone in the first column.
  void embed(StepContext& ctx, std::span<const int32_t> text, std::span<const int32_t> codes,
             const View& heard, const View& x) const;
  /// Runs the blocks over x, in place.
  void forward(StepContext& ctx, const View& x, const Ragged& ragged, const KvPool& pool) const {
    decoder_.forward(ctx, x, ragged, pool);
  }
  /// hidden [E, H] of some rows of x after forward().
  void hidden(StepContext& ctx, const View& x, std::span<const int32_t> rows,
              const View& hidden) const {
    decoder_.norm_rows(ctx, x, rows, hidden);
  }
  /// Logits [E, vocab of code k] of k = 0 .. C-1 in turn; codes i32 [E, C] holds the codes < k,
  /// `scratch` of scratch_bytes(E) is kept between the calls of a step.
  void logits(StepContext& ctx, int k, const View& hidden, const View& codes, const View& scratch,
              const View& out) const;

 private:
  DType kv_type_ = DType::kF16;
  Decoder decoder_;
  qwen3_tts::CodePredictor predictor_;
  std::vector<View> tables_;  // C of them: the talker's own, then the predictor's
  qwen3_tts::TextProjection text_;
  qwen3_tts::ResizeMlp hearing_;
  PackedLinear head_;
};

}  // namespace syrinx::qwen3_omni
