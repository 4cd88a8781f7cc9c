#include "families/fish_speech/prompter.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/error.h"
#include "text/sentences.h"

namespace syrinx::fish_speech {
namespace {

constexpr const char* kImStart = "<|im_start|>";
constexpr const char* kImEnd = "<|im_end|>";
constexpr const char* kVoice = "<|voice|>";
constexpr std::string_view kSpeaker = "<|speaker:", kTagEnd = "|>";
constexpr std::string_view kPhones = "<|phoneme_start|>", kPhonesEnd = "<|phoneme_end|>";
constexpr const char* kAsk = "convert the provided text to speech";
constexpr size_t kMostTurns = 5;       // most turns of a message
constexpr size_t kMessageBytes = 300;  // most bytes of a message with several turns
constexpr size_t kSpeechBytes = 2000;  // bytes; a longer turn is cut at the end of a sentence

/// Returns the length in bytes of the speaker tag at the beginning of `text`. 0: it has no tag.
size_t tag_bytes(std::string_view text) {
  if (!text.starts_with(kSpeaker)) return 0;
  const size_t end = text.find_first_not_of("0123456789", kSpeaker.size());
  if (end == text.npos || end == kSpeaker.size()) return 0;
  return text.substr(end).starts_with(kTagEnd) ? end + kTagEnd.size() : 0;
}

bool is_tag(std::string_view word) {
  return tag_bytes(word) == word.size() || word == kPhones || word == kPhonesEnd;
}

/// Returns a phone as in CMU's dictionary: "ax0" becomes "AH0".
std::string cmu_phone(std::string_view phone) {
  std::string out(phone);
  if (out.starts_with("ax")) out.replace(0, 2, "ah");
  for (char& c : out) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return out;
}

/// Adds a turn. A turn that is too long is cut into parts of whole sentences with the same tag.
void add_parts(const SpokenTurn& turn, std::vector<SpokenTurn>& out) {
  if (turn.text.size() <= kSpeechBytes) return out.push_back(turn);
  std::string part;
  const auto flush = [&] {
    if (!trimmed(part).empty()) out.push_back({turn.tag, std::string(trimmed(part))});
  };
  for (const Sentence& place : split_sentences(turn.text)) {
    const std::string_view words =
        std::string_view(turn.text).substr(place.begin, place.end - place.begin);
    if (part.size() > turn.tag.size() && part.size() + words.size() > kSpeechBytes) {
      flush();
      part = turn.tag;
    }
    part += words;
  }
  flush();
}

}  // namespace

std::string with_phones(std::string_view text, std::span<const Saying> sayings) {
  std::string out;
  size_t at = 0;
  for (const Saying& saying : sayings) {
    if (saying.words.empty() && saying.phones.empty()) continue;
    out += text.substr(at, static_cast<size_t>(saying.begin) - at);
    at = static_cast<size_t>(saying.end);
    if (saying.phones.empty()) {
      out += saying.words;
      continue;
    }
    std::string phones;
    for (const std::string& phone : saying.phones.arpabet) {
      if (!phones.empty()) phones += ' ';
      phones += cmu_phone(phone);
    }
    out += concat(kPhones, phones, kPhonesEnd);
  }
  return out += text.substr(at);
}

std::string speaker_tag(int speaker) { return concat(kSpeaker, speaker, kTagEnd); }

std::vector<SpokenTurn> spoken_turns(std::string_view text) {
  std::vector<SpokenTurn> turns;
  size_t begin = 0, tag = tag_bytes(text);
  const auto add = [&](size_t end) {
    const std::string_view words = trimmed(text.substr(begin, end - begin));
    if (!words.empty())
      add_parts({std::string(text.substr(begin, tag)), std::string(words)}, turns);
  };
  bool tagged = tag > 0;
  for (size_t at = begin + tag; (at = text.find(kSpeaker, at)) != text.npos;) {
    const size_t size = tag_bytes(text.substr(at));
    if (size > 0) {
      add(at);
      begin = at, tag = size, tagged = true;
    }
    at += std::max<size_t>(size, 1);
  }
  if (tagged || text.size() > kSpeechBytes) {
    add(text.size());
  } else {
    turns.push_back({"", std::string(text)});
  }
  return turns;
}

std::vector<std::string> messages_of(const std::vector<SpokenTurn>& turns) {
  std::vector<std::string> messages;
  size_t count = 0, bytes = 0;
  for (const SpokenTurn& turn : turns) {
    const bool full = count >= kMostTurns || bytes + turn.text.size() > kMessageBytes;
    if (messages.empty() || full) {
      messages.push_back(turn.text);
      count = bytes = 0;
    } else {
      messages.back().append("\n").append(turn.text);
    }
    ++count, bytes += turn.text.size();
  }
  return messages;
}

bool Prompter::says_phones() const {
  return tokenizer_.id(std::string(kPhones)) && tokenizer_.id(std::string(kPhonesEnd));
}

std::vector<std::string> Prompter::control_words() { return {kImStart, kImEnd, kVoice}; }

Prompter::Prompter(const ModelConfig& config, Tokenizer tokenizer)
    : tokenizer_(std::move(tokenizer)) {
  for (const std::string& word : control_words()) (void)tokenizer_.need_id(word);
  const auto expect = [&](const std::string& word, int64_t want) {
    const std::optional<int32_t> id = tokenizer_.id(word);
    if (id && *id != want) {
      throw LoadError(concat("the id of ", word, " is ", *id, " in the tokenizer, but ", want,
                             " in config.json"));
    }
  };
  expect(kImEnd, config.end_token);
  expect("<|semantic:0|>", config.semantic_begin);
  expect(concat("<|semantic:", config.codes - 1, "|>"), config.semantic_begin + config.codes - 1);
  // Each part is encoded separately, as in the authors' code.
  const auto join = [&](std::initializer_list<std::string> parts) {
    std::vector<int32_t> ids;
    for (const std::string& part : parts) {
      const std::vector<int32_t> more = own(part);
      ids.insert(ids.end(), more.begin(), more.end());
    }
    return ids;
  };
  const std::string begin = kImStart, end = std::string(kImEnd) + "\n";
  system_ = join({begin + "system\n", kAsk, end});
  references_ =
      join({begin + "system\n", std::string(kAsk) + " reference to the following:\n\nText:\n"});
  speech_ = own("\n\nSpeech:\n");
  end_ = own(end);
  user_ = own(begin + "user\n");
  answer_ = own(begin + "assistant\n" + kVoice);
}

std::vector<int32_t> Prompter::text(std::string_view text) const {
  std::vector<Section> tags = tokenizer_.specials_in(text);
  std::erase_if(tags, [&](const Section& word) {
    return !is_tag(text.substr(word.begin, word.end - word.begin));
  });
  return tokenizer_.encode_around(text, tags);
}

}  // namespace syrinx::fish_speech
