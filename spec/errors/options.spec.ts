/** What a newcomer mistypes: every option that does not exist, is of the wrong kind or out of its range is a StiffgradError with a sentence, never a default in silence. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import * as stiffgrad from '../../lib/index.js';

type Loose = (...args: unknown[]) => unknown;
const face = stiffgrad as unknown as Record<string, Loose>;
const {mechanics, OptionError, simulate, StiffgradError, trapezoid} = stiffgrad;

const system = mechanics({mass: [1, 2], forces: ({q, params}) => tf.neg(tf.mul(params.k as tf.Tensor, q))});
const start = {q: [0.5, 0], v: [0, 0]};
const run = (options: object): void => {
  (simulate as unknown as Loose)(system, start, {dt: 0.01, steps: 2, params: {k: 40}, scheme: trapezoid(), ...options});
};
const withLinear = (linear: unknown): void =>
  run({newton: stiffgrad.newton({linear: linear as stiffgrad.LinearSolver})});

/** By call: what is given, and what the sentence must say. */
const cases: Readonly<Record<string, readonly [() => unknown, RegExp]>> = {
  'no dt': [() => run({dt: undefined}), /dt/],
  'onProgress of the wrong kind': [() => run({onProgress: 5}), /onProgress must be a function, not 5/],
  'throw of the wrong kind': [() => run({throw: 'no'}), /throw must be true or false, not 'no'/],
  'mechanics without a spec': [
    () => face.mechanics(),
    /mechanics takes an object with mass, forces, constraints, states, kinematics, not undefined/,
  ],
  'mechanics with another key': [
    () => face.mechanics({mass: 1, forces: () => 0, gravity: 9.81}),
    /mechanics has no option 'gravity'/,
  ],
  'blendedEuler without shares': [() => face.blendedEuler(), /blendedEuler takes an object with alpha, beta/],
  'a tolerance that is one number': [
    () => face.newton({tolerance: 1e-3}),
    /newton: tolerance takes an object with absolute, relative, not 0.001/,
  ],
  backtracking: [() => face.backtracking({alpha: 1}), /backtracking has no option 'alpha'; it has decrease, longest/],
  'gmres, a restart out of range': [
    () => face.gmres({restart: -1}),
    /gmres: restart must be a whole number of at least 1, not -1/,
  ],
  'gmres, another option': [
    () => face.gmres({tol: 1}),
    /gmres has no option 'tol'; it has tolerance, maxIterations, preconditioner, restart/,
  ],
  'gmres, another preconditioner': [
    () => withLinear(face.gmres({preconditioner: 'ilu'})),
    /gmres: preconditioner must be 'none', 'diagonal', .* 'multigrid', a function or a factor, not 'ilu'/,
  ],
  cg: [() => face.cg({restart: 5}), /cg has no option 'restart'/],
  minres: [() => face.minres({shift: 1}), /minres has no option 'shift'/],
  'sparseLu, another option': [() => face.sparseLu({order: 'amd'}), /sparseLu has no option 'order'/],
  'sparseLu, another order': [
    () => face.sparseLu({ordering: 'amd'}),
    /sparseLu: ordering must be one of symmetric, column, natural, not 'amd'/,
  ],
  sparseLdlt: [
    () => face.sparseLdlt({ordering: 'column'}),
    /sparseLdlt: ordering must be one of auto, amd, nested-dissection, rcm, natural, not 'column'/,
  ],
  supernodalLu: [
    () => face.supernodalLu({arithmetic: 'wasm' as never}),
    /supernodalLu: arithmetic must be one of auto, plain, compiled, not 'wasm'/,
  ],
  adaptive: [() => face.adaptive({atol: NaN}), /adaptive: atol must be a number of at least 0.*not NaN/],
  'compliant without a compliance': [
    () => face.compliant(() => 0),
    /compliant takes an object with compliance, not undefined/,
  ],
  implicitAdjoint: [() => face.implicitAdjoint({budget: 1}), /implicitAdjoint has no option 'budget'; it has memory/],
  equilibrium: [() => face.equilibrium(system, {q: [1, 1]}, {dt: 1}), /equilibrium has no option 'dt'/],
  'batch, a member that is none': [
    () => face.batch(system, [5], {dt: 0.1, steps: 1}),
    /batch: member 0 is 5: every member is an initial state/,
  ],
  'elements without nodes': [() => face.elements({energy: () => 0}), /elements: nodes must be a list of lists/],
  'elements without an energy': [() => face.elements({nodes: [[0, 1]]}), /elements: energy must be a function/],
};

describe('errors: options that are mistyped', () => {
  for (const [name, [act, sentence]] of Object.entries(cases)) {
    it(name, () => {
      try {
        act();
      } catch (error) {
        expect(error).to.be.instanceOf(StiffgradError);
        expect(error).to.be.instanceOf(OptionError);
        expect((error as Error).message).to.match(sentence);
        return;
      }
      expect.fail('nothing was thrown');
    });
  }
});
