/** Whole random programs: derivatives of all of it, and everything that may not change what it computes. */
import {expect} from 'chai';
import fc from 'fast-check';
import {batch} from '../../lib/graph/batch.js';
import {full, gather, input, make, sub, sum, unary} from '../../lib/graph/build.js';
import {colorColumns} from '../../lib/graph/coloring.js';
import {orZeros, pullback, pushforward} from '../../lib/graph/differentiate.js';
import type {Key} from '../../lib/graph/key.js';
import {programKey, sameKey} from '../../lib/graph/key.js';
import type {Graph, Node, Op} from '../../lib/graph/node.js';
import {topological} from '../../lib/graph/node.js';
import {primitives} from '../../lib/graph/primitives/index.js';
import {simplify, simplifyNodes, replaceNodes} from '../../lib/graph/simplify.js';
import type {SparsityPattern} from '../../lib/graph/sparsity.js';
import {sparsityPattern, transposePattern} from '../../lib/graph/sparsity.js';
import {Choices, draws} from './choices.js';
import type {Values} from './evaluate.js';
import {asFunction, differences, dot, dotSize, evaluate, largest, vectors} from './evaluate.js';
import type {Program} from './programs.js';
import {program, programDraws} from './programs.js';
import {runs} from '../property.js';
import {slow} from '../tiers.js';

function forAll(count: number, property: (given: Program, values: Float64Array[], random: () => number) => void): void {
  fc.assert(
    fc.property(draws(programDraws), list => {
      const choices = new Choices(list);
      const random = choices.random();
      const given = program(choices);
      property(given, vectors(given.inputs, random), random);
    }),
    runs(count),
  );
}

const seedsOf = (nodes: readonly Node[], name: string): Node<'input'>[] =>
  nodes.map((node, k) => input(`${name}${k}`, node.shape));

function tangentsOf({inputs, outputs}: Program, directions: readonly Node[]): Node[] {
  return pushforward(outputs, new Map(inputs.map((node, k) => [node, directions[k]]))).map((tangent, i) =>
    orZeros(tangent, outputs[i]),
  );
}

function gradientsOf({inputs, outputs}: Program, cotangents: readonly Node[]): Node[] {
  return pullback(outputs, inputs, cotangents).map((gradient, k) => orZeros(gradient, inputs[k]));
}

const graphOf = ({inputs, outputs}: Program): Graph => ({
  inputs,
  outputs: outputs.map((node, i) => ({name: `y${i}`, node})),
});

/** Compares where differences can be trusted; returns how many could be, and of how many. */
function expectDerivatives(
  found: Values,
  expected: ReturnType<typeof differences>,
): readonly [trusted: number, all: number] {
  let [trusted, all] = [0, 0];
  found.forEach((x, i) => {
    const reliable = expected.reliable[i];
    const scale = 1 + largest(expected.values[i].filter((_, j) => reliable[j]));
    x.forEach((value, j) => {
      all++;
      if (!reliable[j]) return;
      trusted++;
      // As for single primitives: what the differences vouch for.
      expect(value, `output ${i}, element ${j}`).to.be.closeTo(expected.values[i][j], 1e-8 * scale);
    });
  });
  return [trusted, all];
}

