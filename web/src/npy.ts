/** A NumPy array file with two axes of float32 or float64. */
export interface Matrix {
  rows: number;
  columns: number;
  values: Float32Array | Float64Array;
}

export function readNpy(buffer: ArrayBuffer): Matrix {
  const bytes = new DataView(buffer);
  if (bytes.getUint32(0) !== 0x934e554d) throw new Error("the answer is no .npy file");
  const long = bytes.getUint8(6) > 1;
  const start = long ? 12 : 10;
  const size = long ? bytes.getUint32(8, true) : bytes.getUint16(8, true);
  const header = new TextDecoder().decode(new Uint8Array(buffer, start, size));
  const shape = /'shape':\s*\((\d+),\s*(\d+)\)/.exec(header);
  const type = /'descr':\s*'<f([48])'/.exec(header);
  if (!shape || !type || header.includes("True")) throw new Error(`an array of another kind: ${header}`);
  // a header is padded to a multiple of 64, so the numbers after it are aligned
  const Floats = type[1] === "4" ? Float32Array : Float64Array;
  return { rows: Number(shape[1]), columns: Number(shape[2]), values: new Floats(buffer, start + size) };
}

export function fromRows(rows: (number | null)[][]): Matrix {
  const columns = rows[0]?.length ?? 0;
  const values = new Float64Array(rows.length * columns);
  rows.forEach((row, r) => row.forEach((value, c) => (values[r * columns + c] = value ?? NaN)));
  return { rows: rows.length, columns, values };
}
