#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "bench/rehearsal_summary.h"
#include "cli/line/exit.h"
#include "cli/line/interrupt.h"
#include "cli/line/progress_line.h"
#include "cli/measure/bench.h"
#include "cli/measure/load_command.h"
#include "engine/machine.h"
#include "io/file.h"
#include "runtime/runtime.h"

namespace syrinx {
namespace {

std::vector<TimedQuestion> questions_of(const BenchOptions& options) {
  const PredictBench& how = options.predict;
  if (how.questions != "typed" && how.questions != "heard") return load_questions(how.questions);
  const std::vector<std::string> texts =
      options.text.empty() && options.text_file.empty() ? built_in_questions() : texts_of(options);
  std::vector<TimedQuestion> out;
  for (const std::string& text : texts) {
    const auto seed = static_cast<unsigned>(options.request.sampling.seed + out.size());
    out.push_back(how.questions == "typed" ? typed_question(text, how.characters_a_second)
                                           : heard_question(text, seed));
  }
  return out;
}

void write(const std::string& path, const std::string& text) {
  if (path.empty()) return;
  if (path == "-") {
    std::fputs(text.c_str(), stdout);
  } else {
    write_text(path, text);
  }
}

/// Measures the costs of batches on this machine, with a few answers without prediction. Prompts
/// are read anew each time, so that each size of batch is seen more than once.
PairCosts measure(const std::shared_ptr<const Pipeline>& writer,
                  const std::shared_ptr<const Pipeline>& speaker, EngineOptions engine,
                  RehearsalOptions options, const std::vector<TimedQuestion>& questions) {
  constexpr int kTimes = 2;
  engine.share_prefixes = false;
  options.turn.predict = false;
  const auto assumed = [](const Pipeline& pipeline) {
    return std::vector<StageCost>(pipeline.graph().nodes().size(), StageCost{1e-3, 0});
  };
  VirtualPair pair(writer, speaker, engine, {assumed(*writer), assumed(*speaker)});
  for (int time = 0; time < kTimes; ++time) {
    for (TimedQuestion question : spread_questions(questions, 4)) {
      question.updates.clear(), question.end_s = 0;
      const Rehearsal turn = rehearse(pair, question, options);
      if (!turn.error.message.empty()) throw LoadError(turn.error.message);
    }
  }
  return pair.measured();
}

/// A drafting method with its own caches, so that it does not find prompts of other methods there.
struct Side {
  Prediction rule;
  std::unique_ptr<VirtualPair> pair;        // on the virtual clock
  std::unique_ptr<Engine> writer, speaker;  // engines that run in real time
};

/// Asks all questions: each one with every drafting method, then the next one. On a signal keeps
/// the questions that were answered with every method, and returns the signal.
std::optional<Interrupted> ask(std::vector<Side>& sides,
                               const std::vector<TimedQuestion>& questions,
                               RehearsalOptions options, std::vector<RehearsalRun>& runs) {
  const InterruptGuard guard;
  options.check = [&] { guard.check(); };
  ProgressLine line;
  const double began_s = now_s();
  for (const TimedQuestion& question : questions) {
    const size_t done = runs.front().turns.size();
    std::vector<Rehearsal> turns;
    try {
      for (size_t i = 0; i < sides.size(); ++i) {
        line.show(concat("question ", done + 1, " of ", questions.size(), ", ", runs[i].rule));
        options.turn.predict = i > 0;
        options.turn.prediction = sides[i].rule;
        guard.check();
        turns.push_back(sides[i].pair
                            ? rehearse(*sides[i].pair, question, options)
                            : rehearse(*sides[i].writer, *sides[i].speaker, question, options));
      }
    } catch (const Interrupted& interrupted) {
      return interrupted;
    }
    for (size_t i = 0; i < sides.size(); ++i) runs[i].turns.push_back(std::move(turns[i]));
    const double each_s = (now_s() - began_s) / static_cast<double>(done + 1);
    const double left_s = each_s * static_cast<double>(questions.size() - done - 1);
    line.clear();
    std::fprintf(stderr, "question %zu of %zu: %s; %s left\n", done + 1, questions.size(),
                 question_line(runs).c_str(), clock_time(left_s).c_str());
  }
  return {};
}

}  // namespace

int run_bench_predict(const BenchOptions& options) {
  const PredictBench& how = options.predict;
  if (options.load.model.empty()) throw UsageError("--predict needs --model, a text model");
  if (!options.url.empty()) throw UsageError("--predict measures in this process: leave out --url");
  if (how.real_time && !how.costs_file.empty()) {
    throw UsageError("--costs and --real-time exclude each other");
  }
  need_results(options);
  Prediction base;
  base.hint = how.hint;
  set_draft_length(base.drafts, how.draft_tokens);
  std::vector<NamedPrediction> rules = parse_rules(how.rules, base);
  const std::vector<TimedQuestion> questions =
      spread_questions(questions_of(options), static_cast<size_t>(how.sample));
  RehearsalOptions rehearsal;
  rehearsal.system = how.system;
  rehearsal.turn.answer.sampling.temperature = 0.f;
  rehearsal.turn.answer.writing.max_tokens = how.max_tokens;
  rehearsal.turn.voice.sampling.seed = options.request.sampling.seed;
  rehearsal.turn.voice.voice.name = options.request.voice.name;
  if (how.sentence_chars > 0) rehearsal.turn.sentence.max_chars = how.sentence_chars;
  LoadOptions speaks = options.load;
  speaks.model = how.speaker;
  const auto machine = how.real_time ? shared_machine({options.load, speaks}) : nullptr;
  const std::shared_ptr<const Pipeline> writes = load_pipeline(options.load),
                                        says = load_pipeline(speaks);
  std::optional<PairCosts> costs;
  if (!how.costs_file.empty()) {
    costs = parse_costs(read_file(how.costs_file, size_t{64} << 20), how.costs_file);
  } else if (!how.real_time) {
    costs = measure(writes, says, options.load.engine, rehearsal, questions);
  }
  rules.insert(rules.begin(), NamedPrediction{"without", {}});
  std::vector<RehearsalRun> runs;
  std::vector<Side> sides;
  for (const NamedPrediction& rule : rules) {
    runs.push_back({rule.name, {}});
    Side& side = sides.emplace_back();
    side.rule = rule.how;
    if (how.real_time) {
      side.writer = std::make_unique<Engine>(writes, options.load.engine, machine);
      side.speaker = std::make_unique<Engine>(says, options.load.engine, machine);
    } else {
      side.pair = std::make_unique<VirtualPair>(writes, says, options.load.engine, *costs);
    }
  }
  const auto interrupted = ask(sides, questions, rehearsal, runs);
  if (options.json_file != "-" && !runs.front().turns.empty()) {
    std::fputs(rehearsal_text(runs, questions.size()).c_str(), stdout);
  }
  write(options.json_file, rehearsal_json(runs, questions.size(), costs ? &*costs : nullptr));
  if (!options.html_file.empty()) {
    write(options.html_file,
          rehearsal_html(runs, concat("Prediction: ", writes->info().model, " and ",
                                      says->info().model, ", questions ", how.questions)));
  }
  std::fflush(stdout);  // because end_by() ends the process without writing buffered output
  if (interrupted) throw Interrupted(*interrupted);
  for (const RehearsalRun& run : runs) {
    for (const Rehearsal& turn : run.turns) {
      if (!turn.error.message.empty()) return kExitFailed;
    }
  }
  return kExitOk;
}

}  // namespace syrinx
