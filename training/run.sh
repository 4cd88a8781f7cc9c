#!/usr/bin/env bash
# Makes the built-in voice from nothing: sentences, the teacher's speech, codec, speech LM, decoder,
# the voice folder, and its figures. Each step is skipped when its result exists; a training that was
# stopped goes on from its last checkpoint.
#
#   training/run.sh [WORK_DIR]        minutes of the three trainings: CODEC_MIN, LM_MIN, DECODER_MIN
#
# Debian packages: python3-torch flite1-dev g++ dict-jargon dict-devil bible-kjv-text
# wamerican pocketsphinx pocketsphinx-en-us
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
work=$(mkdir -p "${1:-$here/work}" && cd "${1:-$here/work}" && pwd)
python=${PYTHON:-/usr/bin/python3}
# One thread trains fastest on few cores; page faults of freed memory would cost half the time.
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=4000000000
export PYTHONPATH=$here

step() {  # step RESULT COMMAND...: runs the command unless its result is there and complete
  local result=$1; shift
  [ -e "$result.done" ] && return
  echo "== $(date +%T) $result"
  "$@"
  touch "$result.done"
}
cd "$work"
mkdir -p audio

build_synth() {
  g++ -std=c++20 -O2 -I"$root/src" "$here/synth.cc" "$root/src/families/finch/phone_stream.cc" \
    -o synth -lflite_cmu_us_slt -lflite_usenglish -lflite_cmulex -lflite -lm
}
speak_all() {
  split -n l/2 -d text/train.txt audio/part.
  for i in 00 01; do ./synth audio/train$i.pcm audio/train$i.jsonl < audio/part.$i & done
  wait
  ./synth audio/heldout.pcm audio/heldout.jsonl < "$here/heldout.txt"
  ./synth audio/stop.pcm audio/stop.jsonl < "$here/stop.txt"
  head -n 1 "$here/golden.txt" | ./synth audio/golden.pcm audio/golden.jsonl
}

step synth build_synth
step text "$python" "$here/sentences.py" text
step audio speak_all
step corpus "$python" "$here/corpus.py" corpus audio/train00 audio/train01
step codec.pt "$python" "$here/train_codec.py" corpus codec.pt "${CODEC_MIN:-30}" --resume
step lm.pt "$python" "$here/train_lm.py" corpus codec.pt lm.pt "${LM_MIN:-35}" --resume
step decoder.pt "$python" "$here/train_decoder.py" corpus codec.pt decoder.pt \
  "${DECODER_MIN:-20}" --resume
step voice "$python" "$here/export.py" lm.pt decoder.pt "$root/voices/finch"
step golden "$python" "$here/golden.py" "$root/voices/finch" audio/golden \
  "$root/src/families/finch/golden/finch.safetensors"
"$python" "$here/evaluate.py" "$root/voices/finch" audio/heldout --stop audio/stop
