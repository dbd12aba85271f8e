/** Must show 7: every primitive on random shapes and attributes, each of its rules against something else. */
import {expect} from 'chai';
import fc from 'fast-check';
import {batch} from '../../lib/graph/batch.js';
import {constant, input} from '../../lib/graph/build.js';
import {pullback, pushforward} from '../../lib/graph/differentiate.js';
import type {Node, Op} from '../../lib/graph/node.js';
import {binaryNames, unaryNames} from '../../lib/graph/node.js';
import {primitiveOf, primitives} from '../../lib/graph/primitives/index.js';
import type {Relation} from '../../lib/graph/primitives/primitive.js';
import type {Case, CaseInput} from './cases.js';
import {binaryCase, cases, unaryCase} from './cases.js';
import {Choices, draws} from './choices.js';
import {expectDefined} from './definitions.js';
import type {Values} from './evaluate.js';
import {asFunction, differences, dot, dotSize, evaluate, largest, vectors} from './evaluate.js';
import {runs} from '../property.js';
import {slow} from '../tiers.js';

/** Everything there is to apply: a row for each primitive, and one for each function of one or two numbers. */
const rows: readonly (readonly [name: string, build: (choices: Choices) => Case, count: number])[] = [
  ...(Object.keys(primitives) as Op[])
    .filter(op => op !== 'unary' && op !== 'binary')
    .map(op => [op, cases[op], 40] as const),
  ...unaryNames.map(fn => [`unary ${fn}`, (choices: Choices) => unaryCase(fn, choices), 8] as const),
  ...binaryNames.map(fn => [`binary ${fn}`, (choices: Choices) => binaryCase(fn, choices), 12] as const),
];

/** Runs a property over random applications of one primitive. */
function forAll(
  build: (choices: Choices) => Case,
  count: number,
  property: (applied: Case, random: () => number) => void,
): void {
  fc.assert(
    fc.property(draws(24), list => {
      const choices = new Choices(list);
      const applied = build(choices);
      property(applied, choices.random());
    }),
    runs(count),
  );
}

const nodesOf = (applied: Case): Node<'input'>[] => applied.inputs.map(({node}) => node);
const draw = (inputs: readonly CaseInput[], random: () => number): Float64Array[] =>
  inputs.map(input => input.draw(random));
const isFloat = (node: Node): boolean => node.dtype === 'float';

/** The positions of the operands that can have a tangent. */
function smooth(applied: Case): number[] {
  return applied.inputs.flatMap(({node}, k) => (isFloat(node) ? [k] : []));
}

function seeds(nodes: readonly Node[]): Node<'input'>[] {
  return nodes.map((node, k) => input(`d${k}`, node.shape));
}

/** The tangent of an application along seeds for its smooth operands. */
function tangentOf(applied: Case): {tangent: Node | undefined; directions: Node<'input'>[]} {
  const wrt = smooth(applied).map(k => applied.inputs[k].node);
  const directions = seeds(wrt);
  const [tangent] = pushforward([applied.node], new Map(wrt.map((node, i) => [node, directions[i]])));
  return {tangent, directions};
}

