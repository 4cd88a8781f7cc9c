// The prepared forms of voices that recent requests contained as data. Requests with the same voice
// share its preparation, its rows in the prefix cache and the flow's prompt. Any thread.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <type_traits>

#include "base/error.h"
#include "model/voice.h"

namespace syrinx {

template <typename V>
class Recent {
 public:
  explicit Recent(size_t most = 16) : most_(most) {}

  /// Returns the voice that `make` makes of `data`, or made of equal data before. `make` returns a
  /// Result of a V, or of a pointer to one.
  template <typename Make>
  Result<std::shared_ptr<const V>> of(const Voice& data, const Make& make) {
    const uint64_t key = voice_hash(data);
    if (std::shared_ptr<const V> known = find(key)) return known;
    auto made = make(data);
    if (!made) return made.error();
    if constexpr (std::is_same_v<decltype(made), Result<V>>) {
      return keep(key, std::make_shared<const V>(made.take()));
    } else {
      return keep(key, made.take());
    }
  }
  /// Returns the voice. Null if it is not stored.
  std::shared_ptr<const V> find(uint64_t key) {
    const std::lock_guard lock(mutex_);
    for (auto it = entries_.begin(); it != entries_.end(); ++it) {
      if (it->key != key) continue;
      entries_.splice(entries_.begin(), entries_, it);
      return entries_.front().voice;
    }
    return nullptr;
  }
  /// Stores and returns `voice` under `key`, or returns the voice that another thread stored.
  std::shared_ptr<const V> keep(uint64_t key, std::shared_ptr<const V> voice) {
    if (std::shared_ptr<const V> known = find(key)) return known;
    const std::lock_guard lock(mutex_);
    entries_.push_front({key, voice});
    if (entries_.size() > most_) entries_.pop_back();
    return voice;
  }

 private:
  struct Entry {
    uint64_t key;
    std::shared_ptr<const V> voice;
  };
  const size_t most_;
  std::mutex mutex_;
  std::list<Entry> entries_;
};

}  // namespace syrinx
