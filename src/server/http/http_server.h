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

/// Addresses, access and time limits.
struct ServerOptions {
  std::string host = "127.0.0.1";                  ///< an IPv4 or IPv6 address, or "localhost"
  int port = 8080;                                 ///< 0: any free one
  ApiKeys keys = {};                               ///< empty: each request is admitted
  ApiKeys metrics_keys = {};                       ///< for /metrics; empty: it is open to all
  std::string tls_certificate = {}, tls_key = {};  ///< PEM files; empty: no TLS
  AccessRules access = {};                         ///< of browsers
  LimitOptions limits = {};                        ///< of each key, or address without keys
  size_t max_body_bytes = size_t{1} << 20;
  /// Bytes of a body that may carry a recording, and such bodies at a time.
  size_t max_upload_bytes = size_t{25} << 20;
  int max_uploads = 8;
  size_t max_header_bytes = size_t{16} << 10;
  int max_connections = 1024;  ///< past it new ones are answered 503 and closed
  /// Connections from one address; 0: no limit. Not for this machine's own.
  int max_connections_per_address = 256;
  double header_timeout_s = 10;  ///< from the first byte of a request to the end of its head
  double body_timeout_s = 30;    ///< from the head to the end of the body; of long messages, too
  double idle_timeout_s = 75;    ///< between the requests of a connection
  double stall_timeout_s = 30;   ///< a client that does not read for this long is cut off
  std::shared_ptr<const Ears> ears = std::make_shared<Ears>();  ///< what recognises speech
  std::shared_ptr<const SileroVad> vad = {};  ///< hears turns; null: WebRTC's detector
  /// Hears whether a speaker is done (semantic_vad); null: words and pitch alone decide.
  std::shared_ptr<const SmartTurn> smart_turn = {};
  double max_heard_s = 4 * 3600;              ///< of one recording that is written down
  PredictWhen predict = PredictWhen::kAsked;  ///< answers of the Realtime API
  Prediction prediction = {};                 ///< how
  /// Whose children decode recordings, beside those of `voices`; outlives the server. Null: the
  /// server decodes.
  const DecodeHelper* decoder = nullptr;
  std::shared_ptr<VoiceDesk> voices = {};  ///< null: none are kept
  bool voice_uploads = true;               ///< clients may add and remove voices
  bool strict = false;  ///< refuse what a model cannot honour instead of leaving it out
  /// Takes one line per request, on the io thread. Texts and audio are never in it. May be empty.
  std::function<void(const std::string& line)> log = {};
  /// Counts the lines of the log that were dropped; any thread. May be empty.
  std::function<uint64_t()> lost_lines = {};
};

/// Whether only this machine can reach the address (or "localhost"). Throws LoadError when `host`
/// is not an address.
bool is_loopback(const std::string& host);

class HttpServer {
 public:
  /// Listens at once, answering 503 to speech until open(). Throws LoadError when it cannot listen.
  explicit HttpServer(ServerOptions options);
  /// Closes every connection; their requests are cancelled.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// The port that is listened on.
  int port() const;
  /// Takes speech requests from now on. A second table takes the place of the first.
  void open(std::shared_ptr<ModelTable> models);
  void open(std::shared_ptr<Backend> backend);
  /// Takes other keys and the TLS files as they are now for what comes from here on, and loads the
  /// models again, in the background. Running streams go on. Throws LoadError, and nothing changes,
  /// when the TLS files cannot be used.
  void reload(ApiKeys keys, ApiKeys metrics_keys);
  /// Accepts nothing new and waits for the running streams; true if all ended in time.
  bool drain(double timeout_s);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace syrinx
