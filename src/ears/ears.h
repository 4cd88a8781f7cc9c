// The recognisers of a process, opened by name. Thread-safe after that.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ears/recogniser.h"
#include "engine/engine.h"
#include "runtime/runtime.h"

namespace syrinx {

/// What an engine's model recognises speech with: Whisper, or a model that writes recordings down
/// as answers. Null where it does neither.
std::shared_ptr<Recogniser> recogniser_of(const std::shared_ptr<Engine>& engine);

/// "pocketsphinx", or a model: a directory, or a name of the hub's, with an engine of its own.
/// Throws LoadError for what cannot be opened, or does not recognise speech.
std::shared_ptr<Recogniser> open_recogniser(const std::string& name);
std::shared_ptr<Recogniser> open_recogniser(const LoadOptions& model);

/// Whether it is a name of another vendor's recogniser ("whisper-1", "gpt-4o-transcribe").
bool is_vendor_ear(std::string_view name);

/// Recognisers in the order in which they were given; the first stands for the names that other
/// vendors give theirs.
class Ears {
 public:
  Ears() = default;
  /// Throws LoadError when two are called the same.
  explicit Ears(std::vector<std::shared_ptr<Recogniser>> recognisers);

  const std::vector<std::shared_ptr<Recogniser>>& list() const { return recognisers_; }
  /// The one that a client calls `name`; "" is the first. kNotFound names all there are.
  Result<std::shared_ptr<Recogniser>> find(std::string_view name) const;

 private:
  std::vector<std::shared_ptr<Recogniser>> recognisers_;
};

}  // namespace syrinx
