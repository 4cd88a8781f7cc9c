// The recognisers of a process, opened by name. Thread-safe after that.
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

/// Returns the recogniser of an engine's model: Whisper, a model that writes words while samples
/// arrive, or one that transcribes recordings in its answers; null for other models. With `vad`,
/// Whisper skips windows without a voice.
std::shared_ptr<Recogniser> recogniser_of(const std::shared_ptr<Engine>& engine,
                                          std::shared_ptr<const SileroVad> vad = nullptr);

/// Opens the recogniser `name`: "pocketsphinx", or a model, which gets its own engine. A model is a
/// directory or a name of the hub, loaded with the options `how` (`how.model` is ignored). Throws
/// LoadError if `name` cannot be opened or does not recognise speech.
std::shared_ptr<Recogniser> open_recogniser(const std::string& name, LoadOptions how = {},
                                            std::shared_ptr<const SileroVad> vad = nullptr);
std::shared_ptr<Recogniser> open_recogniser(const LoadOptions& model,
                                            std::shared_ptr<const SileroVad> vad = nullptr);

/// Returns whether `name` is a name of another vendor's recogniser ("whisper-1",
/// "gpt-4o-transcribe").
bool is_vendor_ear(std::string_view name);

/// Returns whether a client that names `name` accepts any recogniser: `name` is empty or another
/// vendor's.
inline bool takes_any_ear(std::string_view name) { return name.empty() || is_vendor_ear(name); }

/// Recognisers in the order in which they were given. The first also serves the names of other
/// vendors' recognisers.
class Ears {
 public:
  Ears() = default;
  /// Throws LoadError if two recognisers have the same name.
  explicit Ears(std::vector<std::shared_ptr<Recogniser>> recognisers, bool asked_for = true);

  const std::vector<std::shared_ptr<Recogniser>>& list() const { return recognisers_; }
  /// Returns whether the user named the recognisers. If they were only found installed, a loaded
  /// model that recognises speech is preferred for takes_any_ear() names.
  bool asked_for() const { return asked_for_; }
  /// Returns the recogniser called `name`; "" is the first. The error kNotFound names all of them.
  Result<std::shared_ptr<Recogniser>> find(std::string_view name) const;

 private:
  std::vector<std::shared_ptr<Recogniser>> recognisers_;
  bool asked_for_ = true;
};

}  // namespace syrinx
