// Options of `serve` about clients: where they reach the server, which are admitted, what they may
// take. Each function declares its options in `app`; `serve` outlives it.
#pragma once

#include "cli/serve/serve.h"

namespace syrinx {

/// Addresses and ports, keys for listening beyond this machine.
void add_listening(CLI::App& app, ServeOptions& serve);
/// Certificates, pages of other origins, limits for each client.
void add_access(CLI::App& app, ServeOptions& serve);
/// Sizes, counts and times of requests and connections.
void add_bounds(CLI::App& app, ServeOptions& serve);

}  // namespace syrinx
