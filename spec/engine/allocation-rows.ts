/** The programs whose runs are watched for what they put on the heap: one for every primitive and every function. */
import type {Op} from '../../lib/graph/node.js';
import {binaryNames, unaryNames} from '../../lib/graph/node.js';
import {primitives} from '../../lib/graph/primitives/index.js';
import type {Case} from '../graph/cases.js';
import {binaryCase, cases, unaryCase} from '../graph/cases.js';
import type {Choices} from '../graph/choices.js';

/** Bytes for each run, and the elements of its result, by row. */
export type Allocations = {readonly [row: string]: {readonly bytes: number; readonly elements: number}};

/** A number on the heap takes 12 or 16 bytes. */
export const leastNumber = 12;

/**
 * Functions that are long JavaScript of this project: V8 may or may not have them in the loop that calls them, by what it has seen
 * before, and where not it hands every result over on the heap, 16 bytes, of two functions in a row twice. So are users' own.
 */
const long: ReadonlySet<string> = new Set([
  'mapped',
  ...['exp', 'expm1', 'log', 'log1p', 'sin', 'cos', 'tanh', 'sigmoid', 'softplus', 'erf'].map(fn => `unary ${fn}`),
]);

/** Less than this is no array, no object and no function for each run. */
export const allowed = (row: string, elements: number): number => leastNumber + (long.has(row) ? 32 * elements : 0);

export const allocationRows: ReadonlyMap<string, (choices: Choices) => Case> = new Map([
  ...(Object.keys(primitives) as Op[]).map(op => [op, cases[op]] as const),
  ...unaryNames.map(fn => [`unary ${fn}`, (choices: Choices) => unaryCase(fn, choices)] as const),
  ...binaryNames.map(fn => [`binary ${fn}`, (choices: Choices) => binaryCase(fn, choices)] as const),
]);
