/**
 * `simulate` as a tfjs operation: at any place of a tape, with respect to all that it was given and all
 * that it captured, equal to `simulate.vjp` to float32; once; and without a tensor left behind.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Initial, SimulateOptions} from '../../lib/index.js';
import type {RunSettings} from '../../lib/simulate/options.js';
import {
  implicitEuler,
  implicitMidpoint,
  mechanics,
  newmark,
  newton,
  NewtonError,
  ode,
  OptionError,
  rk4,
  ShapeError,
  simulate,
  TraceError,
  trapezoid,
  unrolledAdjoint,
} from '../../lib/index.js';
import {relative} from './numbers.js';

/** A driven hardening spring, damped; k and c from the parameters. */
const duffing = mechanics({
  mass: [1, 2],
  forces: [
    ({q, params}) => tf.neg(tf.mul(params.k as tf.Tensor, tf.add(q, tf.mul(q, tf.square(q))))),
    ({v, params}) => tf.neg(tf.mul(params.c as tf.Tensor, v)),
    ({t}) => tf.mul(tf.cos(t), [0.5, -0.3]),
  ],
});

const options = {scheme: implicitMidpoint(), dt: 0.05, steps: 20} satisfies SimulateOptions;

/** What passes through float32 tensors is rounded at 6e-8; sums of some ten of them. */
const single = 2e-6;

const array = (tensor: tf.Tensor): Float64Array => Float64Array.from(tensor.dataSync());

/** Runs f and expects as many tensors after it as before. */
function leavingNothing<T>(f: () => T): T {
  const before = tf.memory().numTensors;
  const result = f();
  expect(tf.memory().numTensors, 'tensors left behind').to.equal(before);
  return result;
}

/** The sum of squares of what is saved, as its cotangent: 2q. */
const twice = (series: Float64Array): Float64Array => series.map(x => 2 * x);

/** Gradients by vjp of Σ q² + Σ v². */
function reference(
  initial: Initial,
  params: {[name: string]: tf.Tensor | number | number[]},
  more: Partial<RunSettings> = {},
) {
  const {trajectory, pullback} = simulate.vjp(duffing, initial, {...options, params, ...more});
  trajectory.dispose();
  return pullback({q: twice(trajectory.values('q')), v: twice(trajectory.values('v'))});
}

const squares = (...tensors: tf.Tensor[]): tf.Scalar =>
  tf.addN(tensors.map(tensor => tf.sum(tf.square(tensor)))) as tf.Scalar;