describe('graph: every primitive', () => {
  for (const [name, build, count] of rows) {
    describe(name, () => {
      it('has the value its definition gives', () => {
        let met = 0;
        forAll(build, count, (applied, random) => {
          // Arguments broadcast before the function sees them: every node of the program is checked, each on what it was given.
          const values = draw(applied.inputs, random);
          const nodes = [applied.node, ...applied.node.operands];
          for (const node of nodes) {
            const results = evaluate([node, ...node.operands], nodesOf(applied), values);
            expectDefined(node, results.slice(1), results[0]);
          }
          if (nodes.some(node => node.op === name.split(' ')[0])) met++;
        });
        expect(met, 'runs in which the primitive stood in the program').to.be.greaterThan(count / 4);
      });

      it('has the tangent that differences give', () => {
        const trust = new Trust();
        forAll(build, count, (applied, random) => {
          const values = draw(applied.inputs, random);
          const {tangent, directions} = tangentOf(applied);
          const along = vectors(directions, random);
          const moves = applied.inputs.map(({node}, k) => {
            const at = smooth(applied).indexOf(k);
            return at < 0 ? new Float64Array(node.size) : along[at];
          });
          const expected = differences(asFunction([applied.node], nodesOf(applied)), values, moves);
          const [found] =
            tangent === undefined
              ? [new Float64Array(applied.node.size)]
              : evaluate([tangent], [...nodesOf(applied), ...directions], [...values, ...along]);
          expectDerivative(found, expected.values[0], expected.reliable[0]);
          if (tangent !== undefined) trust.count(expected.reliable[0]);
        });
        trust.expectMost();
      });

      it('has the second derivatives that differences give, in any order', () => {
        const trust = new Trust();
        forAll(build, Math.ceil(count / 2), (applied, random) => {
          const values = draw(applied.inputs, random);
          const wrt = smooth(applied).map(k => applied.inputs[k].node);
          const cotangent = input('w', applied.node.shape);
          const gradients = pullback([applied.node], wrt, [cotangent]);
          const present = gradients.flatMap((gradient, i) => (gradient === undefined ? [] : [{gradient, i}]));
          if (present.length === 0) return;
          const weights = vectors([cotangent], random);
          const directions = seeds(wrt);
          const [along, across] = [vectors(directions, random), vectors(directions, random)];
          const seeded = new Map(wrt.map((node, i) => [node, directions[i]]));
          const second = pushforward(
            present.map(({gradient}) => gradient),
            seeded,
          );
          const moves = applied.inputs.map(({node}) => along[wrt.indexOf(node)] ?? new Float64Array(node.size));
          const withWeights = (given: Values): Values => [...given, ...weights];
          const gradientAt = asFunction(
            present.map(({gradient}) => gradient),
            [...nodesOf(applied), cotangent],
          );
          const expected = differences(given => gradientAt(withWeights(given)), values, moves);
          const hessian = asFunction(
            second.map((part, i) => part ?? zerosLike(present[i].gradient)),
            [...nodesOf(applied), cotangent, ...directions],
          );
          const products = hessian([...values, ...weights, ...along]);
          products.forEach((product, i) => {
            expectDerivative(product, expected.values[i], expected.reliable[i]);
            trust.count(expected.reliable[i]);
          });
          // ⟨H d, e⟩ = ⟨H e, d⟩: a Hessian is symmetric, to rounding.
          const turned = hessian([...values, ...weights, ...across]);
          const pick = (list: Values): Values => present.map(({i}) => list[i]);
          const scale = dotSize(products, pick(across)) + dotSize(turned, pick(along));
          expect(dot(products, pick(across))).to.be.closeTo(dot(turned, pick(along)), 1e-12 * (1 + scale));
        });
        trust.expectMost();
      });

      it('has the transpose that ⟨Jv, w⟩ = ⟨v, Jᵀw⟩ asks for', () => {
        forAll(build, count, (applied, random) => {
          const values = draw(applied.inputs, random);
          const wrt = smooth(applied).map(k => applied.inputs[k].node);
          const {tangent, directions} = tangentOf(applied);
          const cotangent = input('w', applied.node.shape);
          const back = pullback([applied.node], wrt, [cotangent]);
          expect(back.some(part => part !== undefined)).to.equal(tangent !== undefined);
          if (tangent === undefined) return;
          const [v, w] = [vectors(directions, random), vectors([cotangent], random)];
          const forward = evaluate([tangent], [...nodesOf(applied), ...directions], [...values, ...v]);
          const backward = evaluate(
            back.map((part, i) => part ?? zerosLike(wrt[i])),
            [...nodesOf(applied), cotangent],
            [...values, ...w],
          );
          // 1e-12 of the size of the terms: some thousand roundings.
          const scale = dotSize(forward, w) + dotSize(backward, v);
          expect(dot(forward, w)).to.be.closeTo(dot(v, backward), 1e-12 * (1e-300 + scale));
        });
      });

      // It differentiates every entry of many operands.
      (name === 'concat' ? slow : it)('depends on what its dependence says, and on no more', () => {
        forAll(build, count, (applied, random) => {
          if (applied.node.operands.length === 0) return;
          const values = draw(applied.inputs, random);
          // The primitive's own operands, whatever the constructor put before it.
          const {node} = applied;
          const operands = evaluate(node.operands, nodesOf(applied), values);
          node.operands.forEach((operand, k) => {
            const relation = primitiveOf(node).dependence(node, k);
            if (isFloat(operand)) expectDependence(node, k, relation, operands);
            else expect(relation).to.equal('none');
          });
        });
      });

      it('carries a batch as a loop would', () => {
        forAll(build, count, (applied, random) => {
          if (applied.inputs.length === 0) return;
          const size = 1 + Math.floor(3 * random());
          const marked = applied.inputs.map(() => random() < 0.6);
          const copies = Array.from({length: size}, () => draw(applied.inputs, random));
          const stacked = applied.inputs.map(({node}, k) =>
            marked[k] ? input(`batch${k}`, [size, ...node.shape], node.dtype) : node,
          );
          const [batched] = batch(
            [applied.node],
            new Map(applied.inputs.flatMap(({node}, k) => (marked[k] ? [[node, stacked[k]] as const] : []))),
            size,
          );
          expect(batched.shape).to.deep.equal([size, ...applied.node.shape]);
          const joined = stacked.map((node, k) =>
            marked[k]
              ? Float64Array.from(
                  {length: node.size},
                  (_, i) => copies[Math.floor((i * size) / node.size)][k][i % (node.size / size)],
                )
              : copies[0][k],
          );
          const [found] = evaluate([batched], stacked, joined);
          const one = asFunction([applied.node], nodesOf(applied));
          const loop = copies.flatMap(copy => Array.from(one(copy.map((x, k) => (marked[k] ? x : copies[0][k])))[0]));
          expect(Array.from(found)).to.deep.equal(loop);
        });
      });
    });
  }
});

