// Loads tokenizers from their files.
#include <algorithm>
#include <charconv>
#include <limits>

#include "base/check.h"
#include "base/error.h"
#include "io/file.h"
#include "io/json.h"
#include "text/tokens/json_file.h"
#include "text/tokens/tokenizer_parts.h"

namespace syrinx {
namespace {

using simdjson::dom::element;

constexpr int64_t kMaxId = JsonFile::kMaxId;
constexpr size_t kMaxMerges = 1 << 22;
constexpr const char* kSpaceMark = "\u2581";  // sentencepiece's mark for a space

/// Collects the vocabulary and the merges, and checks that they match.
class TableBuilder {
 public:
  /// `tokens` must outlive the builder. With `characters`, tokens are written as text or as bytes
  /// ("<0x0A>"). Otherwise they are written in GPT-2's alphabet.
  TableBuilder(const JsonFile& file, simdjson::dom::object tokens, bool characters = false) {
    tables_.characters = characters;
    tables_.byte_tokens.fill(-1);
    // Ids index a table, so a few tokens must not make the table huge.
    const auto max_id = static_cast<int32_t>(4 * tokens.size() + (1 << 16));
    ids_.reserve(tokens.size());
    tables_.bytes.reserve(tokens.size());
    for (const auto& [token, value] : tokens) {
      const int32_t id = file.id(value, "vocab " + shown(token));
      if (id > max_id)
        file.fail("vocab " + shown(token), concat("expected an id of at most ", max_id, " among ",
                                                  tokens.size(), " tokens, got ", id));
      if (static_cast<size_t>(id) >= tables_.bytes.size()) tables_.bytes.resize(id + 1);
      if (!ids_.emplace(token, id).second) file.fail("vocab " + shown(token), "is given twice");
      std::string& bytes = tables_.bytes[id];
      if (!bytes.empty()) file.fail("vocab " + shown(token), concat("id ", id, " is given twice"));
      tables_.reachable.resize(tables_.bytes.size());
      bool whole = true;
      bytes = characters ? std::string(token) : undo_byte_alphabet(token, whole);
      tables_.reachable[id] = whole;
      if (characters) take_byte(token, id);
    }
  }

  int32_t find(std::string_view token) const {
    const auto found = ids_.find(token);
    return found == ids_.end() ? -1 : found->second;
  }
  size_t count() const { return ids_.size(); }

  /// `where` returns the file and line for messages.
  template <typename Where>
  void add_merge(std::string_view left, std::string_view right, Where&& where) {
    if (tables_.merges.size() == kMaxMerges) throw LoadError(where() + ": too many merges");
    joined_.assign(left).append(right);
    const BpeMerge merge{find(left), find(right), find(joined_)};
    if (merge.left < 0 || merge.right < 0 || merge.result < 0)
      throw LoadError(where() + ": " + shown(left) + " " + shown(right) +
                      ": expected both and their concatenation in the vocabulary");
    tables_.merges.push_back(merge);
  }

  /// Adds a merge given as one text: two tokens with a space between them.
  template <typename Where>
  void add_merge(std::string_view line, Where&& where) {
    const size_t space = line.find(' ');
    if (space == line.npos || line.find(' ', space + 1) != line.npos)
      throw LoadError(where() + ": expected two tokens, got " + shown(line));
    add_merge(line.substr(0, space), line.substr(space + 1), where);
  }

  BpeTables& tables() { return tables_; }

 private:
  /// Notes that "<0x0A>" means the byte 0x0A, not this text.
  void take_byte(std::string_view token, int32_t id) {
    unsigned byte = 0;
    if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return;
    const auto [end, fault] = std::from_chars(token.data() + 3, token.data() + 5, byte, 16);
    if (fault != std::errc() || end != token.data() + 5) return;
    tables_.byte_tokens[byte] = id;
    tables_.bytes[id].assign(1, static_cast<char>(byte));
    tables_.reachable[id] = false;
  }

  BpeTables tables_;
  std::unordered_map<std::string_view, int32_t> ids_;
  std::string joined_;
};

/// Divides added tokens into those to be found in the original text and those in normalized text.
class AddedBuilder {
 public:
  AddedBuilder(const TableBuilder& vocab, std::string path)
      : vocab_(vocab), path_(std::move(path)) {}

