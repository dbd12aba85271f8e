/**
 * Random graphs of every primitive: their values, tangents, gradients and second derivatives on the compiled engine
 * against the interpreter, to the bit. The compiled engine writes in place and poisons what is dead; every eighth
 * graph also runs as users run it, and without writing in place. Gradients of every second graph go where the inputs lie.
 */
import {interpreter} from '../../lib/engine/interpreter.js';
import type {Engine, Executable, Programs} from '../../lib/engine/engine.js';
import type {MemoryUse} from '../../lib/engine/wasm/memory.js';
import {treatMemory, wasm} from '../../lib/engine/wasm/wasm.js';
import {batch} from '../../lib/graph/batch.js';
import {input} from '../../lib/graph/build.js';
import {orZeros, pullback, pushforward} from '../../lib/graph/differentiate.js';
import type {Graph, Node} from '../../lib/graph/node.js';
import {topological} from '../../lib/graph/node.js';
import {simplify} from '../../lib/graph/simplify.js';
import {compare} from '../engine/wasm/agreement.js';
import {Choices, generator} from '../graph/choices.js';
import type {Program} from '../graph/programs.js';
import {lightOps, program, programDraws} from '../graph/programs.js';
import type {FuzzOptions, FuzzResult} from './run.js';

/** Most steps of a program: loops are joined and divided in all ways, and a failure is read at a glance. Many short graphs find more than few long ones. */
const longest = 6;
/** Every so many graphs have factorizations too. */
const heavyEvery = 8;
/** Long enough for interleaved pairs and chains of sums, both with a rest. */
const largest = 80;
const directions = 2;

export function randomProgram(seed: number, steps?: number): Program {
  const random = generator(seed);
  const list = Array.from({length: programDraws}, () => Math.floor(random() * (2 ** 31 - 1)));
  return program(new Choices(list), {
    steps: steps ?? 1 + (seed % longest),
    largest,
    ops: seed % heavyEvery === 1 ? undefined : lightOps,
  });
}

const named = (inputs: readonly Node<'input'>[], outputs: readonly Node[], name: (k: number) => string): Graph =>
  simplify({inputs, outputs: outputs.map((node, k) => ({name: name(k), node}))});

const likeAll = (nodes: readonly Node[], name: string, lead: readonly number[] = []): Node<'input'>[] =>
  nodes.map((node, k) => input(`${name}${k}`, [...lead, ...node.shape]));

/** The program and what is derived from it, each a program of its own. @param over gradients are written over the inputs */
export function derivatives({inputs, outputs}: Program, over: boolean): Programs {
  const [d, w] = [likeAll(inputs, 'd'), likeAll(outputs, 'w')];
  const many = likeAll(inputs, 'D', [directions]);
  const push = (of: readonly Node[]): Node[] => {
    const tangents = pushforward(of, new Map(inputs.map((node, k) => [node, d[k]]))).map((tangent, k) =>
      orZeros(tangent, of[k]),
    );
    return batch(tangents, new Map(d.map((node, k) => [node, many[k]])), directions);
  };
  const gradients = pullback(outputs, inputs, w).map((gradient, k) => orZeros(gradient, inputs[k]));
  return {
    value: named(inputs, outputs, k => `y${k}`),
    jvp: named([...inputs, ...many], push(outputs), k => `dy${k}`),
    vjp: named([...inputs, ...w], gradients, k => (over ? `x${k}` : `g${k}`)),
    second: named([...inputs, ...w, ...many], push(gradients), k => (over ? `D${k}` : `dg${k}`)),
  };
}

/** Runs one program of several with the same inputs, whatever ran before. */
function runWith(executable: Executable, name: string, graph: Graph, seed: number): void {
  const random = generator(seed);
  for (const node of graph.inputs) {
    const buffer = executable.buffer(node.attributes.name);
    for (let i = 0; i < buffer.length; i++) buffer[i] = 2 * random() - 1;
  }
  executable.run(name);
}