describe('graph: random programs', () => {
  it('use every primitive, and their values are finite', () => {
    const used = new Set<string>();
    forAll(150, ({inputs, outputs}, values) => {
      for (const node of topological(outputs)) used.add(node.op);
      for (const result of evaluate(outputs, inputs, values)) expect(result.every(Number.isFinite)).to.equal(true);
    });
    expect([...used]).to.have.members(Object.keys(primitives));
  });

  slow('have the tangent that differences give', () => {
    let [trusted, all] = [0, 0];
    forAll(150, (given, values, random) => {
      const directions = seedsOf(given.inputs, 'd');
      const along = vectors(directions, random);
      const found = evaluate(tangentsOf(given, directions), [...given.inputs, ...directions], [...values, ...along]);
      const [ok, of] = expectDerivatives(found, differences(asFunction(given.outputs, given.inputs), values, along));
      trusted += ok;
      all += of;
    });
    expect(trusted).to.be.at.least(0.8 * all);
  });

  slow('have the gradient that ⟨Jv, w⟩ = ⟨v, Jᵀw⟩ asks for', () => {
    forAll(150, (given, values, random) => {
      const [directions, cotangents] = [seedsOf(given.inputs, 'd'), seedsOf(given.outputs, 'w')];
      const [v, w] = [vectors(directions, random), vectors(cotangents, random)];
      const forward = evaluate(tangentsOf(given, directions), [...given.inputs, ...directions], [...values, ...v]);
      const backward = evaluate(gradientsOf(given, cotangents), [...given.inputs, ...cotangents], [...values, ...w]);
      // 1e-12 of the terms' size (and of one, as they may cancel inside the program): some thousand roundings.
      expect(dot(forward, w)).to.be.closeTo(dot(v, backward), 1e-12 * (1 + dotSize(forward, w) + dotSize(backward, v)));
    });
  });

  slow('have second derivatives: by differences, symmetric, in either order', () => {
    let [trusted, all] = [0, 0];
    forAll(60, (given, values, random) => {
      const [directions, cotangents] = [seedsOf(given.inputs, 'd'), seedsOf(given.outputs, 'w')];
      const [v, u, w] = [vectors(directions, random), vectors(directions, random), vectors(cotangents, random)];
      const gradients = gradientsOf(given, cotangents);
      const forwardOverReverse = tangentsOf({...given, outputs: gradients}, directions);
      const reverseOverForward = gradientsOf({...given, outputs: tangentsOf(given, directions)}, cotangents);
      const all3 = [...given.inputs, ...directions, ...cotangents];
      const products = evaluate(forwardOverReverse, all3, [...values, ...v, ...w]);
      const other = evaluate(reverseOverForward, all3, [...values, ...v, ...w]);
      const turned = evaluate(forwardOverReverse, all3, [...values, ...u, ...w]);
      const scale = 1 + dotSize(products, u) + dotSize(turned, v);
      expect(dot(products, u)).to.be.closeTo(dot(turned, v), 1e-11 * scale);
      products.forEach((x, k) =>
        x.forEach((value, i) => expect(value).to.be.closeTo(other[k][i], 1e-11 * (1 + largest(x)))),
      );
      const gradientAt = asFunction(gradients, [...given.inputs, ...cotangents]);
      const [ok, of] = expectDerivatives(
        products,
        differences(moved => gradientAt([...moved, ...w]), values, v),
      );
      trusted += ok;
      all += of;
    });
    expect(trusted).to.be.at.least(0.7 * all);
  });

  it('batched are a loop, with any of the inputs shared', () => {
    forAll(60, ({inputs, outputs}, values, random) => {
      const size = 3;
      const marked = inputs.map(() => random() < 0.7);
      const stacked = inputs.map((node, k) => (marked[k] ? input(`batch${k}`, [size, ...node.shape]) : node));
      const copies = Array.from({length: size}, () =>
        vectors(inputs, random).map((x, k) => (marked[k] ? x : values[k])),
      );
      const joined = inputs.map((_, k) =>
        marked[k] ? Float64Array.from(copies.flatMap(copy => [...copy[k]])) : values[k],
      );
      const many = batch(
        outputs,
        new Map(inputs.flatMap((node, k) => (marked[k] ? [[node, stacked[k]] as const] : []))),
        size,
      );
      const found = evaluate(many, stacked, joined);
      const one = asFunction(outputs, inputs);
      const loop = copies.map(one);
      found.forEach((x, i) => expect(Array.from(x)).to.deep.equal(loop.flatMap(results => [...results[i]])));
    });
  });
});

/** Nodes that compute: constants, and repetitions of them, are stored or read in place. */
const work = (outputs: readonly Node[]): number =>
  topological(outputs).filter(node => !['constant', 'broadcast', 'input', 'reshape'].includes(node.op)).length;

