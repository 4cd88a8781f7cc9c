// Makes the rows of a prompt from texts, frames and conversations. A row is S ids, one for
// each stream. After a part with frames, S - 1 rows of pads follow, which the delay pattern
// fills. Const after construction; any thread. Sources: espnet:espnet2/speechlm/definitions.py
// (order of the parts), espnet/vllm:vllm/model_executor/models/opuslm.py (pads,
// conversations), espnet:espnet2/train/preprocessor.py, branch speechlm3 (the end after the
// model's own words).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "families/opuslm/config.h"
#include "families/spoken/prompt.h"
#include "model/request.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::opuslm {

/// Rows [N, S] before the delay pattern is applied. Frames of recordings may be filled in later.
class Rows {
 public:
  explicit Rows(const ModelConfig& config) : config_(&config) {}

  Rows& id(int32_t id);
  Rows& ids(std::span<const int32_t> ids);
  /// Adds frames [T, S] of ids, and S - 1 rows of pads.
  Rows& frames(std::span<const int32_t> frames);
  Rows& pads(int64_t count);
  /// Adds `frames` frames of the next recording, which tell() fills in later. Then adds the mark of
  /// its end if `ends` is true, then S - 1 rows of pads.
  Rows& heard(int64_t frames, bool ends);

  int64_t count() const { return std::ssize(ids_) / config_->streams; }
  /// Returns the rows in the delay pattern, in which stream s is s rows later. The prompt's
  /// written() ids are those of stream 0.
  Prompt delayed() const;

  /// Returns the first row with an unknown id. Returns count() if all ids are known.
  int64_t known() const { return next_ < unheard_.size() ? unheard_[next_] : count(); }
  /// Returns whether the prompt has rows that are filled in later.
  bool hears() const { return !unheard_.empty(); }
  /// Returns the first row that is filled in later. Valid only if hears() is true.
  int64_t first_heard() const { return unheard_.front(); }
  /// Fills in the next frames [n, S] of ids.
  void tell(std::span<const int32_t> frames);

 private:
  const ModelConfig* config_;
  std::vector<int32_t> ids_;
  std::vector<int64_t> unheard_;  // rows that are filled in later, ascending
  size_t next_ = 0;               // index in unheard_ of the next row to be filled in
};

/// Makes the rows of prompts with one tokenizer.
class Prompter {
 public:
  /// The ids of `tokenizer` must be below config.words.
  Prompter(const ModelConfig& config, Tokenizer tokenizer);

  /// Returns the ids of a client's text. Special tokens in it are read as plain text.
  std::vector<int32_t> words(std::string_view text) const;
  /// Returns the bytes of a text id; empty for special ids.
  std::string bytes(int32_t id) const;

  /// Returns the prompt for reading a text aloud. `voice`: frames [T, S] of ids, may be empty.
  Rows speech(std::span<const int32_t> words, std::span<const int32_t> voice) const;
  /// Returns the prompt for transcribing a recording, given as frames [T, S] of ids.
  Rows recognition(std::span<const int32_t> heard) const;
  /// Does the same for a recording of T frames that are filled in later.
  Rows recognition(int64_t heard) const;
  /// Returns the prompt of a conversation, up to the beginning of the answer. `spoken`: the answer
  /// will also be spoken. `heard`: number of frames of each recording, in the order of the
  /// messages. The plain model accepts a recording only alone, and transcribes it.
  Result<Rows> conversation(const Chat& chat, bool spoken, std::span<const int32_t> voice,
                            std::span<const int64_t> heard) const;
  /// Appends the beginning of an answer in words or, with `speech`, of the answer's speech.
  void answer(Rows& rows, bool speech) const;
  /// Appends an answer's words and their end mark, as in earlier answers.
  void answered(Rows& rows, std::span<const int32_t> words) const;

  /// Refuses a prompt of `rows` rows that leaves too few positions for an answer.
  Status fits(int64_t rows, const char* param) const;
  /// Turns a client's frames [T, S], each with a unit and S - 1 codes, into ids. Returns an Error
  /// that names the invalid value.
  Result<std::vector<int32_t>> ids_of(std::span<const int32_t> frames, const char* param) const;

 private:
  Rows before_recognition() const;
  void after_recognition(Rows& rows) const;
  /// Adds words and S - 1 rows of pads. An `answer` has an end mark; a user's words do not.
  void add_words(Rows& rows, std::span<const int32_t> words, bool answer) const;
  /// Adds a voice. Cuts it, or adds pads, to the model's number of frames.
  void add_voice(Rows& rows, std::span<const int32_t> voice) const;

  const ModelConfig& config_;
  Tokenizer tokenizer_;
};

}  // namespace syrinx::opuslm
