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

/// The recogniser of an engine's model: Whisper, or a model that writes recordings down
/// as answers. Null where it does neither. With `vad` Whisper looks at no windows without a voice.
std::shared_ptr<Recogniser> recogniser_of(const std::shared_ptr<Engine>& engine,
                                          std::shared_ptr<const SileroVad> vad = nullptr);

/// "pocketsphinx", or a model: a directory, or a name of the hub's, loaded as `how` says (its
/// `model` apart), with an engine of its own. Throws LoadError for what cannot be opened, or does
/// not recognise speech.
std::shared_ptr<Recogniser> open_recogniser(const std::string& name, LoadOptions how = {},
                                            std::shared_ptr<const SileroVad> vad = nullptr);
std::shared_ptr<Recogniser> open_recogniser(const LoadOptions& model,
                                            std::shared_ptr<const SileroVad> vad = nullptr);

/// Whether it is a name of another vendor's recogniser ("whisper-1", "gpt-4o-transcribe").
bool is_vendor_ear(std::string_view name);

/// Whether a client that names `name` takes any recogniser: no name, or another vendor's.
inline bool takes_any_ear(std::string_view name) { return name.empty() || is_vendor_ear(name); }

/// Recognisers in the order in which they were given; the first stands for the names that other
/// vendors give theirs.
class Ears {
 public:
  Ears() = default;
  /// Throws LoadError when two are called the same.
  explicit Ears(std::vector<std::shared_ptr<Recogniser>> recognisers, bool asked_for = true);

  const std::vector<std::shared_ptr<Recogniser>>& list() const { return recognisers_; }
  /// False: they are there because they are installed. For takes_any_ear() names a model that is
  /// loaded and recognises speech then comes before them.
  bool asked_for() const { return asked_for_; }
  /// The one that a client calls `name`; "" is the first. kNotFound names all there are.
  Result<std::shared_ptr<Recogniser>> find(std::string_view name) const;

 private:
  std::vector<std::shared_ptr<Recogniser>> recognisers_;
  bool asked_for_ = true;
};

}  // namespace syrinx
