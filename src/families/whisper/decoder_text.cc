#include "families/whisper/decoder_text.h"

#include <utility>

#include "io/digest.h"

namespace syrinx::whisper {

DecoderText::DecoderText(int width, int memory_rows, WindowRows memory)
    : width_(width), memory_rows_(memory_rows), memory_(std::move(memory)) {
  if (memory_->size() < static_cast<size_t>(width_) * static_cast<size_t>(memory_rows_)) return;
  Digest digest;
  digest.values(std::span(*memory_));
  memory_key_ = digest.key();
}

void DecoderText::prefix_keys(bool, std::vector<uint64_t>& keys) const {
  for (int row = 0; memory_key_ != 0 && row < memory_rows_; ++row)
    keys.push_back(memory_key_ + static_cast<uint64_t>(row));
}

}  // namespace syrinx::whisper