  void add(AddedToken token) {
    const auto known = ids_.find(token.content);
    if (token.id < 0 && known != ids_.end()) token.id = known->second;
    if (token.id < 0) token.id = vocab_.find(token.content);
    if (token.id < 0) token.id = next_;
    if (token.content.empty() || token.id > kMaxId)
      load_fault(path_, concat("added token ", token.id), "expected a text and an id in range");
    const auto [same, fresh] = tokens_.emplace(token.id, token);
    if (!fresh && same->second.content != token.content)
      load_fault(path_, concat("added token ", token.id),
                 concat("is both ", shown(same->second.content), " and ", shown(token.content)));
    same->second = token;
    ids_[token.content] = token.id;
    next_ = std::max(next_, token.id + 1);
  }

  /// Adds `extra`, the tokens of the program, to those of the file; stores all tokens in `parts`.
  void finish(std::vector<AddedToken> extra, TokenizerParts& parts) {
    next_ = std::max<int32_t>(next_, static_cast<int32_t>(vocab_.count()));
    for (auto& token : extra) add(std::move(token));
    std::vector<AddedToken> raw, normalized;
    for (auto [id, token] : tokens_) {
      if (token.normalized) {
        token.content = parts.normalizer(token.content);
        normalized.push_back(token);
      } else {
        raw.push_back(token);
      }
    }
    parts.raw = AddedTokens(std::move(raw));
    parts.normalized = AddedTokens(std::move(normalized));
    parts.added = std::move(tokens_);
    parts.added_ids = std::move(ids_);
  }

 private:
  const TableBuilder& vocab_;
  std::string path_;
  std::unordered_map<int32_t, AddedToken> tokens_;
  std::unordered_map<std::string, int32_t> ids_;
  int32_t next_ = 0;
};

/// Reads the parts of tokenizer.json.
class JsonLoader {
 public:
  explicit JsonLoader(const std::string& path) : file_(path) {}
  JsonLoader(std::string_view json, const std::string& path) : file_(json, path) {}

  TokenizerParts read(std::vector<AddedToken> extra) {
    const element root = file_.root();
    if (!root.is_object()) file_.fail("", "expected an object");
    const element model = file_.get(root, "model", "");
    check_model(model);
    const bool characters = file_.flag(model, "byte_fallback", false, "model.");
    TableBuilder tables(file_, file_.map(model, "vocab", "model."), characters);
    read_merges(model, tables);
    read_unknown(model, tables);
    if (JsonFile::has(root, "normalizer")) read_normalizer(file_.get(root, "normalizer", ""));
    if (JsonFile::has(root, "pre_tokenizer")) read_stage(file_.get(root, "pre_tokenizer", ""));
    if (byte_level_ == characters) {
      file_.fail("pre_tokenizer", characters
                                      ? "ByteLevel and model.byte_fallback exclude each other"
                                      : "expected a byte-level model (ByteLevel)");
    }
    if (!characters && JsonFile::has(root, "decoder") &&
        file_.text(root["decoder"].value(), "type", "decoder.") != "ByteLevel")
      file_.fail("decoder.type", "expected ByteLevel");
    // Without a decoder, decoding removes the space that encoding puts before a text.
    bool drops_blank = characters && !JsonFile::has(root, "decoder");
    if (characters && JsonFile::has(root, "decoder"))
      drops_blank = read_decoder(file_.get(root, "decoder", ""));
    AddedBuilder added(tables, file_.path());
    if (JsonFile::has(root, "added_tokens")) read_added(root, added);
    TokenizerParts parts{.path = file_.path(),
                         .raw = {},
                         .normalized = {},
                         .added_ids = {},
                         .added = {},
                         .normalizer = std::move(normalizer_),
                         .pieces = PreTokenizer(std::move(stages_)),
                         .bpe = Bpe(std::move(tables.tables())),
                         .prefix = {},
                         .suffix = {},
                         .space = characters ? kSpaceMark : "",
                         .drops_blank = drops_blank};
    added.finish(std::move(extra), parts);
    if (JsonFile::has(root, "post_processor"))
      read_template(file_.get(root, "post_processor", ""), parts);
    return parts;
  }

