/** A WAV file of 16-bit mono samples (Int16Array) at `rate` Hz. */
export function wav(samples, rate) {
  const bytes = samples.length * 2;
  const head = new DataView(new ArrayBuffer(44));
  const word = (at, letters) => {
    for (let i = 0; i < 4; ++i) head.setUint8(at + i, letters.charCodeAt(i));
  };
  word(0, 'RIFF');
  head.setUint32(4, 36 + bytes, true);
  word(8, 'WAVE');
  word(12, 'fmt ');
  head.setUint32(16, 16, true);
  head.setUint16(20, 1, true);
  head.setUint16(22, 1, true);
  head.setUint32(24, rate, true);
  head.setUint32(28, rate * 2, true);
  head.setUint16(32, 2, true);
  head.setUint16(34, 16, true);
  word(36, 'data');
  head.setUint32(40, bytes, true);
  return new Blob([head, samples], {type: 'audio/wav'});
}
