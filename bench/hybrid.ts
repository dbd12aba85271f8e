/**
 * A hybrid model in training, as small as they often are: four masses on springs of unknown stiffness and a network 8–16–4
 * (tanh) as a force on all of them, moved by implicit midpoint; the loss is the mean square distance from a motion of other
 * springs with a cubic part, at every step.
 */
import {layer} from './weights.js';

export const masses = 4;
export const steps = 50;
export const dt = 0.05;
export const hidden = 16;
export const damping = 0.1;
export const stiffness = (): number[] => Array.from({length: masses}, (_, i) => 20 + 2 * i);
/** {k, w0, b0, w1, b1} as numbers; the network's last weights are small, as one begins. */
export const parameters = (): {[name: string]: number[] | number[][]} => ({
  k: stiffness(),
  w0: layer(0, 2 * masses, hidden),
  b0: Array.from({length: hidden}, () => 0),
  w1: layer(1, hidden, masses).map(row => row.map(value => 0.1 * value)),
  b1: Array.from({length: masses}, () => 0),
});
export const start = {
  q: Array.from({length: masses}, (_, i) => 0.5 * Math.cos(i)),
  v: Array.from({length: masses}, () => 0),
};

/** The motion to be met, [steps + 1, masses]: springs k(d + d³) of other stiffness, by steps of velocity Verlet ten times as fine. */
export function target(): Float64Array {
  const k = stiffness().map(value => 0.8 * value);
  const [q, v] = [start.q.slice(), start.v.slice()];
  const acceleration = (): number[] => {
    const tension = q.map((x, i) => {
      const d = i === 0 ? x : x - q[i - 1];
      return k[i] * (d + d ** 3);
    });
    return tension.map((pull, i) => (tension[i + 1] ?? 0) - pull - damping * v[i]);
  };
  const path = new Float64Array((steps + 1) * masses);
  const h = dt / 10;
  for (let n = 0; n <= steps; n++) {
    path.set(q, n * masses);
    for (let fine = 0; fine < 10; fine++) {
      acceleration().forEach((a, i) => (v[i] += (h / 2) * a));
      v.forEach((value, i) => (q[i] += h * value));
      acceleration().forEach((a, i) => (v[i] += (h / 2) * a));
    }
  }
  return path;
}
