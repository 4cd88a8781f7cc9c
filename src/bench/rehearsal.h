// What prediction is worth: questions that come in over time, answered with it and without, by the
// same models. On a VirtualPair, where figures are the same every time, or in real time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/questions.h"
#include "bench/virtual_pair.h"
#include "predict/turn.h"

namespace syrinx {

/// Waiting times of a question. Seconds from its end, which is the last update's
/// time or TimedQuestion::end_s.
struct Rehearsal {
  std::string question, answer;
  double sentence_s = 0;  ///< until the answer's first sentence was written
  double audio_s = 0;     ///< until its first audio
  /// Batches of the text model until that sentence was written, its own end included and rejected
  /// guesses not; 1: it was spoken at once. 0: not known (in real time).
  int forwards = 0;
  TurnCounts counts;
  Error error;  ///< with a message: it failed
};

/// Options of the turns, and the prompt that all of them have.
struct RehearsalOptions {
  TurnOptions turn;    ///< its `predict` is set for each run
  std::string system;  ///< the text model's system prompt
};

/// All questions, one after another, on one pair.
std::vector<Rehearsal> rehearse(VirtualPair& pair, const std::vector<TimedQuestion>& questions,
                                const RehearsalOptions& options);
/// The same on engines that run, at the speed of the clock on the wall. `progress` before each.
std::vector<Rehearsal> rehearse(Engine& writer, Engine& speaker,
                                const std::vector<TimedQuestion>& questions,
                                const RehearsalOptions& options,
                                const std::function<void(size_t done)>& progress = {});

/// A column of the report: the questions under one rule.
struct RehearsalRun {
  std::string rule;  ///< "without", "greedy", "top-3"
  std::vector<Rehearsal> turns;
};

/// A rule of drafting, and what tables call it.
struct NamedPrediction {
  std::string name;
  Prediction how;
};
/// "greedy,top-3,reflection,jacobi-10": each with `base` for the rest. The last is greedy with
/// guesses by Jacobi iteration. Throws LoadError for another name.
std::vector<NamedPrediction> parse_rules(const std::string& list, const Prediction& base);

/// A table; the first run is what the others are compared with.
std::string rehearsal_text(const std::vector<RehearsalRun>& runs);
/// {"costs", "runs": [{"rule", "sentence_ms": {...}, ..., "turns": [...]}]}; `costs` null: in real
/// time.
std::string rehearsal_json(const std::vector<RehearsalRun>& runs, const PairCosts* costs);

/// {"writer": [{"fixed_ms", "unit_ms"}...], "speaker": [...]}: a batch takes the one and, for each
/// row or frame in it, the other. Throws LoadError naming what is wrong; `json` may be what
/// rehearsal_json() wrote.
PairCosts parse_costs(const std::string& json, const std::string& path);

}  // namespace syrinx
