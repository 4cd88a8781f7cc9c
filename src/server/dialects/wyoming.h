// The Wyoming protocol of Home Assistant, without its socket. Events of a header line, JSON data
// and a payload come in as bytes; speech goes out as events. Both sides of the border: the parser
// of the frames, bounded before anything is allocated, and the dialect on top of it. One thread at
// a time; nothing throws, whatever the bytes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/dialects/dialect.h"
#include "server/models/model_table.h"
#include "server/request/fields.h"
#include "server/voices/voice_desk.h"

namespace syrinx {

/// One event of a client; its payload (audio, never wanted here) was thrown away.
struct WyomingEvent {
  std::string type;
  JsonIn data = JsonIn::object();
};

/// Cuts bytes into events.
class WyomingParser {
 public:
  static constexpr size_t kMaxHeaderBytes = size_t{256} << 10;  ///< old clients put data there
  static constexpr size_t kMaxDataBytes = size_t{256} << 10;
  static constexpr size_t kMaxPayloadBytes = size_t{16} << 20;

  void push(std::string_view bytes);
  /// The next whole event. Nothing when more bytes are needed, or after an error.
  std::optional<WyomingEvent> next();
  /// What was wrong; nothing can be read after it. Empty: all is well.
  const std::string& error() const { return error_; }

 private:
  bool read_header(std::string_view line);
  std::string bytes_;
  size_t seen_ = 0;  // bytes_ before it hold no end of a line
  size_t skip_ = 0;  // of a payload
  size_t data_bytes_ = 0, payload_bytes_ = 0;
  bool in_data_ = false;  // the header of event_ was read
  WyomingEvent event_;
  std::string error_;
};

/// An event as bytes; empty data and payload are left out.
std::string wyoming_event(const char* type, const JsonOut& data, std::string_view payload = {});

/// Whole requests (synthesize) and streamed ones (synthesize-start, -chunk, -stop), one at a time.
/// message() takes bytes as they come from the socket. `desk` may be null; it outlives the dialect.
std::unique_ptr<Dialect> make_wyoming_dialect(std::shared_ptr<ModelTable> models, VoiceDesk* desk);

}  // namespace syrinx
