#include "families/spoken/codec_lm.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "base/check.h"
#include "families/loading/describe.h"
#include "kernels/activation.h"
#include "kernels/copy.h"
#include "kernels/embedding.h"
#include "nn/cache_type.h"

namespace syrinx {

namespace {

uint64_t next_number() {
  static std::atomic<uint64_t> count{0};
  return ++count;
}

bool may_choose(const SampleRule& rule, int64_t begin, int64_t end) {
  if (rule.forced >= 0) return false;
  const auto first = rule.allowed.begin();
  return rule.ranges == 0 || std::any_of(first, first + rule.ranges, [&](const IdRange& range) {
           return range.begin < end && range.end > begin;
         });
}

/// Writes the logits [begin, begin + part.out()) of out [E, V], for rows whose rules allow them.
void run_part(StepContext& ctx, const PackedLinear& part, std::span<const SampleRule> rules,
              int64_t begin, const View& hidden, const View& out) {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const int64_t emits = std::ssize(rules), width = out.shape[1], end = begin + part.out();
  const std::span<CopySpan> from = take_array<CopySpan>(ctx, emits),
                            to = take_array<CopySpan>(ctx, emits);
  size_t count = 0;
  for (int64_t e = 0; e < emits; ++e) {
    float* row = out.f32() + e * width + begin;
    if (may_choose(rules[static_cast<size_t>(e)], begin, end)) {
      from[count].from = hidden.f32() + e * hidden.shape[1];
      to[count++].to = row;
    } else {
      std::fill_n(row, part.out(), -std::numeric_limits<float>::infinity());
    }
  }
  if (count == 0) return;
  const auto rows = static_cast<int64_t>(count);
  if (rows == emits && part.out() == width) return linear(ctx, part, hidden, out);
  const View x = ctx.arena.take({rows, hidden.shape[1]}, DType::kF32);
  const View y = ctx.arena.take({rows, part.out()}, DType::kF32);
  for (size_t i = 0; i < count; ++i) {
    const auto row = static_cast<int64_t>(i);
    from[i].to = x.f32() + row * x.shape[1], from[i].count = x.shape[1];
    to[i].from = y.f32() + row * y.shape[1], to[i].count = y.shape[1];
  }
  copy_spans(ctx, from.first(count));
  linear(ctx, part, x, y);
  copy_spans(ctx, to.first(count));
}

}  // namespace

int64_t StreamHead::choices() const {
  int64_t sum = 0;
  for (const PackedLinear& part : parts) sum += part.out();
  return sum;
}

void StreamHead::move_to(Device device) {
  SYRINX_CHECK(parts.size() == 1, "a GPU needs heads of one part, not ", parts.size());
  syrinx::move_to(device, parts);
}

StreamHead pack_stream_head(const View& shared, std::span<const HeadPart> parts,
                            std::span<const float> e, WeightType type, Device device) {
  HeadPart all;
  for (const HeadPart& part : parts)
    for (const RowRange& range : part) all.push_back(range);
  if (device != Device::kCpu) parts = std::span(&all, 1);
  StreamHead head;
  std::vector<float> row(e.size());
  for (const HeadPart& part : parts) {
    std::vector<Tensor> constants;  // bias W e of each range
    std::vector<LinearPart> linears;
    for (const RowRange& range : part) {
      Tensor& constant = constants.emplace_back(Shape{range.end - range.begin}, DType::kF32);
      for (int64_t r = range.begin; r < range.end; ++r) {
        const auto width = static_cast<int64_t>(row.size());
        copy_as_f32(shared, r * width, width, row.data());
        double sum = 0;
        for (size_t i = 0; i < row.size(); ++i) sum += double{row[i]} * e[i];
        constant.f32()[r - range.begin] = static_cast<float>(sum);
      }
      linears.push_back({shared.slice(range.begin, range.end), constant.view()});
    }
    head.parts.push_back(PackedLinear::pack(linears, type));
  }
  return head;
}

StreamHead whole_head(PackedLinear linear) {
  StreamHead head;
  head.parts.push_back(std::move(linear));
  return head;
}

StreamHead tied_head(const View& table, WeightType type) {
  return whole_head(PackedLinear::pack(table, at_least_8_bits(type)));
}

StreamHead load_head(const Weights& weights, const std::string& name, int64_t codes, int64_t hidden,
                     WeightType type, bool bias) {
  return whole_head(load_linear(weights, name, codes, hidden, bias, at_least_8_bits(type)));
}

CodecLmParts lm_parts(const DecoderConfig& config, const Weights& weights, WeightType type,
                      int64_t max_positions) {
  return {.decoder = Decoder(config, weights, type),
          .tables = {},
          .heads = {},
          .kv = config.kv_spec(cache_type(type)),
          .max_positions = max_positions};
}

std::vector<View> tables_in(const View& all, int64_t count) {
  const int64_t rows = all.shape[0] / count;
  std::vector<View> tables;
  for (int64_t t = 0; t < count; ++t) tables.push_back(all.slice(t * rows, (t + 1) * rows));
  return tables;
}

CodecLm::CodecLm(CodecLmParts parts) : number_(next_number()), parts_(std::move(parts)) {
  windows_.push_back(decoder().window);
  for (const LayerKind& kind : decoder().layer_kinds) windows_.push_back(kind.window);
  std::ranges::sort(windows_);
  windows_.erase(std::unique(windows_.begin(), windows_.end()), windows_.end());
  traits_.hidden = decoder().hidden;
  for (const StreamHead& head : parts_.heads)
    traits_.vocab.push_back(static_cast<int>(head.choices()));
  if (parts_.inner && parts_.inner_vocab.empty()) parts_.inner_vocab = parts_.inner->vocab();
  traits_.vocab.insert(traits_.vocab.end(), parts_.inner_vocab.begin(), parts_.inner_vocab.end());
  traits_.kv = {parts_.kv};
  traits_.max_positions = static_cast<int>(parts_.max_positions);
  traits_.tap = parts_.tap_block >= 0 ? decoder().hidden : 0;
  traits_.drafts = parts_.drafts;
  traits_.values = static_cast<int>(parts_.values.out());
}

std::vector<PartInfo> describe_lm(const CodecLm& lm, const std::string& kind) {
  const int64_t hidden = lm.decoder().hidden;
  std::vector<PartInfo> parts{
      {"language model", concat(kind, describe_decoder(lm.decoder())), lm.bytes()}};
  if (lm.inner_bytes() > 0) {
    const size_t codes = lm.traits().vocab.size() - 1;
    parts.push_back({"inner decoder", concat(codes, " codes a frame"), lm.inner_bytes()});
  }
  const std::string ids =
      lm.tables() == 1 ? concat(lm.table(0).shape[0], " ids") : std::to_string(lm.tables());
  parts.push_back({"tables", concat(ids, " x width ", hidden), lm.table_bytes()});
  return parts;
}

void CodecLm::move_to(Device device) {
  place_.move(device, parts_.decoder, parts_.heads, parts_.tables, parts_.positions, parts_.values,
              parts_.inner, parts_.beside);
}

size_t CodecLm::scratch_bytes(int emits) const {
  return parts_.inner ? parts_.inner->scratch_bytes(emits) : 0;
}

size_t CodecLm::bytes() const {
  const size_t beside = parts_.beside ? parts_.beside->bytes() : 0;
  return beside + weight_bytes(parts_.decoder, parts_.values, parts_.heads);
}

size_t CodecLm::inner_bytes() const { return parts_.inner ? parts_.inner->bytes() : 0; }

size_t CodecLm::table_bytes() const {
  size_t sum = parts_.beside ? parts_.beside->table().bytes() : 0;
  const std::vector<View>& tables = parts_.tables;
  for (size_t i = 0; i < tables.size(); ++i) {
    const auto same = [&](const View& other) { return other.data == tables[i].data; };
    if (std::none_of(tables.begin(), tables.begin() + static_cast<std::ptrdiff_t>(i), same))
      sum += tables[i].bytes();
  }
  return sum + parts_.positions.bytes();
}

/// Returns whether a row has a code, i.e. an id for tables[1].
bool CodecLm::is_frame(std::span<const int32_t> ids, size_t row) const {
  return ids[row * parts_.tables.size() + 1] >= 0;
}

/// Scales the rows that are frames, with one call for each run of consecutive frames.
void CodecLm::scale_frames(StepContext& ctx, std::span<const int32_t> ids, const View& x) const {
  const auto rows = static_cast<size_t>(x.shape[0]);
  for (size_t begin = 0; begin < rows;) {
    size_t end = begin + 1;
    while (end < rows && is_frame(ids, end) == is_frame(ids, begin)) ++end;
    const View run = x.slice(static_cast<int64_t>(begin), static_cast<int64_t>(end));
    if (is_frame(ids, begin)) scale_inplace(ctx, run, parts_.frame_scale);
    begin = end;
  }
}

void CodecLm::add_vectors(StepContext& ctx, std::span<const GivenRow> given, const View& x) const {
  const Arena::Mark mark(ctx.arena);
  const View vectors = ctx.arena.take(x.shape, DType::kF32);
  for (size_t i = 0; i < given.size(); ++i) {
    SYRINX_CHECK(!given[i].empty(), "row ", i, " has no vector");
    const auto row = static_cast<int64_t>(i);
    store(ctx, given[i], vectors.slice(row, row + 1));
  }
  add_inplace(ctx, x, vectors);
}

int64_t CodecLm::fill_size(int rows) const {
  const int64_t texts = parts_.beside ? 2 : 0, at = parts_.positions.empty() ? 0 : 1;
  return 1 + rows * (std::ssize(parts_.tables) + texts + at);
}

/// Divides the memory of fill(), from its second number on, into the arrays of a batch's Numbers.
CodecLm::Numbers CodecLm::numbers_in(std::span<int32_t> memory, int rows) const {
  const auto n = static_cast<size_t>(rows);
  size_t used = 1;
  const auto take = [&](size_t count) { return memory.subspan((used += count) - count, count); };
  Numbers out{take(n * parts_.tables.size()), {}, {}};
  if (parts_.beside) {
    out.text.rows = take(n);
    out.text.made = take(n);
  }
  if (!parts_.positions.empty()) out.at = take(n);
  return out;
}

/// Gets the batch's rows from its sequences: writes their numbers to `to`, returns their vectors.
std::span<GivenRow> CodecLm::ask(StepContext& ctx, const ArBatch& batch, Numbers& to) const {
  const size_t tables = parts_.tables.size();
  if (!to.at.empty()) ragged_positions(batch.ragged, to.at);
  const int columns = static_cast<int>(tables) + (parts_.beside ? 1 : 0);
  const BatchRows rows = fill_rows(ctx, batch, columns);
  if (!parts_.beside) {
    std::ranges::copy(rows.ids, to.ids.begin());
    return rows.given;
  }
  const std::span<int32_t> text = take_array<int32_t>(ctx, batch.rows);
  for (size_t row = 0; row < text.size(); ++row) {
    const std::span<const int32_t> from = rows.ids.subspan(row * (tables + 1), tables + 1);
    for (size_t t = 0; t < tables; ++t) to.ids[row * tables + t] = from[t];
    text[row] = from.back();
  }
  to.text = parts_.beside->find(text, to.text.rows, to.text.made);
  return rows.given;
}

/// Returns whether all ids and positions are within their tables. A recorded step cannot check it.
bool CodecLm::are_valid(const Numbers& numbers) const {
  const size_t tables = parts_.tables.size();
  for (size_t i = 0; i < numbers.ids.size(); ++i)
    if (numbers.ids[i] >= parts_.tables[i % tables].shape[0]) return false;
  const auto all_in = [](std::span<const int32_t> ids, const View& table) {
    return std::ranges::all_of(ids, [&](int32_t id) { return id >= 0 && id < table.shape[0]; });
  };
  return (!parts_.beside || all_in(numbers.text.made, parts_.beside->table())) &&
         (numbers.at.empty() || all_in(numbers.at, parts_.positions));
}

bool CodecLm::fill(StepContext& ctx, const ArBatch& batch, std::span<int32_t> out,
                   std::vector<uint64_t>& key) const {
  const Arena::Mark host_mark(ctx.host);
  Numbers numbers = numbers_in(out, batch.rows);
  const std::span<int32_t> made = numbers.text.made;
  const std::span<const GivenRow> given = ask(ctx, batch, numbers);
  const auto has_vector = [](GivenRow row) { return !row.empty(); };
  if (parts_.adds_vectors || std::ranges::any_of(given, has_vector)) return false;
  if (numbers.text.vectors > 0 || !are_valid(numbers)) return false;
  uint64_t frames = 0;
  if (parts_.frame_scale != 1) {  // recorded kernels scale all rows or none
    frames = is_frame(numbers.ids, 0) ? 1 : 0;
    for (size_t row = 1; row < static_cast<size_t>(batch.rows); ++row)
      if (is_frame(numbers.ids, row) != (frames == 1)) return false;
  }
  // Projects either no text or one per row (padded with id 0), so that few recordings are needed.
  out[0] = numbers.text.made.empty() ? 0 : batch.rows;
  std::ranges::fill(made.subspan(numbers.text.made.size()), 0);
  key.insert(key.end(), {number_, static_cast<uint64_t>(out[0]), frames});
  for (const int window : windows_) {
    const AttentionSpec spec{.window = window, .causal = decoder().causal};
    key.push_back(static_cast<uint64_t>(attention_groups(batch.ragged, spec)));
  }
  return true;
}

View CodecLm::embed_rows(StepContext& ctx, const ArBatch& batch) const {
  const View x = ctx.arena.take({batch.rows, traits_.hidden}, DType::kF32);
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  std::span<const GivenRow> given;
  Numbers numbers;
  if (batch.filled.empty()) {
    numbers = numbers_in(take_array<int32_t>(ctx, fill_size(batch.rows)), batch.rows);
    given = ask(ctx, batch, numbers);
  } else {
    numbers = numbers_in(batch.filled, batch.rows);
    numbers.text.made = numbers.text.made.first(static_cast<size_t>(batch.filled[0]));
  }
  embed_sum(ctx, parts_.tables, numbers.ids, x);
  if (parts_.frame_scale != 1) scale_frames(ctx, numbers.ids, x);
  if (parts_.table_scale != 1) scale_inplace(ctx, x, parts_.table_scale);
  if (parts_.adds_vectors) {
    add_vectors(ctx, given, x);
  } else if (!parts_.beside || !parts_.beside->reads_vectors()) {
    store_given(ctx, given, x);
  }
  if (parts_.beside) parts_.beside->add(ctx, numbers.text, given, x);
  if (!parts_.positions.empty()) embed(ctx, parts_.positions, numbers.at, x, true);
  return x;
}

void CodecLm::forward(StepContext& ctx, const ArBatch& batch, View hidden) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const View x = embed_rows(ctx, batch);
  const DecoderPart all{0, batch.ragged, &batch.kv[0]};
  const int layers = decoder().layers, middle = batch.taps.empty() ? 0 : parts_.tap_block;
  if (!batch.taps.empty()) {
    parts_.decoder.forward(ctx, x, std::span(&all, 1), 0, {0, middle});
    copy(ctx, x, batch.taps);
  }
  parts_.decoder.forward(ctx, x, std::span(&all, 1), middle, {middle, layers});
  if (batch.emits > 0) parts_.decoder.norm_rows(ctx, x, emitting_rows(ctx, batch), hidden);
}

