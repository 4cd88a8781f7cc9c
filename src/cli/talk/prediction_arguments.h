// How answers are drafted ahead of their questions' end, as arguments.
#pragma once

#include "predict/prediction.h"

namespace CLI {
class App;
}

namespace syrinx {

/// As add_load() and its kin (cli/line/arguments.h).
void add_prediction(CLI::App& app, Prediction& how);

}  // namespace syrinx