describe('simulate on a tape', () => {
  const q = (): tf.Tensor1D => tf.tensor1d([0.5, -0.8]);
  const v = (): tf.Tensor1D => tf.tensor1d([0.1, 0.6]);

  it('tf.grads: initial state and parameters, all that is saved in the loss', () => {
    leavingNothing(() =>
      tf.tidy(() => {
        const inputs = [q(), v(), tf.tensor1d([3, 5]), tf.scalar(0.25)];
        const gradients = tf.grads((...[q0, v0, k, c]: tf.Tensor[]) => {
          const path = simulate(duffing, {q: q0, v: v0}, {...options, params: {k, c}});
          return squares(path.q, path.v);
        })(inputs);
        const exact = reference({q: inputs[0], v: inputs[1]}, {k: inputs[2], c: inputs[3]});
        expect(relative(array(gradients[0]), exact.initial.q as Float64Array)).to.be.below(single);
        expect(relative(array(gradients[1]), exact.initial.v as Float64Array)).to.be.below(single);
        expect(relative(array(gradients[2]), exact.params.k as Float64Array)).to.be.below(single);
        expect(relative(array(gradients[3]), exact.params.c as Float64Array)).to.be.below(single);
      }),
    );
  });

  for (const saveAt of ['end', {every: 7}, [0.25, 0.5, 1]] as const) {
    it(`what is saved at ${JSON.stringify(saveAt)}`, () => {
      leavingNothing(() =>
        tf.tidy(() => {
          const k = tf.tensor1d([3, 5]);
          const gradient = tf.grad((x: tf.Tensor) => {
            const path = simulate(
              duffing,
              {q: [0.5, -0.8], v: [0.1, 0.6]},
              {...options, params: {k: x, c: 0.2}, saveAt},
            );
            return squares(path.q, path.v);
          })(k);
          const exact = reference({q: [0.5, -0.8], v: [0.1, 0.6]}, {k, c: 0.2}, {saveAt});
          expect(relative(array(gradient), exact.params.k as Float64Array)).to.be.below(single);
        }),
      );
    });
  }

  it('the acceleration that Newmark carries, and y of an ode', () => {
    leavingNothing(() =>
      tf.tidy(() => {
        const k = tf.tensor1d([3, 5]);
        const initial = {q: [0.5, -0.8], v: [0.1, 0.6]};
        const how = {...options, scheme: newmark()};
        const gradient = tf.grad((x: tf.Tensor) =>
          squares(simulate(duffing, initial, {...how, params: {k: x, c: 0.2}}).a as tf.Tensor),
        )(k);
        const {trajectory, pullback} = simulate.vjp(duffing, initial, {...how, params: {k, c: 0.2}});
        expect(
          relative(array(gradient), pullback({a: twice(trajectory.values('a'))}).params.k as Float64Array),
        ).to.be.below(single);

        const decay = ode(({y, params}) => tf.neg(tf.mul(params.rate as tf.Tensor, tf.add(y, tf.square(y)))));
        const rate = tf.scalar(0.7);
        for (const scheme of [rk4(), trapezoid()]) {
          const slope = tf.grad((x: tf.Tensor) =>
            squares(simulate(decay, {y: [[1, 0.2, 0.3]]}, {...options, scheme, params: {rate: x}}).y as tf.Tensor),
          )(rate);
          const run = simulate.vjp(decay, {y: [[1, 0.2, 0.3]]}, {...options, scheme, params: {rate}});
          expect(
            relative(array(slope), run.pullback({y: twice(run.trajectory.values('y'))}).params.rate as Float64Array),
          ).to.be.below(single);
        }
      }),
    );
  });

  it('in the middle of a tape: something before it, and something after', () => {
    leavingNothing(() =>
      tf.tidy(() => {
        const x = tf.tensor1d([0.3, -0.6]);
        const run = (z: tf.Tensor): tf.Scalar => {
          const path = simulate(
            duffing,
            {q: tf.sin(z), v: tf.mul(z, 0.5)},
            {...options, params: {k: tf.exp(tf.add(z, 1)), c: tf.sum(tf.square(z))}, saveAt: 'end'},
          );
          return tf.sum(tf.log(tf.add(1, tf.square(tf.sub(path.q, path.v))))) as tf.Scalar;
        };
        const gradient = tf.grad(run)(x);

        // The chain rule by hand, in double precision around vjp.
        const z = [...array(x)];
        const {trajectory, pullback} = simulate.vjp(
          duffing,
          {q: z.map(Math.sin), v: z.map(a => a / 2)},
          {
            ...options,
            params: {k: z.map(a => Math.exp(a + 1)), c: z[0] ** 2 + z[1] ** 2},
            saveAt: 'end',
          },
        );
        const [qs, vs] = [trajectory.values('q'), trajectory.values('v')];
        const cotangent = qs.map((a, i) => (2 * (a - vs[i])) / (1 + (a - vs[i]) ** 2));
        const {initial, params} = pullback({q: cotangent, v: cotangent.map(b => -b)});
        const by = (tree: unknown, i: number): number => (tree as Float64Array)[i];
        const exact = z.map(
          (a, i) =>
            by(initial.q, i) * Math.cos(a)
            + by(initial.v, i) / 2
            + by(params.k, i) * Math.exp(a + 1)
            + by(params.c, 0) * 2 * a,
        );
        expect(relative(array(gradient), exact)).to.be.below(10 * single);
      }),
    );
  });

  it('twice on one tape, the second from where the first ended: one run of both', () => {
    leavingNothing(() =>
      tf.tidy(() => {
        const still = mechanics({
          mass: 1,
          forces: [({q: x, params}) => tf.neg(tf.mul(params.k as tf.Tensor, tf.sinh(x)))],
        });
        const k = tf.scalar(2);
        const half = {...options, steps: 10, saveAt: 'end'} as const;
        const [inTwo, inOne] = [
          (x: tf.Tensor): tf.Scalar => {
            const first = simulate(still, {q: [0.7], v: [0]}, {...half, params: {k: x}});
            const last = (series: tf.Tensor): tf.Tensor => tf.reshape(tf.slice(series, [1, 0], [1, 1]), [1]);
            const second = simulate(still, {q: last(first.q), v: last(first.v)}, {...half, params: {k: x}});
            return tf.sum(tf.square(last(second.q))) as tf.Scalar;
          },
          (x: tf.Tensor): tf.Scalar =>
            tf.sum(
              tf.square(
                tf.slice(simulate(still, {q: [0.7], v: [0]}, {...half, steps: 20, params: {k: x}}).q, [1, 0], [1, 1]),
              ),
            ) as tf.Scalar,
        ].map(f => array(tf.grad(f)(k))[0]);
        // The state in between is rounded to float32.
        expect(inTwo / inOne).to.be.closeTo(1, 10 * single);
      }),
    );
  });

  it('one tensor in several places: the state, a parameter and captured', () => {
    leavingNothing(() =>
      tf.tidy(() => {
        const x = tf.tensor1d([0.5, -0.8]);
        let captured: tf.Tensor = x;
        const system = mechanics({
          mass: 1,
          forces: [
            ({q: at, params}) => tf.neg(tf.mul(tf.square(params.s as tf.Tensor), at)),
            ({q: at}) => tf.neg(tf.mul(tf.square(captured), tf.tanh(at))),
          ],
        });
        const gradient = tf.grad((z: tf.Tensor) => {
          captured = z;
          return squares(simulate(system, {q: z, v: z}, {...options, params: {s: z}}).q);
        })(x);
        const {trajectory, pullback} = simulate.vjp(system, {q: x, v: x}, {...options, params: {s: x}});
        const {initial, params, tensors} = pullback({q: twice(trajectory.values('q'))});
        const parts = [initial.q, initial.v, params.s, tensors.get(captured)] as Float64Array[];
        const exact = parts[0].map((_, i) => parts.reduce((sum, part) => sum + part[i], 0));
        expect(relative(array(gradient), exact)).to.be.below(single);
      }),
    );
  });

  it('a captured tensor that was computed on the tape', () => {
    leavingNothing(() =>
      tf.tidy(() => {
        const x = tf.scalar(1.5);
        const gradient = tf.grad((z: tf.Tensor) => {
          const stiffness = tf.exp(z);
          const system = mechanics({mass: 1, forces: ({q: at}) => tf.neg(tf.mul(stiffness, at))});
          return squares(simulate(system, {q: 1, v: 0}, {...options, saveAt: 'end'}).q);
        })(x);
        const run = (k: number): {value: number; slope: number} => {
          const system = mechanics({mass: 1, forces: ({q: at, params}) => tf.neg(tf.mul(params.k as tf.Tensor, at))});
          const {trajectory, pullback} = simulate.vjp(system, {q: 1, v: 0}, {...options, params: {k}, saveAt: 'end'});
          return {value: 0, slope: (pullback({q: twice(trajectory.values('q'))}).params.k as Float64Array)[0]};
        };
        const k = Math.exp(1.5);
        expect(array(gradient)[0] / (run(k).slope * k)).to.be.closeTo(1, 10 * single);
      }),
    );
  });

  it('values on a tape are those of a plain run', () => {
    leavingNothing(() =>
      tf.tidy(() => {
        const plain = simulate(duffing, {q: [0.5, -0.8], v: [0.1, 0.6]}, {...options, params: {k: [3, 5], c: 0.2}});
        const {value} = tf.valueAndGrad((k: tf.Tensor) => {
          const path = simulate(duffing, {q: [0.5, -0.8], v: [0.1, 0.6]}, {...options, params: {k, c: 0.2}});
          expect([...path.q.dataSync()]).to.deep.equal([...plain.q.dataSync()]);
          expect([...path.values('v')]).to.deep.equal([...plain.values('v')]);
          return squares(path.q);
        })(tf.tensor1d([3, 5]));
        expect(array(value)[0] / array(squares(plain.q))[0]).to.be.closeTo(1, single);
      }),
    );
  });

  it('a parameter that has no effect on what is asked has a gradient of zero', () => {
    leavingNothing(() =>
      tf.tidy(() => {
        const gradient = tf.grad((unused: tf.Tensor) =>
          squares(
            simulate(
              duffing,
              {q: [1, 0], v: [0, 0]},
              {...options, params: {k: 1, c: 0, unused}, observe: ({params}) => params.unused as tf.Tensor},
            ).q,
          ),
        )(tf.tensor1d([1, 2, 3]));
        expect([...gradient.dataSync()]).to.deep.equal([0, 0, 0]);
      }),
    );
  });

  it('a step truncated on purpose: the tape follows the unrolled adjoint', () => {
    leavingNothing(() =>
      tf.tidy(() => {
        const k = tf.tensor1d([3, 5]);
        const how = {
          newton: newton({iterations: 1}),
          adjoint: unrolledAdjoint(),
          scheme: implicitEuler({guess: 'rest'}),
        };
        const initial = {q: [0.5, -0.8], v: [0.1, 0.6]};
        const gradient = tf.grad((x: tf.Tensor) => {
          const path = simulate(duffing, initial, {...options, ...how, params: {k: x, c: 0.2}});
          return squares(path.q, path.v);
        })(k);
        expect(relative(array(gradient), reference(initial, {k, c: 0.2}, how).params.k as Float64Array)).to.be.below(
          single,
        );
      }),
    );
  });

  it('a second derivative through the tape is refused with a sentence', () => {
    leavingNothing(() => {
      const k = tf.tensor1d([3, 5]);
      const loss = (x: tf.Tensor): tf.Scalar =>
        squares(simulate(duffing, {q: [0.5, -0.8], v: [0.1, 0.6]}, {...options, params: {k: x, c: 0.2}}).q);
      expect(() => tf.tidy(() => tf.grad((x: tf.Tensor) => tf.sum(tf.grad(loss)(x)))(k)))
        .to.throw(OptionError, /only its first derivative/)
        .with.property('code', 'second-derivative');
      // A run that depends on nothing of the tape is a constant of it.
      const constant = (x: tf.Tensor): tf.Scalar =>
        tf.mul(
          tf.sum(tf.square(x)),
          squares(simulate(duffing, {q: [0.5, -0.8], v: [0.1, 0.6]}, {...options, params: {k: 3, c: 0.2}}).q),
        );
      tf.tidy(() => {
        expect(tf.grad((x: tf.Tensor) => tf.sum(tf.grad(constant)(x)))(k).shape).to.deep.equal([2]);
      });
      k.dispose();
    });
  });

  it('cannot run inside a traced function', () => {
    leavingNothing(() => {
      const nested = mechanics({
        mass: 1,
        forces: ({q: at}) =>
          simulate(duffing, {q: [0, 0], v: [0, 0]}, options)
            .q.slice([0, 0], [1, 1])
            .reshape(at.shape),
      });
      expect(() => simulate(nested, {q: 1, v: 0}, options))
        .to.throw(OptionError)
        .with.property('code', 'nested');
    });
  });
});

