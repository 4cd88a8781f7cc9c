// Turns text into the ids that VoxCPM2 reads. Const after construction; thread-safe.
// Source: VoxCPM:src/voxcpm/{core.py,model/utils.py}.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "families/voxcpm2/config.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::voxcpm2 {

class Prompter {
 public:
  // Constants of the authors' program.
  static constexpr int32_t kAudioStart = 101, kReferenceStart = 103, kReferenceEnd = 104;

  /// Throws LoadError if the tokenizer has ids that the model lacks.
  Prompter(const ModelConfig& config, Tokenizer tokenizer);

  /// Returns the ids of a text. A token of several Chinese characters is replaced by the token of
  /// each character; control tokens in a client's text are plain text.
  std::vector<int32_t> text(std::string_view text) const;

 private:
  void find_chinese(int32_t unknown);

  Tokenizer tokenizer_;
  // characters' ids, by id of such a token
  std::unordered_map<int32_t, std::vector<int32_t>> characters_;
};

/// Returns a text with one space for every run of white space.
std::string one_spaced(std::string_view text);

}  // namespace syrinx::voxcpm2
