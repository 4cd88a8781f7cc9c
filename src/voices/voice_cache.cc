#include "voices/voice_cache.h"

#include <utility>

namespace syrinx {

void VoiceCache::put(const std::string& key, std::shared_ptr<const Voice> voice) {
  size_t bytes = 512 + 2 * key.size() + voice->text.size();  // approximate size of the entry
  for (const auto& [name, tensor] : voice->tensors) bytes += name.size() + tensor.bytes();
  voices_.keep(key, std::move(voice), bytes);
}

}  // namespace syrinx
