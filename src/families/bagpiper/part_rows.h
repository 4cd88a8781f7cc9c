// The rows of a segment: its prompt, the words and turns after the prompt, and the steps of speech
// after them. A value that borrows the config; one thread. S streams, H width.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "families/bagpiper/config.h"
#include "families/llm/heard_rows.h"
#include "families/spoken/prompt.h"
#include "model/delay.h"

namespace syrinx::bagpiper {

struct PartRows {
  /// `config` must outlive the rows.
  PartRows(const ModelConfig& config, const DelayPattern& pattern);

  /// Begins a segment with this prompt, without words and speech.
  void begin(std::span<const int32_t> ids);
  /// Moves words and speech to the end of the prompt, with the end of the speech if the part spoke,
  /// and the id that begins a turn. The speech stays until it is restarted.
  void remember(bool spoke);
  /// Returns the number of rows.
  int size() const;
  /// Writes the ids [S] of the row at `pos`; entries without an id stay unchanged.
  void row(int pos, bool companion, std::span<int32_t> ids) const;
  /// Appends the keys of the prompt's rows; rows from the first recording on have none.
  void prefix_keys(bool companion, std::vector<uint64_t>& keys) const;
  /// Appends the keys of words and turns.
  void step_keys(bool companion, std::vector<uint64_t>& keys) const;

  Prompt prompt;              ///< includes the parts already made; empty while there is no text
  llm::HeardRows heard;       ///< rows [H] of the recordings in the prompt
  std::vector<int32_t> said;  ///< ids of words and turns after the prompt
  DelayedStreams speech;      ///< speech after the words, as choices, not ids

 private:
  void speech_row(int step, std::span<int32_t> ids) const;

  const ModelConfig* config_;
};

}  // namespace syrinx::bagpiper
