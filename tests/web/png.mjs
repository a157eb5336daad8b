// Reads the 8-bit RGB and RGBA images that the browser's screenshots are.
import { inflateSync } from 'node:zlib';

function paeth(a, b, c) {
  const p = a + b - c;
  const [pa, pb, pc] = [Math.abs(p - a), Math.abs(p - b), Math.abs(p - c)];
  if (pa <= pb && pa <= pc) return a;
  return pb <= pc ? b : c;
}

function unfilter(raw, width, height, bpp) {
  const stride = width * bpp;
  const out = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y++) {
    const kind = raw[y * (stride + 1)];
    for (let x = 0; x < stride; x++) {
      const value = raw[y * (stride + 1) + 1 + x];
      const left = x >= bpp ? out[y * stride + x - bpp] : 0;
      const up = y > 0 ? out[(y - 1) * stride + x] : 0;
      const corner = x >= bpp && y > 0 ? out[(y - 1) * stride + x - bpp] : 0;
      const add = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][kind];
      out[y * stride + x] = (value + add) & 255;
    }
  }
  return out;
}

export function decode(file) {
  let at = 8;
  let width = 0;
  let height = 0;
  let colour = 0;
  const parts = [];
  while (at < file.length) {
    const length = file.readUInt32BE(at);
    const type = file.toString('latin1', at + 4, at + 8);
    const body = file.subarray(at + 8, at + 8 + length);
    if (type === 'IHDR') {
      width = body.readUInt32BE(0);
      height = body.readUInt32BE(4);
      colour = body[9];
    } else if (type === 'IDAT') parts.push(body);
    at += 12 + length;
  }
  const bpp = colour === 6 ? 4 : 3;
  const data = unfilter(inflateSync(Buffer.concat(parts)), width, height, bpp);
  return {
    width,
    height,
    pixel: (x, y) => {
      const o = (Math.round(y) * width + Math.round(x)) * bpp;
      return [data[o], data[o + 1], data[o + 2]];
    },
  };
}

export const apart = (a, b) => Math.abs(a[0] - b[0]) + Math.abs(a[1] - b[1]) + Math.abs(a[2] - b[2]);

// How many pixels of a square around (x, y) differ between two images.
export function changed(before, after, { x, y }, reach = 10, by = 18) {
  let count = 0;
  for (let i = -reach; i <= reach; i++)
    for (let j = -reach; j <= reach; j++)
      if (apart(before.pixel(x + i, y + j), after.pixel(x + i, y + j)) > by) count++;
  return count;
}

// How many pixels of a square around (x, y) are teal: green and blue well above red.
export function teal(image, { x, y }, reach = 10) {
  let count = 0;
  for (let i = -reach; i <= reach; i++)
    for (let j = -reach; j <= reach; j++) {
      const [r, g, b] = image.pixel(x + i, y + j);
      if (Math.min(g, b) - r > 18) count++;
    }
  return count;
}

// The same of strokes in teal alone: of a blue body the blue is well above the green.
export function tealStrokes(image, { x, y }, reach = 10) {
  let count = 0;
  for (let i = -reach; i <= reach; i++)
    for (let j = -reach; j <= reach; j++) {
      const [r, g, b] = image.pixel(x + i, y + j);
      if (Math.min(g, b) - r > 50 && Math.abs(g - b) < 25) count++;
    }
  return count;
}
