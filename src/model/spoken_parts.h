// A request's text, cut into parts at its pauses (model/pauses.h) and where its delivery (speed,
// pitch) changes. Each part is spoken like a separate request. The pause sets the silence between
// two parts; where only the delivery changes, the text's layout sets it (text/layout.h). For models
// without phones, a lexicon's respellings replace words in the text. One thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/pauses.h"
#include "model/request.h"
#include "text/silent_text.h"

namespace syrinx {

class SpokenParts {
 public:
  /// Cuts the text of a request, as far as it has arrived. `phones`: the model reads a lexicon's
  /// phones, so words are not replaced. Returns null if the whole text, late text included, is one
  /// part without replacements.
  static Result<std::unique_ptr<SpokenParts>> of(const SpeechRequest& request, bool phones = true);
  /// Makes the parts of a text that is only silence.
  static std::unique_ptr<SpokenParts> silence(double seconds);

  /// Late text for the part that is being spoken.
  struct LiveText {
    std::string text = {};
    bool last = false;
  };
  /// Reads more text. Returns what belongs to the part that is being spoken.
  Result<LiveText> push(std::string_view text, bool last);

  /// The state after a part: the next part may begin, its text is missing, or no part is left.
  enum class Next { kBegin, kWait, kDone };
  Next next() const;
  /// Returns whether all words and all silence are done, and no more text can arrive.
  bool over() const { return next() == Next::kDone && pause_s() == 0; }
  /// Returns whether no words are left or can still arrive, but silence is left.
  bool only_silence() const { return next() == Next::kDone && pause_s() > 0; }
  /// Begins the next part and returns a request for it. `frames`: frames of all earlier parts,
  /// which count towards RequestTerms::max_frames.
  std::unique_ptr<const SpeechRequest> begin(int64_t frames);
  /// Ends the part that is being spoken.
  void end();
  /// Ends the part that is being spoken, whose text is complete, and puts silence in its place.
  void skip(double silence_s);

  /// pause_s(): seconds of silence before the current part, not sent yet. take_pause() also clears
  /// them. text_begin(): byte offset of the part in the text.
  double pause_s() const { return parts_.empty() ? 0 : parts_.front().pause_s; }
  double take_pause();
  int64_t text_begin() const { return parts_.empty() ? 0 : parts_.front().begin; }
  /// Returns what the text of the current part has, as far as it has arrived.
  TextContent content() const {
    return parts_.empty() ? TextContent::kBlank : parts_.front().content;
  }

 private:
  struct Part {
    std::string text = {};
    int64_t begin = 0;
    double pause_s = 0;
    bool speakable = false;
    TextContent content = TextContent::kBlank;
    bool closed = false;
    size_t delivery = 0;  ///< number of deliveries that have begun before or at the part
  };
  /// Returns whether new text belongs to the part that is being spoken.
  bool continues() const { return live_ && parts_.size() == 1; }
  void add_words(std::string_view words);
  void begin_part(double pause_s);

  explicit SpokenParts(SpeechRequest base) : base_(std::move(base)) {}

  SpeechRequest base_;  // the request without its text
  std::vector<Saying> sayings_;
  PauseReader reader_;
  std::optional<Respeller> respeller_;
  std::deque<Part> parts_{1};   // the front part is being spoken or comes next
  bool live_ = false;           // the front part is being spoken
  bool open_ = false;           // the end of the part that is being spoken was not returned yet
  int64_t at_ = 0;              // bytes of the text so far
  size_t delivery_ = 0;         // number of deliveries that have begun by byte at_
  size_t delivery_before_ = 0;  // Part::delivery of the last part that has words
  std::string said_;            // last bytes of the words that came so far
};

}  // namespace syrinx
