// Turns text and frames into input rows. A row is an id of text and a code of each codebook; a row
// without audio has the pad as every code. Const after construction; any thread.
// Source: MOSS-TTS:moss_tts_realtime/mossttsrealtime/processing_mossttsrealtime.py. C codes a
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

  /// Throws LoadError when the tokenizer lacks a control token.
  Prompter(const ModelConfig& config, Tokenizer tokenizer);

  /// Adds what the model is and, unless `voice` [T, C] is empty, how it sounds.
  void add_system(std::span<const int32_t> voice, Prompt& out) const;
  /// Adds a turn of the user, with or without frames.
  void add_user(const HeardTurn& turn, Prompt& out) const;
  /// Adds an earlier turn of the model; `first`: nothing but the system's turn is before it.
  void add_own(const HeardTurn& turn, bool first, Prompt& out) const;
  /// Adds the beginning of the model's turn, whose text follows.
  void add_head(bool first, Prompt& out) const;
  /// Writes a row [1 + C] of text and a frame; an empty frame is the pad.
  void write_row(int32_t text, std::span<const int32_t> frame, std::span<int32_t> ids) const;
  /// Adds a row of text.
  void add_text(int32_t id, Prompt& out) const;
  /// Marks the last row of a prompt as the one before the first frame.
  void begin_frames(Prompt& out) const;

  /// Returns the ids of a text. Control tokens in it are plain text.
  std::vector<int32_t> ids(std::string_view text) const { return tokenizer_.encode(text, false); }
  /// For text that arrives in pieces.
  StreamEncoder stream() const { return StreamEncoder(tokenizer_, false); }

 private:
  void add_fixed(std::string_view text, Prompt& out) const;
  void add_frames(std::span<const int32_t> frames, std::span<const int32_t> text, int32_t pad,
                  Prompt& out) const;

  const ModelConfig& config_;
  Tokenizer tokenizer_;
};

}  // namespace syrinx::moss_tts
