#include "families/orpheus/config.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "families/llm/gguf.h"
#include "families/loading/checkpoint.h"
#include "io/file.h"

namespace syrinx::orpheus {
namespace {

constexpr int64_t kLlamaVocab = 128256;  // size of Llama 3's vocabulary, with its special tokens
constexpr int64_t kOrpheusVocab = kLlamaVocab + 10 + kFrameTokens * 4096;  // ids without padding
constexpr int64_t kMostPadding = 64;
// Length of the sequences in training. The config still has Llama's 131072.
constexpr int64_t kTrainedPositions = 8192;

}  // namespace

bool claims(const Config& root) {
  const auto vocab = root.raw().find("vocab_size");
  if (model_type(root) != "llama") return false;
  if (vocab == root.raw().end() || !vocab->is_number_integer()) return false;
  const auto size = vocab->get<int64_t>();
  return size >= kOrpheusVocab && size <= kOrpheusVocab + kMostPadding;
}

bool claims_file(const GgufFile& file) {
  constexpr const char* kTokens = "tokenizer.ggml.tokens";
  if (file.text("general.architecture", "") != "llama" || !file.has(kTokens)) return false;
  return std::ranges::find(file.list(kTokens).texts, kFirstCode) != file.list(kTokens).texts.end();
}

ModelConfig config_of(const llm::ModelConfig& llama) {
  ModelConfig m{llama};
  m.max_positions = std::min(kTrainedPositions, m.max_positions);
  m.lm.rope_positions = m.max_positions;
  return m;
}

TokenIds load_ids(const Tokenizer& tokenizer) {
  const auto custom = [&](int number) {
    return tokenizer.need_id("<custom_token_" + std::to_string(number) + ">");
  };
  TokenIds ids;
  ids.begin_of_text = tokenizer.need_id("<|begin_of_text|>");
  ids.end_of_text = tokenizer.need_id("<|eot_id|>");
  ids.start_of_speech = custom(1);
  ids.end_of_speech = custom(2);
  ids.start_of_human = custom(3);
  ids.end_of_human = custom(4);
  ids.start_of_ai = custom(5);
  ids.first_code = tokenizer.need_id(kFirstCode);
  ids.audio = tokenizer.id("<|audio|>").value_or(0);
  return ids;
}

TokenIds published_ids() {
  return {128000, 128009, 128259, 128260, 128261, 128257, 128258, 128266, 0};
}

void check_ids(const ModelConfig& c, const std::string& where) {
  const auto last = static_cast<int64_t>(c.ids.first_code) + kFrameTokens * c.block;
  if (c.ids.end_of_speech >= c.ids.first_code || last > c.vocab) {
    load_fault(where, "vocab_size",
               concat("the codes are ids ", c.ids.first_code, " to ", last - 1, " (", kFrameTokens,
                      " blocks of ", c.block, ", as many as the codec has), but the model has ",
                      c.vocab, " ids"));
  }
  for (const int32_t id :
       {c.ids.begin_of_text, c.ids.end_of_text, c.ids.start_of_human, c.ids.end_of_human,
        c.ids.start_of_ai, c.ids.start_of_speech, c.ids.audio}) {
    if (id < 0 || id >= c.vocab) {
      load_fault(where, "vocab_size", concat("the tokenizer's id ", id, " is not below ", c.vocab));
    }
  }
}

}  // namespace syrinx::orpheus
