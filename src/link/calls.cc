#include "link/calls.h"

#include <utility>
#include <vector>

#include "link/message_bytes.h"

namespace syrinx {
namespace {

enum Call : uint8_t { kTakeCall, kTextCall, kAdvanceCall, kMissedCall };

template <PlainNumber T>
void append_values(std::string& out, std::span<const T> values) {
  append_number(out, static_cast<uint32_t>(values.size()));
  append_array(out, values);
}

template <PlainNumber T>
std::vector<T> read_values(ByteReader& in) {
  const auto count = in.number<uint32_t>();
  ByteReader bytes(in.bytes(size_t{count} * sizeof(T)), "a call's values");
  std::vector<T> out(count);
  bytes.array(std::span(out));
  return out;
}

bool is_of_ints(Flow flow) { return flow == Flow::kIds || flow == Flow::kCodes; }

Status replay_frames(Sequence& sequence, ByteReader& in, const CallRules& rules) {
  const auto port = in.number<uint16_t>();
  if (port >= rules.in.size())
    throw LoadError(concat("a call names the invalid port ", port, " of ", rules.in.size()));
  const FrameType type = rules.in[port];
  const auto count = in.number<int64_t>();
  const bool last = in.number<uint8_t>(1) == 1;
  const std::vector<int32_t> ints = read_values<int32_t>(in);
  const std::vector<float> floats = read_values<float>(in);
  const std::string_view text = read_words(in);
  in.end();
  const size_t have = type.flow == Flow::kText ? text.size()
                      : is_of_ints(type.flow)  ? ints.size()
                                               : floats.size();
  const auto width = static_cast<uint64_t>(type.width);
  if (count < 0 || have % width != 0 || have / width != static_cast<uint64_t>(count)) {
    throw LoadError(
        concat("a call has ", have, " numbers, which are not ", count, " frames of width ", width));
  }
  return sequence.take(port, {type, count, ints, floats, text, last});
}

/// Checks the codes of a step, because stages use them as indices into tables.
void check_codes(std::span<const int32_t> codes, std::span<const int> vocab) {
  for (size_t i = 0; i < codes.size(); ++i) {
    const int most = vocab[i % vocab.size()];
    if (codes[i] < 0 || codes[i] >= most)
      throw LoadError(concat("a call has the invalid code ", codes[i]));
  }
}

Verdict replay_step(Sequence& sequence, ByteReader& in, const CallRules& rules) {
  const std::vector<int32_t> codes = read_values<int32_t>(in);
  const std::vector<float> values = read_values<float>(in);
  in.end();
  if (codes.size() != rules.vocab.size() || std::ssize(values) != rules.values) {
    throw LoadError(concat("a call has ", codes.size(), " codes and ", values.size(),
                           " values; expected ", rules.vocab.size(), " and ", rules.values));
  }
  check_codes(codes, rules.vocab);
  std::vector<int32_t> frames;
  std::vector<WordMark> words;
  std::vector<PhoneMark> phones;
  std::vector<float> rows;
  StepOutput unheard(frames, words, &phones, nullptr, values, &rows);
  return sequence.advance(codes, unheard);
}

}  // namespace

std::string take_call(int port, const Frames& frames) {
  std::string out;
  append_number(out, static_cast<uint8_t>(kTakeCall));
  append_number(out, static_cast<uint16_t>(port));
  append_number(out, frames.count);
  append_number(out, static_cast<uint8_t>(frames.last));
  append_values(out, frames.ints);
  append_values(out, frames.floats);
  append_words(out, frames.text);
  return out;
}

std::string text_call(std::string_view text, bool last) {
  std::string out;
  append_number(out, static_cast<uint8_t>(kTextCall));
  append_number(out, static_cast<uint8_t>(last));
  append_words(out, text);
  return out;
}

std::string advance_call(std::span<const int32_t> codes, std::span<const float> values) {
  std::string out;
  append_number(out, static_cast<uint8_t>(kAdvanceCall));
  append_values(out, codes);
  append_values(out, values);
  return out;
}

std::string missed_call(std::span<const int32_t> codes) {
  std::string out;
  append_number(out, static_cast<uint8_t>(kMissedCall));
  append_values(out, codes);
  return out;
}

Status apply_call(Sequence& sequence, std::string_view call, const CallRules& rules,
                  std::optional<Verdict>& advanced) {
  ByteReader in(call, "a call");
  switch (in.number<uint8_t>(kMissedCall)) {
    case kTakeCall:
      return replay_frames(sequence, in, rules);
    case kTextCall: {
      const bool last = in.number<uint8_t>(1) == 1;
      const std::string_view text = read_words(in);
      in.end();
      return sequence.append_text(text, last);
    }
    case kAdvanceCall:
      advanced = replay_step(sequence, in, rules);
      return ok_status();
    default: {
      const std::vector<int32_t> codes = read_values<int32_t>(in);
      in.end();
      check_codes(codes, rules.vocab);
      sequence.missed(codes);
      return ok_status();
    }
  }
}

}  // namespace syrinx
