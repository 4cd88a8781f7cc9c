#include "text/tokens/unigram.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/check.h"
#include "base/error.h"
#include "io/file.h"
#include "io/json.h"
#include "io/protobuf.h"
#include "text/tokens/normalizer.h"
#include "text/utf8.h"

namespace syrinx {
namespace {

constexpr std::string_view kMark = "\u2581";  // the mark in place of a blank
constexpr size_t kMaxModel = 64 << 20, kMaxUnigrams = 1 << 20;
constexpr double kUnknownPenalty = 10;  // unknown pieces score this below the least likely piece

// Kinds of pieces; the numbers are sentencepiece's (sentencepiece:src/sentencepiece_model.proto).
enum class PieceKind : uint8_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6
};

struct Piece {
  std::string text;
  double score = 0;
  PieceKind kind = PieceKind::kNormal;
};

/// Replacements of characters: a double array (darts-clone: include/darts.h) and the texts at which
/// its values point.
class CharMap {
 public:
  CharMap() = default;
  CharMap(std::string_view blob, const std::string& where) {
    uint32_t size = 0;
    if (blob.size() >= 4) std::memcpy(&size, blob.data(), 4);
    if (blob.size() < 4 || size % 4 != 0 || size > blob.size() - 4) {
      throw LoadError(where + ": expected a map of characters");
    }
    units_.resize(size / 4);
    std::memcpy(units_.data(), blob.data() + 4, size);
    texts_ = std::string(blob.substr(4 + size)) + '\0';
  }
  bool empty() const { return units_.empty(); }

  /// Finds the longest beginning of `text` that has a replacement. Returns its size in bytes, and
  /// sets `by` to the replacement. Returns 0 if no beginning has a replacement.
  size_t longest(std::string_view text, std::string_view& by) const {
    size_t found = 0, at = 0;
    if (!unit(at)) return 0;
    at ^= offset(units_[0]);
    for (size_t i = 0; i < text.size(); ++i) {
      at ^= static_cast<uint8_t>(text[i]);
      if (!unit(at) || (units_[at] & 0x800000ffu) != static_cast<uint8_t>(text[i])) break;
      const bool leaf = units_[at] >> 8 & 1;
      at ^= offset(units_[at]);
      if (!leaf || !unit(at)) continue;
      const size_t value = units_[at] & 0x7fffffffu;
      if (value >= texts_.size()) continue;
      found = i + 1;
      by = texts_.c_str() + value;
    }
    return found;
  }

 private:
  bool unit(size_t at) const { return at < units_.size(); }
  static size_t offset(uint32_t unit) { return size_t{unit >> 10} << ((unit & 0x200u) >> 6); }
  std::vector<uint32_t> units_;
  std::string texts_;
};

std::string base64_bytes(std::string_view text, const std::string& where) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  uint32_t bits = 0;
  int held = 0;
  for (const char c : text.substr(0, text.find('='))) {
    const size_t value = kAlphabet.find(c);
    if (value == kAlphabet.npos) throw LoadError(where + ": expected base64");
    bits = bits << 6 | static_cast<uint32_t>(value);
    if ((held += 6) < 8) continue;
    held -= 8;
    out += static_cast<char>(bits >> held);
  }
  return out;
}

}  // namespace

struct UnigramTables {
  std::vector<Piece> pieces;
  int32_t unknown = -1;
  bool byte_fallback = false;
  std::string unknown_text;
  bool single = false;  // whether scores are added as floats
  std::array<int32_t, 256> bytes = {};
  // Settings of the steps that normalize a text, in the order of these steps.
  CharMap map;
  bool strip_left = false, strip_right = false, collapse = false, prefix = true;
  bool mark_once = false;  // no prefix if the text already begins with the mark
  bool split = false;      // whether the text is cut before each mark
  std::string path;

  std::unordered_map<std::string_view, int32_t> ids;  // ids by their texts
  size_t longest = 0;                                 // size in bytes of the longest text in `ids`
  double least = 0, most = 0;                         // smallest and largest score of normal pieces

  void index();
  std::string normalized(std::string_view text) const;
  template <typename Real>
  void encode_piece(std::string_view text, std::vector<int32_t>& out) const;
};

