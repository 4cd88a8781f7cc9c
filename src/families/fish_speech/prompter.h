// Makes the ids of texts and of the messages around them: a system message, with the references'
// texts and audio if the request has references, then messages of users and answers
// (fish-speech:fish_speech/conversation.py). Const after construction; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "families/fish_speech/config.h"
#include "text/saying.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::fish_speech {

class Prompter {
 public:
  static constexpr int kMaxSpeaker = 999;

  /// Throws LoadError if the tokenizer lacks a control token, or if its ids of the end or of codes
  /// differ from those of the config.
  Prompter(const ModelConfig& config, Tokenizer tokenizer);

  /// Returns the control tokens, to make a tokenizer without files.
  static std::vector<std::string> control_words();

  /// Returns the ids of a client's text. Tags of speakers and phonemes become their tokens, if the
  /// tokenizer has these. Other control tokens are read as plain text.
  std::vector<int32_t> text(std::string_view text) const;

  /// Returns whether the tokenizer has tags for phonemes.
  bool says_phones() const;

  /// Returns the ids of the system message of a request without references.
  const std::vector<int32_t>& system() const { return system_; }
  /// Return the ids before the texts of references, and those between the texts and their audio.
  const std::vector<int32_t>& references() const { return references_; }
  const std::vector<int32_t>& speech() const { return speech_; }
  /// Return the ids of a message's end, and of the beginnings of a user's message and an answer.
  const std::vector<int32_t>& end() const { return end_; }
  const std::vector<int32_t>& user() const { return user_; }
  const std::vector<int32_t>& answer() const { return answer_; }

 private:
  std::vector<int32_t> own(const std::string& text) const { return tokenizer_.encode(text, true); }

  Tokenizer tokenizer_;
  std::vector<int32_t> system_, references_, speech_, end_, user_, answer_;
};

/// Replaces words of a text as `sayings` (in order, without overlap) state: by other words, or by
/// phones between tags in the authors' form (CMU's ARPAbet: docs.fish.audio).
std::string with_phones(std::string_view text, std::span<const Saying> sayings);

/// Returns the tag of a speaker, e.g. "<|speaker:3|>".
std::string speaker_tag(int speaker);

/// The turn of one speaker in a text: a tag with the text after it, or text before the first tag.
struct SpokenTurn {
  std::string tag;   ///< empty: the turn has no tag
  std::string text;  ///< text with its tag, trimmed
};
/// Cuts a text before every speaker tag, and long turns after sentences. A short text is one turn.
std::vector<SpokenTurn> spoken_turns(std::string_view text);

/// Joins turns into messages of up to 5 turns and 300 bytes, like the authors' batches.
std::vector<std::string> messages_of(const std::vector<SpokenTurn>& turns);

}  // namespace syrinx::fish_speech
