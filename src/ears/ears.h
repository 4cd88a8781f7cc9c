// The recognisers of a process, opened by name. Thread-safe after that.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ears/recogniser.h"

namespace syrinx {

/// "pocketsphinx", or a Whisper: a directory, or a name of the hub's. Throws LoadError for what
/// cannot be opened.
std::shared_ptr<Recogniser> open_recogniser(const std::string& name);

/// Recognisers in the order in which they were given; the first stands for the names that other
/// vendors give theirs ("whisper-1", "gpt-4o-transcribe").
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
