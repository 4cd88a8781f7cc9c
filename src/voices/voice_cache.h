// A cache of recently used voices (as data), by the key of their source. Thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/remembered.h"
#include "model/voice.h"

namespace syrinx {

class VoiceCache {
 public:
  explicit VoiceCache(size_t max_bytes) : voices_(max_bytes) {}
  /// Returns the voice; null if the cache lacks it.
  std::shared_ptr<const Voice> find(const std::string& key) { return voices_.find(key); }
  void put(const std::string& key, std::shared_ptr<const Voice> voice);
  size_t bytes() const { return voices_.bytes(); }

 private:
  Remembered<std::string, const Voice> voices_;
};

}  // namespace syrinx
