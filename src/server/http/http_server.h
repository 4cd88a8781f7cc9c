// The HTTP server: listens, answers, streams speech, drains. One io thread serves all connections;
// a few worker threads check requests and make prompts, so that a long text delays no other
// request. Public methods are for the thread that owns the object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "audio/decode_helper.h"
#include "ears/ears.h"
#include "ears/smart_turn.h"
#include "predict/prediction.h"
#include "server/access/access.h"
#include "server/access/api_keys.h"
#include "server/access/client_limits.h"
#include "server/models/backend.h"
#include "server/models/model_table.h"
#include "server/realtime/predict_when.h"
#include "server/voices/voice_desk.h"

namespace syrinx {

/// Addresses, access rules and limits.
struct ServerOptions {
  std::string host = "127.0.0.1";                  ///< an IPv4 or IPv6 address, or "localhost"
  int port = 8080;                                 ///< 0 means any free port
  ApiKeys keys = {};                               ///< empty admits each request
  ApiKeys metrics_keys = {};                       ///< keys for /metrics; empty requires no key
  std::string tls_certificate = {}, tls_key = {};  ///< PEM files; empty disables TLS
  AccessRules access = {};                         ///< rules for browsers
  LimitOptions limits = {};                        ///< limits per key; without keys, per address
  size_t max_body_bytes = size_t{1} << 20;
  /// Most bytes of a body with a recording, and most such bodies in memory (max_uploads).
  size_t max_upload_bytes = size_t{25} << 20;
  int max_uploads = 8;
  size_t max_header_bytes = size_t{16} << 10;
  int max_connections = 1024;  ///< most connections; further ones get status 503 and are closed
  /// Most connections from one address of another machine. 0 means no limit.
  int max_connections_per_address = 256;
  double header_timeout_s = 10;  ///< most time from a request's first byte to the end of its head
  double body_timeout_s = 30;    ///< most time for a body after its head, or for a long message
  double idle_timeout_s = 75;    ///< most time between two requests of a connection
  double stall_timeout_s = 30;   ///< a client that reads nothing for this long is disconnected
  std::shared_ptr<const Ears> ears = std::make_shared<Ears>();  ///< the recognisers of speech
  std::shared_ptr<const SileroVad> vad = {};  ///< finds turns; null means WebRTC's detector
  /// Judges whether a speaker has finished (semantic_vad). Null means that words and pitch decide.
  std::shared_ptr<const SmartTurn> smart_turn = {};
  double max_heard_s = 4 * 3600;              ///< longest recording that is transcribed
  PredictWhen predict = PredictWhen::kAsked;  ///< when the Realtime API predicts answers
  Prediction prediction = {};                 ///< how the server predicts answers
  /// Most predicted seconds between a spoken turn's end and its transcript; a turn that would wait
  /// longer is refused.
  double max_transcript_wait_s = 5;
  /// Decodes recordings in child processes; outlives the server. If null, the server decodes them.
  const DecodeHelper* decoder = nullptr;
  std::shared_ptr<VoiceDesk> voices = {};  ///< null disables stored voices
  bool voice_uploads = true;               ///< clients may add and remove voices
  bool strict = false;  ///< refuse what SpeechBody::call() would ignore with a warning
  /// Called on the io thread with a line for each request, never with texts or audio. May be empty.
  std::function<void(const std::string& line)> log = {};
  /// Returns the number of dropped lines of the log; any thread. May be empty.
  std::function<uint64_t()> lost_lines = {};
};

/// Returns whether only this machine can reach the address (or "localhost"). Throws LoadError for
/// an invalid `host`.
bool is_loopback(const std::string& host);

class HttpServer {
 public:
  /// Listens at once; answers 503 to speech until open(). Throws LoadError when it cannot listen.
  explicit HttpServer(ServerOptions options);
  /// Closes every connection and cancels their requests.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Returns the port.
  int port() const;
  /// Accepts speech requests from now on. A second call replaces the table.
  void open(std::shared_ptr<ModelTable> models);
  void open(std::shared_ptr<Backend> backend);
  /// Uses new keys and the current TLS files for new connections, and loads the models again, in
  /// the background. Running streams continue. When the TLS files are invalid, throws LoadError and
  /// changes nothing.
  void reload(ApiKeys keys, ApiKeys metrics_keys);
  /// Refuses new requests with 503, which is also the status of /ready, and waits for the running
  /// streams; then stops listening. Returns true if all streams ended in time.
  bool drain(double timeout_s);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace syrinx
