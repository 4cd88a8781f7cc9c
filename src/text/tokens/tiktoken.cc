// Loads tiktoken's vocabularies. A line has the bytes of a token in base64 and its rank, which is
// also its id. The file has neither special tokens nor the pattern that cuts a text.
#include <algorithm>
#include <charconv>
#include <optional>

#include "base/check.h"
#include "base/error.h"
#include "io/file.h"
#include "io/json.h"
#include "text/tokens/tokenizer_parts.h"

namespace syrinx {

std::optional<std::string> bytes_of_base64(std::string_view text) {
  std::string out;
  uint32_t bits = 0;
  int held = 0;
  size_t letters = 0;
  for (; letters < text.size() && text[letters] != '='; ++letters) {
    const char c = text[letters];
    int value = -1;
    if (c >= 'A' && c <= 'Z') value = c - 'A';
    if (c >= 'a' && c <= 'z') value = c - 'a' + 26;
    if (c >= '0' && c <= '9') value = c - '0' + 52;
    if (c == '+') value = 62;
    if (c == '/') value = 63;
    if (value < 0) return {};
    bits = bits << 6 | static_cast<uint32_t>(value);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    out += static_cast<char>(bits >> held & 0xff);
  }
  const bool padded = text.find_first_not_of('=', letters) == text.npos;
  if (!padded || text.size() % 4 != 0 || text.size() - letters > 2) return {};
  return out;
}

namespace {

constexpr size_t kMaxRankBytes = 64 << 20;
constexpr size_t kMaxTokenBytes = 1 << 10;
constexpr int32_t kMaxTokens = 1 << 21;

/// Returns the bytes of the token of each rank.
std::vector<std::string> read_ranks(const std::string& path) {
  const std::string text = read_file(path, kMaxRankBytes);
  std::vector<std::string> tokens;
  size_t line = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view row(text.data() + begin, end - begin);
    begin = end + 1;
    ++line;
    if (row.ends_with('\r')) row.remove_suffix(1);
    if (row.empty()) continue;
    const size_t space = row.find(' ');
    const auto fail = [&](const std::string& what) {
      load_fault(path, concat("line ", line), what);
    };
    if (space == row.npos) fail("expected base64 and a rank (is the file sentencepiece's?)");
    const auto bytes = bytes_of_base64(row.substr(0, space));
    int32_t rank = -1;
    const std::string_view digits = row.substr(space + 1);
    const auto [stop, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
    if (!bytes || bytes->empty() || bytes->size() > kMaxTokenBytes)
      fail("expected the base64 of a token");
    if (fault != std::errc() || stop != digits.data() + digits.size() || rank < 0 ||
        rank >= kMaxTokens)
      fail(concat("expected a rank in [0, ", kMaxTokens, ")"));
    if (static_cast<size_t>(rank) >= tokens.size()) tokens.resize(static_cast<size_t>(rank) + 1);
    if (!tokens[static_cast<size_t>(rank)].empty()) fail(concat("rank ", rank, " is given twice"));
    tokens[static_cast<size_t>(rank)] = *bytes;
  }
  const auto gap = std::find(tokens.begin(), tokens.end(), "");
  if (tokens.empty() || gap != tokens.end())
    load_fault(path, "", concat("rank ", gap - tokens.begin(), " is missing"));
  return tokens;
}

/// Returns all merges of two tokens whose concatenation is a token. The ranks decide which merge is
/// used first. Ids without bytes are unused.
std::vector<BpeMerge> merges_of(const std::vector<std::string>& tokens, const std::string& path) {
  std::unordered_map<std::string_view, int32_t> ids;
  ids.reserve(tokens.size());
  for (size_t id = 0; id < tokens.size(); ++id) {
    if (!tokens[id].empty() && !ids.emplace(tokens[id], static_cast<int32_t>(id)).second)
      load_fault(path, concat("rank ", id), "its token is given twice");
  }
  std::vector<BpeMerge> merges;
  for (size_t id = 0; id < tokens.size(); ++id) {
    const std::string_view token = tokens[id];
    for (size_t cut = 1; cut < token.size(); ++cut) {
      const auto left = ids.find(token.substr(0, cut));
      if (left == ids.end()) continue;
      const auto right = ids.find(token.substr(cut));
      if (right == ids.end()) continue;
      merges.push_back({left->second, right->second, static_cast<int32_t>(id)});
    }
  }
  return merges;
}

}  // namespace

TokenizerParts read_tiktoken(const std::string& path, const std::string& pattern,
                             const std::string& config, std::vector<AddedToken> extra) {
  std::vector<AddedToken> added;
  if (!config.empty()) added = added_in_config(Config::load(config));
  for (AddedToken& token : added) token.special = true;  // all added tokens of tiktoken are special
  added.insert(added.end(), std::make_move_iterator(extra.begin()),
               std::make_move_iterator(extra.end()));
  return parts_of_ranks(read_ranks(path), path, pattern, std::move(added));
}

TokenizerParts parts_of_ranks(std::vector<std::string> ranks, const std::string& path,
                              const std::string& pattern, std::vector<AddedToken> added) {
  BpeTables tables;
  tables.bytes = std::move(ranks);
  for (const std::string& bytes : tables.bytes) tables.reachable.push_back(!bytes.empty());
  tables.merges = merges_of(tables.bytes, path);
  tables.rank_is_result = tables.ignore_merges = true;
  std::vector<SplitStage> stages(1);
  stages[0].pattern.emplace_back(pattern, path);
  TokenizerParts parts{.path = path,
                       .raw = {},
                       .normalized = {},
                       .added_ids = {},
                       .added = {},
                       .normalizer = Normalizer(NormalForm::kNone),
                       .pieces = PreTokenizer(std::move(stages)),
                       .bpe = Bpe(std::move(tables)),
                       .prefix = {},
                       .suffix = {}};
  for (const AddedToken& token : added) {
    if (token.id < 0 || !parts.bpe.bytes(token.id).empty() || token.id >= kMaxTokens ||
        token.content.empty())
      load_fault(path, concat("added token ", token.id),
                 "expected a text and an id that no rank has");
    const bool fresh = parts.added.emplace(token.id, token).second &&
                       parts.added_ids.emplace(token.content, token.id).second;
    if (!fresh) load_fault(path, concat("added token ", token.id), "is given twice");
  }
  parts.raw = AddedTokens(std::move(added));
  return parts;
}

}  // namespace syrinx
