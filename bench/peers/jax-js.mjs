/**
 * jax-js, where it is installed (in the folder STIFFGRAD_BENCH_MODULES, or here): residual, Jacobian and
 * pullback jitted, its own dense solve between them, which its jit does not take. Its arrays are used up by what
 * they are given to; `.ref` is another use. A few steps are timed and scaled; all are taken once, as a check.
 * `node jax-js.mjs protocol.js`: the built protocol.ts.
 */
import {createRequire} from 'node:module';
import {join} from 'node:path';

const {serve} = await import(process.argv[2]);
const place = createRequire(join(process.env.STIFFGRAD_BENCH_MODULES ?? process.cwd(), 'modules.js'));
const jax = await (async () => {
  try {
    return await import(place.resolve('@jax-js/jax').replace(/\.cjs$/, '.js'));
  } catch {
    return undefined;
  }
})();

const [h, all, few, iterations] = [0.01, 200, 5, 2];

function machinery({numpy: np, jit, jacfwd, vjp}) {
  const double = {dtype: np.float64};
  const wall = () => np.zeros([1], double);

  function force(q, v, k, n) {
    const d = q.ref.sub(np.concatenate([wall(), q.slice([0, n - 1])]));
    const tension = k.mul(d.ref.add(d.ref.mul(d.ref).mul(d).mul(0.5)));
    const after = np.concatenate([tension.ref.slice([1, n]), wall()]);
    return after.sub(tension).sub(v.mul(0.1)).add(1);
  }

  return n => {
    const residual = (z, q, v, k) => {
      const mean = v.ref.add(z.ref).mul(0.5);
      return z.sub(v).sub(force(q.add(mean.ref.mul(h / 2)), mean, k, n).mul(h));
    };
    const evaluate = jit(residual);
    const jacobian = jit((z, q, v, k) => jacfwd(x => residual(x, q, v, k))(z));
    const pull = jit((z, q, v, k, w) => {
      const [out, back] = vjp(residual, [z, q, v, k]);
      out.dispose();
      const [toZ, ...others] = back(w);
      toZ.dispose();
      return others;
    });
    const end = (q, v) => q.ref.add(v.mul(h / 2));

    return (steps, gradient) => {
      let [q, v] = [np.zeros([n], double), np.zeros([n], double)];
      const k = np.full([n], 1e4, double);
      const states = [];
      for (let step = 0; step < steps; step++) {
        let z = v.ref;
        for (let i = 0; i < iterations; i++) {
          const matrix = jacobian(z.ref, q.ref, v.ref, k.ref);
          z = z.ref.sub(np.linalg.solve(matrix, evaluate(z, q.ref, v.ref, k.ref)));
        }
        states.push([z.ref, q.ref, v.ref]);
        [q, v] = [end(q, v.add(z.ref)), z];
      }
      const loss = [...q.ref.dataSync(), ...v.ref.dataSync()].reduce((sum, x) => sum + x * x, 0);
      let [toQ, toV, toK] = [q.mul(2), v.mul(2), np.zeros([n], double)];
      for (const [z, q0, v0] of gradient ? states.reverse() : []) {
        const matrix = jacobian(z.ref, q0.ref, v0.ref, k.ref);
        const w = np.linalg.solve(np.transpose(matrix), toV.add(toQ.ref.mul(h / 2)));
        const [byQ, byV, byK] = pull(z, q0, v0, k.ref, w.mul(-1));
        [toQ, toV, toK] = [toQ.ref.add(byQ), toQ.mul(h / 2).add(byV), toK.add(byK)];
      }
      return {loss, gradientNorm: Math.hypot(...toK.dataSync())};
    };
  };
}

const make =
  jax === undefined
    ? undefined
    : await (async () => {
        await jax.init('wasm');
        jax.defaultDevice('wasm');
        return machinery(jax);
      })();

await serve((workload, n) => {
  if (make === undefined) return '@jax-js/jax is not installed';
  if (workload !== 'chain') return 'written for the chain alone';
  const run = make(n);
  let checked = false;
  return {
    forward: () => run(few, false),
    gradient: () => {
      const steps = checked ? few : all;
      checked = true;
      return run(steps, true);
    },
    details: {scale: all / few, single: true},
  };
});
