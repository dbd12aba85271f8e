/** Free rotation of a rigid body by Jacobi's elliptic functions (Landau & Lifshitz, Mechanics, §37). */

/** Carlson's symmetric integral of the first kind (Numer. Algorithms 10, 1995). */
function carlson(x: number, y: number, z: number): number {
  for (;;) {
    const mean = (x + y + z) / 3;
    const [X, Y] = [1 - x / mean, 1 - y / mean];
    if (Math.max(Math.abs(X), Math.abs(Y), Math.abs(X + Y)) < 1e-3) {
      const Z = -X - Y;
      const [e2, e3] = [X * Y - Z * Z, X * Y * Z];
      return (1 - e2 / 10 + e3 / 14 + (e2 * e2) / 24 - (3 * e2 * e3) / 44) / Math.sqrt(mean);
    }
    const step = Math.sqrt(x * y) + Math.sqrt(y * z) + Math.sqrt(z * x);
    [x, y, z] = [(x + step) / 4, (y + step) / 4, (z + step) / 4];
  }
}

/** sn, cn, dn of u for the complementary parameter m₁ = 1 − k² by descending Landen transformations (Abramowitz & Stegun, §16.4). */
function jacobi(u: number, complementary: number): [number, number, number] {
  const a = [1];
  const c = [Math.sqrt(1 - complementary)];
  let b = Math.sqrt(complementary);
  while (Math.abs(c[c.length - 1]) > 1e-16) {
    const [last] = a.slice(-1);
    a.push((last + b) / 2);
    c.push((last - b) / 2);
    b = Math.sqrt(last * b);
  }
  let phi = 2 ** (a.length - 1) * a[a.length - 1] * u;
  let before = phi;
  for (let n = a.length - 1; n > 0; n--) {
    before = phi;
    phi = (phi + Math.asin((c[n] / a[n]) * Math.sin(phi))) / 2;
  }
  return [Math.sin(phi), Math.cos(phi), Math.cos(phi) / Math.cos(before - phi)];
}

/** ω(t) in body axes from positive ω at t = 0, for J₁ < J₂ < J₃ and L² > 2 T J₂. */
export function freeRotation(
  [j1, j2, j3]: readonly [number, number, number],
  [w1, w2, w3]: readonly [number, number, number],
): (t: number) => [number, number, number] {
  // 2 T J₃ − L² and L² − 2 T J₁, without their cancellation.
  const above = j1 * (j3 - j1) * w1 ** 2 + j2 * (j3 - j2) * w2 ** 2;
  const below = j2 * (j2 - j1) * w2 ** 2 + j3 * (j3 - j1) * w3 ** 2;
  const a1 = Math.sqrt(above / (j1 * (j3 - j1)));
  const a2 = Math.sqrt(above / (j2 * (j3 - j2)));
  const a3 = Math.sqrt(below / (j3 * (j3 - j1)));
  const rate = Math.sqrt(((j3 - j2) * below) / (j1 * j2 * j3));
  // 1 − k² from L² − 2 T J₂.
  const complementary = ((j3 - j1) * (j3 * (j3 - j2) * w3 ** 2 - j1 * (j2 - j1) * w1 ** 2)) / ((j3 - j2) * below);
  const start = (w2 / a2) * carlson((w1 / a1) ** 2, (w3 / a3) ** 2, 1);
  return t => {
    const [sn, cn, dn] = jacobi(start + rate * t, complementary);
    return [a1 * cn, a2 * sn, a3 * dn];
  };
}
