// A request's text cut at its pauses (model/pauses.h) and where it is delivered otherwise: parts
// that are spoken one after the other, each as a request of its own would be, with silence between
// them: that of a pause, or where only the delivery changes that of the layout (text/layout.h). For
// models that take no phones, a lexicon's other words are put into the text. One thread at a time.
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

namespace syrinx {

class SpokenParts {
 public:
  /// Cuts a text, whole or the beginning of one that is open; `phones`: the model pronounces a
  /// lexicon's words itself. Null: there is nothing to cut or to exchange, now or later.
  static Result<std::unique_ptr<SpokenParts>> of(const SpeechRequest& request, bool phones = true);

  /// How late text changes the part that is being spoken.
  struct LiveText {
    std::string text = {};
    bool last = false;
  };
  Status push(std::string_view text, bool last, LiveText& live);

  /// After a part: the next one may begin, its text has not come, or there is none.
  enum class Next { kBegin, kWait, kDone };
  Next next() const;
  /// Neither words nor silence are left, now or later.
  bool over() const { return next() == Next::kDone && pause_s() == 0; }
  /// Nothing of the text is spoken, now or later, and it has a pause.
  bool only_silence() const { return next() == Next::kDone && pause_s() > 0; }
  /// The request of the next part; `frames`: spoken before it, of RequestTerms::max_frames.
  std::unique_ptr<const SpeechRequest> begin(int64_t frames);
  /// The part was spoken.
  void end();

  /// Silence before the part that has not been sent yet, and where the part begins in the text.
  double pause_s() const { return parts_.empty() ? 0 : parts_.front().pause_s; }
  double take_pause();
  int64_t text_begin() const { return parts_.empty() ? 0 : parts_.front().begin; }

 private:
  struct Part {
    std::string text = {};
    int64_t begin = 0;
    double pause_s = 0;
    bool speakable = false;
    bool closed = false;
    size_t delivery = 0;  ///< number of earlier deliveries that have begun
  };
  void add_words(std::string_view words, LiveText& live);
  void begin_part(double pause_s, LiveText& live);

  explicit SpokenParts(SpeechRequest base) : base_(std::move(base)) {}

  SpeechRequest base_;  // without its text
  std::vector<Saying> sayings_;
  PauseReader reader_;
  std::optional<Respeller> respeller_;
  std::deque<Part> parts_{1};   // the first is spoken, or next
  bool live_ = false;           // it is spoken
  int64_t at_ = 0;              // bytes of the text so far
  size_t delivery_ = 0;         // how many deliveries begin before that
  size_t delivery_before_ = 0;  // of the last part that has words
  std::string said_;            // the end of the words so far
};

}  // namespace syrinx