describe('graph: simplification', () => {
  slow('keeps every value to the last bit, and never adds work', () => {
    forAll(150, (given, values, random) => {
      const [directions, cotangents] = [seedsOf(given.inputs, 'd'), seedsOf(given.outputs, 'w')];
      const inputs = [...given.inputs, ...directions, ...cotangents];
      const all = [...values, ...vectors(directions, random), ...vectors(cotangents, random)];
      const outputs = [...given.outputs, ...tangentsOf(given, directions), ...gradientsOf(given, cotangents)];
      const simple = simplifyNodes(outputs, inputs);
      expect(work(simple)).to.be.at.most(work(outputs));
      const [before, after] = [evaluate(outputs, inputs, all), evaluate(simple, inputs, all)];
      // + 0 makes one of the two zeros: x + 0 is simplified to x.
      after.forEach((x, i) =>
        expect(Array.from(x, value => value + 0)).to.deep.equal(Array.from(before[i], value => value + 0)),
      );
      const again = simplifyNodes(simple, inputs);
      again.forEach((node, i) => expect(node, 'simplified once is simplified').to.equal(simple[i]));
    });
  });

  it('shares equal subexpressions, also with operands exchanged, within and across outputs', () => {
    forAll(40, given => {
      const copies = replaceNodes(given.outputs, new Map(given.inputs.map(node => [node, node])));
      const again = program2(given);
      const simple = simplifyNodes([...given.outputs, ...copies, ...again], given.inputs);
      const n = given.outputs.length;
      for (let i = 0; i < n; i++) {
        expect(simple[n + i]).to.equal(simple[i]);
        expect(simple[2 * n + i]).to.equal(simple[i]);
      }
    });
  });

  it("leaves inputs of equal names apart, and the graph's lists as they are", () => {
    const [a, b] = [input('x', [2]), input('x', [2])];
    expect(simplifyNodes([a, b], [a, b])).to.deep.equal([a, b]);
    const graph = simplify({
      inputs: [a, b],
      outputs: [
        {name: 'p', node: a},
        {name: 'q', node: a},
      ],
    });
    expect(graph.inputs).to.deep.equal([a, b]);
    expect(graph.outputs.map(({name}) => name)).to.deep.equal(['p', 'q']);
  });
});

/** The same program built from new nodes, with additions and products turned around. */
function program2({outputs}: Program): Node[] {
  const copies = new Map<Node, Node>();
  for (const node of topological(outputs)) {
    if (node.op === 'input') copies.set(node, node);
    else {
      const operands = node.operands.map(operand => copies.get(operand) ?? operand);
      const {fn} = node.attributes as {fn?: string};
      const exchanged = node.op === 'binary' && (fn === 'add' || fn === 'mul') ? operands.reverse() : operands;
      copies.set(node, make<Op>(node.op, exchanged, node.attributes, node.shape, node.dtype));
    }
  }
  return outputs.map(node => copies.get(node) ?? node);
}

const keyOf = (graph: Graph): Key => programKey('', [graph]);

describe('graph: keys', () => {
  it('are equal for equal programs, built twice', () => {
    fc.assert(
      fc.property(draws(programDraws), list => {
        const [one, other] = [program(new Choices(list)), program(new Choices(list))];
        expect(sameKey(keyOf(graphOf(one)), keyOf(graphOf(other)))).to.equal(true);
      }),
      runs(40),
    );
  });

  it('differ for programs whose values differ', () => {
    const seen: {key: Key; other: Program}[] = [];
    forAll(300, (given, values) => {
      const key = keyOf(graphOf(given));
      const known = seen.find(entry => sameKey(entry.key, key));
      if (known === undefined) seen.push({key, other: given});
      else
        expect(evaluate(known.other.outputs, known.other.inputs, values)).to.deep.equal(
          evaluate(given.outputs, given.inputs, values),
        );
    });
    expect(seen.length).to.be.greaterThan(200);
  });

  it('differ when any attribute, type, shape, name or output does', () => {
    forAll(40, given => {
      const graph = graphOf(given);
      const keys: Key[] = [keyOf(graph)];
      const add = (variant: Graph): void => {
        const key = keyOf(variant);
        expect(keys.some(known => sameKey(known, key))).to.equal(false);
        keys.push(key);
      };
      add({...graph, inputs: [...graph.inputs, input('unused', [])]});
      add({...graph, outputs: [...graph.outputs, {name: 'more', node: full(1, [])}]});
      // Two outputs may be the same node, whose variants are then equal where they stand alone: never here, as the
      // others stay.
      graph.outputs.forEach(({node}, k) => {
        const replaced = (variant: Node): void =>
          add({...graph, outputs: graph.outputs.map((output, i) => (i === k ? {...output, node: variant} : output))});
        const {op, operands, attributes, shape, dtype} = node;
        replaced(make<Op>(op, operands, attributes, shape, 'bool'));
        replaced(make<Op>(op, operands, attributes, [...shape, 1], dtype));
        for (const [name, value] of Object.entries(attributes) as [string, unknown][])
          replaced(make<Op>(op, operands, {...attributes, [name]: changed(value)} as typeof attributes, shape, dtype));
        add({...graph, outputs: graph.outputs.map((output, i) => (i === k ? {...output, name: 'renamed'} : output))});
      });
    });
  });

  it('tell the two zeros apart, and names from structure', () => {
    const of = (node: Node): Key => keyOf({inputs: [], outputs: [{name: 'y', node}]});
    expect(sameKey(of(full(0, [3])), of(full(-0, [3])))).to.equal(false);
    const named = (name: string): Key => keyOf({inputs: [input(name, [])], outputs: []});
    expect(sameKey(named('a;b'), named('a'))).to.equal(false);
    expect(sameKey(named('1'), named('1'))).to.equal(true);
  });
});

