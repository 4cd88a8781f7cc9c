// A voice as data: the output of a family's encoders for a recording, or a vector from a user. Also
// declares the encoders. A Voice is a value, const once made and shared by requests. On disk it is
// a safetensors file (model/voice_file.h). Encoders are const after load and thread-safe.
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
  std::string family;   ///< family whose encoders made the voice; only this family can use it
  std::string encoder;  ///< VoiceEncoderInfo::version of the encoders, or "given" for an embedding
  std::string mode;     ///< how the voice is used: a name from VoiceEncoderInfo::modes
  std::string text = {};  ///< words of the recording; empty: unknown
  double seconds = 0;     ///< length of the recording
  /// Tensors, with names that the family chooses: "speaker" f32 [192], "codes" i32 [T, C], ...
  std::map<std::string, Tensor> tensors = {};

  /// Returns the tensor with that name, or null.
  const Tensor* find(const std::string& name) const;
};

/// Returns a digest of the whole voice, the same on every machine: the key for caches. It is not
/// practical to make a second voice with the same digest.
uint64_t voice_hash(const Voice& voice);

/// A user's recording: mono samples in about [-1, 1], without NaN.
struct Recording {
  std::vector<float> samples = {};
  int sample_rate = 0;    ///< in Hz; encoders resample the samples
  std::string text = {};  ///< words of the recording; empty: unknown
  std::string mode = {};  ///< name of a VoiceMode; empty: the first mode that `text` allows

  double seconds() const { return static_cast<double>(samples.size()) / sample_rate; }
};

/// A way to use a recording: "x-vector" uses only the speaker, with "in-context" the model
/// continues the recording.
struct VoiceMode {
  std::string name;
  bool needs_text = false;  ///< the mode needs Recording::text
};

/// Facts about a voice encoder, with its bounds for recordings.
struct VoiceEncoderInfo {
  std::string family;
  std::string version;           ///< changes whenever the same recording would become another voice
  std::vector<VoiceMode> modes;  ///< the best one first
  double min_s = 1, max_s = 30;  ///< bounds of a recording's length; other recordings are refused
};

/// A recording that is being encoded, one bounded piece at a time. One thread at a time.
class VoiceEncoding {
 public:
  virtual ~VoiceEncoding() = default;
  virtual bool done() const = 0;
  /// Returns the voice. Call it once, after done() is true.
  virtual Voice take() = 0;
};

/// Makes voices from recordings. Const; any thread.
class VoiceEncoder {
 public:
  virtual ~VoiceEncoder() = default;
  virtual const VoiceEncoderInfo& info() const = 0;
  /// Begins to encode a recording that check_recording() has accepted.
  virtual std::unique_ptr<VoiceEncoding> open(const Recording& recording) const = 0;
  /// Runs the next piece of each unfinished encoding. A piece is some tens of milliseconds of work,
  /// so that an encoding can be cancelled and occupies an executor only briefly. A recording yields
  /// the same bits in any batch.
  virtual void run(StepContext& ctx, std::span<VoiceEncoding* const> batch) const = 0;
};

/// Checks that the encoder accepts `recording` (length, mode, text). Returns the recording's mode,
/// or the first possible mode if it names none.
Result<std::string> check_recording(const VoiceEncoderInfo& info, const Recording& recording);

/// A share of a mix: a voice of the model, named, or a voice as data.
struct VoiceShare {
  std::string voice;
  std::shared_ptr<const Voice> data;
  float weight = 1;  ///< above 0; the weights of a mix are scaled to add up to 1
};

}  // namespace syrinx
