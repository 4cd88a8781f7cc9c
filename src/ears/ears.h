// The recognisers of a process, opened by name. Thread-safe after opening.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ears/recogniser.h"
#include "ears/silero.h"
#include "engine/engine.h"
#include "runtime/runtime.h"

namespace syrinx {

/// Returns the recogniser for an engine's model: Whisper, a model that writes words while samples
/// arrive, or a model that transcribes recordings in its answers. Returns null for other models.
/// With `vad`, Whisper skips windows without a voice.
std::shared_ptr<Recogniser> recogniser_of(const std::shared_ptr<Engine>& engine,
                                          std::shared_ptr<const SileroVad> vad = nullptr);

/// Opens the recogniser `name`: "pocketsphinx", or a model, which runs on its own engine. A model
/// is a directory or a name on the Hugging Face hub, loaded with the options `how` (`how.model` is
/// ignored). Throws LoadError if `name` cannot be opened or does not recognise speech.
std::shared_ptr<Recogniser> open_recogniser(const std::string& name, LoadOptions how = {},
                                            std::shared_ptr<const SileroVad> vad = nullptr);
std::shared_ptr<Recogniser> open_recogniser(const LoadOptions& model,
                                            std::shared_ptr<const SileroVad> vad = nullptr);

/// Returns whether `name` is the name of another vendor's recogniser, such as "whisper-1" or
/// "gpt-4o-transcribe".
bool is_vendor_ear(std::string_view name);

/// Returns whether a client that requests `name` accepts any recogniser: `name` is empty or the
/// name of another vendor's recogniser.
inline bool takes_any_ear(std::string_view name) { return name.empty() || is_vendor_ear(name); }

/// The list of recognisers. The first one also serves clients that request another vendor's
/// recogniser.
class Ears {
 public:
  Ears() = default;
  /// Throws LoadError if two recognisers have the same name. `asked_for`: see asked_for().
  explicit Ears(std::vector<std::shared_ptr<Recogniser>> recognisers, bool asked_for = true);

  const std::vector<std::shared_ptr<Recogniser>>& list() const { return recognisers_; }
  /// Returns whether the user named the recognisers. If not, they are those found installed, and a
  /// client for which takes_any_ear() is true prefers a loaded model that recognises speech.
  bool asked_for() const { return asked_for_; }
  /// Returns the recogniser `name`, or the first one for "". The error kNotFound lists all names.
  Result<std::shared_ptr<Recogniser>> find(std::string_view name) const;

 private:
  std::vector<std::shared_ptr<Recogniser>> recognisers_;
  bool asked_for_ = true;
};

}  // namespace syrinx
