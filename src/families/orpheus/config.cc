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
  return std::ranges::find(file.list(kTokens).texts, std::string_view(kFirstCode)) !=
         file.list(kTokens).texts.end();
}

ModelConfig config_of(const llm::ModelConfig& llama, const Tokenizer& tokenizer,
                      const Edition& edition, int64_t block, const std::string& where) {
  ModelConfig c{llama};
  c.max_positions = std::min(kTrainedPositions, c.max_positions);
  c.lm.rope_positions = c.max_positions;
  c.block = block;
  const auto id_of = [&](const std::string& token) {
    const bool optional = token == kAudio;  // files may lack it; then it is 0
    const int32_t id = optional ? tokenizer.id(token).value_or(0) : tokenizer.need_id(token);
    if (id < c.vocab) return id;
    load_fault(where, "vocab_size",
               concat("the id ", id, " of ", token, " is not below ", c.vocab));
  };
  for (const char* token : edition.before) c.before.push_back(id_of(token));
  for (const char* token : edition.behind) c.behind.push_back(id_of(token));
  if (edition.voice_is_token)
    for (const std::string& voice : edition.voices) id_of(concat(edition.voice_begin, voice, ">"));
  c.end_of_speech = id_of(kSpeechEnd), c.first_code = id_of(kFirstCode);
  const int64_t last = c.first_code + kFrameTokens * block;
  if (c.end_of_speech < c.first_code && last <= c.vocab) return c;
  load_fault(where, "vocab_size",
             concat("the codes are ids ", c.first_code, " to ", last - 1, " (", kFrameTokens,
                    " blocks of ", block, ", as many as the codec has), but the model has ",
                    c.vocab, " ids"));
}

}  // namespace syrinx::orpheus
