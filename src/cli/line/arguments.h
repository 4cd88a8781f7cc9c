// Arguments that several commands take: of models, requests, engines and files. Each declares its
// options in `app`, with what is in the struct as their defaults; the struct outlives the app.
#pragma once

#include <string>

#include "runtime/runtime.h"

namespace CLI {
class App;
}

namespace syrinx {

/// How a model is loaded, without its name: for every command that loads one.
void add_load(CLI::App& app, LoadOptions& load);
/// add_load() and --model.
void add_model(CLI::App& app, LoadOptions& load);
/// How to speak: the voice, sampling, lengths.
void add_request(CLI::App& app, SpeechRequest& request);
void add_engine(CLI::App& app, EngineOptions& engine);
void add_volume(CLI::App& app, double& volume);
/// `otherwise`: what holds where none is given.
void add_format(CLI::App& app, std::string& format, const std::string& otherwise);

}  // namespace syrinx