void UnigramTables::index() {
  least = std::numeric_limits<double>::max(), most = std::numeric_limits<double>::lowest();
  bytes.fill(-1);
  const int32_t count = static_cast<int32_t>(pieces.size());
  if (pieces.size() > kMaxUnigrams) throw LoadError(path + ": too many pieces");
  for (int32_t id = 0; id < count; ++id) {
    const Piece& piece = pieces[static_cast<size_t>(id)];
    if (!std::isfinite(piece.score)) {
      throw LoadError(concat(path, ": piece ", id, ": its score is not finite"));
    }
    if (piece.kind == PieceKind::kUnknown) {
      if (unknown >= 0) throw LoadError(path + ": two pieces are of the type unknown");
      unknown = id;
    }
    if (piece.kind == PieceKind::kByte) {
      unsigned byte = 0;
      const std::string& text = piece.text;
      const bool form = text.size() == 6 && text.starts_with("<0x") && text[5] == '>';
      if (!form || std::from_chars(&text[3], &text[5], byte, 16).ptr != &text[5]) {
        throw LoadError(concat(path, ": piece ", id, ": expected a byte such as <0x0A>"));
      }
      bytes[byte] = id;
    }
    if (piece.kind == PieceKind::kNormal) {
      least = std::min(least, piece.score), most = std::max(most, piece.score);
    }
    if (piece.kind != PieceKind::kNormal && piece.kind != PieceKind::kUserDefined) continue;
    if (piece.text.empty() || !ids.emplace(piece.text, id).second) {
      throw LoadError(concat(path, ": piece ", id, " is empty or given twice"));
    }
    longest = std::max(longest, piece.text.size());
  }
  if (unknown < 0) throw LoadError(path + ": no piece is of the type unknown");
  if (byte_fallback && std::ranges::count(bytes, -1) > 0) {
    throw LoadError(path + ": byte_fallback is set, but bytes have no pieces");
  }
}

/// Normalizes a text. Formula: sentencepiece:src/normalizer.cc.
std::string UnigramTables::normalized(std::string_view text) const {
  std::string out;
  while (!text.empty()) {
    std::string_view by;
    size_t size = map.longest(text, by);
    if (size == 0) {
      const CodePoint code = utf8_at(text, 0);
      size = code.valid ? code.size : 1;
      by = code.valid ? text.substr(0, size) : std::string_view("\uFFFD");
    }
    out += by;
    text.remove_prefix(size);
  }
  if (strip_left) out.erase(0, std::min(out.find_first_not_of(' '), out.size()));
  if (collapse) {
    const auto spaces = [](char a, char b) { return a == ' ' && b == ' '; };
    out.erase(std::unique(out.begin(), out.end(), spaces), out.end());
  }
  if (strip_right) out.erase(out.find_last_not_of(' ') + 1);
  if (out.empty()) return out;
  out = replaced(out, " ", kMark);
  const bool marked = mark_once && out.starts_with(kMark);
  return prefix && !marked ? std::string(kMark) + out : out;
}

/// Finds the likeliest pieces. Formula: EncodeOptimized in sentencepiece:src/unigram_model.cc.
template <typename Real>
void UnigramTables::encode_piece(std::string_view text, std::vector<int32_t>& out) const {
  struct Node {
    int32_t id = -1;
    Real score = 0;
    int64_t begin = -1;
  };
  std::vector<Node> ends(text.size() + 1);
  const Real of_unknown = static_cast<Real>(least) - static_cast<Real>(kUnknownPenalty);
  const auto offer = [&](size_t begin, size_t end, int32_t id, Real score) {
    Node& node = ends[end];
    const Real sum = score + ends[begin].score;
    if (node.begin < 0 || sum > node.score) node = {id, sum, static_cast<int64_t>(begin)};
  };
  for (size_t begin = 0; begin < text.size();) {
    const size_t one = utf8_at(text, begin).size;
    bool single_found = false;
    for (size_t size = 1; size <= std::min(longest, text.size() - begin); ++size) {
      const auto found = ids.find(text.substr(begin, size));
      if (found == ids.end()) continue;
      const Piece& piece = pieces[static_cast<size_t>(found->second)];
      const Real score = piece.kind == PieceKind::kUserDefined
                             ? static_cast<Real>(static_cast<double>(size) * most - 0.1)
                             : static_cast<Real>(piece.score);
      offer(begin, begin + size, found->second, score);
      single_found |= size == one;
    }
    if (!single_found) offer(begin, begin + one, unknown, of_unknown);
    begin += one;
  }
  const size_t first = out.size();
  for (size_t end = text.size(); end > 0;) {
    const Node& node = ends[end];
    const auto begin = static_cast<size_t>(node.begin);
    if (node.id == unknown && byte_fallback) {
      for (size_t at = end; at > begin; --at)
        out.push_back(bytes[static_cast<uint8_t>(text[at - 1])]);
    } else if (node.id != unknown || out.size() == first || out.back() != unknown) {
      out.push_back(node.id);
    }
    end = begin;
  }
  std::reverse(out.begin() + static_cast<int64_t>(first), out.end());
}