 private:
  void check_model(element model) const {
    if (JsonFile::has(model, "type") && file_.text(model, "type", "model.") != "BPE")
      file_.fail("model.type", "expected BPE, got " + shown(file_.text(model, "type", "model.")));
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
      if (JsonFile::has(model, key) && !file_.text(model, key, "model.").empty())
        file_.fail(std::string("model.") + key, "is not supported");
    double dropout = 0;
    if (JsonFile::has(model, "dropout") && (model["dropout"].get(dropout) || dropout != 0))
      file_.fail("model.dropout", "is not supported");
  }

  void read_merges(element model, TableBuilder& tables) const {
    size_t index = 0;
    const auto where = [&] { return concat(file_.path(), ": model.merges[", index, "]"); };
    for (const element merge : file_.list(model, "merges", "model.")) {
      std::string_view left, right;
      simdjson::dom::array pair;
      if (!merge.get(left)) {
        tables.add_merge(left, where);
      } else if (!merge.get(pair) && pair.size() == 2 && !pair.at(0).get(left) &&
                 !pair.at(1).get(right)) {
        tables.add_merge(left, right, where);
      } else {
        throw LoadError(where() + ": expected two tokens");
      }
      ++index;
    }
  }

  void read_unknown(element model, TableBuilder& tables) const {
    tables.tables().ignore_merges = file_.flag(model, "ignore_merges", false, "model.");
    tables.tables().fuse_unknown = file_.flag(model, "fuse_unk", false, "model.");
    if (!JsonFile::has(model, "unk_token")) return;
    const auto token = file_.text(model, "unk_token", "model.");
    tables.tables().unknown = tables.find(token);
    if (tables.tables().unknown < 0)
      file_.fail("model.unk_token", shown(token) + " is not in the vocabulary");
  }

  /// Returns whether this decoder of characters and bytes removes a space at the beginning.
  bool read_decoder(element decoder) const {
    const std::string scope = "decoder.";
    const auto type = file_.text(decoder, "type", scope);
    if (type == "Sequence") {
      bool drops = false;
      for (const element each : file_.list(decoder, "decoders", scope))
        drops = read_decoder(each) || drops;
      return drops;
    }
    if (type == "Metaspace") return true;
    if (type == "Strip") {
      const int64_t start = file_.count(decoder, "start", scope);
      if (file_.text(decoder, "content", scope) != " " || start > 1 ||
          file_.count(decoder, "stop", scope) != 0)
        file_.fail(scope + "Strip",
                   "expected a decoder that removes at most one blank, at the beginning");
      return start == 1;
    }
    if (type != "Replace" && type != "ByteFallback" && type != "Fuse")
      file_.fail(scope + "type",
                 "expected one of Sequence, Replace, ByteFallback, Fuse, Strip, Metaspace, got " +
                     shown(type));
    return false;
  }

  void read_normalizer(element normalizer) {
    const std::string scope = "normalizer.";
    const auto type = file_.text(normalizer, "type", scope);
    if (type == "NFC") return normalizer_.add(NormalForm::kNfc);
    if (type == "NFD") return normalizer_.add(NormalForm::kNfd);
    if (type == "NFKC") return normalizer_.add(NormalForm::kNfkc);
    if (type == "NFKD") return normalizer_.add(NormalForm::kNfkd);
    if (type == "Prepend") {
      return normalizer_.add_prepend(std::string(file_.text(normalizer, "prepend", scope)));
    }
    if (type == "Replace") {
      const element pattern = file_.get(normalizer, "pattern", scope);
      const auto from = file_.text(pattern, "String", scope + "pattern.");
      if (from.empty()) file_.fail(scope + "pattern.String", "is empty");
      return normalizer_.add_replace(std::string(from),
                                     std::string(file_.text(normalizer, "content", scope)));
    }
    if (type != "Sequence") {
      file_.fail(
          scope + "type",
          "expected one of NFC, NFD, NFKC, NFKD, Prepend, Replace, Sequence, got " + shown(type));
    }
    for (const element each : file_.list(normalizer, "normalizers", scope)) read_normalizer(each);
  }

