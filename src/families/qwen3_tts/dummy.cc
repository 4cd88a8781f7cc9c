#include "families/qwen3_tts/dummy.h"

#include "text/tokenizer_parts.h"

namespace syrinx::qwen3_tts {

Tokenizer byte_tokenizer() {
  BpeTables tables;
  for (int byte = 0; byte < 256; ++byte) tables.bytes.emplace_back(1, static_cast<char>(byte));
  // The role must be one id: "as", "ass", ... "assistant".
  const std::string role = "assistant";
  int32_t left = role[0];
  for (size_t size = 2; size <= role.size(); ++size) {
    const auto result = static_cast<int32_t>(tables.bytes.size());
    tables.bytes.push_back(role.substr(0, size));
    tables.merges.push_back({left, role[size - 1], result});
    left = result;
  }
  tables.reachable.assign(tables.bytes.size(), true);
  return Tokenizer(std::make_shared<const TokenizerParts>(
      TokenizerParts{.path = "(bytes)",
                     .raw = {},
                     .normalized = {},
                     .added_ids = {},
                     .added = {},
                     .form = NormalForm::kNone,
                     .pieces = PreTokenizer(std::vector<SplitStage>{}),
                     .bpe = Bpe(std::move(tables)),
                     .prefix = {},
                     .suffix = {}}));
}

}  // namespace syrinx::qwen3_tts
