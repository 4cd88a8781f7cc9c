// From texts, frames and conversations to the rows of a prompt. A row is S ids, one of each stream;
// what follows a part that may be heard is S - 1 rows of pads, which the delay fills. Const after
// construction; any thread. Sources: espnet:espnet2/speechlm/definitions.py (order of the parts),
// espnet/vllm:vllm/model_executor/models/opuslm.py (pads, conversations),
// espnet:espnet2/train/preprocessor.py, branch speechlm3 (the end behind what the model wrote).
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

/// Rows [N, S] one after another, before the delay. Frames of recordings may be filled later.
class Rows {
 public:
  explicit Rows(const ModelConfig& config) : config_(&config) {}

  Rows& id(int32_t id);
  Rows& ids(std::span<const int32_t> ids);
  /// Frames [T, S] of ids, and S - 1 rows of pads.
  Rows& frames(std::span<const int32_t> frames);
  Rows& pads(int64_t count);
  /// Adds `frames` frames of the next recording, which tell() fills later, the mark of its end
  /// where it `ends`, and S - 1 rows of pads.
  Rows& heard(int64_t frames, bool ends);

  int64_t count() const { return std::ssize(ids_) / config_->streams; }
  /// Under the delay pattern, as many rows: stream s comes s rows late. Stream 0 is written.
  Prompt delayed() const;

  /// The first row whose ids are not all known; count() when all are.
  int64_t known() const { return next_ < unheard_.size() ? unheard_[next_] : count(); }
  /// Whether some rows are, or were, filled later.
  bool hears() const { return !unheard_.empty(); }
  /// The first row of those; only with hears().
  int64_t first_heard() const { return unheard_.front(); }
  /// The next frames [n, S] of ids.
  void tell(std::span<const int32_t> frames);

 private:
  const ModelConfig* config_;
  std::vector<int32_t> ids_;
  std::vector<int64_t> unheard_;  // rows, rising
  size_t next_ = 0;               // index in unheard_ of the next row to be heard
};

/// Makes the rows of prompts with one tokenizer.
class Prompter {
 public:
  /// Throws LoadError when the tokenizer has more ids than the model.
  Prompter(const ModelConfig& config, Tokenizer tokenizer);

  /// A text of a stranger: special tokens written out are plain text.
  std::vector<int32_t> words(std::string_view text) const;
  /// Returns the bytes of a text id; empty for special ids.
  std::string bytes(int32_t id) const;

  /// What a text is spoken after; `voice`: frames [T, S] of ids, or none.
  Rows speech(std::span<const int32_t> words, std::span<const int32_t> voice) const;
  /// What a recording, frames [T, S] of ids, is written down after.
  Rows recognition(std::span<const int32_t> heard) const;
  /// The same of T frames that are filled later.
  Rows recognition(int64_t heard) const;
  /// A conversation up to where its answer begins. `spoken`: the answer will be heard as well.
  /// `heard`: frames of each recording, in the order of the messages. One recording and nothing
  /// else is written down.
  Result<Rows> conversation(const Chat& chat, bool spoken, std::span<const int32_t> voice,
                            std::span<const int64_t> heard) const;
  /// Goes on with the answer in words; then, with `speech`, it is spoken.
  void answer(Rows& rows, bool speech) const;
  /// Ends the answer's words, as those of earlier answers are ended.
  void answered(Rows& rows, std::span<const int32_t> words) const;

  /// Refuses a prompt of `rows` rows that leaves no room to answer it.
  Status fits(int64_t rows, const char* param) const;
  /// Frames [T, S] as people give them, a unit and S - 1 codes each, as ids; or what is wrong with
  /// them.
  Result<std::vector<int32_t>> ids_of(std::span<const int32_t> frames, const char* param) const;

 private:
  Rows before_recognition() const;
  void after_recognition(Rows& rows) const;
  /// Words and S - 1 rows of pads; the end stands behind an `answer`, not behind what a user wrote.
  void add_words(Rows& rows, std::span<const int32_t> words, bool answer) const;
  /// Adds a voice, cut or filled with pads to the number of frames of the model.
  void add_voice(Rows& rows, std::span<const int32_t> voice) const;

  const ModelConfig& config_;
  Tokenizer tokenizer_;
};

}  // namespace syrinx::opuslm
