// The target of requests: a server somewhere or an engine in this process. Used from one thread,
// the generator's, which runs the io_context that the target was made with.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "bench/meter.h"
#include "bench/workload.h"
#include "runtime/runtime.h"

namespace boost::asio {
class io_context;  // its header is long to compile, and few files need it: bench/asio.h
}

namespace syrinx {

namespace net = boost::asio;

/// What is asked to speak: a server, or an engine of this process.
class BenchTarget {
 public:
  virtual ~BenchTarget() = default;
  /// One line for people: what is measured.
  virtual std::string describe() const = 0;
  /// Asks for the utterance now. The meter hears everything, ending with end(); then `done` is
  /// called on the generator's thread.
  virtual void start(const Utterance& utterance, std::shared_ptr<Meter> meter,
                     std::function<void()> done) = 0;
};

/// A server, and what it is asked beside the text.
struct HttpTargetOptions {
  std::string url = {};        ///< http://host:port[/base]; the path of the API is appended
  std::string model = {};      ///< sent as "model" unless empty
  std::string api_key = {};    ///< sent as a bearer token unless empty
  std::string fields = {};     ///< a JSON object merged into every body, or empty
  int sample_rate_hz = 24000;  ///< of bare samples, where the answer has none
  double timeout_s = 60;       ///< of a request as a whole
  bool keep_alive = true;      ///< use connections again
};

/// POST /v1/audio/speech with response_format pcm. Throws LoadError for a URL that cannot be used
/// or a host that is not found.
std::unique_ptr<BenchTarget> make_http_target(net::io_context& io, HttpTargetOptions options);

/// An engine in this process. Requests take what `base` says, but for text, voice, language,
/// instructions and seed of the utterance. Prompts are made on a thread of their own, one after
/// another, as the server does it. The engine outlives the target.
std::unique_ptr<BenchTarget> make_engine_target(net::io_context& io, Engine& engine,
                                                SpeechRequest base, double timeout_s);

}  // namespace syrinx