  void read_stage(element stage) {
    const std::string scope = "pre_tokenizer.";
    const auto type = file_.text(stage, "type", scope);
    if (type == "Sequence") {
      for (const element each : file_.list(stage, "pretokenizers", scope)) read_stage(each);
    } else if (type == "ByteLevel") {
      byte_level_ = true;
      SplitStage out;
      out.add_prefix_space = file_.flag(stage, "add_prefix_space", true, scope);
      if (file_.flag(stage, "use_regex", true, scope))
        out.pattern.emplace_back(kGpt2Pattern, file_.path());
      stages_.push_back(std::move(out));
    } else if (type == "Split") {
      stages_.push_back(read_split(stage));
    } else if (type == "Digits") {
      SplitStage out;
      out.pattern.emplace_back("\\p{N}", file_.path());
      if (!file_.flag(stage, "individual_digits", false, scope))
        out.behavior = SplitBehavior::kContiguous;
      stages_.push_back(std::move(out));
    } else {
      file_.fail("pre_tokenizer.type",
                 "expected one of Sequence, ByteLevel, Split, Digits, got " + shown(type));
    }
    if (byte_level_ && type != "ByteLevel" && type != "Sequence")
      file_.fail("pre_tokenizer", "expected ByteLevel to come last");
  }

  SplitStage read_split(element stage) const {
    SplitStage out;
    const element pattern = file_.get(stage, "pattern", "pre_tokenizer.");
    const std::string where = file_.path() + ": pre_tokenizer.pattern";
    if (JsonFile::has(pattern, "Regex")) {
      out.pattern.emplace_back(std::string(file_.text(pattern, "Regex", "pre_tokenizer.pattern.")),
                               where);
    } else {
      std::string literal;
      for (const char c : file_.text(pattern, "String", "pre_tokenizer.pattern.")) {
        const auto byte = static_cast<uint8_t>(c);
        if (byte < 0x80 && byte > 0x20 && !std::isalnum(byte)) literal += '\\';
        literal += c;
      }
      out.pattern.emplace_back(literal, where);
    }
    const auto behavior = file_.text(stage, "behavior", "pre_tokenizer.");
    if (behavior == "Isolated")
      out.behavior = SplitBehavior::kIsolated;
    else if (behavior == "Removed")
      out.behavior = SplitBehavior::kRemoved;
    else if (behavior == "MergedWithPrevious")
      out.behavior = SplitBehavior::kMergedWithPrevious;
    else if (behavior == "MergedWithNext")
      out.behavior = SplitBehavior::kMergedWithNext;
    else if (behavior == "Contiguous")
      out.behavior = SplitBehavior::kContiguous;
    else
      file_.fail("pre_tokenizer.behavior", "is unknown: " + shown(behavior));
    out.invert = file_.flag(stage, "invert", false, "pre_tokenizer.");
    return out;
  }

  void read_added(element root, AddedBuilder& added) const {
    const std::string scope = "added_tokens.";
    for (const element each : file_.list(root, "added_tokens", "")) {
      AddedToken token;
      token.id = file_.id(file_.get(each, "id", scope), "added_tokens.id");
      token.content = file_.text(each, "content", scope);
      token.special = file_.flag(each, "special", false, scope);
      token.single_word = file_.flag(each, "single_word", false, scope);
      token.lstrip = file_.flag(each, "lstrip", false, scope);
      token.rstrip = file_.flag(each, "rstrip", false, scope);
      token.normalized = file_.flag(each, "normalized", !token.special, scope);
      added.add(std::move(token));
    }
  }

  void read_template(element processor, TokenizerParts& parts) const {
    const std::string scope = "post_processor.";
    const auto type = file_.text(processor, "type", scope);
    if (type == "ByteLevel") return;  // this processor changes only offsets, not ids
    if (type == "Sequence") {
      for (const element each : file_.list(processor, "processors", scope))
        read_template(each, parts);
      return;
    }
    if (type != "TemplateProcessing")
      file_.fail("post_processor.type",
                 "expected one of Sequence, ByteLevel, TemplateProcessing, got " + shown(type));
    bool after = false;
    for (const element item : file_.list(processor, "single", scope)) {
      if (JsonFile::has(item, "Sequence")) {
        after = true;
        continue;
      }
      const element special = file_.get(item, "SpecialToken", scope + "single.");
      const auto name = file_.text(special, "id", scope + "single.SpecialToken.");
      const element tokens = file_.get(processor, "special_tokens", scope);
      const element token = file_.get(tokens, name, scope + "special_tokens.");
      for (const element id : file_.list(token, "ids", scope + "special_tokens."))
        (after ? parts.suffix : parts.prefix)
            .push_back(file_.id(id, scope + "special_tokens." + shown(name) + ".ids"));
    }
  }

