/** Distorted meshes of every type of cell. */
import {box, mapped, elevated, type CellType, type Mesh} from '../../../fem/index.js';

/** The unit square or cube with inner corners moved, and straight sides. */
export function distorted(type: CellType, divisions = 2): Mesh {
  const dimension = /^(tri|quad)/.test(type) ? 2 : 3;
  const linear = type.replace(/\d+$/, '') + {tri: 3, quad: 4, tet: 4, hex: 8}[type.replace(/\d+$/, '') as 'tri'];
  const plain = box(
    new Array<number>(dimension).fill(1),
    new Array<number>(dimension).fill(divisions),
    linear as CellType,
  );
  const moved = mapped(plain, x => {
    const inside = x.every(c => c > 0 && c < 1);
    return inside ? x.map((c, k) => c + (0.15 / divisions) * Math.sin(7 * k + 19 * x[0] + 11 * x[1])) : x;
  });
  return type === linear ? moved : elevated(moved, type);
}
