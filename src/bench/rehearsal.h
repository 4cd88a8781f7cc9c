// Measures the gain of prediction: the same models answer questions that arrive over time, with
// prediction and without. Uses a VirtualPair, with equal figures in every run, or real time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/questions.h"
#include "bench/virtual_pair.h"
#include "predict/turn.h"

namespace syrinx {

/// Waiting times of a question, in seconds from its end (TimedQuestion::end_s).
struct Rehearsal {
  std::string question, answer;
  double sentence_s = 0;  ///< until the answer's first sentence was written
  double audio_s = 0;     ///< until the answer's first audio
  /// Batches of the text model, without drafts in the background, from the question's end until the
  /// answer's first sentence was written. 1: the sentence was drafted. 0: unknown (real time).
  int forwards = 0;
  TurnCounts counts;
  Error error;  ///< has a message if the question failed
};

/// Options of all turns of a run.
struct RehearsalOptions {
  TurnOptions turn;    ///< each run sets `predict`
  std::string system;  ///< the text model's system prompt
  /// Called many times a second while a question runs. An exception cancels the turn, and the
  /// caller gets it.
  std::function<void()> check = {};
};

/// Runs a question on a pair, until the pair is idle again.
Rehearsal rehearse(VirtualPair& pair, const TimedQuestion& question,
                   const RehearsalOptions& options);
/// Runs a question on real engines in real time.
Rehearsal rehearse(Engine& writer, Engine& speaker, const TimedQuestion& question,
                   const RehearsalOptions& options);
/// Runs all questions, one after another, on one pair.
std::vector<Rehearsal> rehearse(VirtualPair& pair, const std::vector<TimedQuestion>& questions,
                                const RehearsalOptions& options);

/// A column of the report: all questions with one drafting method ("rule").
struct RehearsalRun {
  std::string rule;  ///< e.g. "without", "greedy", "top-3"
  std::vector<Rehearsal> turns;
};

/// Drafting options and their name in tables.
struct NamedPrediction {
  std::string name;
  Prediction how;
};
/// Parses a list of drafting methods such as "greedy,top-3,reflection,jacobi-10". Each result is
/// `base` with that method. "jacobi" is greedy with drafts from Jacobi iteration. Throws LoadError
/// for an unknown method.
std::vector<NamedPrediction> parse_rules(const std::string& list, const Prediction& base);

/// Returns a line about a question that all runs have just answered: the first audio of the first
/// run, and the gain of each other run.
std::string question_line(const std::vector<RehearsalRun>& runs);
/// Returns a table that compares all runs with the first one. If the runs have fewer than `wanted`
/// questions, the first line says so.
std::string rehearsal_text(const std::vector<RehearsalRun>& runs, size_t wanted);
/// Returns {"clock", "partial", "questions_wanted", "costs", "runs": [{"rule", "sentence_ms":
/// {...}, ..., "turns": [...]}]}. `costs` null: the runs were in real time.
std::string rehearsal_json(const std::vector<RehearsalRun>& runs, size_t wanted,
                           const PairCosts* costs);

/// Parses {"writer": [{"fixed_ms", "unit_ms"}...], "speaker": [...]}. A batch takes fixed_ms, plus
/// unit_ms for each of its rows or frames. Also reads the output of rehearsal_json(). Throws a
/// LoadError that describes the fault.
PairCosts parse_costs(const std::string& json, const std::string& path);

}  // namespace syrinx
