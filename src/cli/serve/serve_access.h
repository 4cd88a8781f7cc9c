// Options of `serve` about clients: addresses, keys and limits. Each function declares its options
// in `app`; `serve` must outlive `app`.
#pragma once

#include "cli/serve/serve.h"

namespace syrinx {

/// Adds addresses, ports and keys. Keys are required to listen beyond this machine.
void add_listening(CLI::App& app, ServeOptions& serve);
/// Adds certificates, allowed pages of other origins, and limits for each client.
void add_access(CLI::App& app, ServeOptions& serve);
/// Adds limits of sizes, counts and times of requests and connections.
void add_bounds(CLI::App& app, ServeOptions& serve);

}  // namespace syrinx
