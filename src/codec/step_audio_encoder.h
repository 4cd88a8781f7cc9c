// The audio encoder of Step-Audio 2: a recording at 16 kHz to rows of the language model's width,
// 12.5 a second. It has Whisper's log-mel and encoder, in which every row attends to all rows, the
// mean of two rows, a convolution of stride 2, and two linears.
//
// A recording is divided into pieces of 25 s, which are encoded independently. The authors
// pad the pieces of one call to the longest; here a piece is always encoded as if it were
// alone. The work on a piece has several steps: first the mel and the convolutions, then
// each layer, then the adapter. On a GPU, the mel is still computed by the host. Source:
// Step-Audio2:utils.py (log_mel_spectrogram, compute_token_num);
// vox-serve:vox_serve/{encoder,model}/step_audio_2.py, after the authors'
// modeling_step_audio_2.py. Const after construction, shared by threads; a Work is used by
// one call at a time. M mel bands, W width, H width of the language model.
#pragma once

#include <span>

#include "audio/mel.h"
#include "codec/whisper_block.h"
#include "io/json.h"
#include "kernels/conv.h"

namespace syrinx {

/// Sizes, from audio_encoder_config in config.json. Plain data.
struct StepAudioEncoderConfig {
  int64_t mels = 128;
  int64_t width = 1280, layers = 32, heads = 20;
  int64_t positions = 1500;  ///< limit of the rows in a piece
  int64_t hidden = 2048;     ///< width of the adapter's hidden layer
  int64_t out = 3584;        ///< H: width of the language model

  int64_t ffn() const { return 4 * width; }
  /// Reads sizes. Throws LoadError for a value that is missing, out of range or unsupported.
  static StepAudioEncoderConfig load(const Config& root);
};

/// The encoder and the adapter, with their weights.
class StepAudioEncoder {
 public:
  static constexpr int kSampleRate = 16000;  ///< Hz
  static constexpr int64_t kPiece = 25 * kSampleRate;

  /// The work on one piece, with its state between calls.
  class Work {
   public:
    bool done() const { return step_ == steps_; }
    /// Returns the rows [count(samples), H] on the encoder's device. They are complete when the
    /// work is done. On a GPU, a Work may be destroyed only after synchronize().
    View rows() const { return rows_.view().slice(0, count_); }

   private:
    friend class StepAudioEncoder;
    /// Returns the rows that the blocks run on.
    View x() const;
    int64_t samples_ = 0, count_ = 0;
    int step_ = 0, steps_ = 0;
    WhisperBlock::Past past_;
    // [positions, W] and [rows of the longest piece, H], of which the first are in use. The sizes
    // do not vary, so that a GPU uses the memory of earlier works again.
    Tensor x_, rows_;
  };

  /// `encoder` and `adapter` are the scopes with these names.
  StepAudioEncoder(const StepAudioEncoderConfig& config, const Weights& encoder,
                   const Weights& adapter, WeightType type);

  const StepAudioEncoderConfig& config() const { return config_; }
  /// Returns a key of a piece. Pieces with equal keys have equal rows.
  static uint64_t key(std::span<const float> piece);
  /// Returns the number of rows of a piece; 0 if the piece is too short.
  static int64_t count(int64_t samples);
  /// Returns the number of run() calls that a piece needs.
  int steps() const { return static_cast<int>(config_.layers) + 2; }
  /// Opens the work on a piece of `samples` samples, in [1, kPiece].
  Work open(int64_t samples) const;
  /// Runs the next step of a work that is not done. `samples` are all samples of the piece; only
  /// the first step reads them.
  void run(StepContext& ctx, Work& work, std::span<const float> samples) const;
  size_t bytes() const;
  /// Moves the weights to a GPU.
  void move_to(Device device);
  Device device() const { return positions_.device(); }

 private:
  void hear(StepContext& ctx, Work& work, std::span<const float> samples) const;
  void adapt(StepContext& ctx, Work& work) const;

  StepAudioEncoderConfig config_;
  MelSpectrogram mel_;
  PackedConv1d conv1_, conv2_, conv3_;
  Tensor positions_;  // [positions, W]
  std::vector<WhisperBlock> blocks_;
  LayerNorm norm_;
  PackedLinear first_, second_;
};

}  // namespace syrinx
