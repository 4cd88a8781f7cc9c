#include "voices/voice_cache.h"

#include <utility>

namespace syrinx {
namespace {

size_t bytes_of(const std::string& key, const Voice& voice) {
  size_t bytes = 512 + 2 * key.size() + voice.text.size();  // the entry itself, about
  for (const auto& [name, tensor] : voice.tensors) bytes += name.size() + tensor.bytes();
  return bytes;
}

}  // namespace

std::shared_ptr<const Voice> VoiceCache::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto at = by_key_.find(key);
  if (at == by_key_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, at->second);
  return at->second->voice;
}

void VoiceCache::put(const std::string& key, std::shared_ptr<const Voice> voice) {
  const size_t bytes = bytes_of(key, *voice);
  const std::lock_guard lock(mutex_);
  if (by_key_.contains(key) || bytes > max_bytes_) return;
  entries_.push_front({key, std::move(voice), bytes});
  by_key_[key] = entries_.begin();
  bytes_ += bytes;
  while (bytes_ > max_bytes_) {
    bytes_ -= entries_.back().bytes;
    by_key_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

size_t VoiceCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace syrinx
