// Bytes as text.

const PIECE = 2 ** 15; // arguments of one call

/** The bytes of base64. */
export function bytesOf(text) {
  const raw = atob(text);
  const out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return out;
}

/** The base64 of bytes. */
export function base64(bytes) {
  let raw = '';
  for (let i = 0; i < bytes.length; i += PIECE) raw += String.fromCharCode(...bytes.subarray(i, i + PIECE));
  return btoa(raw);
}
