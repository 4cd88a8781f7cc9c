#include "link/remote_ar_stage.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "base/clock.h"
#include "link/remote_sequence.h"
#include "link/step_message.h"

namespace syrinx {
namespace {

constexpr int kMostRowsAgain = 256;  // most rows of a step that computes a cache again
constexpr size_t kAheadAgain = 8;    // most unanswered steps: each must end within answer_s

RemoteSequence& sequence_of(const StepSequence& seq) {
  return *static_cast<RemoteSequence*>(seq.state);
}

/// Returns the number of results of a sequence in StepResults.
size_t yields(const StepSequence& seq) {
  return seq.emits && !seq.companion ? 1 + static_cast<size_t>(seq.drafts) : 0;
}

/// Resizes the results for all sequences of the step.
void make_blank(const Step& step, const ArTraits& traits, StepResults& out) {
  size_t steps = 0, tapped = 0;
  bool scored = false;
  for (const StepSequence& seq : step.sequences) {
    steps += yields(seq);
    tapped += seq.taps ? static_cast<size_t>(seq.rows) : 0;
    scored = scored || (yields(seq) > 0 && seq.scores >= 0);
  }
  out.codes_per_step = static_cast<int>(traits.vocab.size());
  out.codes.assign(steps * traits.vocab.size(), 0);
  out.status.assign(steps, SampleStatus::kOk);
  out.scores.assign(scored ? steps : 0, {});
  out.values.assign(steps * static_cast<size_t>(traits.values), 0.f);
  out.taps.assign(tapped * static_cast<size_t>(traits.tap), 0.f);
  out.faults.assign(step.sequences.size(), std::nullopt);
}

PushedSequence pushed(const StepSequence& seq, int first_pos, int rows,
                      std::span<const int32_t> pages) {
  const std::span<const int32_t> used = pages.first(KvPool::pages_for(first_pos + rows));
  return {.stream = sequence_of(seq).number(),
          .first_pos = first_pos,
          .rows = rows,
          .companion = seq.companion,
          .pages = {reinterpret_cast<const char*>(used.data()), used.size_bytes()}};
}

}  // namespace

/// A step that is tried until it is done or all of its sequences have failed.
struct RemoteArStage::Attempt {
  const Step& step;
  StepResults& out;
  std::vector<bool> fails = std::vector<bool>(step.sequences.size());
  std::string bytes = {};
  /// The batches sent before the step itself, in order: steps that compute caches again, each with
  /// the index of its sequence (unset if the batch only copies pages).
  std::vector<std::pair<std::shared_ptr<StageLink::Batch>, std::optional<size_t>>> again = {};
  int computed_again = 0;  ///< sequences whose cache was computed again
  double began_s = 0;
  std::shared_ptr<StageLink::Batch> batch = {};
  uint64_t number = 0;

