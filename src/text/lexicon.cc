#include "text/lexicon.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>

#include "base/ascii.h"
#include "base/check.h"
#include "text/phones.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace syrinx {
namespace {

constexpr size_t kMostFileBytes = size_t{16} << 20;
constexpr int kMostLinks = 16;      // most lexicons joined by both()
constexpr size_t kMostHeld = 4096;  // bytes; a longer run without a space is not a word

constexpr std::string_view kApostrophe = "’";

/// Returns the bytes of the letter, digit or combining mark at `at`; 0 for other characters.
size_t word_bytes(std::string_view text, size_t at) {
  const CodePoint code = utf8_at(text, at);
  return code.valid && code.value != '_' && is_word(code.value) ? code.size : 0;
}
/// Returns the bytes of a joint at `at`: a character that may be inside a word, not at its ends.
size_t joint_bytes(std::string_view text, size_t at) {
  if (text.substr(at).starts_with(kApostrophe)) return kApostrophe.size();
  return std::string_view("'-.&+").find(text[at]) != std::string_view::npos ? 1 : 0;
}

/// `end`: the end of a word; `next`: the position after the joints that follow the word.
struct WordEnd {
  size_t end, next;
};
WordEnd word_end(std::string_view text, size_t at) {
  WordEnd out{at, at};
  while (out.next < text.size()) {
    const size_t word = word_bytes(text, out.next);
    const size_t size = word > 0 ? word : joint_bytes(text, out.next);
    if (size == 0) break;
    out.next += size;
    if (word > 0) out.end = out.next;
  }
  return out;
}

/// Returns a word with the kind of apostrophe that stored words have.
std::string plain_word(std::string_view word) {
  std::string out(word);
  for (size_t at; (at = out.find(kApostrophe)) != out.npos;) {
    out.replace(at, kApostrophe.size(), "'");
  }
  return out;
}

/// Returns the position of the last word, which further text may change.
size_t open_word(std::string_view text) {
  size_t certain = 0;
  for (size_t at = 0; at < text.size();) {
    const bool word = word_bytes(text, at) > 0 || joint_bytes(text, at) > 0;
    at += utf8_at(text, at).size;
    if (!word) certain = at;
  }
  return certain;
}

/// Returns the bytes of "'s" or "’s" at the end of a word; 0 if the word ends otherwise.
size_t possessive_bytes(std::string_view word) {
  const std::string_view ends[] = {"'s", "’s", "'S", "’S"};
  for (const std::string_view end : ends) {
    if (word.size() > end.size() && word.ends_with(end)) return end.size();
  }
  return 0;
}

Error lexicon_fault(std::string message) {
  return {ErrorCode::kInvalid, std::move(message), "pronunciations"};
}

}  // namespace

Status Lexicon::add(std::string_view word, std::string_view how) {
  how = trimmed(how);
  const auto wrong = [&](const auto&... what) {
    return lexicon_fault(concat("'", word.substr(0, kMostWordBytes), "': ", what...));
  };
  if (word.size() > kMostWordBytes) return wrong("a word has at most ", kMostWordBytes, " bytes");
  const bool good = !word.empty() && utf8_valid(word) && word_bytes(word, 0) > 0 &&
                    word_end(word, 0).end == word.size();
  if (!good) {
    return wrong("a word has letters and digits, and ' - . & + between them");
  }
  if (how.empty())
    return wrong("the pronunciation is missing: expected /IPA/, {ARPAbet} or other words");
  if (how.size() > kMostHowBytes)
    return wrong("a pronunciation has at most ", kMostHowBytes, " bytes");
  Entry entry;
  const auto inside = [&](char open, char close) {
    return how.front() == open && how.size() > 1 && how.back() == close;
  };
  if (how.front() == '/' || how.front() == '{') {
    if (!inside('/', '/') && !inside('{', '}')) {
      return wrong("the pronunciation does not end with '", how.front() == '/' ? '/' : '}', "'");
    }
    const std::string_view sounds = how.substr(1, how.size() - 2);
    Result<Phones> phones = how.front() == '/' ? phones_of_ipa(sounds) : phones_of_arpabet(sounds);
    if (!phones) return wrong(phones.error().message);
    entry.phones = phones.take();
  } else {
    if (!utf8_valid(how) || how.find_first_of("<>[]{}\r\n\t") != how.npos) {
      return wrong("remove the characters < > [ ] { } and tabs from '", how, "'");
    }
    entry.words = how;
  }
  entries_[plain_word(word)] = std::move(entry);
  if (entries_.size() > kMostEntries)
    return wrong("a lexicon has at most ", kMostEntries, " words");
  return ok_status();
}

Result<std::shared_ptr<const Lexicon>> Lexicon::parse(std::string_view text) {
  auto lexicon = std::make_shared<Lexicon>();
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  for (size_t at = 0, line = 1; at < text.size(); ++line) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view entry = trimmed(text.substr(at, end - at));
    at = end + 1;
    if (entry.empty() || entry.front() == '#') continue;
    const size_t space = std::min(entry.find_first_of(" \t"), entry.size());
    const Status added = lexicon->add(entry.substr(0, space), entry.substr(space));
    if (!added) {
      Error error = added.error();
      error.message = concat("line ", line, ": ", error.message);
      return error;
    }
  }
  return std::shared_ptr<const Lexicon>(std::move(lexicon));
}

Result<std::shared_ptr<const Lexicon>> Lexicon::of(
    std::span<const std::pair<std::string, std::string>> entries) {
  auto lexicon = std::make_shared<Lexicon>();
  for (const auto& [word, how] : entries) {
    if (const Status added = lexicon->add(word, how); !added) return added.error();
  }
  return std::shared_ptr<const Lexicon>(std::move(lexicon));
}

