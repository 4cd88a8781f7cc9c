// Arguments that several commands take: of models, requests, engines and files. Each declares its
// options in `app`, with what is in the struct as their defaults; the struct outlives the app.
#pragma once

#include <string>
#include <string_view>

#include "runtime/runtime.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace syrinx {

/// How a model is loaded, without its name: for every command that loads one. On a terminal, loads
/// show how far they are.
void add_load(CLI::App& app, LoadOptions& load);
/// add_load() and --model.
void add_model(CLI::App& app, LoadOptions& load);
/// How to speak: the options of model/options.h that have an argument, but for those of answers
/// alone.
void add_request(CLI::App& app, SpeechRequest& request);
/// One of them by its name in bodies, with help of the command's own.
CLI::Option* add_request_option(CLI::App& app, std::string_view name, SpeechRequest& request,
                                const std::string& help);
/// Adds the options of the engine: executors, limits, policy, trace.
void add_engine(CLI::App& app, EngineOptions& engine);
/// Adds --volume, a factor of the samples.
void add_volume(CLI::App& app, double& volume);
/// `otherwise`: what holds where none is given.
void add_format(CLI::App& app, std::string& format, const std::string& otherwise);

}  // namespace syrinx
