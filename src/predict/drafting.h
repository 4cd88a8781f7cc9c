// Bookkeeping of the drafts of one answer: how long the next one may be, what of it held, and when
// to stop. Each round of drafting goes on from the draft before it, as far as that is what the
// model writes after the question as it is known by then. A pure state machine: no engine, no
// clock. One thread at a time.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx {

/// Lengths in tokens.
struct DraftRules {
  int first = 30;         ///< of the first draft (PredGen, Li and Grover, 2025), and at least
  int more = 10;          ///< that a later one adds to what held and the token behind it
  int most = 120;         ///< of any, so that a pause in the question costs little
  int most_wasted = 500;  ///< in a turn; then no more is drafted: this question cannot be guessed

  bool operator==(const DraftRules&) const = default;
};

/// Tokens are counted once, when they are first written: once the answer has ended,
/// `drafted` = `accepted` + `wasted`.
struct DraftCounts {
  int drafts = 0;    ///< rounds
  int drafted = 0;   ///< tokens
  int accepted = 0;  ///< drafted tokens that the answer begins with
  int wasted = 0;    ///< and those that were given up
};

/// The drafts of one turn.
class Drafting {
 public:
  explicit Drafting(DraftRules rules = {}) : rules_(rules) {}

  /// Whether a round may begin, in place of one that runs: not before that one has added a little,
  /// however fast the question changes.
  bool may_begin() const;
  void begin();
  /// The answer itself begins: what is written now is counted as one that nothing was drafted for.
  void begin_answer();
  /// A token's text, of the round or of the answer.
  void wrote(std::string_view piece);
  /// The round has added what it may: it is to be stopped.
  bool enough() const;
  /// The round has ended, or the answer. `whole`: the model had no more to say.
  void end(bool whole = false);
  /// There will be no answer.
  void give_up();

  /// The expected answer: RequestWriting::expected of the next round.
  const std::string& guess() const { return draft_.text; }
  /// It is all that the model had to say.
  bool guess_is_whole() const { return draft_.whole; }
  /// RequestWriting::max_tokens of the round that begins.
  int most_tokens() const;
  /// The text of the round, or of the answer, so far.
  const std::string& written() const { return now_.text; }
  const DraftCounts& counts() const { return counts_; }

 private:
  /// A text and where its tokens end in it.
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
  size_t alike_ = 0;  // bytes that both begin with
  int held_ = 0;      // tokens of the draft within them
  bool running_ = false, answering_ = false;
  DraftCounts counts_;
};

}  // namespace syrinx
