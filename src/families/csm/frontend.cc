#include "families/csm/frontend.h"

namespace syrinx::csm {

Frontend::Frontend(Tokenizer tokenizer)
    : tokenizer_(std::move(tokenizer)),
      begin_(tokenizer_.need_id(kBegin)),
      end_(tokenizer_.need_id(kEnd)) {}

std::vector<int32_t> Frontend::turn(int speaker, std::string_view text) const {
  std::vector<int32_t> ids = tokenizer_.encode(concat("[", speaker, "]", text), false);
  ids.insert(ids.begin(), begin_);
  ids.push_back(end_);
  return ids;
}

}  // namespace syrinx::csm
