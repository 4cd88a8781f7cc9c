// Whisper's encoder: 30 seconds of log-mel at 16 kHz to rows for cross-attention in a decoder, 50 a
// second. It has two convolutions, a table of positions, and blocks in which every row sees every
// other. The input is a whole window, as in the authors' transcribe(): mel frames that the
// recording lacks are zeros, after the logarithm. A window may also be cut off after some of these
// zeros (WhisperWindow::rows), which needs less time and changes the remaining rows a little.
//
// The work is cut into pieces: the mel, the convolutions, then each block. CPU only.
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

  /// Reads sizes. Throws LoadError for a value that is missing, out of range or not supported.
  static WhisperEncoderConfig load(const Config& root);
};

/// Returns the config of blocks as in Whisper's encoder, with their names; keys have no bias.
DecoderConfig whisper_blocks(int64_t layers, int64_t width, int64_t heads, int64_t ffn);

/// A window of a recording. The authors cut windows out of the whole recording's mel, so samples
/// beyond the window's ends count, too.
struct WhisperWindow {
  static constexpr int kSampleRate = 16000;  ///< Hz
  static constexpr int kHop = 160;           ///< samples between two mel frames
  static constexpr int kFrames = 3000;       ///< mel frames of a window
  static constexpr int kMargin = 2;  ///< frames around a window on which the window's frames depend

  /// [(kFrames + 2 * kMargin) * kHop] samples, which begin `lead` frames before the window.
  std::vector<float> samples;
  int lead = 0;  ///< frames before the window: kMargin, or fewer at the beginning of the recording
  int frames = 0;          ///< frames of the window that the recording has, in [0, kFrames]
  int rows = kFrames / 2;  ///< rows of the encoder, from the first on; 2 * rows >= frames
  float loudest = 0;       ///< largest log-mel value of the whole recording
};

/// A recording that arrives piece by piece and is read window by window. Frames are counted from
/// its beginning. For one thread.
class WhisperRecording {
 public:
  explicit WhisperRecording(int mels) : mel_(whisper_mel(mels)) {}
  /// Appends samples at 16 kHz; `last`: no samples follow.
  void push(std::span<const float> samples, bool last = false);
  bool closed() const { return closed_; }
  /// Return the whole frames so far (those of the authors' mel), and the samples.
  int64_t frames() const { return samples() / WhisperWindow::kHop; }
  int64_t samples() const { return dropped_ + std::ssize(samples_); }
  /// Returns the window that begins at frame `first`, which forget() must not have passed. Before
  /// the end of the recording, the result is that of a recording in which nothing louder follows.
  WhisperWindow window(int64_t first) const;
  /// Allows samples of windows before frame `first` to be dropped.
  void forget(int64_t first);

 private:
  void look(std::span<const float> from_dropped, int64_t end);

  MelSpectrogram mel_;
  std::vector<float> samples_;
  int64_t dropped_ = 0;  // number of dropped samples, whole frames
  int64_t seen_ = 0;     // frames whose mel is included in loudest_
  float loudest_ = -10;  // log-mel of silence
  bool closed_ = false;
};

/// The encoder with its weights.
class WhisperEncoder {
 public:
  static constexpr int kRows = WhisperWindow::kFrames / 2;

  /// Work on one window, with its state between calls. R = WhisperWindow::rows.
  class Work {
   public:
    bool done() const { return pieces_ > 0 && piece_ == pieces_; }
    int left() const { return pieces_ - piece_; }
    /// Returns the rows [R, W], which are complete when the work is done.
    const View& rows() const { return rows_.view(); }

   private:
    friend class WhisperEncoder;
    int piece_ = 0, pieces_ = 0;
    int lead_ = 0, frames_ = 0;
    int64_t all_ = 0;  // R
    float loudest_ = 0;
    Tensor mel_, rows_;  // [1 + 2 R + 1, M] with zero rows as border; [R, W]
  };

  /// `weights` is the scope model.encoder.
  WhisperEncoder(const WhisperEncoderConfig& config, const Weights& weights, WeightType type);

  const WhisperEncoderConfig& config() const { return config_; }
  /// Opens the work for `window`; its samples are passed to run().
  Work open(const WhisperWindow& window) const;
  /// Runs the next piece of an unfinished work; only the first piece reads `samples`, the window's.
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
