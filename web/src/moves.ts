/** How far a key moves the cursor over a picture, down and across; null if it does not. */
export function moveOf(key: string, columns: number, page: number): [number, number] | null {
  const moves: Record<string, [number, number]> = {
    ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
    PageUp: [-page, 0], PageDown: [page, 0], Home: [0, -columns], End: [0, columns],
  };
  return moves[key] ?? null;
}