describe('captured variables', () => {
  const variable = (value: number): tf.Variable => tf.tidy(() => tf.variable(tf.scalar(value)));

  it('tf.variableGrads and pullback give the same, for a network beside a stiffness', () => {
    leavingNothing(() => {
      const model = tf.sequential({
        layers: [
          tf.layers.dense({
            units: 5,
            activation: 'tanh',
            inputShape: [2],
            kernelInitializer: tf.initializers.glorotNormal({seed: 1}),
          }),
          tf.layers.dense({units: 2, kernelInitializer: tf.initializers.glorotNormal({seed: 2})}),
        ],
      });
      const stiffness = variable(4);
      const system = mechanics({
        mass: 1,
        forces: [
          ({q}) => tf.neg(tf.mul(stiffness, q)),
          ({q}) => tf.reshape(model.apply(tf.reshape(q, [1, 2])) as tf.Tensor, [2]),
        ],
      });
      const initial = {q: [0.4, -0.2], v: [0, 0.3]};
      const {value, grads} = tf.variableGrads(() => squares(simulate(system, initial, options).q));
      const {trajectory, pullback} = simulate.vjp(system, initial, options);
      const {variables} = pullback({q: twice(trajectory.values('q'))});
      trajectory.dispose();
      expect(variables.size).to.equal(5);
      expect(Object.keys(grads)).to.have.members([...variables.keys()].map(({name}) => name));
      for (const [variable, exact] of variables) {
        expect(relative(array(grads[variable.name]), exact), variable.name).to.be.below(single);
      }
      tf.dispose([value, grads]);
      stiffness.dispose();
      model.dispose();
    });
  });

  it('optimizer.minimize moves them down the gradient', () => {
    leavingNothing(() => {
      const k = variable(4);
      const system = mechanics({mass: 1, forces: ({q}) => tf.neg(tf.mul(k, q))});
      const run = () => simulate.vjp(system, {q: 1, v: 0}, {...options, saveAt: 'end'});
      const {trajectory, pullback} = run();
      const slope = (pullback({q: twice(trajectory.values('q'))}).variables.get(k) as Float64Array)[0];
      trajectory.dispose();
      const optimizer = tf.train.sgd(0.1);
      optimizer.minimize(() => squares(simulate(system, {q: 1, v: 0}, {...options, saveAt: 'end'}).q));
      expect(k.dataSync()[0]).to.be.closeTo(4 - 0.1 * slope, 1e-6);
      optimizer.dispose();
      k.dispose();
    });
  });

  it('are read anew at every call, and so are numbers of the closure', () => {
    leavingNothing(() => {
      const k = variable(4);
      let damping = 0.5;
      let offset: tf.Tensor = tf.scalar(0.25);
      const system = mechanics({
        mass: 1,
        forces: ({q, v}) => tf.addN([tf.neg(tf.mul(k, q)), tf.mul(v, -damping), offset]),
      });
      const end = (): number => {
        const path = simulate(system, {q: 1, v: 0}, {...options, saveAt: 'end'});
        path.dispose();
        return path.values('q')[1];
      };
      const plain = (stiffness: number, c: number, load: number): number => {
        const own = mechanics({
          mass: 1,
          forces: ({q, v}) => tf.addN([tf.mul(q, -stiffness), tf.mul(v, -c), tf.mul(tf.onesLike(q), load)]),
        });
        const path = simulate(own, {q: 1, v: 0}, {...options, saveAt: 'end'});
        path.dispose();
        return path.values('q')[1];
      };
      expect(end()).to.be.closeTo(plain(4, 0.5, 0.25), 1e-14);
      tf.tidy(() => k.assign(tf.scalar(9)));
      expect(end()).to.be.closeTo(plain(9, 0.5, 0.25), 1e-14);
      damping = 2;
      expect(end()).to.be.closeTo(plain(9, 2, 0.25), 1e-14);
      offset.dispose();
      offset = tf.scalar(-0.5);
      expect(end()).to.be.closeTo(plain(9, 2, -0.5), 1e-14);
      offset.dispose();
      k.dispose();
    });
  });

  it('a pullback belongs to its run: another run of the same system in between changes nothing', () => {
    leavingNothing(() => {
      const k = variable(4);
      const system = mechanics({
        mass: 1,
        forces: ({q, params}) => tf.neg(tf.mul(tf.mul(k, params.s as tf.Tensor), tf.sinh(q))),
      });
      const run = (s: number, x: number) =>
        simulate.vjp(system, {q: x, v: 0}, {...options, params: {s}, saveAt: 'end'});
      const first = run(1, 1);
      const before = first.pullback({q: [0, 1]});
      tf.tidy(() => k.assign(tf.scalar(25)));
      const second = run(3, 0.2);
      second.pullback({q: [1, 5]});
      const after = first.pullback({q: [0, 1]});
      expect([...(after.params.s as Float64Array)]).to.deep.equal([...(before.params.s as Float64Array)]);
      expect([...(after.initial.q as Float64Array)]).to.deep.equal([...(before.initial.q as Float64Array)]);
      first.trajectory.dispose();
      second.trajectory.dispose();
      k.dispose();
    });
  });
});