/// On a GPU the whole head runs for all rows, because no host code writes logits on a GPU. The same
/// holds for models with drafts, whose positions have their own rules, and for models whose
/// requests may ask for log-probabilities.
void CodecLm::head_logits(StepContext& ctx, int k, const ArBatch& batch, const View& hidden,
                          const View& out) const {
  const StreamHead& head = parts_.heads[static_cast<size_t>(k)];
  if (device() != Device::kCpu || parts_.drafts) return linear(ctx, head.parts[0], hidden, out);
  const Arena::Mark host_mark(ctx.host);
  const std::span<SampleRule> rules = take_array<SampleRule>(ctx, batch.emits);
  size_t row = 0;
  for (const ArSeq& seq : batch.seqs)
    if (seq.emits > 0) rules[row++] = seq.state->rule(k);
  int64_t begin = 0;
  for (const PackedLinear& part : head.parts) {
    run_part(ctx, part, rules, begin, hidden, out);
    begin += part.out();
  }
}

void CodecLm::logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View codes,
                     View out) const {
  if (k >= static_cast<int>(parts_.heads.size()))
    return parts_.inner->logits(ctx, k, hidden, codes, batch.scratch, out);
  head_logits(ctx, k, batch, hidden, out);
  if (parts_.logit_cap == 0) return;
  scale_inplace(ctx, out, 1 / parts_.logit_cap);
  activate(ctx, Activation::kTanh, out, out);
  scale_inplace(ctx, out, parts_.logit_cap);
}

void CodecLm::values(StepContext& ctx, const ArBatch&, View hidden, View, View out) const {
  if (!parts_.values.empty()) linear(ctx, parts_.values, hidden, out);
}

}  // namespace syrinx
