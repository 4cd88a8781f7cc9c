// The messages of a link between a server's process and a process that holds some of its stages. A
// message is the length of its remaining bytes (u32), its kind (u8) and its fields, little-endian.
// Strings follow their length. Pure functions; any thread.
//
//   server                                stages
//   Hello (identity, which nodes)  ->
//                                  <-     Welcome (identity), or Refuse (why), then the end
//   Open (stream, bundle)          ->
//   Push (batch: windows of frames)->
//                                  <-     Made (batch: output of each window, or its fault)
//   Close (stream)                 ->
//                                  <-     Leaving: send no new streams; existing streams continue
//
// Frames are numbered from the beginning of their stream. A job has the number of its first new
// frame. A job that leaves a gap or repeats frames is a fault. Made acknowledges a batch: a server
// has at most EngineOptions::remote_slots unacknowledged batches. Messages of AR nodes are in
// step_message.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/graph.h"

namespace syrinx {

/// The version of the protocol; peers of different versions refuse each other.
inline constexpr uint16_t kLinkVersion = 3;
inline constexpr size_t kMostMessage = size_t{96} << 20;
inline constexpr size_t kMostGreeting = size_t{64} << 10;  ///< most bytes of a greeting message

/// Kinds of messages.
enum class MessageKind : uint8_t {
  kHello = 1,
  kWelcome,
  kRefuse,
  kOpen,
  kPush,
  kMade,
  kClose,
  // Kinds for AR nodes (step_message.h):
  kCache,
  kCall,
  kStep,
  kStepped,
  kLeaving
};

/// A node's properties, which must be equal on both sides.
struct NodeShape {
  std::string name;
  FrameType in, out;
  int most_out = 1;
  std::string steps = {};  ///< describes an AR node's steps; such a node has only this and `name`
  bool operator==(const NodeShape&) const = default;
};
/// Returns the shape of the node with this name. Throws LoadError if the graph lacks the node, or
/// if the node cannot run in another process.
NodeShape shape_of(const Graph& graph, const std::string& node);

/// The identity of a process. Peers that differ in any field except `nodes` would compute different
/// bits.
struct Introduction {
  std::string version;  ///< version of the program
  std::string cpu;      ///< the instruction set that its kernels use
  std::string model;    ///< the family, the type of the weights, a hash of the files
  std::vector<NodeShape> nodes;
};
/// Returns why a process with identity `theirs` cannot work for a server with identity `wanted`; an
/// empty string if it can.
std::string mismatch(const Introduction& wanted, const Introduction& theirs);

/// Opens a stream or a sequence of a node.
struct OpenMessage {
  uint64_t stream = 0;
  uint16_t node = 0;        ///< index into Hello's list of nodes
  std::string_view bundle;  ///< for an AR node, the request (model/request_bytes.h)
};

/// One chunk (ChunkJob). Its window has 4 bytes per value.
struct PushedJob {
  uint64_t stream = 0;
  int64_t at = 0;  ///< number of the first new frame in the stream
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
  uint32_t made = 0;        ///< number of frames
  std::string_view values;  ///< f32 values of the frames
};

/// The answer to a PushMessage.
struct MadeMessage {
  uint64_t batch = 0;
  std::vector<MadeJob> jobs;  ///< in the order of the push
};

// These functions append a whole message to `out`.
void append_hello(std::string& out, const Introduction& me);
/// Accepts the peer; `me` is the introduction of the process that accepts.
void append_welcome(std::string& out, const Introduction& me);
/// Refuses the peer with a readable reason `why`. The connection ends after this message.
void append_refuse(std::string& out, std::string_view why);
/// Opens a stream from a bundle.
void append_open(std::string& out, const OpenMessage& message);
/// Sends a batch of chunks.
void append_push(std::string& out, const PushMessage& message);
/// Answers a push.
void append_made(std::string& out, const MadeMessage& message);
/// Closes a stream. The peer sends no answer.
void append_close(std::string& out, uint64_t stream);
/// Asks the peer to open no new streams. The sender ends once its streams have moved or ended.
void append_leaving(std::string& out);

/// A received message: its kind, and its fields as bytes.
struct Message {
  MessageKind kind = MessageKind::kRefuse;
  std::string body;
};

// These functions read the fields of a message; views point into `body`. They throw LoadError for
// bytes that the functions above never write.
Introduction read_introduction(std::string_view body);
/// Reads append_refuse()'s reason.
std::string read_refuse(std::string_view body);
/// Reads append_open()'s message.
OpenMessage read_open(std::string_view body);
/// Reads append_push()'s message.
PushMessage read_push(std::string_view body);
/// Reads append_made()'s message.
MadeMessage read_made(std::string_view body);
/// Reads the stream number of append_close().
uint64_t read_close(std::string_view body);
/// Checks that the body is empty.
void read_leaving(std::string_view body);

/// Splits a stream of bytes into messages. Allocates memory only for received bytes, never for an
/// announced length.
class MessageReader {
 public:
  void push(std::string_view bytes) { bytes_ += bytes; }
  /// Returns the next complete message, or nothing. Throws LoadError for a message longer than
  /// `most` or of an unknown kind.
  std::optional<Message> next(size_t most = kMostMessage);

 private:
  std::string bytes_;
};

}  // namespace syrinx
