#include "cli/serve/serve_access.h"

#include <CLI/CLI.hpp>

#include "cli/line/ranges.h"

namespace syrinx {

void add_listening(CLI::App& app, ServeOptions& serve) {
  app.add_option("--host", serve.host, "address to listen on")->capture_default_str();
  app.add_option("--port", serve.port, "port to listen on; 0 means any free port")
      ->check(between(0, 65535))
      ->capture_default_str();
  app.add_option(
      "--api-key-file", serve.api_key_file,
      "admit only requests with one of these keys, one per line (or set SYRINX_API_KEY)");
  app.add_option("--metrics-key-file", serve.metrics_key_file,
                 "admit to /metrics only requests with one of these keys, one per line (or set "
                 "SYRINX_METRICS_KEY); default: /metrics is open, also while API keys are set");
  app.add_flag("--allow-public", serve.allow_public,
               "accept connections from other machines without a key");
  app.add_option(
         "--wyoming-port", serve.wyoming_port,
         "also serve Home Assistant (Wyoming) on this port, usually 10200; 0 means any free port")
      ->check(between(0, 65535));
  app.add_option(
         "--wyoming-host", serve.wyoming_host,
         "address for --wyoming-port; Wyoming has no keys: other machines need --allow-public")
      ->capture_default_str();
  app.add_option("--agent-port", serve.agent_port,
                 "report free capacity to load balancers on this port (HAProxy's agent-check); "
                 "0 means any free port")
      ->check(between(0, 65535));
  app.add_option("--agent-host", serve.agent_host,
                 "address for --agent-port; every connection is answered")
      ->capture_default_str();
}

void add_access(CLI::App& app, ServeOptions& serve) {
  app.add_option("--tls-cert", serve.tls_cert, "certificate chain (PEM), to serve HTTPS");
  app.add_option("--tls-key", serve.tls_key, "private key of the certificate (PEM)");
  app.add_option("--cors-origin", serve.cors_origins,
                 "allow pages of this origin (https://example.org, https://*.example.org, *) to "
                 "use the server; may be repeated");
  app.add_option(
      "--allowed-host", serve.allowed_hosts,
      "host name that requests may use; by default any name, on loopback only loopback names");
  app.add_option(
         "--client-rpm", serve.client_requests_per_min,
         "most requests a minute from one key or address; 0 means no limit; default: 600, on "
         "loopback no limit")
      ->check(at_least(0));
  app.add_option(
         "--client-concurrency", serve.client_concurrency,
         "most requests at a time from one key or address; 0 means no limit; default: 32, on "
         "loopback no limit")
      ->check(at_least(0));
}

void add_bounds(CLI::App& app, ServeOptions& serve) {
  app.add_option("--drain-timeout", serve.drain_timeout_s,
                 "most seconds to finish running requests after SIGTERM (in a stage process: "
                 "the requests of its servers)")
      ->check(at_least(0))
      ->capture_default_str();
  app.add_option("--stall-timeout", serve.stall_timeout_s,
                 "seconds after which a client that does not read is disconnected")
      ->check(above(0))
      ->capture_default_str();
  app.add_option("--max-body-bytes", serve.max_body_bytes, "largest body of a request")
      ->check(between(1024, 1 << 30))
      ->capture_default_str();
  app.add_option("--max-upload-bytes", serve.max_upload_bytes, "largest body with a recording")
      ->check(between(1024, 1 << 28))
      ->capture_default_str();
  app.add_option("--max-connections", serve.max_connections, "most open connections")
      ->check(between(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--max-connections-per-address", serve.max_connections_per_address,
                 "most open connections from one address of another machine; 0 means no limit")
      ->check(at_least(0))
      ->capture_default_str();
  serve.load.engine.max_audio_s = 3600;
  app.add_option("--max-audio", serve.load.engine.max_audio_s,
                 "most seconds of audio in one answer; 0 means no limit")
      ->check(at_least(0))
      ->capture_default_str();
  app.add_option("--header-timeout", serve.header_timeout_s, "most seconds for a request's head")
      ->check(above(0))
      ->capture_default_str();
  app.add_option("--body-timeout", serve.body_timeout_s, "most seconds for a request's body")
      ->check(above(0))
      ->capture_default_str();
  app.add_option("--idle-timeout", serve.idle_timeout_s, "seconds that an idle connection is kept")
      ->check(above(0))
      ->capture_default_str();
}

}  // namespace syrinx
