#!/usr/bin/env bash
# Makes the built-in voice from its sources: sentences, the teachers' speech, codec, speech LM, decoder, the voice
# folder, and its figures with a report to read and listen to. A step is skipped if its result exists. A training
# that was stopped continues from its last checkpoint.
#
#   training/run.sh [WORK_DIR]        minutes of the trainings: CODEC_MIN, LM_MIN, DECODER_MIN, ADVERSARY_MIN;
#                                     on a busy machine, DECODER_STEPS replaces the decoder's minutes
#
# START=voices/finch ENCODER=training/encoder.safetensors continues from the weights of a finished voice, also of
# one with another rate (CODEC_MIN=0 keeps its codes, and LM_RATE=1e-3 keeps more of its speech LM). FINCH_SPEAKERS:
# another list of voices.
# PYTHON is the Python that has PyTorch; a recent PyTorch trains several times faster than
# Debian 12's. Debian packages: python3-torch python3-numpy python3-scipy flite1-dev g++ dict-jargon
# dict-devil bible-kjv wamerican pocketsphinx pocketsphinx-en-us sox festvox-us-slt-hts libhtsengine-dev
# libswresample-dev libopenblas0. From PyPI: hibari-tts==0.2.1 onnx onnxruntime, for hibari and Kokoro's letters.
# SYRINX: the program that speaks with Kokoro (`syrinx hub pull kokoro`), by default build/release/syrinx; KOKORO: a folder
# of the model instead of the pulled one.
set -euo pipefail
work=$(mkdir -p "${1:-$(dirname "$0")/work}" && cd "${1:-$(dirname "$0")/work}" && pwd)
START=${START:+$(realpath "$START")}
encoder=(${ENCODER:+--encoder "$(realpath "$ENCODER")"})
source "$(dirname "$0")/steps.sh"
export FINCH_SPEAKERS=${FINCH_SPEAKERS:-$here/speakers.json}
mapfile -t known < <("$python" -c 'import json, sys
voices = json.load(open(sys.argv[1]))
print(voices["rate"], *voices["teachers"], sep="\n")' "$FINCH_SPEAKERS")
export rate=${known[0]}
teachers=("${known[@]:1}")
need bible-kjv bible
need dict-jargon /usr/share/dictd/jargon.dict.dz
need dict-devil /usr/share/dictd/devil.dict.dz
need wamerican /usr/share/dict/words
need pocketsphinx pocketsphinx_batch
need pocketsphinx-en-us /usr/share/pocketsphinx/model/en-us
need sox sox
case ${teachers[*]} in *hibari* | *kokoro*)
  "$python" -c 'import hibari, onnx' 2>/dev/null || missing+=("(and: $python -m pip install hibari-tts==0.2.1 onnx onnxruntime)") ;;
esac
case ${teachers[*]} in *kokoro*)
  [ -x "$SYRINX" ] || missing+=("(and: a build of this program, or SYRINX=PATH; then: syrinx hub pull kokoro)") ;;
esac
need_all
mkdir -p text/part
write_text() {  # write_text writes the training sentences to text/part/TEACHER.NN, 450 each
  "$python" "$here/sentences.py" text
  for teacher in "${teachers[@]}"; do
    split -l 450 -d -a 2 "text/train.$teacher.txt" "text/part/$teacher."
    cp "$here/heldout.txt" "text/part/heldout.$teacher"
    cp "$here/stop.txt" "text/part/stop.$teacher"
  done
  head -n 1 "$here/golden.txt" > "text/part/golden.${teachers[0]}"
}
speak_part() {  # usage: speak_part SET.TEACHER or speak_part TEACHER.NN
  local teacher=${1%.*}
  case $teacher in heldout | stop | golden) teacher=${1#*.} ;; esac
  step "audio/$1" ./synth "$teacher" "audio/$1.pcm" "audio/$1.jsonl" "$rate" \
    < "text/part/$1"
}
export -f step speak_part
speak_all() { ls text/part | xargs -P "$cores" -I{} bash -ec 'speak_part {}'; }

step synth build_synth
step text write_text
step audio speak_all
step corpus "$python" "$here/corpus.py" corpus audio
step codec.pt "$python" "$here/train_codec.py" corpus codec.pt "${CODEC_MIN:-34}" \
  ${START:+--start "$START"} "${encoder[@]}" --rate "${CODEC_RATE:-1.5e-3}" --resume
step codes "$python" "$here/codes.py" corpus codec.pt
learn() {  # usage: learn lm|decoder; the two do not depend on each other
  case $1 in
    lm) step lm.pt "$python" "$here/train_lm.py" corpus lm.pt "${LM_MIN:-46}" \
      ${START:+--start "$START"} --rate "${LM_RATE:-2e-3}" --resume ;;
    decoder) step decoder.pt "$python" "$here/train_decoder.py" corpus codec.pt decoder.pt \
      "${DECODER_MIN:-40}" ${DECODER_STEPS:+--steps "$DECODER_STEPS"} --rate "${DECODER_RATE:-8e-4}" --resume
      step sharp.pt "$python" "$here/train_adversary.py" corpus decoder.pt sharp.pt "${ADVERSARY_MIN:-60}" --resume ;;
  esac
}
export -f learn
export START here python
printf '%s\n' lm decoder | xargs -P "$cores" -I{} bash -ec 'learn {}'
step voice "$python" "$here/export.py" lm.pt sharp.pt audio "$root/voices/finch" \
  "$here/encoder.safetensors"
step golden "$python" "$here/golden.py" "$root/voices/finch" "audio/golden.${teachers[0]}" \
  "$root/src/families/finch/golden/finch.safetensors"
"$python" "$root/tests/parity/thin.py" "$root/src/families/finch/golden/finch.safetensors"
"$python" "$here/evaluate.py" "$root/voices/finch" audio --report report.html
