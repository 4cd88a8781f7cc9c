#include "cli/talk/prediction_arguments.h"

#include <CLI/CLI.hpp>

#include "cli/line/ranges.h"

namespace syrinx {

void add_prediction(CLI::App& app, Prediction& how) {
  app.add_option_function<std::string>(
         "--predict-rule", [&how](const std::string& name) { how.rule = *find_draft_rule(name); },
         "which part of a draft an answer keeps. greedy: the tokens that the model would write "
         "anyway; top-k: tokens among the --predict-k likeliest; reflection: sentences that the "
         "model judges to answer the question. The last two may change answers (greedy)")
      ->check(CLI::IsMember({"greedy", "top-k", "reflection"}));
  app.add_option("--predict-k", how.among, "the k of top-k")
      ->check(between(1, Prediction::kMostAmong))
      ->capture_default_str();
  app.add_option_function<int>(
         "--predict-tokens", [&how](int tokens) { set_draft_length(how.drafts, tokens); },
         "tokens of the first draft (30)")
      ->check(between(1, Prediction::kMostDraft));
  app.add_option("--predict-hint", how.hint,
                 "text added to the question in drafts, such as \"(This may be cut off.)\"");
}

}  // namespace syrinx
