// Whisper's encoder: 30 seconds of log-mel at 16 kHz to rows that a decoder remembers, 50 a second.
// Two convolutions, a table of positions, blocks in which every row sees every other. Always a
// whole window: what is not there of it is zeros behind the logarithm, as in the authors'
// transcribe().
//
// The work is cut into pieces: the mel, the convolutions, a block. CPU only.
// Source: whisper:whisper/{audio,model}.py; names of transformers:src/transformers/models/whisper.
// Const after construction, shared by threads; a Work is used by one call at a time.
// M mel bands, W width, N = 1500 rows.
#pragma once

#include <span>

#include "audio/mel.h"
#include "io/json.h"
#include "kernels/conv.h"
#include "nn/decoder.h"

namespace syrinx {

/// Sizes, from config.json. Plain data.
struct WhisperEncoderConfig {
  int64_t mels = 80;
  int64_t width = 384, layers = 4, heads = 6, ffn = 1536;

  /// Throws LoadError for what is missing, out of range or not supported.
  static WhisperEncoderConfig load(const Config& root);
};

/// Blocks as Whisper's encoder has them, with its names; keys have no bias.
DecoderConfig whisper_blocks(int64_t layers, int64_t width, int64_t heads, int64_t ffn);

/// A window of a recording, cut where the authors cut it: out of the mel of the whole recording.
struct WhisperWindow {
  static constexpr int kSampleRate = 16000;  ///< Hz
  static constexpr int kHop = 160;           ///< samples of a mel frame
  static constexpr int kFrames = 3000;       ///< mel frames of a window
  static constexpr int kMargin = 2;          ///< frames around it that its own ones reach into

  /// [(kFrames + 2 * kMargin) * kHop], from `lead` frames before the window on.
  std::vector<float> samples;
  int lead = 0;       ///< kMargin, or fewer at the beginning of the recording
  int frames = 0;     ///< of the window that the recording has, in [0, kFrames]
  float loudest = 0;  ///< the largest number of the mel of the whole recording
};

/// A recording that comes piece by piece and leaves by windows. Frames are counted from its
/// beginning. One thread.
class WhisperRecording {
 public:
  explicit WhisperRecording(int mels) : mel_(whisper_mel(mels)) {}
  /// More samples at 16 kHz, and whether they are the last.
  void push(std::span<const float> samples, bool last = false);
  bool closed() const { return closed_; }
  /// Whole frames so far, those of the authors' mel.
  int64_t frames() const { return samples() / WhisperWindow::kHop; }
  int64_t samples() const { return dropped_ + std::ssize(samples_); }
  /// The window that begins at frame `first`, which must not have been forgotten. Before the end
  /// of the recording: as if nothing louder came.
  WhisperWindow window(int64_t first) const;
  /// Windows before frame `first` are not asked for any more.
  void forget(int64_t first);

 private:
  void look(std::span<const float> from_dropped, int64_t end);

  MelSpectrogram mel_;
  std::vector<float> samples_;
  int64_t dropped_ = 0;  // samples, whole frames
  int64_t seen_ = 0;     // frames
  float loudest_ = -10;  // silence
  bool closed_ = false;
};

/// The encoder with its weights.
class WhisperEncoder {
 public:
  static constexpr int kRows = WhisperWindow::kFrames / 2;

  /// One window between calls.
  class Work {
   public:
    bool done() const { return pieces_ > 0 && piece_ == pieces_; }
    int left() const { return pieces_ - piece_; }
    /// Complete when done: [N, W].
    const View& rows() const { return rows_.view(); }

   private:
    friend class WhisperEncoder;
    int piece_ = 0, pieces_ = 0;
    int lead_ = 0, frames_ = 0;
    float loudest_ = 0;
    Tensor mel_, rows_;  // [1 + kFrames + 1, M] with zeros around, [N, W]
  };

  /// `weights` is the scope model.encoder.
  WhisperEncoder(const WhisperEncoderConfig& config, const Weights& weights, WeightType type);

  const WhisperEncoderConfig& config() const { return config_; }
  /// Facts of `window` beside its samples.
  Work open(const WhisperWindow& window) const;
  /// The next piece of an unfinished work; `samples` are the window's, read by the first one only.
  void run(StepContext& ctx, Work& work, std::span<const float> samples) const;
  int pieces() const { return static_cast<int>(config_.layers) + 3; }
  size_t bytes() const;

 private:
  void make_mel(Work& work, std::span<const float> samples) const;
  void convolve(StepContext& ctx, Work& work) const;

  WhisperEncoderConfig config_;
  MelSpectrogram mel_;
  PackedConv1d conv1_, conv2_;
  Tensor positions_;  // [N, W]
  Decoder blocks_;
};

}  // namespace syrinx
