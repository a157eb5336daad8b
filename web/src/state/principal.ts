// Principal axes of the resisted directions, separately for translations and rotations: eigenvectors of the two 3 x 3
// diagonal blocks of P = sum w n n^T. The single vectors of several directions of equal weight are arbitrary; P is not.
import type { Resisted, Vec3 } from '../protocol';

export interface Principal {
  axis: Vec3;
  weight: number;
} // weight 0 .. 1

const SWEEPS = 12;

// Eigenvalues and vectors of a symmetric 3 x 3 matrix (Jacobi).
function eigen(a: number[][]): Principal[] {
  const v = [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ];
  for (let sweep = 0; sweep < SWEEPS; sweep++)
    for (const [p, q] of [
      [0, 1],
      [0, 2],
      [1, 2],
    ] as const)
      turn(a, v, p, q);
  return [0, 1, 2].map((k) => ({ axis: [v[0]![k]!, v[1]![k]!, v[2]![k]!] as Vec3, weight: a[k]![k]! }));
}

function turn(a: number[][], v: number[][], p: number, q: number): void {
  if (Math.abs(a[p]![q]!) < 1e-12) return;
  const theta = (a[q]![q]! - a[p]![p]!) / (2 * a[p]![q]!);
  const t = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.hypot(theta, 1));
  const c = 1 / Math.hypot(t, 1);
  const s = t * c;
  for (let k = 0; k < 3; k++) mix(a[k]!, p, q, c, s);
  const [row, other] = [a[p]!.slice(), a[q]!.slice()];
  for (let k = 0; k < 3; k++) {
    a[p]![k] = c * row[k]! - s * other[k]!;
    a[q]![k] = s * row[k]! + c * other[k]!;
  }
  for (let k = 0; k < 3; k++) mix(v[k]!, p, q, c, s);
}

function mix(row: number[], p: number, q: number, c: number, s: number): void {
  const [x, y] = [row[p]!, row[q]!];
  row[p] = c * x - s * y;
  row[q] = s * x + c * y;
}

function block(r: Resisted, part: 'v' | 'w'): number[][] {
  const a = [
    [0, 0, 0],
    [0, 0, 0],
    [0, 0, 0],
  ];
  for (const d of r.directions)
    for (let i = 0; i < 3; i++) for (let j = 0; j < 3; j++) a[i]![j]! += d.weight * d[part][i]! * d[part][j]!;
  return a;
}

export const shifts = (r: Resisted): Principal[] => eigen(block(r, 'v'));
export const turns = (r: Resisted): Principal[] => eigen(block(r, 'w'));
