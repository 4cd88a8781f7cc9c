#include "families/piper/phonemes.h"

#include <algorithm>
#include <atomic>
#include <iterator>

#include "base/check.h"
#include "families/loading/espeak.h"
#include "families/piper/clauses.h"
#include "io/program.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace syrinx::piper {
namespace {

constexpr size_t kMostCluster = 8;  // most characters of a phoneme
// Most clauses passed to espeak-ng at once, so that it meets its time limit on a busy machine.
constexpr size_t kMostAtOnce = 64;

std::string one_line(const std::string& text) {
  std::string out = utf8_repair(text);
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  return out;
}

Result<std::string> run_espeak(const std::string& input, const std::string& voice) {
  Result<std::string> out =
      run_program({"espeak-ng", "-q", "--ipa", "-b", "1", "-v", voice, "--stdin"}, input,
                  {.max_output = size_t{8} << 20, .timeout_s = 30});
  if (!out.ok() && out.error().code == ErrorCode::kNotFound) {
    return Error{ErrorCode::kUnsupported,
                 "this voice reads phonemes, which the program espeak-ng makes; espeak-ng is "
                 "not installed (Debian: apt-get install espeak-ng)",
                 "input"};
  }
  return out;
}

/// Returns the voice's name for espeak-ng. espeak-ng 1.51 (Debian 12) converts Chinese to pinyin,
/// then reads that as English under the name "cmn". Its other Chinese voice reads pinyin.
std::string voice_to_ask(const std::string& voice) {
  if (voice != "cmn" && voice != "zh" && voice != "zh-cmn") return voice;
  enum { kUnknown, kReads, kReadsEnglish };
  static std::atomic<int> found = kUnknown;
  if (found == kUnknown) {
    const Result<std::string> printed = run_espeak("\u4f60", voice);
    if (!printed.ok()) return voice;
    found = printed.value().find("(en)") == std::string::npos ? kReads : kReadsEnglish;
  }
  return found == kReadsEnglish ? "cmn-latn-pinyin" : voice;
}

/// Returns the lines that are not blank, without spaces at both ends.
std::vector<std::string> lines_of(std::string_view printed) {
  std::vector<std::string> out;
  for (size_t begin = 0; begin < printed.size();) {
    const size_t end = std::min(printed.find('\n', begin), printed.size());
    std::string_view line = printed.substr(begin, end - begin);
    begin = end + 1;
    while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
    while (!line.empty() && line.back() == ' ') line.remove_suffix(1);
    if (!line.empty()) out.emplace_back(line);
  }
  return out;
}

/// Removes the marks, such as "(en)", that espeak-ng puts around words of another language.
std::string without_switches(const std::string& phonemes) {
  std::string out;
  for (size_t at = 0; at < phonemes.size();) {
    const size_t close = phonemes[at] == '(' ? phonemes.find(')', at) : phonemes.npos;
    if (close == phonemes.npos || close == at + 1) {
      out += phonemes[at++];
    } else {
      at = close + 1;
    }
  }
  return out;
}

/// Converts phonemes to ids.
class IdWriter {
 public:
  explicit IdWriter(const PiperConfig& config) : config_(config) {
    add(config.begin);
    add(config.pad);
  }
  /// Writes the ids of characters in NFD, and of clusters that have their own ids.
  void phonemes(std::string_view text) {
    while (!text.empty()) {
      size_t sizes[kMostCluster] = {}, count = 0;
      for (size_t at = 0; at < text.size() && count < kMostCluster; ++count) {
        at += static_cast<size_t>(utf8_at(text, at).size);
        sizes[count] = at;
      }
      size_t used = count;
      while (used > 1 && !config_.ids.contains(text.substr(0, sizes[used - 1]))) --used;
      const auto found = config_.ids.find(text.substr(0, sizes[used - 1]));
      if (found != config_.ids.end()) {
        add(found->second);
        add(config_.pad);
        any_ = true;
      } else if (const char32_t symbol = utf8_at(text, 0).value; !is_space(symbol)) {
        unsaid_.insert(symbol);
      }
      text.remove_prefix(sizes[used - 1]);
    }
  }
  int32_t next() const { return static_cast<int32_t>(ids_.size()); }
  /// Moves the written ids into a sentence. If no phoneme was known, the sentence gets no ids.
  void take(SpokenText& out) {
    add(config_.end);
    if (any_) out.ids = std::move(ids_);
    out.unsaid = std::move(unsaid_);
  }

