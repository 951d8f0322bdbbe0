/** Colours of numbers, from the library's colour maps. */
import type { Image, RGB } from "./contract";
import type { Matrix } from "./npy";

/** Draw a matrix in the colours of its image, a pixel for each value. */
export function paint(canvas: HTMLCanvasElement, matrix: Matrix, { colours, limit }: Image, map: RGB[]): void {
  [canvas.width, canvas.height] = [matrix.columns, matrix.rows];
  canvas.getContext("2d")?.putImageData(pixels(matrix, map, colours, limit), 0, 0);
}

/** Each value as a pixel: -limit .. limit spans the map, or 0 .. limit if it is sequential; NaN is transparent. */
function pixels(matrix: Matrix, map: RGB[], name: Image["colours"], limit: number): ImageData {
  const packed = pack(map);
  const image = new ImageData(Math.max(1, matrix.columns), Math.max(1, matrix.rows));
  const target = new Uint32Array(image.data.buffer);
  const last = map.length - 1;
  const [from, scale] = name === "sequential" ? [0, last / limit] : [-limit, last / (2 * limit)];
  const { values } = matrix;
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as number;
    if (value !== value) continue; // NaN stays transparent
    const place = Math.round((value - from) * scale);
    target[i] = packed[place < 0 ? 0 : place > last ? last : place] as number;
  }
  return image;
}

function pack(map: RGB[]): Uint32Array {
  // a pixel's bytes are red, green, blue, alpha: one number on a little-endian machine
  return Uint32Array.from(map, ([r, g, b]) => (255 << 24) | (b << 16) | (g << 8) | r);
}
