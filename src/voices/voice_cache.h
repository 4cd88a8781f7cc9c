// Voices as data that were used lately, by what they are made of; the least recently used ones go
// when their bytes add up to too much. A voice in use lives on with its request. Any thread.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "model/voice.h"

namespace syrinx {

class VoiceCache {
 public:
  explicit VoiceCache(size_t max_bytes) : max_bytes_(max_bytes) {}
  /// Null when it is not there.
  std::shared_ptr<const Voice> find(const std::string& key);
  void put(const std::string& key, std::shared_ptr<const Voice> voice);
  size_t bytes() const;

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const Voice> voice;
    size_t bytes = 0;
  };
  const size_t max_bytes_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // the latest first
  std::unordered_map<std::string, std::list<Entry>::iterator> by_key_;
  size_t bytes_ = 0;
};

}  // namespace syrinx