namespace {

/// Reads the fields of a ModelProto, its TrainerSpec and its NormalizerSpec.
std::shared_ptr<UnigramTables> read_model(const std::string& path) {
  const std::string file = read_file(path, kMaxModel);
  auto out = std::make_shared<UnigramTables>();
  out->path = path, out->single = true, out->unknown_text = " \u2047 ";
  bool extra_spaces = true, escaped = true;
  const auto fields = [&](std::string_view message, auto&& take) {
    ProtoReader reader(message);
    for (ProtoField field; reader.next(field);) take(field);
    if (reader.broken()) throw LoadError(path + ": expected a model of sentencepiece");
  };
  fields(file, [&](const ProtoField& part) {
    if (part.id == 1) {
      Piece& piece = out->pieces.emplace_back();
      fields(part.bytes, [&](const ProtoField& f) {
        if (f.id == 1) piece.text = f.bytes;
        if (f.id == 2) piece.score = std::bit_cast<float>(static_cast<uint32_t>(f.number));
        if (f.id == 3) piece.kind = static_cast<PieceKind>(f.number);
      });
    } else if (part.id == 2) {
      fields(part.bytes, [&](const ProtoField& f) {
        if (f.id == 3 && f.number != 1) {
          throw LoadError(path + ": expected a unigram model, got another kind of sentencepiece");
        }
        if (f.id == 24 && f.number != 0)
          throw LoadError(path + ": blanks after words are not supported");
        if (f.id == 35) out->byte_fallback = f.number != 0;
      });
    } else if (part.id == 3) {
      fields(part.bytes, [&](const ProtoField& f) {
        if (f.id == 2 && !f.bytes.empty()) out->map = CharMap(f.bytes, path);
        if (f.id == 3) out->prefix = f.number != 0;
        if (f.id == 4) extra_spaces = f.number != 0;
        if (f.id == 5) escaped = f.number != 0;
      });
    }
  });
  if (!escaped) throw LoadError(path + ": expected escaped spaces (escape_whitespaces)");
  out->strip_left = out->strip_right = out->collapse = extra_spaces;
  for (const Piece& piece : out->pieces) {
    if (piece.kind == PieceKind::kUserDefined && !out->map.empty()) {
      std::string_view by;
      if (out->map.longest(piece.text, by) > 0) {
        throw LoadError(concat(path, ": unsupported normalisation map (precompiled_charsmap): it ",
                               "changes the user-defined piece ", shown(piece.text)));
      }
    }
  }
  return out;
}

/// Reads a tokenizer.json whose model has the type Unigram. Converters of sentencepiece write it.
class UnigramJson {
 public:
  explicit UnigramJson(const std::string& path)
      : root_(Config::load(path)), out_(std::make_shared<UnigramTables>()) {
    out_->path = path, out_->prefix = false;
  }

  std::shared_ptr<UnigramTables> read() {
    const Config model = root_.sub("model");
    if (model.opt_s("type", "") != "Unigram") model.fail("type", "expected Unigram");
    out_->byte_fallback = model.opt_b("byte_fallback", false);
    const int64_t unknown = model.i("unk_id", 0, kMaxUnigrams);
    const auto found = model.raw().find("vocab");
    if (found == model.raw().end() || !found->is_array()) model.fail("vocab", "expected a list");
    for (const auto& entry : *found) {
      if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() ||
          !entry[1].is_number()) {
        model.fail("vocab", "expected pairs of a text and a score");
      }
      Piece& piece = out_->pieces.emplace_back(entry[0].get<std::string>(), entry[1].get<double>());
      const bool byte = piece.text.size() == 6 && piece.text.starts_with("<0x");
      if (byte && out_->byte_fallback) piece.kind = PieceKind::kByte;
      if (std::ssize(out_->pieces) != unknown + 1) continue;
      piece.kind = PieceKind::kUnknown, out_->unknown_text = piece.text;
    }
    for (const Config& added :
         root_.has("added_tokens") ? root_.subs("added_tokens") : std::vector<Config>()) {
      const int64_t id = added.i("id", 0, kMaxUnigrams);
      if (id >= std::ssize(out_->pieces)) added.fail("id", "is not in the vocabulary");
      Piece& piece = out_->pieces[static_cast<size_t>(id)];
      if (piece.kind == PieceKind::kNormal) piece.kind = PieceKind::kControl;
      if (piece.kind == PieceKind::kUnknown && added.b("special")) out_->unknown_text.clear();
    }
    if (const auto normalizer = root_.opt_sub("normalizer")) read_normalizer(*normalizer);
    if (const auto cut = root_.opt_sub("pre_tokenizer")) read_cut(*cut);
    return out_;
  }

