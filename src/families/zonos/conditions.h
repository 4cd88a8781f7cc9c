// Converts a request's instructions for its speech to numbers of the model's conditions. Pure
// functions. Source of the defaults: Zonos:zonos/conditioning.py.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "families/zonos/config.h"

namespace syrinx::zonos {

/// The numbers of each condition, by its name; a condition without numbers is unconditional.
using Conditions = std::map<std::string, std::vector<double>>;

/// Returns the code, in languages(), of a request's language; an Error for languages without
/// phonemes.
Result<std::string> language_of(const std::string& language);
/// Returns the model's number for such a code.
double language_number(const std::string& code);

/// Returns the authors' defaults with the changes of instructions such as "pitch_std=45
/// emotion=1,0,0,0,0,0,0,0 fmax=none". Without speaker and language.
Result<Conditions> conditions_of(const ModelConfig& config, const std::string& instructions);

/// Returns only the conditions that must have numbers.
Conditions needed(const ModelConfig& config, Conditions conditions);

}  // namespace syrinx::zonos
