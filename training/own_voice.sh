#!/usr/bin/env bash
# Makes a voice from recordings with transcripts, starting from the built-in voice: docs/guide/own-voice.md.
#
#   training/own_voice.sh RECORDINGS NAME [WORK_DIR]     writes the voice to WORK_DIR/NAME
#
# Minutes of the two trainings: LM_MIN, DECODER_MIN. START and ENCODER: another voice to start from, and the encoder
# of its codes. PYTHON as for run.sh. A second call continues where the first one stopped.
# Debian packages: python3-torch python3-numpy python3-scipy flite1-dev g++ festvox-us-slt-hts
# libhtsengine-dev libswresample-dev libopenblas0
set -euo pipefail
[ $# -ge 2 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
recordings=$(realpath "$1") name=$2
work=$(mkdir -p "${3:-$name.work}" && cd "${3:-$name.work}" && pwd)
source "$(dirname "$0")/steps.sh"
need_all
voice=$(realpath "${START:-$root/voices/finch}")
encoder=$(realpath "${ENCODER:-$here/encoder.safetensors}")
export FINCH_SPEAKERS=
FINCH_RATE=$("$python" -c 'import json, sys; print(json.load(open(sys.argv[1]))["sample_rate"])' "$voice/config.json")
export FINCH_RATE

step synth build_synth
step recordings "$python" "$here/recordings.py" "$recordings" . "$name" --synth ./synth
export FINCH_SPEAKERS=$work/speakers.json
step corpus "$python" "$here/corpus.py" corpus audio
step codec.pt "$python" "$here/train_codec.py" corpus codec.pt 0 --start "$voice" \
  --encoder "$encoder"
step codes "$python" "$here/codes.py" corpus codec.pt
step lm.pt "$python" "$here/train_lm.py" corpus lm.pt "${LM_MIN:-8}" --start "$voice" \
  --rate 3e-4 --resume
step decoder.pt "$python" "$here/train_decoder.py" corpus codec.pt decoder.pt \
  "${DECODER_MIN:-8}" --rate 3e-4 --resume
step voice "$python" "$here/export.py" lm.pt decoder.pt audio "$name"
"$python" "$here/evaluate.py" "$name" audio --report report.html
echo "the voice is in $work/$name: syrinx say --model $work/$name 'Hello.'"