describe('tensors of a run', () => {
  it('are t, q and v until they are disposed', () => {
    leavingNothing(() => {
      const before = tf.memory().numTensors;
      const path = simulate(duffing, {q: [0.5, -0.8], v: [0.1, 0.6]}, {...options, params: {k: [3, 5], c: 0.2}});
      expect(tf.memory().numTensors).to.equal(before + 3);
      expect(path.q.shape).to.deep.equal([21, 2]);
      expect(path.v.shape).to.deep.equal([21, 2]);
      expect(path.t.shape).to.deep.equal([21]);
      expect([...path.q.dataSync()]).to.deep.equal([...Float32Array.from(path.values('q'))]);
      path.dispose();
      // Values stay.
      expect(path.values('q').length).to.equal(42);
    });
  });

  it('belong to the tidy they are made in', () => {
    leavingNothing(() => {
      const path = tf.tidy(() => {
        const inner = simulate(duffing, {q: [0.5, -0.8], v: [0.1, 0.6]}, {...options, params: {k: [3, 5], c: 0.2}});
        return {q: inner.q, read: inner.values('q')} as unknown as {q: tf.Tensor} & tf.TensorContainerObject;
      });
      expect(path.q.isDisposed).to.equal(false);
      path.q.dispose();
    });
  });

  const failures: readonly (readonly [string, () => unknown, new (...args: never[]) => Error])[] = [
    [
      'a force that reads a value',
      () => simulate(mechanics({mass: 1, forces: ({q}) => tf.mul(q, q.dataSync()[0])}), {q: [1], v: [0]}, options),
      TraceError,
    ],
    [
      'a force of the wrong shape',
      () => simulate(mechanics({mass: 1, forces: ({q}) => tf.sum(q)}), {q: [1, 2], v: [0, 0]}, options),
      ShapeError,
    ],
    [
      'a force that throws',
      () =>
        simulate(
          mechanics({
            mass: 1,
            forces: ({q}) => {
              tf.mul(q, 2);
              throw new RangeError('mine');
            },
          }),
          {q: [1, 2], v: [0, 0]},
          options,
        ),
      RangeError,
    ],
    [
      'a step that diverges',
      () =>
        simulate(
          mechanics({mass: 1, forces: ({q}) => tf.neg(tf.exp(tf.mul(tf.square(q), 50)))}),
          {q: [3], v: [0]},
          options,
        ),
      NewtonError,
    ],
    [
      'a run that becomes infinite',
      () =>
        simulate(
          mechanics({mass: 1, forces: ({q}) => tf.exp(tf.square(q))}),
          {q: [5], v: [0]},
          {...options, scheme: rk4()},
        ),
      NewtonError,
    ],
    ['an option out of range', () => simulate(duffing, {q: [1, 2], v: [0, 0]}, {...options, dt: 0}), OptionError],
  ];
  for (const [title, run, kind] of failures) {
    it(`none is left by ${title}`, () => {
      leavingNothing(() => expect(run).to.throw(kind));
      // Nor on a tape, which works as before afterwards.
      leavingNothing(() => {
        const x = tf.tensor1d([1, 2]);
        expect(() =>
          tf.tidy(() =>
            tf.grad((z: tf.Tensor) => {
              run();
              return tf.sum(z);
            })(x),
          ),
        ).to.throw(kind);
        const gradient = tf.grad((z: tf.Tensor) => tf.sum(tf.square(z)))(x);
        expect([...gradient.dataSync()]).to.deep.equal([2, 4]);
        tf.dispose([x, gradient]);
      });
    });
  }

  it('a failed run that is not thrown shows what it reached, on a tape as well', () => {
    leavingNothing(() =>
      tf.tidy(() => {
        const burst = mechanics({mass: 1, forces: ({q, params}) => tf.mul(params.k as tf.Tensor, tf.exp(q))});
        const run = (k: tf.Tensor) =>
          simulate(burst, {q: [1], v: [0]}, {...options, steps: 200, params: {k}, throw: false});
        const path = run(tf.scalar(1));
        expect(path.status).to.not.equal('completed');
        expect(path.q.shape[0]).to.be.within(2, 200);
        expect(path.q.shape[0]).to.equal(path.t.shape[0]);
        const gradient = tf.grad((k: tf.Tensor) => tf.sum(tf.square(run(k).q)))(tf.scalar(1));
        expect(Number.isFinite(gradient.dataSync()[0])).to.equal(true);
      }),
    );
  });
});
