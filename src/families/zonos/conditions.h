// The directions of a request for its speech, as numbers of the model's conditions. Pure
// functions. Source of the defaults: Zonos:zonos/conditioning.py.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "families/zonos/config.h"

namespace syrinx::zonos {

/// Numbers of a condition by its name; a name without numbers is unconditional.
using Conditions = std::map<std::string, std::vector<double>>;

/// The code of languages() that a request means; an Error for languages that cannot be read.
Result<std::string> language_of(const std::string& language);
/// The number of such a code.
double language_number(const std::string& code);

/// The authors' defaults, changed by instructions such as
/// "pitch_std=45 emotion=1,0,0,0,0,0,0,0 fmax=none". Without speaker and language.
Result<Conditions> conditions_of(const ModelConfig& config, const std::string& instructions);

/// Those that cannot be unconditional.
Conditions needed(const ModelConfig& config, Conditions conditions);

}  // namespace syrinx::zonos
