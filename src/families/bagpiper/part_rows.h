// The rows of a segment: its prompt, then words and turns (state.h), then the steps of speech. A
// value type, used by one thread, that refers to the config. S: streams. H: width of a row.
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
  /// `config` must outlive this object.
  PartRows(const ModelConfig& config, const DelayPattern& pattern);

  /// Begins a segment with the prompt `ids`, without words and speech.
  void begin(std::span<const int32_t> ids);
  /// Moves words and speech to the end of the prompt. Adds the end of the speech if the part
  /// `spoke`, and the id that begins a turn. `speech` keeps its steps until it is restarted.
  void remember(bool spoke);
  /// Returns the number of rows.
  int size() const;
  /// Writes the ids [S] of the row at `pos`. Does not change entries for which the row has no id.
  void row(int pos, bool companion, std::span<int32_t> ids) const;
  /// Appends the keys of the prompt's rows up to the first recording. Later rows have no keys.
  void prefix_keys(bool companion, std::vector<uint64_t>& keys) const;
  /// Appends the keys of the rows of words and turns.
  void step_keys(bool companion, std::vector<uint64_t>& keys) const;

  Prompt prompt;              ///< contains the earlier parts; empty while no segment is left
  llm::HeardRows heard;       ///< rows [H] of the recordings in the prompt
  std::vector<int32_t> said;  ///< ids of words and turns after the prompt
  DelayedStreams speech;      ///< speech after the words; choices instead of ids

 private:
  void speech_row(int step, std::span<int32_t> ids) const;

  const ModelConfig* config_;
};

}  // namespace syrinx::bagpiper
