#include "families/qwen3_omni/talker.h"

#include "base/check.h"

namespace syrinx::qwen3_omni {

std::vector<TalkerRow> talker_prompt(const ModelConfig& config, std::span<const int32_t> ids,
                                     int32_t speaker, int32_t first) {
  constexpr size_t kHead = 3;  // <|im_start|> assistant \n
  const TextIds& text = config.text;
  const CodecIds& codec = config.talker.codec;
  SYRINX_CHECK(ids.size() >= kHead && ids[ids.size() - kHead] == text.im_start &&
                   ids[ids.size() - kHead + 1] == text.assistant,
               "[talker] the prompt does not end with the beginning of an answer");
  std::vector<TalkerRow> rows;
  int32_t role = ids[1];  // role of the turn: the id after its <|im_start|>
  for (size_t i = 0; i + kHead < ids.size(); ++i) {
    if (ids[i] == text.im_start) role = ids[i + 1];
    if (role != text.user) continue;
    TalkerRow row;
    (ids[i] == text.audio ? row.heard : row.text) =
        ids[i] == text.audio ? static_cast<int32_t>(i) : ids[i];
    rows.push_back(row);
  }
  for (const int32_t id : ids.last(kHead)) rows.push_back({.text = id});
  for (const int32_t id : {codec.nothink, codec.think_bos, codec.think_eos, speaker})
    rows.push_back({.text = text.tts_pad, .codec = id});
  rows.push_back({.text = text.tts_bos, .codec = codec.pad});
  rows.push_back({.text = first, .codec = codec.bos});
  return rows;
}

std::optional<int32_t> talker_text(const TextIds& text, std::span<const int32_t> written,
                                   bool ended, int64_t frame) {
  const int64_t next = frame + 1, count = std::ssize(written);
  if (next < count) return written[static_cast<size_t>(next)];
  if (!ended) return std::nullopt;
  return next == count ? text.tts_eos : text.tts_pad;
}

}  // namespace syrinx::qwen3_omni