function zerosLike(node: Node): Node {
  return constant(new Float64Array(node.size), node.shape);
}

/** 1e-8 of the largest: what `differences` vouches for where it is reliable. */
function expectDerivative(found: Float64Array, expected: Float64Array, reliable: readonly boolean[]): void {
  const scale = 1 + largest(expected.filter((_, i) => reliable[i]));
  reliable.forEach((trusted, i) => {
    if (trusted) expect(found[i], `element ${i}`).to.be.closeTo(expected[i], 1e-8 * scale);
  });
}

/** How many differences could be trusted: a test that skips most of them would show nothing. */
class Trust {
  private all = 0;
  private trusted = 0;

  count(reliable: readonly boolean[]): void {
    this.all += reliable.length;
    this.trusted += reliable.filter(Boolean).length;
  }

  expectMost(): void {
    expect(this.trusted, 'differences that can be trusted').to.be.at.least(0.8 * this.all);
  }
}

/** Primitives whose dependence is exact at generic points: not more than observed. */
const exact = new Set<Op>([
  'reshape',
  'transpose',
  'broadcast',
  'slice',
  'place',
  'concat',
  'gather',
  'scatter',
  'sum',
  'cumsum',
  'matMul',
]);

function expectDependence(node: Node, k: number, relation: Relation, operands: Values): void {
  const inputs = node.operands.map((operand, i) => input(`x${i}`, operand.shape, operand.dtype));
  const applied: Node = {...node, operands: inputs};
  const f = asFunction([applied], inputs);
  const [base] = f(operands);
  const declared = Array.from({length: node.size}, () => new Set<number>());
  if (relation === 'same') declared.forEach((set, i) => set.add(i));
  else if (relation !== 'none')
    declared.forEach((set, i) =>
      relation.indices.subarray(relation.pointers[i], relation.pointers[i + 1]).forEach(j => set.add(j)),
    );
  const moved = (j: number, step: number): Float64Array =>
    f(operands.map((x, i) => (i === k ? x.map((value, at) => (at === j ? value + step : value)) : x)))[0];
  for (let j = 0; j < inputs[k].size; j++) {
    // A jump is as high for half the step, or not there; what changes with the step is a derivative.
    const [whole, half] = [moved(j, 2 ** -8), moved(j, 2 ** -9)];
    whole.forEach((value, i) => {
      const moves = value !== base[i] && half[i] !== base[i] && value !== half[i];
      if (moves) expect(declared[i].has(j), `element ${i} depends on element ${j} of operand ${k}`).to.equal(true);
      else if (exact.has(node.op))
        expect(declared[i].has(j), `element ${i} does not depend on element ${j} of operand ${k}`).to.equal(false);
    });
  }
}
