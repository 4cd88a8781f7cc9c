// Rebuilds the tokenizer.json from which the tokenizer in a GGUF file was converted.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/check.h"
#include "families/llm/gguf.h"
#include "text/tokens/pre_tokenizer.h"

namespace syrinx::llm {
namespace {

using nlohmann::ordered_json;

constexpr const char* kPrefix = "tokenizer.ggml.";
constexpr const char* kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
    R"(\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr const char* kTekkenPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|)"
    R"(\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kGpt4oPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+)"
    R"([\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// Types of tokens, from ggml-org/llama.cpp:include/llama.h, llama_token_type.
enum GgufToken {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6
};

/// The rules that cut a text into pieces, one for each value of tokenizer.ggml.pre.
struct Cut {
  const char* name;
  const char* pattern;  ///< null: each digit is a piece, and GPT-2's pattern cuts the rest
  bool nfc = false;
  bool whole_words = false;  ///< a piece that equals a token becomes that token, without merges
  bool begins = false;       ///< a text begins with the begin token, unless the file says otherwise
};
std::vector<Cut> cuts() {
  return {{"qwen2", kQwen2Pattern, true},
          {"deepseek-r1-qwen", kQwen2Pattern, false, false, true},
          {"llama-bpe", kLlama3Pattern, false, true, true},
          {"llama3", kLlama3Pattern, false, true, true},
          {"llama-v3", kLlama3Pattern, false, true, true},
          {"smaug-bpe", kLlama3Pattern, false, true},  // SmolLM3, too
          {"dbrx", kLlama3Pattern},
          {"tekken", kTekkenPattern, false, true, true},
          {"gpt-4o", kGpt4oPattern},
          {"smollm", nullptr},
          {"gpt-2", kGpt2Pattern},
          {"olmo", kGpt2Pattern}};
}

std::vector<int> token_types(const GgufFile& file, size_t tokens) {
  const std::string key = concat(kPrefix, "token_type");
  if (!file.has(key)) return std::vector<int>(tokens, kNormal);
  const GgufList& list = file.list(key);
  if (list.numbers.size() != tokens) {
    file.fail(key, concat("has ", list.numbers.size(), " types for ", tokens, " tokens"));
  }
  std::vector<int> out;
  for (const double number : list.numbers)
    out.push_back(number >= 0 && number < 100 ? static_cast<int>(number) : 0);
  return out;
}

/// Returns the merges for a vocabulary with scores, the likeliest first. Rule:
/// transformers:src/transformers/convert_slow_tokenizer.py, generate_merges.
ordered_json merges_of_scores(const GgufFile& file, const ordered_json& vocab) {
  struct Merge {
    std::string left, right;
    double score;
  };
  const GgufList& scores = file.list(concat(kPrefix, "scores"));
  constexpr size_t kLongest = 256;  // bytes of the longest token that a merge makes
  std::unordered_map<std::string, int64_t> ids;
  for (const auto& [token, id] : vocab.items()) ids.emplace(token, id.get<int64_t>());
  std::vector<Merge> merges;
  for (const auto& [token, id] : vocab.items()) {
    const auto at = id.get<size_t>();
    if (at >= scores.numbers.size())
      file.fail("tokenizer.ggml.scores", "has fewer entries than the tokenizer has tokens");
    std::vector<std::pair<std::pair<int64_t, int64_t>, size_t>> local;
    for (size_t cut = 1; cut < token.size() && token.size() <= kLongest; ++cut) {
      const auto left = ids.find(token.substr(0, cut)), right = ids.find(token.substr(cut));
      if (left != ids.end() && right != ids.end())
        local.push_back({{left->second, right->second}, cut});
    }
    std::sort(local.begin(), local.end());
    for (const auto& [pair, cut] : local)
      merges.push_back({token.substr(0, cut), token.substr(cut), scores.numbers[at]});
  }
  std::stable_sort(merges.begin(), merges.end(), [](const Merge& a, const Merge& b) {
    return std::tuple(a.score, a.left.size(), a.right.size()) >
           std::tuple(b.score, b.left.size(), b.right.size());
  });
  ordered_json out = ordered_json::array();
  for (const Merge& merge : merges) out.push_back({merge.left, merge.right});
  return out;
}

/// Describes a tokenizer of bytes (GPT-2's alphabet) that a pattern cuts into pieces.
void describe_bytes(const GgufFile& file, const Cut& cut, ordered_json& json) {
  ordered_json stages = ordered_json::array();
  if (cut.pattern != nullptr) {
    stages.push_back({{"type", "Split"},
                      {"pattern", {{"Regex", cut.pattern}}},
                      {"behavior", "Isolated"},
                      {"invert", false}});
  } else {
    stages.push_back({{"type", "Digits"}, {"individual_digits", true}});
  }
  stages.push_back(
      {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", cut.pattern == nullptr}});
  if (cut.nfc) json["normalizer"] = {{"type", "NFC"}};
  json["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", stages}};
  json["decoder"] = {{"type", "ByteLevel"}};
  json["model"]["ignore_merges"] = cut.whole_words;
  ordered_json merges = ordered_json::array();
  for (const std::string_view merge : file.list(concat(kPrefix, "merges")).texts)
    merges.push_back(merge);
  json["model"]["merges"] = std::move(merges);
}

/// Describes a tokenizer of characters with scores, and of bytes for unknown characters.
void describe_characters(const GgufFile& file, const std::string& unknown, ordered_json& json) {
  constexpr const char* kSpace = "\u2581";
  ordered_json steps = ordered_json::array();
  const bool blank = file.flag(concat(kPrefix, "add_space_prefix"), true);
  if (blank) steps.push_back({{"type", "Prepend"}, {"prepend", kSpace}});
  steps.push_back({{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", kSpace}});
  json["normalizer"] = {{"type", "Sequence"}, {"normalizers", steps}};
  ordered_json decoders = ordered_json::array();
  decoders.push_back({{"type", "Replace"}, {"pattern", {{"String", kSpace}}}, {"content", " "}});
  decoders.push_back({{"type", "ByteFallback"}});
  decoders.push_back({{"type", "Fuse"}});
  if (blank) decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  json["decoder"] = {{"type", "Sequence"}, {"decoders", decoders}};
  json["model"]["byte_fallback"] = true;
  json["model"]["fuse_unk"] = true;
  // Gemma has no unknown token, because it uses bytes.
  if (!unknown.empty()) json["model"]["unk_token"] = unknown;
  json["model"]["merges"] = merges_of_scores(file, json["model"]["vocab"]);
}

}  // namespace

Tokenizer load_gguf_tokenizer(const GgufFile& file, std::string_view absent_pre) {
  const std::string model(file.text(concat(kPrefix, "model")));
  const GgufList& tokens = file.list(concat(kPrefix, "tokens"));
  const std::vector<int> types = token_types(file, tokens.texts.size());
  ordered_json json, added = ordered_json::array();
  std::string unknown;
  ordered_json::object_t vocab;  // filled without a search for each key
  for (size_t id = 0; id < tokens.texts.size(); ++id) {
    const std::string text(tokens.texts[id]);
    const int type = types[id];
    if (type == kUnknown) unknown = text;
    if (type == kNormal || type == kByte || type == kUnknown) vocab.push_back({text, id});
    if (type == kControl || type == kUserDefined || (type == kUnknown && model == "llama")) {
      added.push_back({{"id", id},
                       {"content", text},
                       {"special", type != kUserDefined},
                       {"normalized", false}});
    }
  }
  json["model"] = {{"type", "BPE"}, {"vocab", std::move(vocab)}};
  json["added_tokens"] = std::move(added);
  bool begins = false;
  if (model == "gpt2") {
    const std::string key = concat(kPrefix, "pre");
    const std::string_view pre = absent_pre.empty() ? file.text(key) : file.text(key, absent_pre);
    const std::vector<Cut> all = cuts();
    const auto cut =
        std::find_if(all.begin(), all.end(), [&](const Cut& each) { return pre == each.name; });
    if (cut == all.end()) {
      std::string known;
      for (const Cut& each : all) known += (known.empty() ? "" : ", ") + std::string(each.name);
      file.fail(concat(kPrefix, "pre"), concat(shown(pre), " is not supported; ", known, " are"));
    }
    begins = cut->begins;
    describe_bytes(file, *cut, json);
  } else if (model == "llama") {
    begins = true;
    describe_characters(file, unknown, json);
  } else {
    file.fail(concat(kPrefix, "model"), shown(model) + " is not supported; gpt2 and llama are");
  }
  if (file.flag(concat(kPrefix, "add_bos_token"), begins)) {
    const int64_t id = file.integer(concat(kPrefix, "bos_token_id"));
    if (id < 0 || id >= std::ssize(tokens.texts))
      file.fail(concat(kPrefix, "bos_token_id"), "is not a token");
    const std::string text(tokens.texts[static_cast<size_t>(id)]);
    json["post_processor"] = {
        {"type", "TemplateProcessing"},
        {"single", {{{"SpecialToken", {{"id", text}}}}, {{"Sequence", {{"id", "A"}}}}}},
        {"special_tokens", {{text, {{"ids", {id}}}}}}};
  }
  const auto replace = nlohmann::detail::error_handler_t::replace;
  return Tokenizer::parse_json(json.dump(-1, ' ', false, replace), file.path());
}

}  // namespace syrinx::llm
