#include "link/served_steps.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/fault.h"
#include "model/request_bytes.h"

namespace syrinx {
namespace {

constexpr int32_t kMostRowsOfOne = 1 << 13;
constexpr int64_t kMostStepRows = 1 << 16;  // most rows of a step, of all sequences together

}  // namespace

ServedSequence::ServedSequence(const Pipeline& pipeline, int node, std::string_view request)
    : node_(node), ar_(*pipeline.graph().node(node).ar), in_(pipeline.graph().node(node).in) {
  try {
    const SpeechRequest asked = read_request(request);
    if (const Status fits = check_request(pipeline.info(), asked); !fits) {
      fault_ = fits.error().message;
      return;
    }
    Result<Opened> opened = pipeline.open(asked);
    if (!opened.ok()) {
      fault_ = opened.error().message;
      return;
    }
    const auto nodes = pipeline.graph().nodes();
    const auto before = std::count_if(nodes.begin(), nodes.begin() + node,
                                      [](const Node& n) { return n.ar != nullptr; });
    sequence_ = std::move(opened.value().sequences.at(static_cast<size_t>(before)));
    if (!sequence_) fault_ = "the request has no sequence for this AR node";
  } catch (const std::exception& e) {
    fault_ = e.what();
  }
}

void ServedSequence::call(std::string_view call) {
  if (!fault_.empty()) return;
  const ArTraits& traits = ar_.traits();
  if (over_) throw LoadError("a call names a sequence that has ended");
  std::optional<Verdict> next;
  try {
    const Status told = apply_call(
        *sequence_, call, {.in = in_, .vocab = traits.vocab, .values = traits.values}, next);
    if (!told.ok()) fault_ = told.error().message;
    if (!next) return;
    ++steps_;
    if (next->next == Verdict::kNextSegment) steps_ = 0;
    over_ = next->next == Verdict::kFinished || steps_ >= sequence_->max_steps();
  } catch (const LoadError&) {
    throw;
  } catch (const std::exception& e) {
    fault_ = e.what();
  }
}

std::string ServedSequence::check(const PushedSequence& rows, int pages) const {
  if (!fault_.empty()) return fault_;
  if (over_) return "a step has rows of a sequence that has ended";
  const int64_t end = int64_t{rows.first_pos} + rows.rows;
  if (rows.rows < 1 || rows.rows > kMostRowsOfOne || end > ar_.traits().max_positions) {
    return concat("invalid range: ", rows.rows, " rows from row ", rows.first_pos);
  }
  const auto used = static_cast<size_t>(KvPool::pages_for(end));
  if (rows.pages.size() != used * sizeof(int32_t)) {
    return concat(rows.pages.size(), " bytes of page numbers do not fit ", end, " rows");
  }
  for (size_t i = 0; i < used; ++i) {
    int32_t page = 0;
    std::memcpy(&page, rows.pages.data() + i * sizeof page, sizeof page);
    if (page < 0 || page >= pages) return concat("invalid page ", page, " of ", pages);
  }
  if (!rows.companion) return check_main(rows);
  const bool guided = sequence_->guidance().value_or(1) != 1;
  if (!guided || rows.drafts != 0 || rows.taps || rows.guided)
    return "unexpected companion: without guidance, or with drafts or taps";
  if (!sequence_->ready()) return "a companion comes before its sequence is ready";
  const int64_t due = int64_t{sequence_->companion_rows()} + steps_;
  if (end > due || (rows.emits && end != due)) {
    return concat("a companion has rows up to ", end, ", expected ", due);
  }
  return {};
}

std::string ServedSequence::check_main(const PushedSequence& rows) const {
  const ArTraits& traits = ar_.traits();
  const bool ready = sequence_->ready();
  if (rows.drafts > 0 && (!traits.drafts || !rows.emits))
    return "this node does not support drafts";
  if (rows.drafts > std::ssize(sequence_->draft())) {
    return concat("the step has ", rows.drafts, " guesses of ", sequence_->draft().size());
  }
  const int64_t known = ready         ? int64_t{sequence_->prompt_rows()} + steps_
                        : steps_ == 0 ? sequence_->known_rows()
                                      : int64_t{sequence_->prompt_rows()} + steps_ - 1;
  const int64_t end = int64_t{rows.first_pos} + rows.rows - rows.drafts;
  if (rows.rows <= rows.drafts || end > known)
    return concat("the step has rows up to ", end, ", but the sequence has ", known);
  if (rows.emits && (!ready || end != known)) return "the step is not due";
  if (rows.taps && traits.tap == 0) return "the step requests taps, but the stage has none";
  if (rows.scores > traits.vocab[0]) {
    return concat("the step requests ", rows.scores, " log-probabilities, but there are only ",
                  traits.vocab[0], " ids");
  }
  return {};
}

// ---------------------------------------------------------------------------- all of a server

void ServedSteps::make_cache(int node, uint32_t pages) {
  const ArStage& ar = *pipeline_.graph().node(node).ar;
  Cache cache;
  size_t page_bytes = 0;
  for (const KvSpec& spec : ar.traits().kv) page_bytes += KvPool::page_bytes(spec);
  if (pages < 1 || page_bytes * pages > most_kv_bytes_) {
    cache.fault = concat("invalid cache: ", pages, " pages of ", page_bytes, " bytes; at most ",
                         most_kv_bytes_, " bytes are allowed");
  } else {
    cache.pages = static_cast<int>(pages);
    for (const KvSpec& spec : ar.traits().kv) {
      cache.kv.emplace_back(spec, cache.pages, ar.device());
    }
  }
  caches_[node] = std::move(cache);
}

void ServedSteps::open(uint64_t stream, int node, std::string_view request) {
  if (sequences_.contains(stream)) throw LoadError("a stream is opened twice");
  sequences_.try_emplace(stream, pipeline_, node, request);
}

void ServedSteps::call(const CallMessage& message) {
  const auto found = sequences_.find(message.stream);
  if (found == sequences_.end()) throw LoadError("a call names a stream that was not opened");
  found->second.call(message.call);
}

std::string ServedSteps::copy(const Cache& cache, const std::vector<PageCopy>& copies) const {
  if (!cache.fault.empty()) return cache.fault;
  for (const PageCopy& copy : copies) {
    for (const int32_t page : {copy.from, copy.to}) {
      if (page < 0 || page >= cache.pages)
        return concat("invalid page ", page, " of ", cache.pages);
    }
    for (const KvPool& pool : cache.kv) pool.copy_page(copy.from, copy.to);
  }
  return {};
}

/// Returns the sequences of a step. Throws LoadError for an unknown stream, or for more rows than
/// any server runs at once.
std::vector<const ServedSequence*> ServedSteps::find(const StepMessage& message) const {
  std::vector<const ServedSequence*> out;
  int64_t rows = 0;
  for (const PushedSequence& pushed : message.sequences) {
    const auto found = sequences_.find(pushed.stream);
    if (found == sequences_.end()) throw LoadError("a step names a stream that was not opened");
    out.push_back(&found->second);
    rows += std::min(pushed.rows, kMostRowsOfOne);
  }
  if (rows > kMostStepRows)
    throw LoadError(concat("a step has ", rows, " rows; at most ", kMostStepRows, " are allowed"));
  return out;
}

/// Returns why sequence `i` of a step cannot run with the step's other sequences, or "".
std::string ServedSteps::check(const StepMessage& message, size_t i, int node, int pages) const {
  const PushedSequence& rows = message.sequences[i];
  const ServedSequence& sequence = sequences_.at(rows.stream);
  if (sequence.node() != node) return "the sequence belongs to another node";
  const auto is_pair = [&](size_t k) {
    return k + 1 < message.sequences.size() && !message.sequences[k].companion &&
           message.sequences[k + 1].companion &&
           message.sequences[k + 1].stream == message.sequences[k].stream;
  };
  const bool follows = i > 0 && is_pair(i - 1);
  for (size_t k = 0; k < i; ++k) {
    if (message.sequences[k].stream == rows.stream && !(follows && k == i - 1)) {
      return "a step has a sequence twice";
    }
  }
  if (rows.guided && !(rows.emits && is_pair(i) && message.sequences[i + 1].emits)) {
    return "a guided step lacks its companion";
  }
  if (rows.companion && rows.emits && !(follows && message.sequences[i - 1].guided)) {
    return "a companion emits without its sequence";
  }
  return sequence.check(rows, pages);
}

/// Runs the sequences without a fault. A fault of one entry of a sequence fails all its entries.
SteppedMessage ServedSteps::step(int node, const StepMessage& message) {
  const Cache& cache = caches_[node];
  SteppedMessage out{.batch = message.batch, .fault = copy(cache, message.copies), .results = {}};
  if (!out.fault.empty()) return out;
  const std::vector<const ServedSequence*> served = find(message);
  std::vector<std::optional<Error>> faults(served.size());
  std::map<const ServedSequence*, Error> broken;
  for (size_t i = 0; i < served.size(); ++i) {
    const std::string why = check(message, i, node, cache.pages);
    if (!why.empty()) broken.try_emplace(served[i], Error{ErrorCode::kInternal, why});
  }
  for (size_t i = 0; i < served.size(); ++i) {
    if (const auto of = broken.find(served[i]); of != broken.end()) faults[i] = of->second;
  }
  std::vector<StepSequence> sequences;
  std::vector<int32_t> table;
  Step step;
  step.table_width = 1;
  step.kv = cache.kv;
  for (size_t i = 0; i < served.size(); ++i) {
    const auto pages = static_cast<int>(message.sequences[i].pages.size() / sizeof(int32_t));
    if (!faults[i]) step.table_width = std::max(step.table_width, pages);
  }
  for (size_t i = 0; i < served.size(); ++i) {
    const PushedSequence& from = message.sequences[i];
    if (faults[i]) continue;
    sequences.push_back({.state = &served[i]->sequence(),
                         .first_pos = from.first_pos,
                         .rows = from.rows,
                         .emits = from.emits,
                         .drafts = from.drafts,
                         .companion = from.companion,
                         .guided = from.guided,
                         .seed = from.seed,
                         .step = from.step,
                         .scores = from.scores,
                         .taps = from.taps});
    step.rows += from.rows;
    const size_t at = table.size();
    table.resize(at + static_cast<size_t>(step.table_width), 0);
    std::memcpy(table.data() + at, from.pages.data(), from.pages.size());
  }
  step.sequences = sequences, step.page_table = table;
  const std::optional<std::string> fault = fault_of([&] {
    if (!sequences.empty()) run_(*pipeline_.graph().node(node).ar, step, out.results);
  });
  if (fault) {
    out.results = {};
    out.fault = *fault;
    return out;
  }
  out.results.faults = std::move(faults);
  return out;
}

}  // namespace syrinx
