#include "families/csm/frontend.h"

#include <charconv>

namespace syrinx::csm {

Frontend::Frontend(Tokenizer tokenizer)
    : tokenizer_(std::move(tokenizer)),
      begin_(tokenizer_.need_id(kBegin)),
      end_(tokenizer_.need_id(kEnd)) {}

Result<int> Frontend::speaker(const std::string& voice) const {
  int number = 0;
  const char* end = voice.data() + voice.size();
  if (!voice.empty()) {
    const auto [stop, fault] = std::from_chars(voice.data(), end, number);
    if (fault != std::errc() || stop != end || number < 0 || number > kMaxSpeaker) {
      return Error{ErrorCode::kNotFound,
                   "the model has no voice \"" + voice + "\"; its speakers are numbers from 0 to " +
                       std::to_string(kMaxSpeaker),
                   "voice"};
    }
  }
  return number;
}

std::vector<int32_t> Frontend::turn(int speaker, std::string_view text) const {
  std::vector<int32_t> ids = tokenizer_.encode(concat("[", speaker, "]", text), false);
  ids.insert(ids.begin(), begin_);
  ids.push_back(end_);
  return ids;
}

}  // namespace syrinx::csm
