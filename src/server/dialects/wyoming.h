// The Wyoming protocol of Home Assistant, without its socket. Events arrive as bytes: a header
// line, JSON data and a payload; speech and transcripts are returned as events. Contains the
// parser, which checks sizes before it allocates memory, and the dialect. One thread at a time;
// never throws, for any bytes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ears/ears.h"
#include "server/dialects/dialect.h"
#include "server/models/model_table.h"
#include "server/request/fields.h"
#include "server/voices/voice_desk.h"

namespace syrinx {

/// An event of a client.
struct WyomingEvent {
  std::string type;
  JsonIn data = JsonIn::object();
  std::string payload = {};  ///< audio of an "audio-chunk"; other payloads are dropped
};

/// Splits bytes into events.
class WyomingParser {
 public:
  /// Old clients put the data into the header.
  static constexpr size_t kMaxHeaderBytes = size_t{256} << 10;
  static constexpr size_t kMaxDataBytes = size_t{256} << 10;
  static constexpr size_t kMaxPayloadBytes = size_t{1} << 20;

  void push(std::string_view bytes);
  /// Returns the next whole event. Nothing when more bytes are needed, or after an error.
  std::optional<WyomingEvent> next();
  /// Returns the error, or an empty string. After an error next() returns nothing.
  const std::string& error() const { return error_; }

 private:
  bool read_header(std::string_view line);
  std::string bytes_;
  size_t seen_ = 0;  // bytes_ before this position contain no line end
  size_t skip_ = 0;  // bytes of a payload still to be dropped
  size_t data_bytes_ = 0, payload_bytes_ = 0;
  bool in_data_ = false;  // the header of event_ was read; its data is read next
  WyomingEvent event_;
  std::string error_;
};

/// Formats an event as bytes; leaves out empty data and an empty payload.
std::string wyoming_event(const char* type, const JsonOut& data, std::string_view payload = {});

/// Makes the dialect. It handles whole requests (synthesize) and streamed ones (synthesize-start,
/// -chunk, -stop), one at a time, and recordings (audio-start, -chunk, -stop), one at a time.
/// message() takes bytes as they arrive from the socket. `desk` may be null and must outlive the
/// dialect. `wake` is called on any thread when a recogniser has news for progress().
std::unique_ptr<Dialect> make_wyoming_dialect(std::shared_ptr<ModelTable> models, VoiceDesk* desk,
                                              std::shared_ptr<const Ears> ears = {},
                                              std::function<void()> wake = {});

}  // namespace syrinx
