#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <vector>

#include "base/check.h"
#include "bench/rehearsal_summary.h"
#include "cli/line/exit.h"
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

/// Measures the costs of batches on this machine, with a few answers without prediction.
PairCosts measure(Engine& writer, Engine& speaker, RehearsalOptions options,
                  const std::vector<TimedQuestion>& questions) {
  options.turn.predict = false;
  std::vector<TimedQuestion> some(
      questions.begin(), questions.begin() + std::min<std::ptrdiff_t>(4, std::ssize(questions)));
  for (TimedQuestion& question : some) question.updates.clear(), question.end_s = 0;
  for (const Rehearsal& turn : rehearse(writer, speaker, some, options)) {
    if (!turn.error.message.empty()) throw LoadError(turn.error.message);
  }
  return {writer.costs(), speaker.costs()};
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
  const std::vector<TimedQuestion> questions = questions_of(options);
  RehearsalOptions rehearsal;
  rehearsal.system = how.system;
  rehearsal.turn.answer.sampling.temperature = 0.f;
  rehearsal.turn.answer.writing.max_tokens = how.max_tokens;
  rehearsal.turn.voice.sampling.seed = options.request.sampling.seed;
  rehearsal.turn.voice.voice.name = options.request.voice.name;
  if (how.sentence_chars > 0) rehearsal.turn.sentence.max_chars = how.sentence_chars;
  LoadOptions speaks = options.load;
  speaks.model = how.speaker;
  const auto machine = std::make_shared<Machine>(options.load.engine);
  const std::shared_ptr<const Pipeline> writes = load_pipeline(options.load),
                                        says = load_pipeline(speaks);
  Engine writer(writes, options.load.engine, machine), speaker(says, options.load.engine, machine);
  std::optional<PairCosts> costs;
  if (!how.costs_file.empty()) {
    costs = parse_costs(read_file(how.costs_file, size_t{64} << 20), how.costs_file);
  } else if (!how.real_time) {
    costs = measure(writer, speaker, rehearsal, questions);
  }
  std::vector<RehearsalRun> runs;
  rules.insert(rules.begin(), NamedPrediction{"without", {}});
  for (const NamedPrediction& rule : rules) {
    rehearsal.turn.predict = !runs.empty();
    rehearsal.turn.prediction = rule.how;
    RehearsalRun& run = runs.emplace_back();
    run.rule = rule.name;
    if (how.real_time) {
      ProgressLine line;
      run.turns = rehearse(writer, speaker, questions, rehearsal, [&](size_t done) {
        line.show(concat(run.rule, ", question ", done + 1, " of ", questions.size()));
      });
    } else {
      VirtualPair pair(writes, says, options.load.engine, *costs);
      run.turns = rehearse(pair, questions, rehearsal);
    }
  }
  if (options.json_file != "-") std::fputs(rehearsal_text(runs).c_str(), stdout);
  write(options.json_file, rehearsal_json(runs, costs ? &*costs : nullptr));
  if (!options.html_file.empty()) {
    write(options.html_file,
          rehearsal_html(runs, concat("Prediction: ", writes->info().model, " and ",
                                      says->info().model, ", questions ", how.questions)));
  }
  for (const RehearsalRun& run : runs) {
    for (const Rehearsal& turn : run.turns) {
      if (!turn.error.message.empty()) return kExitFailed;
    }
  }
  return kExitOk;
}

}  // namespace syrinx
