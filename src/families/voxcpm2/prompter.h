// Text as VoxCPM2 is given it. Const after construction; thread-safe.
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

  /// Throws LoadError where the tokenizer has ids that the model has not.
  Prompter(const ModelConfig& config, Tokenizer tokenizer);

  /// Ids of a text. Tokens of several Chinese characters become those of each; control tokens
  /// written out are plain text.
  std::vector<int32_t> text(std::string_view text) const;

 private:
  void find_chinese(int32_t unknown);

  Tokenizer tokenizer_;
  std::unordered_map<int32_t, std::vector<int32_t>> characters_;  // of such tokens
};

/// A text to speak with one space for every run of white space.
std::string one_spaced(std::string_view text);

}  // namespace syrinx::voxcpm2
