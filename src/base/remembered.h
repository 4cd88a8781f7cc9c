// A cache of values by key, limited in bytes. Removes the least recently used values first. For
// values that are costly to make and can be made again. Any thread. A removed value stays valid for
// its users.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace syrinx {

template <typename Key, typename Value>
class Remembered {
 public:
  explicit Remembered(size_t most_bytes) : most_bytes_(most_bytes) {}

  /// Returns the value; null if the cache lacks it.
  std::shared_ptr<Value> find(const Key& key) {
    const std::lock_guard lock(mutex_);
    const auto at = by_key_.find(key);
    if (at == by_key_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, at->second);
    return at->second->value;
  }
  /// Returns the value and removes it; null if the cache lacks it.
  std::shared_ptr<Value> take(const Key& key) {
    const std::lock_guard lock(mutex_);
    const auto at = by_key_.find(key);
    if (at == by_key_.end()) return nullptr;
    std::shared_ptr<Value> value = std::move(at->second->value);
    forget(at->second);
    return value;
  }
  /// Adds a value, unless the key already has one or the value alone exceeds the limit.
  void keep(const Key& key, std::shared_ptr<Value> value, size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (by_key_.contains(key) || bytes > most_bytes_) return;
    entries_.push_front({key, std::move(value), bytes});
    by_key_[key] = entries_.begin();
    bytes_ += bytes;
    while (bytes_ > most_bytes_) forget(std::prev(entries_.end()));
  }
  size_t bytes() const {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }

 private:
  struct Entry {
    Key key;
    std::shared_ptr<Value> value;
    size_t bytes = 0;
  };
  using Place = typename std::list<Entry>::iterator;

  void forget(Place entry) {
    bytes_ -= entry->bytes;
    by_key_.erase(entry->key);
    entries_.erase(entry);
  }

  const size_t most_bytes_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // most recently used first
  std::unordered_map<Key, Place> by_key_;
  size_t bytes_ = 0;
};

}  // namespace syrinx
