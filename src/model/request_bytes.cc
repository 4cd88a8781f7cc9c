#include "model/request_bytes.h"

#include <cmath>
#include <utility>

#include "base/bytes.h"
#include "io/digest.h"
#include "model/options.h"

namespace syrinx {
namespace {

constexpr uint64_t kFieldsVersion = 9;  // format of the fields outside the table of options
constexpr int kMostEntries = 1 << 20;   // most entries of a list

class Writer {
 public:
  template <PlainNumber T>
  void number(const T& value) {
    append_number(out, value);
  }
  void text(const std::string& value) {
    append_number(out, static_cast<uint32_t>(value.size()));
    out += value;
  }
  template <PlainNumber T>
  void array(const std::vector<T>& values) {
    append_number(out, static_cast<uint32_t>(values.size()));
    append_array(out, std::span<const T>(values));
  }
  /// Writes or reads whether an optional field is set.
  bool there(bool is) {
    append_number(out, static_cast<uint8_t>(is));
    return is;
  }
  uint32_t count(size_t size) {
    append_number(out, static_cast<uint32_t>(size));
    return static_cast<uint32_t>(size);
  }

  std::string out;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : in(bytes, "a request") {}
  template <PlainNumber T>
  void number(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      value = in.number<uint8_t>(1) == 1;
    } else {
      value = in.number<T>();
    }
  }
  void text(std::string& value) { value = in.bytes(in.number<uint32_t>()); }
  template <PlainNumber T>
  void array(std::vector<T>& values) {
    const auto size = in.number<uint32_t>();
    const std::string_view bytes = in.bytes(size_t{size} * sizeof(T));
    values.resize(size);
    if (size > 0) std::memcpy(values.data(), bytes.data(), bytes.size());
  }
  bool there(bool) { return in.number<uint8_t>(1) == 1; }
  uint32_t count(size_t) { return in.number<uint32_t>(kMostEntries); }

