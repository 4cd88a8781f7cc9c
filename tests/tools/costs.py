#!/usr/bin/env python3
"""Checks that docs/performance.md's table "Cost by shapes" follows from the layouts of published checkpoints.

Usage: costs.py ROOT [--write]. For each model and one stream it counts, for a second of audio, the bytes of bf16 weights that
language models, depth transformers and flows read, and their multiply-adds. It leaves out attention, prompts and convolutions
of codecs. The rates of frames and the numbers of passes are those of the pages in docs/families."""
import pathlib
import re
import sys

BANDWIDTH, OPERATIONS = 3.35e12, 989e12  # bytes/s and bf16 operations/s of an H100 SXM by its data sheet
BEGIN, END = '<!-- costs.py -->\n', '<!-- /costs.py -->\n'
HEAD = """| model | GB read | G multiply-adds | ms of an H100: weights, products |
|---|---|---|---|
"""
MEL = 50  # mel frames a second of the S3 flows
# The estimator's matrices of times run once a pass, not once a row.
S3_FLOW = (r'^flow\.decoder\.estimator\.(?!time)(?!.*\.mlp\.1\.)', 10, 2 * MEL)

# Name, layouts, and parts: pattern of tensor names, passes a second, rows of a pass, share of the weights that a pass reads.
MODELS = [
    ('Qwen3-TTS 0.6B', ['qwen3_tts/model.safetensors'], [(r'^talker\.(model\.layers|codec_head)', 12.5, 1, 1),
     (r'^talker\.code_predictor\.model\.layers', 12.5 * 15, 1, 1), (r'^talker\.code_predictor\.lm_head', 12.5, 1, 1)]),
    ('Qwen3-TTS 1.7B', ['qwen3_tts_1.7b/model.safetensors'], [(r'^talker\.(model\.layers|codec_head)', 12.5, 1, 1),
     (r'^talker\.code_predictor\.(model\.layers|small_to_mtp)', 12.5 * 15, 1, 1), (r'^talker\.code_predictor\.lm_head', 12.5, 1, 1)]),
    ('CSM-1B', ['csm/model.safetensors'], [(r'^(backbone_model\.layers|lm_head)', 12.5, 1, 1),
     (r'^depth_decoder\.model\.(layers|inputs)', 12.5 * 31, 1, 1), (r'^depth_decoder\.codebooks_head', 12.5, 1, 1)]),
    ('Orpheus-3B', ['orpheus/model.safetensors'], [(r'^model\.(layers|embed_tokens)', 24000 / 2048 * 7, 1, 1)]),
    ('Zonos, guided', ['zonos/model.safetensors'], [(r'^(backbone\.layers|heads)', 44100 / 512, 2, 1)]),
    ('Fish Speech S2', ['fish_speech/model.safetensors'], [(r'^text_model\.model\.(layers|embeddings)', 44100 / 2048, 1, 1),
     (r'^audio_decoder\.(layers|output)', 44100 / 2048 * 9, 1, 1)]),
    ('Higgs Audio v3', ['higgs_audio/model.safetensors'], [(r'^(body\.layers|.*modality_embeddings\.0\.embedding)', 25, 1, 1)]),
    ('OpusLM 7B', ['opuslm/model.pth'], [(r'^corelm\.decoders', 50, 1, 1), (r'^corelm\.lm_head', 50, 9, 1)]),
    ('OpusLM-Dialogue', ['opuslm_dialogue/2epoch.pth'], [(r'^corelm\.decoders', 50, 1, 1), (r'^corelm\.lm_head', 50, 9, 1)]),
    ('Bagpiper', ['bagpiper/model.pt'], [(r'\bmodel\.layers\.\d+\.(self_attn|mlp)', 50, 1, 1), (r'\blm_head', 50, 8, 1)]),
    ('MOSS-TTS-Realtime', ['moss_tts/model.safetensors'], [(r'^language_model\.layers', 12.5, 1, 1),
     (r'^local_transformer\.model\.layers', 12.5 * 16, 1, 1), (r'^local_transformer\.local_lm_heads', 12.5, 1, 1)]),
    ('Voxtral Realtime', ['voxtral_realtime/model.safetensors'],
     [(r'^language_model\.model\.(layers\.\d+\.(self_attn|mlp)|embed_tokens)', 12.5, 1, 1), (r'^audio_tower\.layers\.\d+\.(self_attn|mlp)', 12.5, 4, 1),
      (r'^multi_modal_projector', 12.5, 1, 1)]),
    ('Voxtral TTS, guided', ['voxtral_tts/consolidated.safetensors'], [(r'^layers\.', 12.5, 1, 1),
     (r'^acoustic_transformer\.layers', 12.5 * 7, 2 * 3, 1), (r'^acoustic_transformer\.semantic', 12.5, 1, 1)]),
    ('Pocket TTS, 100 M', ['pocket_tts/model.safetensors'], [(r'^flow_lm\.(transformer|flow_net|input_linear)', 12.5, 1, 1)]),
    ('VibeVoice-Realtime', ['vibevoice/model.safetensors'], [(r'^model\.tts_language_model\.layers', 7.5, 2, 1),
     (r'^model\.prediction_head', 7.5 * 5, 2, 1)]),
    ('Kyutai TTS', ['kyutai_tts/dsm_tts_1e68beda@240.safetensors'],
     [(r'^(transformer\.layers\.\d+\.(self_attn|gating|cross_attention\.out)|text_linear)', 12.5, 1, 1),
      (r'^transformer\.layers\.\d+\.cross_attention\.in', 12.5, 1, 1 / 3), (r'^depformer\.layers', 12.5 * 32 / 11, 1, 1),
      (r'^linears', 12.5, 1, 1)]),
    ('OmniVoice, 5 s at a time', ['omnivoice/model.safetensors'],
     [(r'^llm\.layers', 32 / 5, 2 * 125 + 40, 1), (r'^audio_heads', 32 / 5, 2 * 125, 1)]),
    ('VoxCPM2, guided', ['voxcpm2/model.safetensors'], [(r'^(base_lm|residual_lm)\.layers', 6.25, 1, 1),
     (r'^feat_encoder\.encoder', 6.25, 5, 1), (r'^feat_decoder\.estimator\.decoder', 6.25 * 10, 2 * 11, 1)]),
    ('Chatterbox, guided', ['chatterbox/t3_cfg.safetensors', 'chatterbox/s3gen.safetensors'],
     [(r'^(tfmr\.layers|speech_head)', 25, 2, 1), (*S3_FLOW, 1)]),
    ('Chatterbox Turbo', ['chatterbox_turbo/t3_turbo_v1.safetensors', 'chatterbox_turbo/s3gen_meanflow.safetensors'],
     [(r'^(tfmr\.h|speech_head)', 25, 1, 1), (r'^flow\.decoder\.estimator\.(?!time)(?!.*\.mlp\.1\.)', 2, MEL, 1)]),
    ('CosyVoice2', ['cosyvoice2/llm.pt', 'cosyvoice2/flow.pt'],
     [(r'^(llm\.model\.model\.layers|llm_decoder)', 25, 1, 1), (r'^decoder\.estimator\.(?!time)(?!.*\.mlp\.1\.)', 10, 2 * MEL, 1)]),
    ('Fun-CosyVoice3', ['cosyvoice3/llm.pt', 'cosyvoice3/flow.pt'],
     [(r'^(llm\.model\.model\.layers|llm_decoder)', 25, 1, 1),
      (r'^decoder\.estimator\.(?!time|norm_out)(?!.*_norm\.linear)', 10, 2 * MEL, 1)]),
    ('GLM-4-Voice', ['glm4_voice/model.safetensors', 'glm4_voice/glm-4-voice-decoder/flow.pt'],
     [(r'^transformer\.(encoder\.layers|output_layer)', 12.5 * 39 / 26, 1, 1),
      (r'^decoder\.estimator\.(?!time)(?!.*\.mlp\.1\.)', 10, 2 * 22050 / 256, 1)]),
    ('Step-Audio-2-mini', ['step_audio2/model.safetensors', 'step_audio2/token2wav/flow.pt'],
     [(r'^(model\.layers|lm_head)', 25 * 5 / 4, 1, 1), (r'^decoder\.estimator\.(?!t_embedder)(?!.*adaLN)', 10, 2 * MEL, 1)]),
    ('Qwen3-Omni, speech', ['qwen3_omni/model.safetensors'],
     [(r'^talker\.model\.layers\.\d+\.(self_attn|mlp\.(shared|gate))|^talker\.codec_head', 12.5, 1, 1),
      (r'^talker\.model\.layers\.\d+\.mlp\.experts', 12.5, 1, 6 / 128),
      (r'^talker\.code_predictor\.model\.layers', 12.5 * 15, 1, 1), (r'^talker\.code_predictor\.lm_head', 12.5, 1, 1)]),
]