  JsonFile file_;
  Normalizer normalizer_;
  std::vector<SplitStage> stages_;
  bool byte_level_ = false;
};

void read_merge_lines(const std::string& path, TableBuilder& tables) {
  const std::string text = read_file(path, JsonFile::kMaxBytes);
  size_t line = 0;
  const auto where = [&] { return concat(path, ": line ", line); };
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view row(text.data() + begin, end - begin);
    begin = end + 1;
    ++line;
    if (row.ends_with('\r')) row.remove_suffix(1);
    if (row.empty() || row.starts_with("#version")) continue;
    tables.add_merge(row, where);
  }
}

}  // namespace

std::vector<AddedToken> added_in_config(const Config& config) {
  std::vector<AddedToken> out;
  const auto decoder = config.opt_sub("added_tokens_decoder");
  if (!decoder) return out;
  for (const std::string& key : decoder->keys()) {
    const Config entry = decoder->sub(key);
    AddedToken token;
    const bool digits =
        !key.empty() && key.size() <= 9 &&
        std::all_of(key.begin(), key.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!digits) decoder->fail(key, "expected an id as the key");
    token.id = std::stoi(key);
    token.content = entry.s("content");
    token.special = entry.opt_b("special", false);
    token.single_word = entry.opt_b("single_word", false);
    token.lstrip = entry.opt_b("lstrip", false);
    token.rstrip = entry.opt_b("rstrip", false);
    token.normalized = entry.opt_b("normalized", !token.special);
    out.push_back(std::move(token));
  }
  return out;
}

TokenizerParts read_tokenizer_json(const std::string& path, std::vector<AddedToken> extra) {
  return JsonLoader(path).read(std::move(extra));
}

TokenizerParts parse_tokenizer_json(std::string_view json, const std::string& path) {
  return JsonLoader(json, path).read({});
}

TokenizerParts read_vocab_and_merges(const std::string& vocab, const std::string& merges,
                                     const std::string& config_path,
                                     std::vector<AddedToken> extra) {
  const JsonFile file(vocab);
  simdjson::dom::object tokens;
  if (file.root().get(tokens)) file.fail("", "expected an object");
  TableBuilder tables(file, tokens);
  read_merge_lines(merges, tables);
  const Config config =
      config_path.empty() ? Config::parse("{}", vocab) : Config::load(config_path);
  const std::string kind = config.opt_s("tokenizer_class", "Qwen2Tokenizer");
  const bool gpt2 = kind.starts_with("GPT2Tokenizer") || kind.starts_with("WhisperTokenizer");
  if (!gpt2 && !kind.starts_with("Qwen2Tokenizer"))
    config.fail("tokenizer_class", "expected Qwen2Tokenizer or GPT2Tokenizer, got " + shown(kind));
  std::vector<SplitStage> stages(2);
  stages[gpt2 ? 1 : 0].pattern.emplace_back(
      config.opt_s("pretokenize_regex", gpt2 ? kGpt2Pattern : kQwen2Pattern), config.where());
  stages[1].add_prefix_space = config.opt_b("add_prefix_space", false);
  AddedBuilder added(tables, config.where());
  for (AddedToken& token : added_in_config(config)) added.add(std::move(token));
  TokenizerParts parts{.path = vocab,
                       .raw = {},
                       .normalized = {},
                       .added_ids = {},
                       .added = {},
                       .normalizer = Normalizer(gpt2 ? NormalForm::kNone : NormalForm::kNfc),
                       .pieces = PreTokenizer(std::move(stages)),
                       .bpe = Bpe(std::move(tables.tables())),
                       .prefix = {},
                       .suffix = {}};
  added.finish(std::move(extra), parts);
  return parts;
}

}  // namespace syrinx
