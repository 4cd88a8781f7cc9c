// Tracks the drafts of one answer: how long the next draft may be, how much of a draft was right,
// and when drafting stops. Each round continues the part of the last draft that the model still
// writes after the newer question. A pure state machine: no engine, no clock. One thread at a time.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx {

/// Lengths of drafts in tokens.
struct DraftRules {
  /// length of the first draft, and smallest length of later drafts (PredGen, Li and Grover, 2025)
  int first = 30;
  int more = 10;           ///< length of a later draft: its right tokens, one more, and this number
  int most = 120;          ///< largest length of a draft, so that a pause costs little
  int most_wasted = 500;   ///< number of wrong tokens in a turn after which drafting stops
  int most_at_once = 400;  ///< number of rounds in a turn after which none replaces another at once

  bool operator==(const DraftRules&) const = default;
};

/// Counts of a turn. A token is counted once, when it is first written. After the answer has ended,
/// `drafted` = `accepted` + `wasted`.
struct DraftCounts {
  int drafts = 0;    ///< number of rounds
  int drafted = 0;   ///< tokens that were drafted
  int accepted = 0;  ///< drafted tokens that the answer begins with
  int wasted = 0;    ///< drafted tokens that the answer does not use
};

/// The drafts of one turn.
class Drafting {
 public:
  explicit Drafting(DraftRules rules = {}) : rules_(rules) {}

  /// Returns whether a round may begin and replace a running one. The running one must first have
  /// added a few tokens, so that drafts progress even if the question changes fast. `at_once`: it
  /// has written the first sentence, or the question may be whole.
  bool may_begin(bool at_once = false) const;
  void begin();
  /// Begins the answer. Further tokens belong to the answer.
  void begin_answer();
  /// Begins the answer with the text of the running round or, if no round runs, of the last draft.
  void begin_answer_with_draft();
  /// Appends the text of the next token of the round or of the answer.
  void wrote(std::string_view piece);
  /// Returns whether the round must be stopped because it has reached its length.
  bool enough() const;
  /// Ends the round or the answer. `whole`: the model itself ended the text.
  void end(bool whole = false);
  /// Ends drafting without an answer.
  void give_up();

  /// Returns the expected answer, for RequestWriting::expected of the next round.
  const std::string& guess() const { return draft_.text; }
  /// Returns the last draft that guess() replaced although it differed; empty without one.
  const std::string& earlier_guess() const { return earlier_; }
  /// Returns whether guess() is a whole answer.
  bool guess_is_whole() const { return draft_.whole; }
  /// Returns the largest length in tokens of the next round.
  int most_tokens() const;
  /// Returns the text written so far in the round or the answer.
  const std::string& written() const { return now_.text; }
  const DraftCounts& counts() const { return counts_; }

 private:
  /// A text, and the position at which each of its tokens ends.
  struct Tokens {
    std::string text = {};
    std::vector<size_t> ends = {};
    bool whole = false;
    int count() const { return static_cast<int>(ends.size()); }
  };
  void count_held();
  int added() const;
  int aim(int held) const;

  const DraftRules rules_;
  Tokens draft_, now_;
  std::string earlier_;
  size_t alike_ = 0;  // length of the common beginning of draft_ and now_, in bytes
  int held_ = 0;      // tokens of draft_ within these bytes
  bool running_ = false, answering_ = false;
  DraftCounts counts_;
};

}  // namespace syrinx
