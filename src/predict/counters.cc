#include "predict/counters.h"

#include "base/check.h"

namespace syrinx {

void write_predictions(const PredictionCounters& counters, std::string& out) {
  const auto add = [&out](const char* name, const char* help, const Counter& counter) {
    out += concat("# HELP syrinx_predict_", name, " ", help, "\n# TYPE syrinx_predict_", name,
                  " counter\nsyrinx_predict_", name, " ", counter.value(), "\n");
  };
  add("turns_total", "Questions whose answer was drafted before they had ended.", counters.turns);
  add("ready_total", "Answers whose first sentence had been spoken by then.", counters.ready);
  add("drafts_total", "Rounds of drafting.", counters.drafts);
  add("drafted_tokens_total", "Tokens drafted, each counted once.", counters.drafted);
  add("accepted_tokens_total", "Drafted tokens that answers began with.", counters.accepted);
  add("wasted_tokens_total", "Drafted tokens that were given up.", counters.wasted);
  add("reflections_total", "Times that a model was asked whether its draft still answers.",
      counters.reflections);
  add("spoken_ahead_total", "First sentences spoken ahead.", counters.spoken_ahead);
  add("spoken_in_vain_total", "Sentences spoken ahead that were not heard.",
      counters.spoken_in_vain);
  add("saved_seconds_total", "Time that listeners did not wait, estimated.", counters.saved_s);
}

}  // namespace syrinx
