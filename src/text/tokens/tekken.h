// Reads tekken.json, the tokenizer file of Mistral's models: control tokens have the first ids,
// then follow the ranks of a byte-level BPE as in tiktoken. Models with audio input have a section
// "audio". Source: mistral_common:tokens/tokenizers/{tekken,audio}.py. Thread-safe. The file is not
// trusted: for an invalid file, a LoadError names the file and the entry.
#pragma once

#include <optional>
#include <string>

#include "text/tokens/tokenizer.h"

namespace syrinx {

/// The section "audio" of a model that transcribes speech while it is spoken.
struct TekkenAudio {
  int sample_rate = 16000;               ///< in Hz, 1000 to 192000
  double frame_rate = 12.5;              ///< tokens per second, 1 to 1000
  int mels = 128, hop = 160, fft = 400;  ///< `mels`: bands, 1 to 1024; others: samples, 1 to 16384
  double delay_ms = 480;                 ///< time in ms from a sound to its text, 0 to 60000
  int left_pad = 32;                     ///< tokens of silence before a recording, 0 to 1024
};

/// A tokenizer file.
struct Tekken {
  Tokenizer tokenizer;
  /// The section "audio"; unset if it is absent or not for streaming.
  std::optional<TekkenAudio> audio;
};

/// Reads a file of at most JsonFile::kMaxBytes. The vocabulary may be longer than the ids of the
/// model; the rest is dropped, as in the authors' code.
Tekken read_tekken(const std::string& path);

}  // namespace syrinx
