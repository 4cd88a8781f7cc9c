// Options for drafting answers before their questions end.
#pragma once

#include "predict/prediction.h"

namespace CLI {
class App;
}

namespace syrinx {

/// Adds the options for predictions; see cli/line/arguments.h.
void add_prediction(CLI::App& app, Prediction& how);

}  // namespace syrinx