  ByteReader in;
};

template <typename T>
void optional(Writer& io, const std::optional<T>& value) {
  if (io.there(value.has_value())) io.number(*value);
}
template <typename T>
void optional(Reader& io, std::optional<T>& value) {
  if (io.there(false)) io.number(value.emplace());
}

template <typename Io, typename T, typename Each>
void list(Io& io, std::vector<T>& values, Each&& each) {
  const uint32_t count = io.count(values.size());
  for (uint32_t i = 0; i < count; ++i) {
    if (values.size() <= i) values.emplace_back();
    each(values[i]);
  }
}

/// Writes or reads a shared const object or null. The cast is safe: a Writer changes nothing.
template <typename T, typename Each>
void shared(Writer& io, const std::shared_ptr<const T>& value, Each&& each) {
  if (io.there(value != nullptr)) each(const_cast<T&>(*value));
}
template <typename T, typename Each>
void shared(Reader& io, std::shared_ptr<const T>& value, Each&& each) {
  if (!io.there(false)) return;
  auto fresh = std::make_shared<T>();
  each(*fresh);
  value = std::move(fresh);
}

void tensor(Writer& io, const Tensor& tensor) {
  if (tensor.device() != Device::kCpu)
    throw LoadError("a request cannot be sent: the tensors of its voice are not in CPU memory");
  append_number(io.out, static_cast<uint8_t>(tensor.dtype()));
  const Shape& shape = tensor.shape();
  append_number(io.out, static_cast<uint8_t>(shape.dims()));
  for (int d = 0; d < shape.dims(); ++d) append_number(io.out, shape[d]);
  io.out.append(static_cast<const char*>(tensor.view().data), tensor.bytes());
}

void tensor(Reader& io, Tensor& tensor) {
  const auto dtype = static_cast<DType>(io.in.number<uint8_t>(static_cast<uint8_t>(DType::kU8)));
  const auto rank = io.in.number<uint8_t>(Shape::kMaxDims);
  std::vector<int64_t> sizes;
  uint64_t bytes = dtype_size(dtype);
  for (int d = 0; d < rank; ++d) {
    sizes.push_back(io.in.number<int64_t>(int64_t{1} << 32));
    if (sizes.back() < 1) throw LoadError("a request has a tensor without elements");
    bytes *= static_cast<uint64_t>(sizes.back());
    if (bytes > io.in.left())
      throw LoadError("a request announces a tensor with more bytes than follow");
  }
  const std::string_view data = io.in.bytes(bytes);
  tensor = Tensor(Shape(sizes), dtype);
  std::memcpy(tensor.view().data, data.data(), data.size());
}

template <typename Io>
void voice(Io& io, Voice& voice) {
  io.text(voice.family), io.text(voice.encoder), io.text(voice.mode), io.text(voice.text);
  io.number(voice.seconds);
  const uint32_t count = io.count(voice.tensors.size());
  if constexpr (std::is_same_v<Io, Writer>) {
    for (const auto& [name, values] : voice.tensors) {
      io.text(name);
      tensor(io, values);
    }
  } else {
    for (uint32_t i = 0; i < count; ++i) {
      std::string name;
      io.text(name);
      tensor(io, voice.tensors[name]);
    }
  }
}

template <typename Io>
void phones(Io& io, Phones& phones) {
  io.text(phones.ipa);
  list(io, phones.arpabet, [&](std::string& phone) { io.text(phone); });
}

template <typename Io>
void recording(Io& io, Recording& recording) {
  io.array(recording.samples);
  io.number(recording.sample_rate);
  io.text(recording.text), io.text(recording.mode);
}

template <typename Io>
void spoken(Io& io, SpeechRequest& r) {
  const auto voice_of = [&](Voice& data) { voice(io, data); };
  io.text(r.say.text);
  io.number(r.say.open);
  list(io, r.say.sayings, [&](Saying& saying) {
    io.number(saying.begin), io.number(saying.end);
    io.text(saying.words);
    phones(io, saying.phones);
    io.number(saying.strong);
  });
  list(io, r.say.deliveries, [&](Delivery& delivery) {
    io.number(delivery.begin), io.number(delivery.rate), io.number(delivery.pitch);
  });
  shared(io, r.voice.data, voice_of);
  list(io, r.voice.mix, [&](VoiceShare& share) {
    io.text(share.voice);
    shared(io, share.data, voice_of);
    io.number(share.weight);
  });
  list(io, r.say.context, [&](ContextTurn& turn) {
    io.text(turn.voice), io.text(turn.text);
    io.array(turn.codes);
    shared(io, turn.recording, voice_of);
  });
}

template <typename Io>
void option_value(Io& io, std::string& value) {
  io.text(value);
}
template <typename Io, PlainNumber T>
void option_value(Io& io, T& value) {
  io.number(value);
}
template <typename Io, typename T>
void option_value(Io& io, std::optional<T>& value) {
  optional(io, value);
}
template <typename Io>
void option_value(Io& io, FlowMode& value) {
  auto flow = static_cast<uint8_t>(value);
  io.number(flow);
  if (flow >= flow_names().size()) throw LoadError("a request has an unknown mode of a flow");
  value = static_cast<FlowMode>(flow);
}

template <typename Io>
void options(Io& io, SpeechRequest& r) {
  for (const RequestOption& option : request_options()) {
    std::visit([&](auto field) { option_value(io, field(r)); }, option.field);
  }
}

template <typename Io>
void written(Io& io, SpeechRequest& r) {
  shared(io, r.writing.chat, [&](Chat& chat) {
    io.text(chat.messages), io.text(chat.tools);
    optional(io, chat.thinks);
    list(io, chat.must_call, [&](std::string& name) { io.text(name); });
    io.text(chat.schema);
  });
  io.text(r.writing.expected);
  io.text(r.writing.expected_instead);
  io.number(r.writing.expected_among);
  auto settled = static_cast<uint64_t>(r.writing.expected_settled);
  io.number(settled);
  r.writing.expected_settled = static_cast<size_t>(settled);
  io.number(r.writing.jacobi);
  list(io, r.writing.stop, [&](std::string& stop) { io.text(stop); });
  const uint32_t count = io.count(r.writing.recordings.size());
  r.writing.recordings.resize(count);
  for (auto& one : r.writing.recordings)
    shared(io, one, [&](Recording& data) { recording(io, data); });
  list(io, r.writing.answers, [&](EarlierAnswer& answer) {
    shared(io, answer.ids, [&](std::vector<int32_t>& ids) { io.array(ids); });
    optional(io, answer.heard_s);
  });
  io.number(r.terms.offline), io.number(r.terms.ignore_stop), io.number(r.terms.phone_times);
  io.number(r.writing.text_only), io.number(r.writing.top_logprobs), io.number(r.terms.background),
      io.number(r.terms.client);
}

/// Returns the version of the bytes: kFieldsVersion and the options' names, types and order.
uint64_t version() {
  static const uint64_t kVersion = [] {
    Digest digest;
    digest.number(kFieldsVersion);
    for (const RequestOption& option : request_options()) {
      digest.text(option.name);
      digest.number(option.field.index());
    }
    return digest.key();
  }();
  return kVersion;
}

}  // namespace

Result<std::string> request_bytes(const SpeechRequest& request) {
  if (request.task) {
    return Error{ErrorCode::kUnsupported,
                 "a task of the model's own cannot be given to another process"};
  }
  Writer out;
  out.number(version());
  SpeechRequest fields = request;
  options(out, fields), spoken(out, fields), written(out, fields);
  if (out.there(request.say.lexicon != nullptr)) request.say.lexicon->append_to(out.out);
  return std::move(out.out);
}

SpeechRequest read_request(std::string_view bytes) {
  Reader in(bytes);
  uint64_t sent = 0;
  in.number(sent);
  if (sent != version()) throw LoadError("a request has an unsupported format version");
  SpeechRequest request;
  options(in, request), spoken(in, request), written(in, request);
  if (in.there(false)) request.say.lexicon = Lexicon::read(in.in);
  in.in.end();
  return request;
}

}  // namespace syrinx
