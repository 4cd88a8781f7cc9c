#include "link/step_message.h"

#include "link/message_bytes.h"

namespace syrinx {
namespace {

constexpr size_t kMostSequences = 8192, kMostCopies = 8192, kMostScored = 1 << 20;
constexpr int32_t kMostRows = 1 << 24;

enum SequenceFlags : uint8_t { kEmits = 1, kCompanion = 2, kGuided = 4, kTaps = 8 };

template <PlainNumber T>
void append_list(std::string& out, const std::vector<T>& values) {
  append_number(out, static_cast<uint32_t>(values.size()));
  append_array(out, std::span<const T>(values));
}

template <PlainNumber T>
std::vector<T> read_list(ByteReader& in) {
  const auto count = in.number<uint32_t>();
  ByteReader bytes(in.bytes(size_t{count} * sizeof(T)), "a list");
  std::vector<T> out(count);
  bytes.array(std::span(out));
  return out;
}

void append_scored(std::string& out, const ScoredId& one) {
  append_number(out, one.id);
  append_number(out, one.logprob);
}

ScoredId read_scored(ByteReader& in) {
  ScoredId out;
  out.id = in.number<int32_t>();
  out.logprob = in.number<float>();
  return out;
}

int32_t read_count(ByteReader& in) {
  const auto count = in.number<int32_t>(kMostRows);
  if (count < 0) throw LoadError(concat("a step has the invalid number of ", count, " rows"));
  return count;
}

}  // namespace

void append_cache(std::string& out, const CacheMessage& message) {
  append_message(out, MessageKind::kCache, [&](std::string& o) {
    append_number(o, message.node);
    append_number(o, message.pages);
  });
}

void append_call(std::string& out, const CallMessage& message) {
  append_message(out, MessageKind::kCall, [&](std::string& o) {
    append_number(o, message.stream);
    append_words(o, message.call);
  });
}

void append_step(std::string& out, const StepMessage& message) {
  append_message(out, MessageKind::kStep, [&](std::string& o) {
    append_number(o, message.batch);
    append_number(o, message.node);
    append_number(o, static_cast<uint16_t>(message.copies.size()));
    for (const PageCopy& copy : message.copies) {
      append_number(o, copy.from);
      append_number(o, copy.to);
    }
    append_number(o, static_cast<uint16_t>(message.sequences.size()));
    for (const PushedSequence& seq : message.sequences) {
      append_number(o, seq.stream);
      append_number(o, seq.first_pos);
      append_number(o, seq.rows);
      append_number(o, seq.drafts);
      append_number(
          o, static_cast<uint8_t>((seq.emits ? kEmits : 0) | (seq.companion ? kCompanion : 0) |
                                  (seq.guided ? kGuided : 0) | (seq.taps ? kTaps : 0)));
      append_number(o, seq.seed);
      append_number(o, seq.step);
      append_number(o, seq.scores);
      append_words(o, seq.pages);
    }
  });
}

void append_stepped(std::string& out, const SteppedMessage& message) {
  append_message(out, MessageKind::kStepped, [&](std::string& o) {
    const StepResults& results = message.results;
    append_number(o, message.batch);
    append_words(o, message.fault);
    append_number(o, static_cast<int32_t>(results.codes_per_step));
    append_list(o, results.codes);
    append_number(o, static_cast<uint32_t>(results.status.size()));
    for (const SampleStatus status : results.status) append_number(o, static_cast<uint8_t>(status));
    append_number(o, static_cast<uint32_t>(results.scores.size()));
    for (const StepScores& scores : results.scores) {
      append_scored(o, scores.drawn);
      append_number(o, static_cast<uint32_t>(scores.top.size()));
      for (const ScoredId& one : scores.top) append_scored(o, one);
    }
    append_list(o, results.values);
    append_list(o, results.taps);
    append_number(o, static_cast<uint16_t>(results.faults.size()));
    for (const auto& fault : results.faults) append_words(o, fault ? fault->message : "");
  });
}

CacheMessage read_cache(std::string_view body) {
  ByteReader in(body, "a cache");
  CacheMessage out;
  out.node = in.number<uint16_t>();
  out.pages = in.number<uint32_t>();
  in.end();
  return out;
}

CallMessage read_call(std::string_view body) {
  ByteReader in(body, "a call");
  CallMessage out;
  out.stream = in.number<uint64_t>();
  out.call = read_words(in);
  in.end();
  return out;
}

StepMessage read_step(std::string_view body) {
  ByteReader in(body, "a step");
  StepMessage out;
  out.batch = in.number<uint64_t>();
  out.node = in.number<uint16_t>();
  const auto copies = in.number<uint16_t>(kMostCopies);
  for (int i = 0; i < copies; ++i) {
    PageCopy& copy = out.copies.emplace_back();
    copy.from = in.number<int32_t>();
    copy.to = in.number<int32_t>();
  }
  const auto sequences = in.number<uint16_t>(kMostSequences);
  for (int i = 0; i < sequences; ++i) {
    PushedSequence& seq = out.sequences.emplace_back();
    seq.stream = in.number<uint64_t>();
    seq.first_pos = read_count(in);
    seq.rows = read_count(in);
    seq.drafts = read_count(in);
    const auto flags = in.number<uint8_t>(kEmits | kCompanion | kGuided | kTaps);
    seq.emits = flags & kEmits, seq.companion = flags & kCompanion;
    seq.guided = flags & kGuided, seq.taps = flags & kTaps;
    seq.seed = in.number<uint64_t>();
    seq.step = in.number<uint32_t>();
    seq.scores = in.number<int32_t>();
    seq.pages = read_words(in);
  }
  in.end();
  return out;
}

SteppedMessage read_stepped(std::string_view body) {
  ByteReader in(body, "the answer to a step");
  SteppedMessage out;
  StepResults& results = out.results;
  out.batch = in.number<uint64_t>();
  out.fault = read_words(in);
  results.codes_per_step = in.number<int32_t>();
  results.codes = read_list<int32_t>(in);
  const auto statuses = in.bytes(in.number<uint32_t>());
  for (const char status : statuses) {
    if (static_cast<uint8_t>(status) > static_cast<uint8_t>(SampleStatus::kNothingAllowed)) {
      throw LoadError("the answer to a step: unknown status");
    }
    results.status.push_back(static_cast<SampleStatus>(status));
  }
  const auto scored = in.number<uint32_t>(kMostScored);
  for (uint32_t i = 0; i < scored; ++i) {
    StepScores& scores = results.scores.emplace_back();
    scores.drawn = read_scored(in);
    const auto top = in.number<uint32_t>(kMostScored);
    for (uint32_t t = 0; t < top; ++t) scores.top.push_back(read_scored(in));
  }
  results.values = read_list<float>(in);
  results.taps = read_list<float>(in);
  const auto faults = in.number<uint16_t>(kMostSequences);
  for (int i = 0; i < faults; ++i) {
    const std::string_view why = read_words(in);
    results.faults.emplace_back();
    if (!why.empty()) results.faults.back() = Error{ErrorCode::kInternal, std::string(why)};
  }
  in.end();
  return out;
}

}  // namespace syrinx
