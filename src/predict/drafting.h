// Bookkeeping of the drafts of one answer: how long the next one may be, how much of it was right,
// and when to stop. Each round continues the part of the last draft that the model still writes
// after the newer question. A pure state machine: no engine, no clock. One thread at a time.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx {

/// Lengths of drafts in tokens.
struct DraftRules {
  /// length of the first draft, and least length of others (PredGen, Li and Grover, 2025)
  int first = 30;
  int more = 10;          ///< tokens that a later draft adds to those that were right, and one more
  int most = 120;         ///< any draft's largest length, so that a pause costs little
  int most_wasted = 500;  ///< wrong tokens in a turn after which its drafting ends

  bool operator==(const DraftRules&) const = default;
};

/// Counts of a turn. A token is counted once, when it is first written; when the answer has ended,
/// `drafted` = `accepted` + `wasted`.
struct DraftCounts {
  int drafts = 0;    ///< number of rounds
  int drafted = 0;   ///< drafted tokens
  int accepted = 0;  ///< drafted tokens with which the answer begins
  int wasted = 0;    ///< drafted tokens that were given up
};

/// The drafts of one turn.
class Drafting {
 public:
  explicit Drafting(DraftRules rules = {}) : rules_(rules) {}

  /// Returns whether a round may begin and replace a running one. The running one must first have
  /// added a few tokens, however fast the question changes.
  bool may_begin() const;
  void begin();
  /// Begins the answer: further tokens count as the answer's.
  void begin_answer();
  /// Adds the text of a token of the round or the answer.
  void wrote(std::string_view piece);
  /// Returns whether the round must be stopped, because it has written as much as it may.
  bool enough() const;
  /// Ends the round or the answer. `whole`: the model itself ended the text.
  void end(bool whole = false);
  /// Ends drafting without an answer.
  void give_up();

  /// The expected answer: RequestWriting::expected of the next round.
  const std::string& guess() const { return draft_.text; }
  /// Returns whether guess() is a whole answer.
  bool guess_is_whole() const { return draft_.whole; }
  /// Returns RequestWriting::max_tokens of the next round.
  int most_tokens() const;
  /// Returns the text of the round, or of the answer, so far.
  const std::string& written() const { return now_.text; }
  const DraftCounts& counts() const { return counts_; }

 private:
  /// A text, with the position of the end of each token.
  struct Tokens {
    std::string text = {};
    std::vector<size_t> ends = {};
    bool whole = false;
    int count() const { return static_cast<int>(ends.size()); }
  };
  int added() const;
  int aim(int held) const;

  const DraftRules rules_;
  Tokens draft_, now_;
  size_t alike_ = 0;  // bytes of the common beginning of both
  int held_ = 0;      // number of tokens of draft_ within these bytes
  bool running_ = false, answering_ = false;
  DraftCounts counts_;
};

}  // namespace syrinx