  std::span<const int32_t> pages(size_t i) const {
    return step.page_table.subspan(i * step.table_width, step.table_width);
  }
  /// Fails the sequence of entry i, and its companion.
  void fail(size_t i, const Error& error) {
    for (size_t k = i > 0 ? i - 1 : 0; k < std::min(i + 2, fails.size()); ++k) {
      if (step.sequences[k].state != step.sequences[i].state) continue;
      out.faults[k] = error;
      fails[k] = true;
    }
  }
  bool nobody() const { return std::find(fails.begin(), fails.end(), false) == fails.end(); }
};

RemoteArStage::RemoteArStage(std::string name, const ArStage& here, std::vector<StageCopy> copies)
    : name_(std::move(name)), here_(here), copies_(std::move(copies)) {}

void RemoteArStage::forward(StepContext&, const ArBatch&, View) const {
  throw InternalError("the stage '" + name_ + "' is in another process");
}
void RemoteArStage::logits(StepContext&, int, const ArBatch&, View, View, View) const {
  throw InternalError("the stage '" + name_ + "' is in another process");
}

void RemoteArStage::step(const Step& step, StepResults& out) const {
  constexpr int kMostLosses = 2;
  make_blank(step, here_.traits(), out);
  Attempt attempt{step, out};
  for (int losses = 0; losses < kMostLosses && find_home(step.pages);) {
    try {
      settle(attempt);
      if (attempt.nobody()) {
        if (!attempt.bytes.empty())
          home_.copy = nullptr;  // the copies of sequences there are outdated
        return;
      }
      compute_again(attempt);
      send(attempt);
    } catch (...) {  // some messages may not have been sent
      ++home_.number;
      throw;
    }
    switch (receive(attempt)) {
      case Received::kAll:
        return;
      case Received::kFaults:
        break;
      case Received::kNothing:
        ++losses;
    }
  }
  for (size_t i = 0; i < step.sequences.size(); ++i) {
    if (!attempt.fails[i]) attempt.fail(i, process_gone(name_));
  }
}

/// Chooses the process for the next step: the process of the last step while it is connected. If
/// that process is about to end, chooses another process, provided that all of its state can be
/// computed again. Returns false if no process is connected.
bool RemoteArStage::find_home(int pages) const {
  home_.homes.resize(static_cast<size_t>(pages), 0);
  const bool there = home_.copy && home_.link().epoch() == home_.epoch;
  const LinkState state = there ? home_.link().state() : LinkState{};
  if (there && (!state.leaving || state.bound > 0)) return true;
  const StageCopy* const next = choose_copy(copies_);
  if (there && next == home_.copy) return true;
  home_.copy = next;
  home_.epoch = home_.copy ? home_.link().epoch() : 0;
  ++home_.number;
  home_.pages_sent = 0;
  return home_.epoch != 0;
}

/// Appends messages that give the process the cache's size and up-to-date sequences.
void RemoteArStage::settle(Attempt& attempt) const {
  if (home_.pages_sent != attempt.step.pages) {
    append_cache(attempt.bytes, {home_.copy->node, static_cast<uint32_t>(attempt.step.pages)});
    home_.pages_sent = attempt.step.pages;
  }
  for (size_t i = 0; i < attempt.step.sequences.size(); ++i) {
    if (attempt.fails[i]) continue;
    const StepSequence& seq = attempt.step.sequences[i];
    if (!sequence_of(seq).settle(*home_.copy, home_.epoch, attempt.bytes)) {
      attempt.fail(i, process_gone(name_));
    }
  }
}

/// Sends the copies of pages. Runs again the rows whose pages the chosen process lacks because
/// another process ran them.
void RemoteArStage::compute_again(Attempt& attempt) const {
  attempt.again.clear();
  attempt.computed_again = 0;
  attempt.began_s = now_s();
  const auto push = [&](StepMessage message, std::optional<size_t> i) {
    message.batch = home_.link().new_number();
    message.node = home_.copy->node;
    append_step(attempt.bytes, message);
    attempt.again.emplace_back(
        home_.link().send(home_.epoch, message.batch, std::exchange(attempt.bytes, {})), i);
    const size_t sent = attempt.again.size();
    if (sent > kAheadAgain) home_.link().wait(*attempt.again[sent - 1 - kAheadAgain].first);
  };
  StepMessage copies;
  for (const PageCopy& copy : attempt.step.copies) {
    home_.homes[copy.to] = home_.homes[copy.from];
    if (home_.homes[copy.from] == home_.number) copies.copies.push_back(copy);
  }
  if (!copies.copies.empty()) push(std::move(copies), std::nullopt);
  for (size_t i = 0; i < attempt.step.sequences.size(); ++i) {
    const StepSequence& seq = attempt.step.sequences[i];
    if (attempt.fails[i]) continue;
    const std::span<const int32_t> pages = attempt.pages(i);
    int valid = 0;  // number of leading pages with the right contents
    while (valid * KvPool::kPageRows < seq.first_pos && home_.homes[pages[valid]] == home_.number) {
      ++valid;
    }
    attempt.computed_again += valid * KvPool::kPageRows < seq.first_pos ? 1 : 0;
    for (int from = valid * KvPool::kPageRows; from < seq.first_pos;) {
      const int rows = std::min(kMostRowsAgain, seq.first_pos - from);
      StepMessage message;
      message.sequences.push_back(pushed(seq, from, rows, pages));
      push(std::move(message), i);
      from += rows;
    }
    for (const int32_t page : pages.first(KvPool::pages_for(seq.first_pos + seq.rows))) {
      home_.homes[page] = home_.number;
    }
  }
}

void RemoteArStage::send(Attempt& attempt) const {
  StepMessage message;
  message.batch = home_.link().new_number();
  message.node = home_.copy->node;
  for (size_t i = 0; i < attempt.step.sequences.size(); ++i) {
    if (attempt.fails[i]) continue;
    const StepSequence& seq = attempt.step.sequences[i];
    PushedSequence& to =
        message.sequences.emplace_back(pushed(seq, seq.first_pos, seq.rows, attempt.pages(i)));
    to.drafts = seq.drafts;
    to.emits = seq.emits, to.guided = seq.guided, to.taps = seq.taps;
    to.seed = seq.seed, to.step = seq.step, to.scores = seq.scores;
  }
  attempt.number = message.batch;
  append_step(attempt.bytes, message);
  attempt.batch = home_.link().send(home_.epoch, attempt.number, std::move(attempt.bytes));
}

RemoteArStage::Received RemoteArStage::receive(Attempt& attempt) const {
  bool faults = false;
  try {
    for (const auto& [batch, i] : attempt.again) {
      const Result<Message> answer = home_.link().receive(*batch);
      if (!answer.ok()) return Received::kNothing;
      const SteppedMessage stepped = read_stepped(answer.value().body);
      const std::vector<std::optional<Error>>& of_one = stepped.results.faults;
      const std::string why = of_one.empty() || !of_one[0] ? stepped.fault : of_one[0]->message;
      if (why.empty()) continue;
      if (!i) throw LoadError("the process cannot copy pages: " + why);
      attempt.fail(*i, {ErrorCode::kInternal, "the stage '" + name_ + "': " + why});
      faults = true;
    }
    count_again(attempt);
    const Result<Message> answer = home_.link().receive(*attempt.batch);
    if (!answer.ok()) return Received::kNothing;
    if (faults) {  // shared pages may lack rows of the failed sequences
      ++home_.number;
      return Received::kFaults;
    }
    take(attempt, answer.value().body);
    return Received::kAll;
  } catch (const LoadError& e) {
    home_.link().drop(home_.epoch, e.what());
    home_.copy = nullptr;
    return Received::kNothing;
  }
}

void RemoteArStage::count_again(const Attempt& attempt) const {
  const LinkOptions& options = home_.link().options();
  if (attempt.computed_again == 0 || !options.log) return;
  const auto ms = static_cast<int64_t>(1e3 * (now_s() - attempt.began_s));
  options.log(concat(options.address, ": computed ", attempt.computed_again, " lost streams of ",
                     name_, " again in ", ms, " ms"));
}

/// Reads the results from an answer. Throws LoadError if the answer does not fit the step.
void RemoteArStage::take(Attempt& attempt, std::string_view body) const {
  SteppedMessage stepped = read_stepped(body);
  if (stepped.batch != attempt.number) throw LoadError("the answer is to another step");
  if (!stepped.fault.empty()) {
    throw InternalError("the stage '" + name_ + "': " + stepped.fault);
  }
  // Sequences that failed in this step or earlier have no results.
  const ArTraits& traits = here_.traits();
  const size_t codes = traits.vocab.size();
  const auto values = static_cast<size_t>(traits.values), tap = static_cast<size_t>(traits.tap);
  const StepResults& from = stepped.results;
  StepResults& to = attempt.out;
  const std::vector<bool> before = attempt.fails;
  const auto sent = static_cast<size_t>(std::count(before.begin(), before.end(), false));
  if (!from.faults.empty() && from.faults.size() != sent) {
    throw LoadError(concat("expected results of ", sent, " sequences, got ", from.faults.size()));
  }
  for (size_t i = 0, sequence = 0; i < before.size(); ++i) {
    if (before[i]) continue;
    const size_t mine = sequence++;
    if (from.faults.empty() || !from.faults[mine]) continue;
    attempt.fail(
        i, {ErrorCode::kInternal, "the stage '" + name_ + "': " + from.faults[mine]->message});
  }
  size_t steps = 0, rows = 0;
  for (size_t i = 0; i < attempt.fails.size(); ++i) {
    if (attempt.fails[i]) continue;
    const StepSequence& seq = attempt.step.sequences[i];
    steps += yields(seq);
    rows += seq.taps ? static_cast<size_t>(seq.rows) : 0;
  }
  const bool fits = from.codes.size() == steps * codes && from.status.size() == steps &&
                    (from.scores.empty() || from.scores.size() == steps) &&
                    from.values.size() == steps * values && from.taps.size() == rows * tap;
  if (!fits)
    throw LoadError(
        concat("the answer has ", from.codes.size(), " codes, which do not fit ", steps, " steps"));
  for (size_t i = 0; i < from.codes.size(); ++i) {
    const int32_t code = from.codes[i];
    if (code < 0 || code >= traits.vocab[i % codes])
      throw LoadError(concat("the answer has the invalid code ", code));
  }
  size_t step_from = 0, step_to = 0, row_from = 0, row_to = 0;
  for (size_t i = 0; i < attempt.fails.size(); ++i) {
    const StepSequence& seq = attempt.step.sequences[i];
    const size_t yielded = yields(seq), tapped = seq.taps ? static_cast<size_t>(seq.rows) : 0;
    if (!attempt.fails[i]) {
      std::copy_n(from.codes.begin() + step_from * codes, yielded * codes,
                  to.codes.begin() + step_to * codes);
      std::copy_n(from.status.begin() + step_from, yielded, to.status.begin() + step_to);
      std::copy_n(from.values.begin() + step_from * values, yielded * values,
                  to.values.begin() + step_to * values);
      for (size_t k = 0; k < yielded && !from.scores.empty() && !to.scores.empty(); ++k) {
        to.scores[step_to + k] = from.scores[step_from + k];
      }
      std::copy_n(from.taps.begin() + row_from * tap, tapped * tap, to.taps.begin() + row_to * tap);
      step_from += yielded, row_from += tapped;
    }
    step_to += yielded, row_to += tapped;
  }
}

}  // namespace syrinx