def names_of(pattern):
    """Returns the names that a name with ranges and lists in braces stands for."""
    match = re.search(r'\{([^{}]*)\}', pattern)
    if not match:
        return [pattern]
    ends = re.fullmatch(r'(\d+)\.\.(\d+)', match[1])
    inner = [str(i) for i in range(int(ends[1]), int(ends[2]) + 1)] if ends else match[1].split(',')
    return [name for text in inner for name in names_of(pattern[:match.start()] + text + pattern[match.end():])]


def matrices(path):
    """Returns the sizes of the tensors with two dimensions or more, by name."""
    found = {}
    for line in path.read_text().splitlines():
        words = line.split()
        if words[:1] == ['tensors']:
            below = words[3] + '.' if len(words) == 4 else ''
            found |= {below + name: count for name, count in matrices((path.parent / words[1]).resolve()).items()}
        elif len(words) >= 3 and re.fullmatch(r'\d+(x\d+)+', words[1]) and words[0] != '#':
            count = 1
            for extent in words[1].split('x'):
                count *= int(extent)
            found |= {name: count for name in names_of(words[2])}
    return found


def row(root, model, layouts, parts):
    """Returns the line of the table; throws where a part's pattern matches no tensor."""
    tensors = {}
    for layout in layouts:
        tensors |= matrices(root / f'tests/parity/published/{layout}.txt')
    read = done = 0
    for pattern, passes, rows, share in parts:
        size = sum(count for name, count in tensors.items() if re.search(pattern, name)) * share
        assert size > 0, f'{model}: no tensor matches {pattern}'
        read += 2 * size * passes
        done += size * passes * rows
    cells = map(digits, (read / 1e9, done / 1e9))
    return f'| {model} | {" | ".join(cells)} | {digits(1e3 * read / BANDWIDTH)}, {digits(1e3 * 2 * done / OPERATIONS)} |\n'


def digits(number):
    """Returns a number as text: two significant digits, or all digits before the point."""
    return f'{number:.0f}' if number >= 10 else f'{number:.2g}'


def check_itself():
    assert names_of('a.{0..2}.{b,c}')[:3] == ['a.0.b', 'a.0.c', 'a.1.b']
    assert (digits(163.4), digits(5.86), digits(0.0421)) == ('163', '5.9', '0.042')
    assert len(names_of('a.{0..2}.{b,c}')) == 6


def main():
    check_itself()
    root = pathlib.Path(sys.argv[1])
    made = HEAD + ''.join(row(root, *model) for model in MODELS)
    page = root / 'docs/performance.md'
    text = page.read_text()
    before, _, rest = text.partition(BEGIN)
    table, found, after = rest.partition(END)
    if not found:
        sys.exit(f'{page}: no table between {BEGIN.strip()} and {END.strip()}')
    if '--write' in sys.argv:
        page.write_text(before + BEGIN + made + END + after)
    elif table != made:
        sys.exit(f'{page}: the table of costs is out of date: tests/tools/costs.py . --write')
    print(f'{len(MODELS)} models')


if __name__ == '__main__':
    main()
