// The speech tokenizer of GLM-4-Voice: a recording at 16 kHz to codes, 12.5 a second. It has
// Whisper's log-mel and encoder, but with causal convolutions and attention by blocks. A row
// attends to its own block of 4 s and all earlier rows. The code of 4 rows is the index of the
// codebook row nearest to their mean.
//
// A recording is divided into segments of 30 s, which are encoded independently. Within a segment,
// a block is final once its own samples and half a window after them have arrived. One exception:
// the mel is limited to 8 decades below the largest value of the segment. A block with lower values
// is exact only if the rest of the segment is known not to be louder (keys() identifies such
// blocks). The authors fill a segment up to whole codes. In a batch of several segments they pad
// the short ones to the longest, which moves the mirrored end of the mel. Here a segment is always
// encoded as if it were alone. On a GPU, the mel is still computed by the host. Source:
// GLM-4-Voice:speech_tokenizer/{modeling_whisper,utils}.py (WhisperVQEncoder). Const after
// construction, shared by threads; a state is used by one call at a time. M mel bands, W width, R
// rows of a block (50 a second).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "audio/mel.h"
#include "codec/whisper_block.h"
#include "io/json.h"
#include "kernels/conv.h"

namespace syrinx {

/// Sizes, from config.json. Plain data.
struct GlmSpeechConfig {
  int64_t mels = 128;
  int64_t width = 1280, layers = 16, heads = 20, ffn = 5120;
  int64_t positions = 1500;  ///< most rows of a segment
  int64_t block = 200;       ///< rows in a block of attention
  int64_t pool = 4;          ///< rows that are averaged into one code
  int64_t codes = 16384;

  /// Reads sizes from config.json. Throws LoadError for a value that is missing, out of range or
  /// unsupported.
  static GlmSpeechConfig load(const Config& root);
};

/// The encoder and the codebook, with their weights.
class GlmSpeechTokenizer {
 public:
  static constexpr int kSampleRate = 16000;  ///< Hz
  static constexpr int64_t kRowSamples = 320;

  /// State of a segment between its blocks: keys and values of the blocks so far.
  class State {
   public:
    /// Drops all rows except the first `rows`, which must be whole blocks.
    void rewind(int64_t rows) { past_->rows = rows; }
    /// Returns the bytes of memory that the keys and values use.
    size_t bytes() const;

   private:
    friend class GlmSpeechTokenizer;
    std::shared_ptr<WhisperBlock::Past> past_;
  };
  /// A block of a segment, as the input of encode().
  struct Block {
    int64_t length = 0;  ///< samples of the segment, at least 1
    float loudest = 0;   ///< largest log-mel value of the segment
    int64_t offset = 0;  ///< index of samples[0] in the segment; a multiple of the samples of a row
    /// The samples of the block, of the 4 rows before it and of the row after it, if these exist.
    std::span<const float> samples;
  };

  /// `weights` is the root of the tokenizer's checkpoint.
  GlmSpeechTokenizer(const GlmSpeechConfig& config, const Weights& weights, WeightType type);

  const GlmSpeechConfig& config() const { return config_; }
  int64_t code_samples() const { return config_.pool * kRowSamples; }
  int64_t block_samples() const { return config_.block * kRowSamples; }
  int64_t segment_samples() const { return config_.positions * kRowSamples; }
  /// Return the number of codes of a segment, and of its block `number`.
  int64_t count(int64_t samples) const { return (samples + code_samples() - 1) / code_samples(); }
  int64_t block_codes(int64_t number, int64_t samples) const;
  /// Returns the extremes of a segment's log-mel for each block.
  MelExtremes extremes(std::span<const float> segment) const;
  /// Returns a key for each block. If a block and all earlier blocks have the same keys in two
  /// segments, their codes and the states after them are the same.
  std::vector<uint64_t> keys(std::span<const float> segment, const MelExtremes& extremes) const;
  State open() const;
  /// Encodes the next block into `codes`, complete when it returns.
  void encode(StepContext& ctx, const Block& block, State& state, std::span<int32_t> codes) const;
  size_t bytes() const;
  /// Moves the weights to a GPU. States opened afterwards are on the GPU, too.
  void move_to(Device device);
  Device device() const { return positions_.device(); }

 private:
  struct Spares;
  void make_mel(const Block& block, int64_t first, const View& out) const;
  void quantize(StepContext& ctx, const View& x, std::span<int32_t> codes) const;

  GlmSpeechConfig config_;
  MelSpectrogram mel_;
  PackedConv1d conv1_, conv2_;
  Tensor positions_;  // [positions, W]
  std::vector<WhisperBlock> layers_;
  PackedLinear codebook_;  // [codes, W]
  Tensor minus_power_;     // [codes], minus the power of each code's row
  DType kv_type_ = DType::kF16;
  std::shared_ptr<Spares> spares_;  // null on the CPU
};

}  // namespace syrinx
