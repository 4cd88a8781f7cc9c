// Counters of predictions since the process began, for monitoring. Counters have one writer; any
// thread may read them.
#pragma once

#include "base/metrics.h"

namespace syrinx {

struct PredictionCounters {
  Metrics all;
  Counter turns{all, "predict_turns_total", "Questions whose answer was drafted before their end."};
  Counter ready{all, "predict_ready_total",
                "Answers whose first audio was ready before the question's end."};
  Counter drafts{all, "predict_drafts_total", "Rounds of drafting."};
  // Numbers of tokens, as in DraftCounts.
  Counter drafted{all, "predict_drafted_tokens_total", "Tokens drafted, each counted once."};
  Counter accepted{all, "predict_accepted_tokens_total", "Drafted tokens that answers kept."};
  Counter wasted{all, "predict_wasted_tokens_total", "Drafted tokens that were given up."};
  Counter reflections{all, "predict_reflections_total",
                      "Times that a model judged whether a draft still fits."};
  Counter spoken_ahead{all, "predict_spoken_ahead_total",
                       "Sentences spoken before the question's end."};
  Counter spoken_in_vain{all, "predict_spoken_in_vain_total",
                         "Sentences spoken before the question's end and not used."};
  /// Seconds of waiting that ready turns saved: the time to write and speak the sentence in the
  /// background, minus the time until the client heard the answer.
  Counter saved_s{all, "predict_saved_seconds_total", "Estimated waiting time that was saved."};
};

}  // namespace syrinx