std::shared_ptr<const Lexicon> Lexicon::both(const std::shared_ptr<const Lexicon>& first,
                                             const std::shared_ptr<const Lexicon>& second) {
  if (!first || !second) return first ? first : second;
  auto out = std::make_shared<Lexicon>(*first);
  out->next_ = both(first->next_, second);
  return out;
}

void Lexicon::append_to(std::string& bytes) const {
  const auto text = [&](std::string_view value) {
    append_number(bytes, static_cast<uint16_t>(value.size()));
    bytes += value;
  };
  append_number(bytes, static_cast<uint32_t>(entries_.size()));
  for (const auto& [word, entry] : entries_) {
    text(word), text(entry.words), text(entry.phones.ipa);
    append_number(bytes, static_cast<uint16_t>(entry.phones.arpabet.size()));
    for (const std::string& phone : entry.phones.arpabet) text(phone);
  }
  append_number(bytes, static_cast<uint8_t>(next_ != nullptr));
  if (next_) next_->append_to(bytes);
}

std::shared_ptr<const Lexicon> Lexicon::read(ByteReader& in) {
  const auto text = [&] { return std::string(in.bytes(in.number<uint16_t>())); };
  std::shared_ptr<Lexicon> first, last;
  for (int links = 0;; ++links) {
    if (links == kMostLinks) throw LoadError("too many linked lexicons");
    auto lexicon = std::make_shared<Lexicon>();
    const auto count = in.number<uint32_t>(kMostEntries);
    for (uint32_t i = 0; i < count; ++i) {
      std::string word = text();
      Entry& entry = lexicon->entries_[std::move(word)];
      entry.words = text();
      entry.phones.ipa = text();
      entry.phones.arpabet.resize(in.number<uint16_t>(kMostHowBytes));
      for (std::string& phone : entry.phones.arpabet) phone = text();
    }
    if (last) last->next_ = lexicon;
    if (!first) first = lexicon;
    last = lexicon;
    if (in.number<uint8_t>(1) == 0) return first;
  }
}

const Lexicon::Entry* Lexicon::entry(std::string_view word) const {
  const std::string plain = plain_word(word);
  auto found = entries_.find(plain);
  if (found == entries_.end()) found = entries_.find(lower_ascii(plain));
  if (found != entries_.end()) return &found->second;
  return next_ ? next_->entry(word) : nullptr;
}

void Lexicon::find(std::string_view text, std::vector<Saying>& out) const {
  const auto put = [&](size_t begin, size_t end, const Entry& entry, bool owns) {
    Saying saying{static_cast<int64_t>(begin), static_cast<int64_t>(end)};
    saying.words = entry.words + (owns && !entry.words.empty() ? "'s" : "");
    saying.phones = owns ? possessive(entry.phones) : entry.phones;
    out.push_back(std::move(saying));
  };
  // Looks for the whole word, then for the word without its 's, then for its parts between joints.
  const auto look = [&](size_t begin, size_t end) {
    const std::string_view word = text.substr(begin, end - begin);
    if (const Entry* known = entry(word)) return put(begin, end, *known, false), true;
    const size_t own = possessive_bytes(word);
    if (own == 0) return false;
    const Entry* known = entry(word.substr(0, word.size() - own));
    if (known != nullptr) put(begin, end, *known, true);
    return known != nullptr;
  };
  for (size_t at = 0; at < text.size();) {
    if (word_bytes(text, at) == 0) {
      at += utf8_at(text, at).size;
      continue;
    }
    const auto [end, next] = word_end(text, at);
    if (end - at <= kMostWordBytes + 4 && !look(at, end)) {
      for (size_t part = at; part < end;) {
        size_t to = part;
        while (to < end && text[to] != '-' && text[to] != '.' && text[to] != '&') ++to;
        if (to > part && to - part < end - at) look(part, to);
        part = to + 1;
      }
    }
    at = next;
  }
}

std::shared_ptr<const Lexicon> load_lexicon(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  if (file) {
    text.resize(kMostFileBytes + 1);
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<size_t>(file.gcount()));
  }
  if (!file.is_open() || file.bad()) throw LoadError("cannot read the lexicon " + path);
  if (text.size() > kMostFileBytes) throw LoadError(path + ": a lexicon has at most 16 MiB");
  auto lexicon = Lexicon::parse(text);
  if (!lexicon) throw LoadError(path + ": " + lexicon.error().message);
  return lexicon.take();
}

std::string Respeller::push(std::string_view text, bool last) {
  held_ += text;
  size_t certain = held_.size();
  if (!last && held_.size() < kMostHeld) {
    certain = open_word(std::string_view(held_).substr(0, certain - utf8_unfinished(held_)));
  }
  const std::string_view now = std::string_view(held_).substr(0, certain);
  std::vector<Saying> sayings;
  lexicon_->find(now, sayings);
  std::string out;
  int64_t at = 0;
  for (const Saying& saying : sayings) {
    if (saying.words.empty()) continue;
    out += now.substr(static_cast<size_t>(at), static_cast<size_t>(saying.begin - at));
    out += saying.words;
    at = saying.end;
  }
  out += now.substr(static_cast<size_t>(at));
  held_.erase(0, certain);
  return out;
}

std::vector<Saying> sayings_in(std::string_view part, int64_t begin,
                               const std::vector<Saying>& given, const Lexicon* lexicon) {
  std::vector<Saying> known;
  if (lexicon) lexicon->find(part, known);
  return joined(within(given, begin, std::ssize(part)), std::move(known));
}

}  // namespace syrinx
