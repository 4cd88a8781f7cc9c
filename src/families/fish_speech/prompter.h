// Texts to the ids around and of them: a system message, with the reference's text and audio where
// there is one, then messages of users and answers (fish-speech:fish_speech/conversation.py). Const
// after construction; any thread.
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

  /// Throws LoadError when the tokenizer lacks a control token, has ids that the model lacks, or
  /// others for codes than the config says.
  Prompter(const ModelConfig& config, Tokenizer tokenizer);

  /// Words of a tokenizer for measuring without files.
  static std::vector<std::string> control_words();

  /// A text of a stranger. Tags of speakers and of phonemes are their tokens, where the tokenizer
  /// has them; other control tokens written out are plain text.
  std::vector<int32_t> text(std::string_view text) const;

  /// Whether the tokenizer has the tags of phonemes.
  bool says_phones() const;

  /// The whole system message.
  const std::vector<int32_t>& system() const { return system_; }
  /// What stands before and behind the texts of references, and behind their audio.
  const std::vector<int32_t>& references() const { return references_; }
  const std::vector<int32_t>& speech() const { return speech_; }
  /// The ends of any message; the beginnings of a user's and of an answer.
  const std::vector<int32_t>& end() const { return end_; }
  const std::vector<int32_t>& user() const { return user_; }
  const std::vector<int32_t>& answer() const { return answer_; }

 private:
  std::vector<int32_t> own(const std::string& text) const { return tokenizer_.encode(text, true); }

  Tokenizer tokenizer_;
  std::vector<int32_t> system_, references_, speech_, end_, user_, answer_;
};

/// A text with its words exchanged for what `sayings`, in order and apart, say instead: other
/// words, or phones between their tags as the authors write them (CMU's ARPAbet: docs.fish.audio).
std::string with_phones(std::string_view text, std::span<const Saying> sayings);

/// "<|speaker:3|>".
std::string speaker_tag(int speaker);

/// One turn of a text: what stands after a tag of a speaker, or before the first.
struct SpokenTurn {
  std::string tag;   ///< empty: none
  std::string text;  ///< with its tag, without blanks at the ends
};
/// A text cut before every tag of a speaker. Without any it is one turn, as it is.
std::vector<SpokenTurn> spoken_turns(std::string_view text);

/// Turns joined to messages, as many as there is room for, as the authors' batches.
std::vector<std::string> messages_of(const std::vector<SpokenTurn>& turns);

}  // namespace syrinx::fish_speech
