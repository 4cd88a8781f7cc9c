// Converts a request's instructions to the numbers of the model's conditions. Pure functions.
// Source of the defaults: Zonos:zonos/conditioning.py.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "families/zonos/config.h"

namespace syrinx::zonos {

/// The numbers of each condition, by its name. A condition without numbers is unconditional.
using Conditions = std::map<std::string, std::vector<double>>;

/// Returns the code, as in languages(), of a request's language. Returns an Error for a language
/// without phonemes.
Result<std::string> language_of(const std::string& language);
/// Returns the model's number for a code of languages().
double language_number(const std::string& code);

/// Returns the authors' defaults, changed by instructions such as "pitch_std=45
/// emotion=1,0,0,0,0,0,0,0 fmax=none". The result lacks speaker and language.
Result<Conditions> conditions_of(const ModelConfig& config, const std::string& instructions);

/// Returns only the conditions that must have numbers.
Conditions needed(const ModelConfig& config, Conditions conditions);

}  // namespace syrinx::zonos
