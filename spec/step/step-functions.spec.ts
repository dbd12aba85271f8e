/** Key, substitution and messages reach every function of a step: asked of each name of the table, whatever it holds. */
import {expect} from 'chai';
import {interpreter} from '../../lib/engine/interpreter.js';
import {constant, input, make, matMul, mul, reshape, unary} from '../../lib/graph/build.js';
import {sameKey} from '../../lib/graph/key.js';
import type {Node} from '../../lib/graph/node.js';
import {topological} from '../../lib/graph/node.js';
import {stepKey} from '../../lib/step/compiled.js';
import {deriveStep} from '../../lib/step/derived.js';
import {Layout} from '../../lib/step/layout.js';
import {
  isSerializable,
  serializeStep,
  propertiesOf,
  deserializeStep,
  assembleStep,
} from '../../lib/step/serialize-step.js';
import {everyStep, functionsFrom, namedFunctions, stepFunctions, withReplaced} from '../../lib/step/step-functions.js';
import type {TracedStep} from '../../lib/step/traced-step.js';

const n = 3;
const [x, z, t, h, theta] = [input('x', [n]), input('z', [n]), input('t', []), input('h', []), input('theta', [])];
const parameter = input('p.0', [n]);
/** The second of each family: the first is not there. */
const names = Object.entries(stepFunctions).map(([name, kind]) => ('indexed' in kind ? `${name}.1` : name));

const layout = new Layout([{name: 'y', shape: [n]}]);

function stepWith(functions: ReadonlyMap<string, Node>): TracedStep {
  return {
    name: 'all',
    order: 2,
    positionLevelOnly: true,
    state: layout,
    unknown: new Layout([{name: 'k', shape: [n], labels: ['a', 'b', 'c']}]),
    parameters: [{node: parameter}],
    inputs: {x, z, t, h, theta},
    functions: functionsFrom(functions),
    observedShape: [1, n],
    linearized: true,
    isEquilibrium: true,
    usesTrialStep: true,
    evaluations: {start: 0, update: 0, residual: 0},
    errorInfo: {errorOrder: 3, errorMask: Uint8Array.of(1, 0, 1), stageErrorEffects: {y: 1}},
  };
}

/** Each function is another one. */
const all = new Map<string, Node>(
  names.map((name, i) => [name, mul(mul(x, parameter), constant(Float64Array.of(i + 2, 1, 1), [n]))]),
);
const whole = stepWith(all);
const differing = (name: string): TracedStep => stepWith(new Map(all).set(name, mul(z, parameter)));
const without = (name: string): TracedStep => stepWith(new Map([...all].filter(([other]) => other !== name)));

describe('step: the table of its functions', () => {
  it('names what is there, and functions come back from their names', () => {
    expect(namedFunctions(whole.functions).map(({name}) => name)).to.have.members(names);
    expect(functionsFrom(namedFunctions(whole.functions).map(({name, node}) => [name, node]))).to.deep.equal(
      whole.functions,
    );
    expect(() => without('update')).to.throw(/update/);
  });

  for (const name of names) {
    it(`${name}: another one, or none, is another key`, () => {
      const keys = [whole, differing(name), ...(name === 'update' ? [] : [without(name)])].map(step =>
        stepKey(step, interpreter),
      );
      keys.forEach((key, i) => keys.forEach((other, j) => expect(sameKey(key, other)).to.equal(i === j)));
      expect(sameKey(stepKey(differing(name), interpreter), stepKey(differing(name), interpreter))).to.equal(true);
    });

    it(`${name}: substitution reaches it`, () => {
      const other = input('other', [n]);
      const found = new Map(
        namedFunctions(withReplaced(whole.functions, new Map([[parameter, other]]))).map(output => [
          output.name,
          output.node,
        ]),
      );
      const below = topological([found.get(name) as Node]);
      expect(below).to.include(other);
      expect(below).to.not.include(parameter);
    });

    it(`${name}: a message carries it`, () => {
      const step = differing(name);
      const there = assembleStep(
        deserializeStep(structuredClone(serializeStep(step))),
        structuredClone(propertiesOf(step)),
      );
      expect(sameKey(stepKey(there, interpreter), stepKey(step, interpreter))).to.equal(true);
      expect(sameKey(stepKey(there, interpreter), stepKey(whole, interpreter))).to.equal(false);
      expect({...there, inputs: undefined, parameters: undefined, functions: undefined}).to.deep.equal({
        ...step,
        inputs: undefined,
        parameters: undefined,
        functions: undefined,
      });
    });

    it(`${name}: a function of the user's own keeps a step in its thread`, () => {
      const own = make('mapped', [x], {fn: 0}, [n], 'float');
      expect([whole, stepWith(new Map(all).set(name, own))].map(isSerializable)).to.deep.equal([true, false]);
    });
  }

  it('tells what every step computes: of that what depends on parameters alone is set apart', () => {
    const matrix = input('p.0', [n, n]);
    const square = reshape(matrix, [1, n, n]);
    const dear = unary('exp', matMul(square, matMul(square, square)));
    const state = reshape(x, [1, n, 1]);
    const found = names.filter(name => {
      const functions = new Map<string, Node>([['update', x]]).set(name, reshape(matMul(dear, state), [n]));
      return deriveStep({...stepWith(functions), parameters: [{node: matrix}]}).values.length > 0;
    });
    const marked = Object.entries(stepFunctions).flatMap(([name, kind]) => ('everyStep' in kind ? [name] : []));
    expect(found).to.have.members(marked);
    expect(everyStep(whole.functions)).to.have.length(marked.length);
    // What Newton's iteration and the step's end are made of, and the estimate and dense output of every adaptive step.
    expect(marked).to.include.members(['residual', 'update', 'error', 'dense']);
  });
});
