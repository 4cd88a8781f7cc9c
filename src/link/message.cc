#include "link/message.h"

#include <algorithm>

#include "link/message_bytes.h"

namespace syrinx {
namespace {

constexpr std::string_view kMagic = "SYRINX-LINK";
constexpr size_t kMostNodes = 64, kMostJobs = 4096;
constexpr size_t kHead = 5;  // bytes of length and kind
constexpr int32_t kMostWidth = 1 << 20;

void append_type(std::string& out, const FrameType& type) {
  append_number(out, static_cast<uint8_t>(type.flow));
  append_number(out, static_cast<int32_t>(type.width));
}

FrameType read_type(ByteReader& in) {
  FrameType type;
  type.flow = static_cast<Flow>(in.number<uint8_t>(static_cast<uint8_t>(Flow::kSamples)));
  type.width = in.number<int32_t>(kMostWidth);
  if (type.width < 1)
    throw LoadError(concat("a message has frames of the invalid width ", type.width));
  return type;
}

void append_introduction(std::string& out, const Introduction& me) {
  out += kMagic;
  append_number(out, kLinkVersion);
  append_words(out, me.version);
  append_words(out, me.cpu);
  append_words(out, me.model);
  append_number(out, static_cast<uint16_t>(me.nodes.size()));
  for (const NodeShape& node : me.nodes) {
    append_words(out, node.name);
    append_type(out, node.in);
    append_type(out, node.out);
    append_number(out, static_cast<int32_t>(node.most_out));
    append_words(out, node.steps);
  }
}

std::string frame_name(const FrameType& type) {
  return concat(flow_name(type.flow), "[", type.width, "]");
}

/// Returns a readable description of an AR node's inputs and results.
std::string steps_of(const Node& node) {
  const ArTraits& traits = node.ar->traits();
  std::string out = concat("width ", traits.hidden, ", codes");
  for (const int codes : traits.vocab) out += concat(" ", codes);
  out += concat(", taps ", traits.tap, ", values ", traits.values, ", positions ",
                traits.max_positions, ", cache");
  for (const KvSpec& kv : traits.kv) {
    out += concat(" ", kv.layers, "x", kv.kv_heads, "x", kv.head_dim, " ", dtype_name(kv.dtype));
  }
  out += ", takes";
  for (const FrameType& type : node.in) out += " " + frame_name(type);
  return out;
}

}  // namespace

NodeShape shape_of(const Graph& graph, const std::string& node) {
  std::string known;
  for (const Node& n : graph.nodes()) {
    if (n.ar && n.ar->traits().writes) continue;
    if (n.name == node && n.chunk)
      return {node, n.chunk->in(), n.chunk->out(), n.chunk->most_out()};
    if (n.name == node) return {.name = node, .in = {}, .out = {}, .steps = steps_of(n)};
    known += (known.empty() ? "" : ", ") + n.name;
  }
  throw LoadError("the node '" + node + "' cannot run in another process; nodes that can: " +
                  (known.empty() ? "none" : known));
}

std::string mismatch(const Introduction& wanted, const Introduction& theirs) {
  const auto unlike = [](const char* what, const std::string& here, const std::string& there) {
    return concat(what, ": wanted ", here, ", got ", there);
  };
  if (wanted.version != theirs.version) {
    return unlike("the versions of the programs differ", wanted.version, theirs.version);
  }
  if (wanted.model != theirs.model) {
    return unlike("the models or their weights differ", wanted.model, theirs.model);
  }
  if (wanted.cpu != theirs.cpu) {
    return unlike("the instruction sets differ", wanted.cpu, theirs.cpu);
  }
  for (const NodeShape& node : wanted.nodes) {
    const auto found = std::find_if(theirs.nodes.begin(), theirs.nodes.end(),
                                    [&](const NodeShape& n) { return n.name == node.name; });
    if (found == theirs.nodes.end()) return "the stage '" + node.name + "' is missing";
    if (found->steps != node.steps) {
      return concat("the steps of '", node.name, "' differ: ", node.steps, " here, ", found->steps,
                    " there");
    }
    if (*found != node) {
      return concat("the stage '", node.name, "' maps ", frame_name(node.in), " to ",
                    frame_name(node.out), " here and ", frame_name(found->in), " to ",
                    frame_name(found->out), " there");
    }
  }
  return {};
}

void append_hello(std::string& out, const Introduction& me) {
  append_message(out, MessageKind::kHello, [&](std::string& o) { append_introduction(o, me); });
}
void append_welcome(std::string& out, const Introduction& me) {
  append_message(out, MessageKind::kWelcome, [&](std::string& o) { append_introduction(o, me); });
}
void append_refuse(std::string& out, std::string_view why) {
  append_message(out, MessageKind::kRefuse,
                 [&](std::string& o) { append_words(o, why.substr(0, kMostGreeting / 2)); });
}
void append_open(std::string& out, const OpenMessage& message) {
  append_message(out, MessageKind::kOpen, [&](std::string& o) {
    append_number(o, message.stream);
    append_number(o, message.node);
    append_words(o, message.bundle);
  });
}
void append_push(std::string& out, const PushMessage& message) {
  append_message(out, MessageKind::kPush, [&](std::string& o) {
    append_number(o, message.batch);
    append_number(o, message.node);
    append_number(o, static_cast<uint16_t>(message.jobs.size()));
    for (const PushedJob& job : message.jobs) {
      append_number(o, job.stream);
      append_number(o, job.at);
      append_number(o, job.left);
      append_number(o, job.fresh);
      append_number(o, job.ahead);
      append_number(o, static_cast<uint8_t>(job.last));
      append_words(o, job.window);
    }
  });
}
void append_made(std::string& out, const MadeMessage& message) {
  append_message(out, MessageKind::kMade, [&](std::string& o) {
    append_number(o, message.batch);
    append_number(o, static_cast<uint16_t>(message.jobs.size()));
    for (const MadeJob& job : message.jobs) {
      append_number(o, static_cast<uint8_t>(job.fault.has_value()));
      if (job.fault) {
        append_words(o, *job.fault);
      } else {
        append_number(o, job.made);
        append_words(o, job.values);
      }
    }
  });
}
void append_close(std::string& out, uint64_t stream) {
  append_message(out, MessageKind::kClose, [&](std::string& o) { append_number(o, stream); });
}
void append_leaving(std::string& out) {
  append_message(out, MessageKind::kLeaving, [](std::string&) {});
}

Introduction read_introduction(std::string_view body) {
  ByteReader in(body, "a greeting");
  if (in.left() < kMagic.size() || in.bytes(kMagic.size()) != kMagic) {
    throw LoadError("the greeting is not from a Syrinx process");
  }
  const auto version = in.number<uint16_t>();
  if (version != kLinkVersion) {
    throw LoadError(
        concat("the versions of the link differ: ", kLinkVersion, " here, ", version, " there"));
  }
  Introduction out;
  out.version = read_words(in);
  out.cpu = read_words(in);
  out.model = read_words(in);
  const auto nodes = in.number<uint16_t>(kMostNodes);
  for (int i = 0; i < nodes; ++i) {
    NodeShape& node = out.nodes.emplace_back();
    node.name = read_words(in);
    node.in = read_type(in);
    node.out = read_type(in);
    node.most_out = in.number<int32_t>(kMostWidth);
    if (node.most_out < 1)
      throw LoadError(
          concat("a node makes at most ", node.most_out, " frames; expected 1 or more"));
    node.steps = read_words(in);
  }
  in.end();
  return out;
}

std::string read_refuse(std::string_view body) {
  ByteReader in(body, "a refusal");
  std::string why(read_words(in));
  in.end();
  return why;
}

OpenMessage read_open(std::string_view body) {
  ByteReader in(body, "the opening of a stream");
  OpenMessage out;
  out.stream = in.number<uint64_t>();
  out.node = in.number<uint16_t>();
  out.bundle = read_words(in);
  in.end();
  return out;
}

PushMessage read_push(std::string_view body) {
  ByteReader in(body, "a batch");
  PushMessage out;
  out.batch = in.number<uint64_t>();
  out.node = in.number<uint16_t>();
  const auto jobs = in.number<uint16_t>(kMostJobs);
  for (int i = 0; i < jobs; ++i) {
    PushedJob& job = out.jobs.emplace_back();
    job.stream = in.number<uint64_t>();
    job.at = in.number<int64_t>();
    constexpr uint32_t kMostFrames = 1u << 24;
    job.left = in.number<uint32_t>(kMostFrames);
    job.fresh = in.number<uint32_t>(kMostFrames);
    job.ahead = in.number<uint32_t>(kMostFrames);
    job.last = in.number<uint8_t>(1) == 1;
    job.window = read_words(in);
  }
  in.end();
  return out;
}

MadeMessage read_made(std::string_view body) {
  ByteReader in(body, "the result of a batch");
  MadeMessage out;
  out.batch = in.number<uint64_t>();
  const auto jobs = in.number<uint16_t>(kMostJobs);
  for (int i = 0; i < jobs; ++i) {
    MadeJob& job = out.jobs.emplace_back();
    if (in.number<uint8_t>(1) == 1) {
      job.fault = std::string(read_words(in));
    } else {
      job.made = in.number<uint32_t>();
      job.values = read_words(in);
    }
  }
  in.end();
  return out;
}

uint64_t read_close(std::string_view body) {
  ByteReader in(body, "the end of a stream");
  const auto stream = in.number<uint64_t>();
  in.end();
  return stream;
}
void read_leaving(std::string_view body) { ByteReader(body, "a farewell").end(); }

std::optional<Message> MessageReader::next(size_t most) {
  if (bytes_.size() < kHead) return std::nullopt;
  ByteReader in(bytes_, "a message");
  const auto length = in.number<uint32_t>();
  const auto kind = in.number<uint8_t>();
  if (length < 1 || length > most) {
    throw LoadError(concat("a message has ", length, " bytes; expected 1 to ", most));
  }
  if (kind < static_cast<uint8_t>(MessageKind::kHello) ||
      kind > static_cast<uint8_t>(MessageKind::kLeaving)) {
    throw LoadError(concat("a message has the unknown kind ", +kind));
  }
  const size_t whole = sizeof length + length;
  if (bytes_.size() < whole) return std::nullopt;
  Message out{static_cast<MessageKind>(kind), bytes_.substr(kHead, whole - kHead)};
  bytes_.erase(0, whole);
  return out;
}

}  // namespace syrinx
