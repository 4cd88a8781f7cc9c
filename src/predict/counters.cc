#include "predict/counters.h"

#include "base/check.h"

namespace syrinx {

void write_predictions(const PredictionCounters& counters, std::string& out) {
  const auto add = [&out](const char* name, const char* help, const Counter& counter) {
    out += concat("# HELP syrinx_predict_", name, " ", help, "\n# TYPE syrinx_predict_", name,
                  " counter\nsyrinx_predict_", name, " ", counter.value(), "\n");
  };
  add("turns_total", "Questions whose answer was drafted before their end.", counters.turns);
  add("ready_total", "Answers whose first audio was ready before the question's end.",
      counters.ready);
  add("drafts_total", "Rounds of drafting.", counters.drafts);
  add("drafted_tokens_total", "Tokens drafted, each counted once.", counters.drafted);
  add("accepted_tokens_total", "Drafted tokens that answers kept.", counters.accepted);
  add("wasted_tokens_total", "Drafted tokens that were given up.", counters.wasted);
  add("reflections_total", "Times that a model judged whether a draft still fits.",
      counters.reflections);
  add("spoken_ahead_total", "Sentences spoken before the question's end.", counters.spoken_ahead);
  add("spoken_in_vain_total", "Sentences spoken before the question's end and not used.",
      counters.spoken_in_vain);
  add("saved_seconds_total", "Estimated waiting time that was saved.", counters.saved_s);
}

}  // namespace syrinx
