#include "text/tokens/tokenizer.h"

#include <algorithm>

#include "base/error.h"
#include "io/file.h"
#include "text/tokens/tokenizer_parts.h"
#include "text/utf8.h"

namespace syrinx {
namespace {

/// Returns the byte of each code point below U+0200 in GPT-2's alphabet; -1 if it has none.
const std::vector<int>& byte_of_code() {
  static const std::vector<int> table = [] {
    std::vector<int> out(0x200, -1);
    const auto alphabet = byte_alphabet();
    for (int byte = 0; byte < 256; ++byte) out[alphabet[byte]] = byte;
    return out;
  }();
  return table;
}

void encode_pieces(const TokenizerParts& parts, const std::vector<std::string>& pieces,
                   std::vector<int32_t>& out) {
  for (const auto& piece : pieces) parts.bpe.encode(piece, out);
}

void encode_normalized(const TokenizerParts& parts, std::string_view text, bool specials,
                       std::vector<int32_t>& out) {
  for (const Section& section : parts.normalized.find(text, specials)) {
    if (section.id >= 0) {
      out.push_back(section.id);
    } else {
      const auto part = text.substr(section.begin, section.end - section.begin);
      encode_pieces(parts, parts.pieces.split(part), out);
    }
  }
}

}  // namespace

std::string undo_byte_alphabet(std::string_view token, bool& whole) {
  const auto& bytes = byte_of_code();
  std::string out;
  whole = true;
  for (size_t at = 0; at < token.size();) {
    const CodePoint code = utf8_at(token, at);
    const int byte = code.value < bytes.size() ? bytes[code.value] : -1;
    if (byte < 0) {
      whole = false;
      return std::string(token);
    }
    out += static_cast<char>(byte);
    at += code.size;
  }
  return out;
}

Tokenizer::Tokenizer(std::shared_ptr<const TokenizerParts> parts) : parts_(std::move(parts)) {}

Tokenizer Tokenizer::load(const std::string& directory, std::vector<AddedToken> extra) {
  const auto json = join_path(directory, "tokenizer.json");
  if (is_file(json)) return from_json(json, std::move(extra));
  const auto vocab = join_path(directory, "vocab.json");
  const auto merges = join_path(directory, "merges.txt");
  const auto config = join_path(directory, "tokenizer_config.json");
  if (!is_file(vocab) || !is_file(merges))
    load_fault(directory, "", "expected tokenizer.json, or vocab.json and merges.txt, in it");
  return from_vocab(vocab, merges, is_file(config) ? config : "", std::move(extra));
}

Tokenizer Tokenizer::from_json(const std::string& path, std::vector<AddedToken> extra) {
  return Tokenizer(
      std::make_shared<const TokenizerParts>(read_tokenizer_json(path, std::move(extra))));
}

Tokenizer Tokenizer::parse_json(std::string_view json, const std::string& path) {
  return Tokenizer(std::make_shared<const TokenizerParts>(parse_tokenizer_json(json, path)));
}

Tokenizer Tokenizer::from_vocab(const std::string& vocab, const std::string& merges,
                                const std::string& config, std::vector<AddedToken> extra) {
  return Tokenizer(std::make_shared<const TokenizerParts>(
      read_vocab_and_merges(vocab, merges, config, std::move(extra))));
}

Tokenizer Tokenizer::from_tiktoken(const std::string& ranks, const std::string& pattern,
                                   const std::string& config, std::vector<AddedToken> extra) {
  return Tokenizer(std::make_shared<const TokenizerParts>(
      read_tiktoken(ranks, pattern, config, std::move(extra))));
}

Tokenizer Tokenizer::from_ranks(std::vector<std::string> ranks, const std::string& path,
                                const std::string& pattern, std::vector<AddedToken> extra) {
  return Tokenizer(std::make_shared<const TokenizerParts>(
      parts_of_ranks(std::move(ranks), path, pattern, std::move(extra))));
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, bool specials) const {
  std::string repaired;
  if (!utf8_valid(text)) text = repaired = utf8_repair(text);
  std::vector<int32_t> out;
  for (const Section& section : parts_->raw.find(text, specials)) {
    if (section.id >= 0) {
      out.push_back(section.id);
    } else {
      const auto part = text.substr(section.begin, section.end - section.begin);
      encode_normalized(*parts_, parts_->normalizer(part), specials, out);
    }
  }
  return out;
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool skip_special) const {
  std::string out;
  for (const int32_t id : ids)
    if (!skip_special || !is_special(id)) out += bytes(id);
  if (drops_blank() && out.starts_with(' ')) out.erase(0, 1);
  return spells_bytes() ? utf8_repair_bytes(out) : utf8_repair(out);
}

bool Tokenizer::spells_bytes() const { return !parts_->space.empty(); }

bool Tokenizer::drops_blank() const { return parts_->drops_blank; }

std::string Tokenizer::bytes(int32_t id) const {
  const auto added = parts_->added.find(id);
  if (added == parts_->added.end()) {
    return replaced(parts_->bpe.bytes(id), parts_->space, " ");
  }
  if (!parts_->space.empty()) return added->second.content;
  bool whole = false;
  return undo_byte_alphabet(added->second.content, whole);
}

std::vector<int32_t> Tokenizer::encode_around(std::string_view text,
                                              std::span<const Section> own) const {
  std::vector<int32_t> ids;
  size_t at = 0;
  const auto add_until = [&](size_t end) {
    const std::vector<int32_t> plain = encode(text.substr(at, end - at), false);
    ids.insert(ids.end(), plain.begin(), plain.end());
  };
  for (const Section& section : own) {
    if (section.begin < at) continue;
    add_until(section.begin);
    if (section.id >= 0) ids.push_back(section.id);
    at = section.end;
  }
  add_until(text.size());
  return ids;
}

std::vector<Section> Tokenizer::specials_in(std::string_view text) const {
  std::vector<Section> out;
  for (const AddedTokens* tokens : {&parts_->raw, &parts_->normalized})
    for (const Section& section : tokens->find(text, true))
      if (is_special(section.id)) out.push_back(section);
  std::sort(out.begin(), out.end(),
            [](const Section& a, const Section& b) { return a.begin < b.begin; });
  return out;
}

size_t Tokenizer::special_begun(std::string_view text) const {
  return std::min(parts_->raw.special_begun(text), parts_->normalized.special_begun(text));
}

std::optional<int32_t> Tokenizer::id(std::string_view token) const {
  const auto added = parts_->added_ids.find(std::string(token));
  if (added != parts_->added_ids.end()) return added->second;
  bool whole = true;
  const std::string bytes =
      parts_->space.empty() ? undo_byte_alphabet(token, whole) : std::string(token);
  const int32_t found = whole ? parts_->bpe.find(bytes) : -1;
  if (found < 0) return {};
  return found;
}

int32_t Tokenizer::need_id(std::string_view token) const {
  const auto found = id(token);
  if (!found) load_fault(parts_->path, "token " + shown(token), "is missing");
  return *found;
}

bool Tokenizer::is_special(int32_t id) const {
  const auto added = parts_->added.find(id);
  return added != parts_->added.end() && added->second.special;
}

int32_t Tokenizer::size() const {
  int32_t size = parts_->bpe.size();
  for (const auto& [id, token] : parts_->added) size = std::max(size, id + 1);
  return size;
}

const std::vector<int32_t>& Tokenizer::prefix() const { return parts_->prefix; }
const std::vector<int32_t>& Tokenizer::suffix() const { return parts_->suffix; }

StreamEncoder::StreamEncoder(Tokenizer tokenizer, bool specials)
    : tokenizer_(std::move(tokenizer)), specials_(specials) {
  const TokenizerParts& parts = *tokenizer_.parts_;
  const bool plain = parts.normalizer.empty();
  const NormalForm form = parts.normalizer.only_form();
  incremental_ = parts.pieces.splits_early() && !parts.raw.looks_behind() &&
                 !parts.normalized.looks_behind() && (plain || parts.normalized.empty()) &&
                 (plain || form == NormalForm::kNfc || form == NormalForm::kNfd);
}

void StreamEncoder::push(std::string_view text, std::vector<int32_t>& out) {
  bytes_ += text;
  const size_t complete = bytes_.size() - utf8_unfinished(bytes_);
  raw_ += utf8_repair(std::string_view(bytes_).substr(0, complete));
  bytes_.erase(0, complete);
  if (!incremental_) return;
  size_t done = 0;
  for (const Section& section : tokenizer_.parts_->raw.find_final(raw_, specials_, done)) {
    if (section.id >= 0) {
      close(out);
      out.push_back(section.id);
    } else {
      plain_.append(raw_, section.begin, section.end - section.begin);
    }
  }
  raw_.erase(0, done);
  normalize_plain(false);
  encode_open(out);
}

void StreamEncoder::finish(std::vector<int32_t>& out) {
  raw_ += utf8_repair(bytes_);
  bytes_.clear();
  for (const Section& section : tokenizer_.parts_->raw.find(raw_, specials_)) {
    if (section.id >= 0) {
      close(out);
      out.push_back(section.id);
    } else {
      plain_.append(raw_, section.begin, section.end - section.begin);
    }
  }
  raw_.clear();
  close(out);
}

/// Moves to ready_ the part of plain_ that further text cannot change.
void StreamEncoder::normalize_plain(bool closed) {
  const Normalizer& normalizer = tokenizer_.parts_->normalizer;
  const bool all = closed || normalizer.empty();
  const size_t certain = all ? plain_.size() : normal_prefix(plain_);
  ready_ += normalizer(std::string_view(plain_).substr(0, certain));
  plain_.erase(0, certain);
}

/// Encodes the part of ready_ that further text cannot change.
void StreamEncoder::encode_open(std::vector<int32_t>& out) {
  const TokenizerParts& parts = *tokenizer_.parts_;
  const std::string_view text = ready_;
  size_t done = 0, used = 0;
  const auto sections = parts.normalized.find_final(text, specials_, done);
  for (size_t i = 0; i < sections.size(); ++i) {
    const auto part = text.substr(sections[i].begin, sections[i].end - sections[i].begin);
    used = sections[i].end;
    if (sections[i].id >= 0) {
      out.push_back(sections[i].id);
    } else if (i + 1 < sections.size()) {
      encode_pieces(parts, parts.pieces.split(part), out);
    } else {
      size_t certain = 0;
      encode_pieces(parts, parts.pieces.split_final(part, certain), out);
      used = sections[i].begin + certain;
    }
  }
  ready_.erase(0, used);
}

/// Encodes the rest of ready_ at the end of a section.
void StreamEncoder::close(std::vector<int32_t>& out) {
  normalize_plain(true);
  if (!ready_.empty()) encode_normalized(*tokenizer_.parts_, ready_, specials_, out);
  ready_.clear();
}

}  // namespace syrinx
