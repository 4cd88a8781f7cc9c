// The target of requests: a server anywhere, or an engine in this process. Used only from the
// generator's thread, which runs the io_context given to the target.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "bench/meter.h"
#include "bench/workload.h"
#include "runtime/runtime.h"

namespace boost::asio {
class io_context;  // bench/asio.h includes its header, which takes long to compile
}

namespace syrinx {

namespace net = boost::asio;

/// Something that speaks: a server, or an engine of this process.
class BenchTarget {
 public:
  virtual ~BenchTarget() = default;
  /// Returns one line that describes what is measured.
  virtual std::string describe() const = 0;
  /// Requests the utterance immediately. The meter receives all events up to end(). Then `done` is
  /// called on the generator's thread.
  virtual void start(const Utterance& utterance, std::shared_ptr<Meter> meter,
                     std::function<void()> done) = 0;
};

/// A server and the fixed parts of each request.
struct HttpTargetOptions {
  std::string url = {};        ///< http://host:port[/base]; the path of the API is appended
  std::string model = {};      ///< sent as "model" unless empty
  std::string api_key = {};    ///< sent as a bearer token unless empty
  std::string fields = {};     ///< a JSON object merged into every body, or empty
  int sample_rate_hz = 24000;  ///< rate of PCM without a header, if the answer does not state it
  double timeout_s = 60;       ///< longest time of a request in seconds
  bool keep_alive = true;      ///< use a connection for several requests
};

/// Makes a target for POST /v1/audio/speech with response_format pcm. Throws LoadError for an
/// invalid URL or an unknown host.
std::unique_ptr<BenchTarget> make_http_target(net::io_context& io, HttpTargetOptions options);

/// Makes a target for an engine in this process. Requests use the values of `base`, except for the
/// utterance's text, voice, language, instructions and seed. Prompts are made on a separate thread,
/// one after another, as in the server. The engine must outlive the target.
std::unique_ptr<BenchTarget> make_engine_target(net::io_context& io, Engine& engine,
                                                SpeechRequest base, double timeout_s);

}  // namespace syrinx