 private:
  void add(const std::vector<int32_t>& ids) { ids_.insert(ids_.end(), ids.begin(), ids.end()); }
  const PiperConfig& config_;
  std::vector<int32_t> ids_;
  std::set<char32_t> unsaid_;
  bool any_ = false;
};

std::vector<std::string_view> split_at_spaces(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    if (end > 0) out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

/// Writes the words of a clause. If espeak-ng returns as many words as the text has, the words
/// correspond one to one. Otherwise (numbers, joined words) they are spread evenly.
void write_clause(const Clause& clause, const std::string& said, int64_t begin, IdWriter& ids,
                  std::vector<WordStart>& words) {
  const std::vector<std::string_view> parts = split_at_spaces(said);
  size_t next = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    while (next < clause.words.size() && next * parts.size() / clause.words.size() <= i) {
      const WrittenWord& word = clause.words[next++];
      words.push_back({begin + word.begin, begin + word.end, ids.next()});
    }
    ids.phonemes(parts[i]);
    if (i + 1 < parts.size()) ids.phonemes(" ");
  }
}

SpokenText spell(const PiperConfig& config, const WrittenText& sentence) {
  SpokenText out;
  IdWriter ids(config);
  const std::string text = utf8_repair(sentence.text);
  bool word = false;
  size_t end = text.size();
  while (end > 0 && is_space(utf8_before(text, end).value)) {
    end -= static_cast<size_t>(utf8_before(text, end).size);
  }
  for (size_t at = 0; at < end;) {
    const CodePoint c = utf8_at(text, at);
    const auto size = static_cast<size_t>(c.size);
    if (is_word(c.value)) {
      const auto begin = sentence.begin + static_cast<int64_t>(at);
      if (!word) out.words.push_back({begin, begin, ids.next()});
      out.words.back().end = begin + static_cast<int64_t>(size);
    }
    word = is_word(c.value);
    ids.phonemes(normalize(std::string_view(text).substr(at, size), NormalForm::kNfd));
    at += size;
  }
  ids.take(out);
  return out;
}

}  // namespace

Result<std::vector<std::string>> say_by_espeak(const std::vector<std::string>& clauses,
                                               const std::string& voice) {
  const std::string asked = voice_to_ask(voice);
  std::vector<std::string> out;
  const auto take = [&](std::vector<std::string> said) {
    std::move(said.begin(), said.end(), std::back_inserter(out));
  };
  for (std::span<const std::string> rest(clauses); !rest.empty();) {
    const auto now = rest.first(std::min(rest.size(), kMostAtOnce));
    rest = rest.subspan(now.size());
    std::vector<std::string> lines_to_say;
    for (const std::string& clause : now) lines_to_say.push_back(one_line(clause));
    if (auto said = espeak_kept(lines_to_say, asked, EspeakInput::kText)) {
      take(std::move(*said));
      continue;
    }
    Result<std::vector<std::string>> said = say_by_process({now.begin(), now.end()}, asked);
    if (!said.ok()) return said.error();
    take(said.take());
  }
  return out;
}

Result<std::vector<std::string>> say_by_process(const std::vector<std::string>& clauses,
                                                const std::string& voice) {
  // espeak-ng may print no line or several lines for a clause. So an invented word precedes each
  // clause, and the phonemes of that word mark the beginning of the clause. If the first word does
  // not split the lines into one part per clause, a second word is tried.
  for (const std::string_view border : {"zdragzvok", "wubbleflink"}) {
    std::string input;
    for (const std::string& clause : clauses) {
      input += concat(border, "\n\n", one_line(clause), "\n\n");
    }
    const Result<std::string> printed = run_espeak(input, voice);
    if (!printed.ok()) return printed.error();
    std::vector<std::string> said;
    const std::vector<std::string> lines = lines_of(printed.value());
    for (const std::string& line : lines) {
      if (line == lines.front()) {
        said.emplace_back();
      } else {
        said.back() += (said.back().empty() ? "" : " ") + line;
      }
    }
    if (said.size() == clauses.size()) return said;
  }
  return Error{ErrorCode::kInternal, "espeak-ng does not report the ends of clauses", "input"};
}

Result<std::vector<SpokenText>> read_aloud(const PiperConfig& config, const SayClauses& say,
                                           std::span<const WrittenText> sentences) {
  std::vector<SpokenText> out;
  std::vector<std::vector<Clause>> cut;
  std::vector<std::string> plain;
  for (const WrittenText& sentence : sentences) {
    if (!config.espeak) {
      out.push_back(spell(config, sentence));
      continue;
    }
    cut.push_back(clauses_of(sentence));
    for (const Clause& clause : cut.back()) {
      if (!clause.ipa) plain.push_back(clause.say);
    }
  }
  std::vector<std::string> said;
  if (!plain.empty()) {
    Result<std::vector<std::string>> all = say(plain, config.espeak_voice);
    if (!all.ok()) return all.error();
    said = all.take();
    SYRINX_CHECK(said.size() == plain.size(), "[piper] got ", said.size(), " of ", plain.size());
  }
  size_t next = 0;
  for (size_t i = 0; i < cut.size(); ++i) {
    SpokenText text;
    IdWriter ids(config);
    for (const Clause& clause : cut[i]) {
      const std::string phonemes =
          normalize(without_switches(clause.ipa ? clause.say : said[next++]), NormalForm::kNfd);
      if (phonemes.empty()) continue;  // this also drops the mark of the clause
      write_clause(clause, phonemes, sentences[i].begin, ids, text.words);
      if (clause.mark != 0) ids.phonemes(std::string(1, clause.mark));
      const bool more = &clause != &cut[i].back();
      if (more || (clause.mark != 0 &&
                   std::string_view(",:;").find(clause.mark) != std::string_view::npos)) {
        ids.phonemes(" ");
      }
    }
    ids.take(text);
    out.push_back(std::move(text));
  }
  for (const SpokenText& text : out) {
    if (std::ssize(text.ids) <= kMostIds) continue;
    return Error{ErrorCode::kInvalid,
                 concat("a sentence has ", text.ids.size(), " phonemes and pads, at most ",
                        kMostIds, " can be spoken at once"),
                 "input"};
  }
  return out;
}

}  // namespace syrinx::piper
