// A voice as data: the output of a family's encoders for a recording, or a vector from a user; and
// the encoders themselves. A Voice is a value, const once made and shared by requests; on disk it
// is a safetensors file (model/voice_file.h). Encoders are const after load; thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "tensor/context.h"
#include "tensor/tensor.h"

namespace syrinx {

struct Voice {
  std::string family;   ///< the family whose encoders made it; no other family can use it
  std::string encoder;  ///< their VoiceEncoderInfo::version, or "given" for a user's own embedding
  std::string mode;     ///< the way to use it: one of VoiceEncoderInfo::modes
  std::string text = {};  ///< the words of the recording; empty: not known
  double seconds = 0;     ///< length of the recording
  /// Tensors by names that the family chooses, e.g. "speaker" f32 [192], "codes" i32 [T, C].
  std::map<std::string, Tensor> tensors = {};

  /// Returns the tensor of that name, or null.
  const Tensor* find(const std::string& name) const;
};

/// Returns a digest of everything in the voice, the same on every machine: the key for caches. It
/// is not practical to make another voice with the same digest.
uint64_t voice_hash(const Voice& voice);

/// A user's recording: mono samples in about [-1, 1], free of NaN.
struct Recording {
  std::vector<float> samples = {};
  int sample_rate = 0;    ///< Hz; encoders resample
  std::string text = {};  ///< its words; empty: not known
  std::string mode = {};  ///< empty: the first of VoiceEncoderInfo::modes that its text allows

  double seconds() const { return static_cast<double>(samples.size()) / sample_rate; }
};

/// A way to use a recording, e.g. "x-vector" (the speaker only), "in-context" (the model continues
/// the recording).
struct VoiceMode {
  std::string name;
  bool needs_text = false;  ///< only with Recording::text
};

/// Facts about a voice encoder, with its bounds for recordings.
struct VoiceEncoderInfo {
  std::string family;
  std::string version;           ///< changes whenever the same recording would yield another voice
  std::vector<VoiceMode> modes;  ///< the best one first
  double min_s = 1, max_s = 30;  ///< length of a recording; others are refused
};

/// A recording being encoded, a bounded piece at a time. One thread at a time.
class VoiceEncoding {
 public:
  virtual ~VoiceEncoding() = default;
  virtual bool done() const = 0;
  /// Returns the voice; called once, when done.
  virtual Voice take() = 0;
};

/// Makes voices of recordings. Const; any thread.
class VoiceEncoder {
 public:
  virtual ~VoiceEncoder() = default;
  virtual const VoiceEncoderInfo& info() const = 0;
  /// Begins to encode a recording that check() accepted.
  virtual std::unique_ptr<VoiceEncoding> open(const Recording& recording) const = 0;
  /// Runs the next piece of each unfinished encoding: some tens of milliseconds of work, so that an
  /// encoding can be cancelled and holds an executor only briefly. The result of a recording is the
  /// same bits in any batch.
  virtual void run(StepContext& ctx, std::span<VoiceEncoding* const> batch) const = 0;
};

/// Checks that the encoder can take `recording` (length, mode, text), and sets its mode when it
/// names none.
Result<std::string> check_recording(const VoiceEncoderInfo& info, const Recording& recording);

/// A share of a mix: a voice of the model by name, or a voice as data.
struct VoiceShare {
  std::string voice;
  std::shared_ptr<const Voice> data;
  float weight = 1;  ///< above 0; the shares of a mix are scaled to add up to 1
};

}  // namespace syrinx