/** Another value of the same kind. */
function changed(value: unknown): unknown {
  if (typeof value === 'boolean') return !value;
  if (typeof value === 'number') return value + 1;
  if (typeof value === 'string') return `${value}'`;
  if (value instanceof Float64Array || value instanceof Int32Array) {
    const copy = value.slice();
    copy[copy.length - 1] += 1;
    return copy;
  }
  return Array.isArray(value) ? [...(value as unknown[]), 9] : value;
}

const has = (pattern: SparsityPattern, row: number, column: number): boolean =>
  pattern.indices.subarray(pattern.pointers[row], pattern.pointers[row + 1]).includes(column);

describe('graph: sparsity and colouring', () => {
  slow('patterns have all that is observed, in order; no row has two columns of one colour', () => {
    forAll(60, (given, values) => {
      const directions = seedsOf(given.inputs, 'd');
      const tangents = pushforward(given.outputs, new Map(given.inputs.map((node, k) => [node, directions[k]])));
      const tangentAt = asFunction(
        tangents.map((tangent, i) => orZeros(tangent, given.outputs[i])),
        [...given.inputs, ...directions],
      );
      directions.forEach((direction, k) => {
        const patterns = tangents.map((tangent, i) => sparsityPattern(tangent, direction, given.outputs[i].size));
        for (let column = 0; column < direction.size; column++) {
          const seeds = directions.map((seed, other) =>
            Float64Array.from({length: seed.size}, (_, i) => Number(other === k && i === column)),
          );
          tangentAt([...values, ...seeds]).forEach((x, i) =>
            x.forEach((value, row) => {
              if (value !== 0)
                expect(has(patterns[i], row, column), `output ${i}[${row}] by input ${k}[${column}]`).to.equal(true);
            }),
          );
        }
        patterns.forEach(expectValidPattern);
      });
    });
  });

  it('a chain is tridiagonal and takes three colours, however long', () => {
    const q = input('q', [50]);
    const dq = input('dq', [50]);
    const table = (shift: number): Int32Array =>
      Int32Array.from({length: 50}, (_, i) => (i + shift >= 0 && i + shift < 50 ? i + shift : -1));
    const energy = chain(q, table);
    const [gradient] = pullback([energy], [q], [full(1, [])]);
    const [hessian] = pushforward([orZeros(gradient, q)], new Map([[q, dq]]));
    const pattern = sparsityPattern(hessian, dq, 50);
    expect(pattern.indices.length).to.equal(3 * 50 - 2);
    expect(colorColumns(pattern).colors).to.equal(3);
  });
});

/** Σ of stretches to the fourth, of neighbours and to a wall. */
function chain(q: Node, table: (shift: number) => Int32Array): Node {
  const stretch = sub(q, gather(q, table(-1), [50]));
  return sum(unary('square', unary('square', stretch)), [0]);
}

function expectValidPattern(pattern: SparsityPattern): void {
  const {ofColumn, colors} = colorColumns(pattern);
  expect(ofColumn.length).to.equal(pattern.columns);
  for (let row = 0; row < pattern.rows; row++) {
    const columns = Array.from(pattern.indices.subarray(pattern.pointers[row], pattern.pointers[row + 1]));
    expect(columns).to.deep.equal([...new Set(columns)].sort((a, b) => a - b));
    expect(new Set(columns.map(column => ofColumn[column])).size, 'colours in a row').to.equal(columns.length);
  }
  for (const color of ofColumn) expect(color).to.be.within(0, Math.max(0, colors - 1));
  const twice = transposePattern(transposePattern(pattern));
  expect(Array.from(twice.indices)).to.deep.equal(Array.from(pattern.indices));
  expect(Array.from(twice.pointers)).to.deep.equal(Array.from(pattern.pointers));
}
