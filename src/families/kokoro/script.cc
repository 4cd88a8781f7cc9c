#include "families/kokoro/script.h"

#include <algorithm>

#include "families/kokoro/chinese.h"
#include "families/kokoro/japanese.h"
#include "families/kokoro/said_pieces.h"
#include "text/utf8.h"

namespace syrinx::kokoro {
namespace {

constexpr std::string_view kRise = "↗";  // IPA's global rise
constexpr int kLongFirst = 40;           // a first sentence with more phonemes is cut
constexpr int kShortest = 10;            // fewest phonemes on each side of this cut
constexpr size_t kMostChars = 300;  // most bytes of a sentence in other languages than US English

bool is_pause(const Spoken& spoken) {
  static const std::string kPauses = ",;:—…";
  return !spoken.word && kPauses.find(spoken.phonemes) != std::string::npos;
}

}  // namespace

Script::Script(const KokoroConfig& config, std::shared_ptr<const EnglishReader> reader,
               std::string language, const SpeechRequest& request)
    : config_(config),
      reader_(std::move(reader)),
      language_(std::move(language)),
      english_(request.say.sayings, request.say.lexicon),
      sayings_(request.say.sayings),
      lexicon_(request.say.lexicon),
      others_({.max_chars = kMostChars}) {}

Status Script::push(std::string_view text, bool last) {
  if (language_ == "en-us") {
    english_.push(text, last);
    return ok_status();
  }
  std::vector<SentenceStream::Item> items;
  others_.push(text, items);
  if (last) others_.finish(items);
  if (items.empty()) return ok_status();
  const auto sentences = read_others(items);
  if (!sentences.ok()) return sentences.error();
  for (const std::vector<Spoken>& words : sentences.value()) cut(words);
  return ok_status();
}

/// Reads sentences. Words with a stated pronunciation get that pronunciation.
Result<std::vector<std::vector<Spoken>>> Script::read_others(
    std::span<const SentenceStream::Item> items) const {
  const std::vector<SaidPiece> pieces = said_pieces(items, sayings_, lexicon_.get(), language_);
  std::vector<SentenceStream::Item> plain;
  for (const SaidPiece& piece : pieces) {
    if (piece.phonemes.empty()) plain.push_back(piece.item);
  }
  if (plain.empty()) return joined_pieces(pieces, {}, items.size());
  Result<std::vector<std::vector<Spoken>>> read = read_plain(plain);
  if (!read.ok()) return read.error();
  return joined_pieces(pieces, read.take(), items.size());
}

Result<std::vector<std::vector<Spoken>>> Script::read_plain(
    std::span<const SentenceStream::Item> items) const {
  if (language_ == "ja") return japanese_words(items, *reader_);
  if (language_ == "zh") {
    const auto alphabet =
        config_.has_bopomofo() ? ChineseAlphabet::kBopomofo : ChineseAlphabet::kIpa;
    const Result<const ChineseReader*> chinese = chinese_reader(alphabet);
    if (!chinese.ok()) return chinese.error();
    return chinese_words(*chinese.value(), items, *reader_);
  }
  std::vector<std::vector<Spoken>> out;
  for (const SentenceStream::Item& item : items) {
    Result<std::vector<Spoken>> words =
        espeak_words(item.text, static_cast<int64_t>(item.place.begin), language_);
    if (!words.ok()) return words.error();
    out.push_back(words.take());
  }
  return out;
}

bool Script::next(Utterance& out) {
  while (ready_.empty()) {
    if (sentences_.empty() && !english_.next(sentences_)) return false;
    if (sentences_.empty()) continue;
    const finch::Sentence sentence = std::move(sentences_.front());
    sentences_.pop_front();
    cut(english_words(*reader_, sentence));
  }
  out = std::move(ready_.front());
  ready_.pop_front();
  return true;
}

/// Turns a sentence into utterances. Cuts it if it is too long for the model, or a long first one.
void Script::cut(std::span<const Spoken> words) {
  const auto length = [](const Spoken& word) {
    return static_cast<int>(characters(word.phonemes).size()) + (word.space ? 1 : 0);
  };
  int left = 0;
  for (const Spoken& word : words) left += length(word);
  if (!begun_ && left > kLongFirst) {
    int before = 0;
    for (size_t i = 0; i < words.size(); ++i) {
      before += length(words[i]);
      if (before < kShortest || left - before < kShortest || !is_pause(words[i])) continue;
      add(words.first(i + 1));
      words = words.subspan(i + 1);
      break;
    }
  }
  while (!words.empty()) {
    size_t end = 0, pause = 0;
    for (int count = 0; end < words.size(); ++end) {
      count += length(words[end]);
      if (count > config_.most_phonemes()) break;
      if (is_pause(words[end])) pause = end + 1;
    }
    if (end < words.size() && pause > 0) end = pause;
    end = std::max<size_t>(end, 1);
    add(words.first(end));
    words = words.subspan(end);
  }
}

void Script::add(std::span<const Spoken> words) {
  Utterance utterance;
  utterance.ids.push_back(0);
  const auto most = static_cast<size_t>(config_.most_phonemes()) + 1;
  const bool has_tones = language_ == "zh";  // there the arrow is a tone
  const auto push = [&](const std::string& symbol) {
    if (symbol == kRise && !has_tones) {
      utterance.rise = static_cast<int>(utterance.ids.size());
      return;
    }
    const auto found = config_.vocabulary.find(symbol);
    if (found == config_.vocabulary.end()) return unsaid_.add(utf8_at(symbol, 0).value);
    if (utterance.ids.size() >= most) return;
    utterance.ids.push_back(found->second);
  };
  for (const Spoken& word : words) {
    if (word.space && utterance.ids.size() > 1) push(" ");
    const size_t place = utterance.ids.size();
    for (const std::string& symbol : characters(word.phonemes)) push(symbol);
    if (!word.word || utterance.ids.size() == place) continue;
    const auto& known = utterance.words;
    if (!known.empty() && known.back().begin == word.begin) continue;  // the same written word
    utterance.words.push_back({static_cast<int>(place), word.begin, word.end});
  }
  if (utterance.ids.size() == 1) return;
  utterance.ids.push_back(0);
  ready_.push_back(std::move(utterance));
  begun_ = true;
}

}  // namespace syrinx::kokoro
