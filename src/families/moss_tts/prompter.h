// Turns text and frames into input rows. A row has an id of text and a code of each codebook.
// In a row without audio, every code is the pad. Const after construction; any thread. Source:
// MOSS-TTS:moss_tts_realtime/mossttsrealtime/processing_mossttsrealtime.py. C: codes per
// frame.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "families/moss_tts/config.h"
#include "families/spoken/heard_turns.h"
#include "families/spoken/prompt.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::moss_tts {

class Prompter {
 public:
  static constexpr const char *kBegin = "<|im_start|>", *kEnd = "<|im_end|>";
  static constexpr size_t kAhead = 12;  ///< ids of text before the first frame

  /// Throws LoadError if the tokenizer lacks a control token.
  Prompter(const ModelConfig& config, Tokenizer tokenizer);

  /// Adds the system's text and, unless `voice` [T, C] is empty, the voice.
  void add_system(std::span<const int32_t> voice, Prompt& out) const;
  /// Adds a turn of the user, with or without frames.
  void add_user(const HeardTurn& turn, Prompt& out) const;
  /// Adds an earlier turn of the model. `first`: only the system's turn precedes it.
  void add_own(const HeardTurn& turn, bool first, Prompt& out) const;
  /// Adds the beginning of the model's turn, which the text follows.
  void add_head(bool first, Prompt& out) const;
  /// Writes a row [1 + C] with text and a frame. An empty frame means pads.
  void write_row(int32_t text, std::span<const int32_t> frame, std::span<int32_t> ids) const;
  /// Adds a row of text.
  void add_text(int32_t id, Prompt& out) const;
  /// Turns the last row of a prompt into the row before the first frame.
  void begin_frames(Prompt& out) const;

  /// Returns the ids of a text. Control tokens in it are read as plain text.
  std::vector<int32_t> ids(std::string_view text) const { return tokenizer_.encode(text, false); }
  /// Returns an encoder for text that arrives in pieces.
  StreamEncoder stream() const { return StreamEncoder(tokenizer_, false); }

 private:
  void add_fixed(std::string_view text, Prompt& out) const;
  void add_frames(std::span<const int32_t> frames, std::span<const int32_t> text, int32_t pad,
                  Prompt& out) const;

  const ModelConfig& config_;
  Tokenizer tokenizer_;
};

}  // namespace syrinx::moss_tts