 private:
  void read_normalizer(const Config& step) {
    const std::string type = step.s("type");
    if (type == "Sequence") {
      for (const Config& each : step.subs("normalizers")) read_normalizer(each);
    } else if (type == "Precompiled") {
      out_->map = CharMap(base64_bytes(step.s("precompiled_charsmap"), step.where()), step.where());
    } else if (type == "Strip") {
      out_->strip_left = step.b("strip_left"), out_->strip_right = step.b("strip_right");
    } else if (type == "Prepend" && step.s("prepend") == kMark) {
      out_->prefix = true;
    } else if (type == "Replace") {
      const Config pattern = step.sub("pattern");
      const std::string to = step.s("content");
      const bool blanks = pattern.opt_s("Regex", "") == " {2,}" && (to == " " || to == kMark);
      const bool mark = pattern.opt_s("String", "") == " " && to == kMark;
      if (!blanks && !mark) step.fail("pattern", "expected a space and its mark");
      out_->collapse |= blanks;
    } else {
      step.fail("type",
                "expected Sequence, Precompiled, Strip, Prepend or Replace, got " + shown(type));
    }
  }

  void read_cut(const Config& cut) {
    if (cut.s("type") != "Metaspace" || cut.s("replacement") != kMark) {
      cut.fail("type", concat("expected Metaspace with ", kMark));
    }
    const std::string scheme =
        cut.opt_s("prepend_scheme", cut.opt_b("add_prefix_space", true) ? "always" : "never");
    out_->prefix = scheme != "never", out_->mark_once = true;
    out_->split = cut.opt_b("split", true);
  }

  Config root_;
  std::shared_ptr<UnigramTables> out_;
};

std::shared_ptr<const UnigramTables> indexed(std::shared_ptr<UnigramTables> tables) {
  tables->index();
  return tables;
}

}  // namespace

Unigram Unigram::from_model(const std::string& path) { return Unigram(indexed(read_model(path))); }
Unigram Unigram::from_json(const std::string& path) {
  return Unigram(indexed(UnigramJson(path).read()));
}

Unigram Unigram::load(const std::string& directory) {
  const std::string model = join_path(directory, "tokenizer.model");
  return is_file(model) ? from_model(model) : from_json(join_path(directory, "tokenizer.json"));
}

Unigram Unigram::characters() {
  auto tables = std::make_shared<UnigramTables>();
  tables->pieces.push_back({"<unk>", 0, PieceKind::kUnknown});
  tables->pieces.push_back({std::string(kMark), -1});
  for (char c = '!'; c <= '~'; ++c) tables->pieces.push_back({std::string(1, c), -1});
  tables->strip_left = tables->strip_right = tables->collapse = true;
  return Unigram(indexed(std::move(tables)));
}

std::vector<int32_t> Unigram::encode(std::string_view text) const {
  std::vector<int32_t> out;
  const std::string all = tables_->normalized(text);
  for (std::string_view rest = all; !rest.empty();) {
    const size_t size = tables_->split ? std::min(rest.find(kMark, 1), rest.size()) : rest.size();
    if (tables_->single) {
      tables_->encode_piece<float>(rest.substr(0, size), out);
    } else {
      tables_->encode_piece<double>(rest.substr(0, size), out);
    }
    rest.remove_prefix(size);
  }
  return out;
}

std::string Unigram::bytes(int32_t id) const {
  if (id < 0 || id >= size()) return {};
  const Piece& piece = tables_->pieces[static_cast<size_t>(id)];
  if (piece.kind == PieceKind::kByte) {
    const auto byte = std::ranges::find(tables_->bytes, id) - tables_->bytes.begin();
    return {static_cast<char>(byte)};
  }
  if (piece.kind == PieceKind::kUnknown) return tables_->unknown_text;
  return piece.kind == PieceKind::kControl ? "" : replaced(piece.text, kMark, " ");
}

std::string Unigram::decode(std::span<const int32_t> ids) const {
  std::string out;
  bool marked = false;  // whether the first id begins with the mark
  for (const int32_t id : ids) {
    const std::string more = bytes(id);
    if (out.empty() && !more.empty()) {
      marked = tables_->pieces[static_cast<size_t>(id)].text.starts_with(kMark);
    }
    out += more;
  }
  if (tables_->prefix && marked) out.erase(0, 1);
  return utf8_repair_bytes(out);
}

int32_t Unigram::size() const { return static_cast<int32_t>(tables_->pieces.size()); }

}  // namespace syrinx