/** The first difference, as a sentence. */
function difference(
  programs: Programs,
  seed: number,
  use: Partial<MemoryUse>,
  expected: Executable,
): string | undefined {
  const compile = (engine: Engine): Executable => engine.compile(programs);
  treatMemory(use);
  try {
    const actual = compile(wasm);
    for (const [name, graph] of Object.entries(programs)) {
      runWith(expected, name, graph, seed);
      runWith(actual, name, graph, seed);
      for (const output of graph.outputs)
        compare(`${name}.${output.name}`, actual.buffer(output.name), expected.buffer(output.name), 'exact');
    }
    return undefined;
  } catch (error) {
    return `${JSON.stringify(use)}: ${(error as Error).message}`;
  } finally {
    treatMemory({});
  }
}

/** Tiles of two rows wherever there can be any. */
const smallTiles = {leastSaved: 1, tileBytes: 1, fewestRows: 2, mostRows: 4, shortestAxis: 2};

function differenceOf(given: Program, seed: number): string | undefined {
  const programs = derivatives(given, seed % 2 === 1);
  const expected = interpreter.compile(programs);
  const uses: Partial<MemoryUse>[] = [
    {poisoned: true},
    {tiles: smallTiles},
    ...(seed % 8 === 0 ? [{}, {inPlace: false, poisoned: true}] : []),
  ];
  for (const use of uses) {
    const found = difference(programs, seed, use, expected);
    if (found !== undefined) return found;
  }
  return undefined;
}

function listing({inputs, outputs}: Program): string {
  const ids = new Map<Node, number>();
  const lines = topological([...inputs, ...outputs]).map(node => {
    ids.set(node, ids.size);
    const attributes = Object.entries(node.attributes).map(
      ([name, value]) =>
        `${name}=${ArrayBuffer.isView(value) ? `[${(value as Float64Array).join(' ')}]` : JSON.stringify(value)}`,
    );
    return `    ${ids.get(node)}: ${node.op} [${node.shape.join(', ')}] (${node.operands.map(operand => ids.get(operand)).join(', ')}) ${attributes.join(' ')}`;
  });
  return [...lines, `    outputs ${outputs.map(node => ids.get(node)).join(', ')}`].join('\n');
}

/** What went wrong with the graph of a seed, shrunk to the fewest first steps and outputs that still show it. */
export function failureOf(seed: number): string | undefined {
  const found = attempt(() => differenceOf(randomProgram(seed), seed));
  if (found === undefined) return undefined;
  let [smallest, sentence] = [randomProgram(seed), found];
  const keep = (given: Program): boolean => {
    const other = attempt(() => differenceOf(given, seed));
    if (other !== undefined) [smallest, sentence] = [given, other];
    return other !== undefined;
  };
  for (let steps = 1; steps < longest; steps++) if (keep(randomProgram(seed, steps))) break;
  for (const node of smallest.outputs) if (smallest.outputs.length > 1 && keep({...smallest, outputs: [node]})) break;
  return `seed ${seed}: ${sentence}\n${listing(smallest)}`;
}

function attempt(f: () => string | undefined): string | undefined {
  try {
    return f();
  } catch (error) {
    return (error as Error).stack;
  }
}

export async function fuzz({count, seed, log}: FuzzOptions): Promise<FuzzResult> {
  const failures: string[] = [];
  const begin = performance.now();
  for (let i = 0; i < count; i++) {
    const failure = failureOf(seed + i);
    if (failure !== undefined) {
      failures.push(failure);
      log(failure);
    }
    // Memories of modules are given back between turns of the event loop.
    if (i % 500 === 499) {
      log(`${i + 1} of ${count}, ${failures.length} failed, ${((performance.now() - begin) / 1000).toFixed(0)} s`);
      await new Promise(resolve => setTimeout(resolve, 0));
    }
  }
  return {tried: count, failures};
}
