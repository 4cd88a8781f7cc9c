// What goes over a link between the process of a server and one that holds some of its stages. A
// message is the length of the rest (u32), its kind (u8) and its fields, little-endian; strings
// have their length before them. Pure functions; any thread.
//
//   server                                stages
//   Hello (identity, which nodes)  ->
//                                  <-     Welcome (identity), or Refuse (why), then the end
//   Open (stream, bundle)          ->
//   Push (batch: windows of frames)->
//                                  <-     Made (batch: what came out of each, or its fault)
//   Close (stream)                 ->
//                                  <-     Leaving: no new streams, please; those there go on
//
// Frames are numbered from the beginning of their stream: a job says where its fresh ones begin,
// and one that leaves a gap or comes twice is a fault. Made is the acknowledgement: a server has as
// many batches under way as it has places for them (EngineOptions::remote_slots). What AR nodes
// have to say is in step_message.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/graph.h"

namespace syrinx {

/// The protocol's; peers of another one refuse each other.
inline constexpr uint16_t kLinkVersion = 3;
inline constexpr size_t kMostMessage = size_t{96} << 20;
inline constexpr size_t kMostGreeting = size_t{64} << 10;  ///< of Hello, Welcome and Refuse

/// Kinds of messages.
enum class MessageKind : uint8_t {
  kHello = 1,
  kWelcome,
  kRefuse,
  kOpen,
  kPush,
  kMade,
  kClose,
  // For AR nodes (step_message.h):
  kCache,
  kCall,
  kStep,
  kStepped,
  kLeaving
};

/// A node as both sides must see it.
struct NodeShape {
  std::string name;
  FrameType in, out;
  int most_out = 1;
  std::string steps = {};  ///< of an AR node: what its steps are; nothing above but the name is set
  bool operator==(const NodeShape&) const = default;
};
/// Returns the description of the node of this name. Throws LoadError where the graph has none that
/// can run elsewhere.
NodeShape shape_of(const Graph& graph, const std::string& node);

/// Identity of a process: peers that differ in anything but `nodes` would not compute the same
/// bits.
struct Introduction {
  std::string version;  ///< of the program
  std::string cpu;      ///< the instruction set that its kernels use
  std::string model;    ///< the family, and a hash of the weights
  std::vector<NodeShape> nodes;
};
/// Why a process that holds `theirs` cannot work for one that wants `wanted`; empty: it can.
std::string mismatch(const Introduction& wanted, const Introduction& theirs);

/// A stream or a sequence begins at a node.
struct OpenMessage {
  uint64_t stream = 0;
  uint16_t node = 0;        ///< of Hello's list
  std::string_view bundle;  ///< of an AR node: the request (model/request_bytes.h)
};

/// One chunk (ChunkJob). Its window stands as bytes, 4 a value.
struct PushedJob {
  uint64_t stream = 0;
  int64_t at = 0;  ///< frames of the stream that were fresh before
  uint32_t left = 0, fresh = 0, ahead = 0;
  bool last = false;
  std::string_view window;
};

/// A batch of a chunk node.
struct PushMessage {
  uint64_t batch = 0;
  uint16_t node = 0;
  std::vector<PushedJob> jobs;
};

/// The result of a job of a push, or its error.
struct MadeJob {
  std::optional<std::string> fault;
  uint32_t made = 0;        ///< frames
  std::string_view values;  ///< f32
};

/// The answer to a PushMessage.
struct MadeMessage {
  uint64_t batch = 0;
  std::vector<MadeJob> jobs;  ///< in the order of the push
};

// Append a whole message.
void append_hello(std::string& out, const Introduction& me);
/// Accepts the peer; holds the server's own introduction.
void append_welcome(std::string& out, const Introduction& me);
/// Refuses the peer; `why` is for people. The connection ends after it.
void append_refuse(std::string& out, std::string_view why);
/// Opens a stream from a bundle.
void append_open(std::string& out, const OpenMessage& message);
/// Sends a batch of chunks.
void append_push(std::string& out, const PushMessage& message);
/// Answers a push.
void append_made(std::string& out, const MadeMessage& message);
/// Closes a stream; there is no answer.
void append_close(std::string& out, uint64_t stream);
/// Asks for no new streams: the process ends once its streams have moved or ended.
void append_leaving(std::string& out);

/// A message as it came: its kind, and its fields as bytes.
struct Message {
  MessageKind kind = MessageKind::kRefuse;
  std::string body;
};

// Read the fields of a message; views are into `body`. They throw LoadError for anything that the
// functions above do not write.
Introduction read_introduction(std::string_view body);
/// Reads append_refuse()'s reason.
std::string read_refuse(std::string_view body);
/// Reads append_open()'s message.
OpenMessage read_open(std::string_view body);
/// Reads append_push()'s message.
PushMessage read_push(std::string_view body);
/// Reads append_made()'s message.
MadeMessage read_made(std::string_view body);
/// Reads the number of the stream of append_close().
uint64_t read_close(std::string_view body);
/// Checks that the body is empty.
void read_leaving(std::string_view body);

/// Cuts a stream of bytes into messages. Memory is taken for what came, not for what is announced.
class MessageReader {
 public:
  void push(std::string_view bytes) { bytes_ += bytes; }
  /// The next whole message. Throws LoadError for one longer than `most`, or of no kind.
  std::optional<Message> next(size_t most = kMostMessage);

 private:
  std::string bytes_;
};

}  // namespace syrinx
