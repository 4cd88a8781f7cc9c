// Declares options that several commands share: of models, requests, engines and files. Each
// function declares options in `app`, with the values of the struct as defaults. The struct must
// outlive `app`.
#pragma once

#include <string>
#include <string_view>

#include "runtime/runtime.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace syrinx {

/// Adds the options for loading a model, except --model. On a terminal, loading shows progress.
void add_load(CLI::App& app, LoadOptions& load);
/// Adds the options of add_load() and --model.
void add_model(CLI::App& app, LoadOptions& load);
/// Adds the options of a speech request: all of model/options.h that have an argument on the
/// command line, except options for written answers only.
void add_request(CLI::App& app, SpeechRequest& request);
/// Adds one request option, given by its name in bodies, with another help text.
CLI::Option* add_request_option(CLI::App& app, std::string_view name, SpeechRequest& request,
                                const std::string& help);
/// Adds the options of the engine: executors, limits, policy, trace.
void add_engine(CLI::App& app, EngineOptions& engine);
/// Adds --volume, a factor of the samples.
void add_volume(CLI::App& app, double& volume);
/// Adds --format. `otherwise`: help text about the default format.
void add_format(CLI::App& app, std::string& format, const std::string& otherwise);

}  // namespace syrinx
