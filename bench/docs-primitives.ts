/**
 * Writes docs/primitives.md from the code: what the graph's primitives are, which tfjs kernels a function
 * may use, and which are refused and why. `npx tsx bench/docs-primitives.ts` after a change of any.
 */
import {readFileSync, writeFileSync} from 'node:fs';
import {fileURLToPath} from 'node:url';
import ts from 'typescript';
import {binary, input, unary} from '../lib/graph/build.js';
import type {BinaryName, Node, Op, UnaryName} from '../lib/graph/node.js';
import {binaryNames, isOp, unaryNames} from '../lib/graph/node.js';
import {binaryRules, unaryRules} from '../lib/graph/primitives/elementwise.js';
import {primitiveOf, primitives} from '../lib/graph/primitives/index.js';
import {refusals, supportedKernels} from '../lib/trace/trace.js';

export const documentPath = fileURLToPath(new URL('../docs/primitives.md', import.meta.url));

interface Described {
  readonly attributes: string;
  readonly meaning: string;
}

/** Attributes and meaning of every primitive, as the interface `Attributes` in node.ts says them. */
function described(): ReadonlyMap<string, Described> {
  const path = fileURLToPath(new URL('../lib/graph/node.ts', import.meta.url));
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.ES2022, true);
  const table = source.statements.find(
    (statement): statement is ts.InterfaceDeclaration =>
      ts.isInterfaceDeclaration(statement) && statement.name.text === 'Attributes',
  );
  const members = (table?.members ?? []) as readonly ts.TypeElement[];
  return new Map(
    members.flatMap(member =>
      ts.isPropertySignature(member) ? [[member.name.getText(), describe(member)] as const] : [],
    ),
  );
}

function describe(member: ts.PropertySignature): Described {
  const comments = ts.getJSDocCommentsAndTags(member).map(comment => ts.getTextOfJSDocComment(comment.comment) ?? '');
  const names =
    member.type !== undefined && ts.isTypeLiteralNode(member.type)
      ? member.type.members.map(({name}) => `\`${name?.getText() ?? ''}\``)
      : [];
  return {attributes: names.join(', '), meaning: comments.join(' ').replace(/\s+/g, ' ')};
}

/** Whether a rule takes these operands for linear: it builds a transpose or throws. */
function isLinear(node: Node, linear: readonly boolean[]): boolean {
  try {
    return primitiveOf(node).transpose?.(node, node, linear) !== undefined;
  } catch {
    return false;
  }
}

const [a, b] = [input('a', [2]), input('b', [2])];

function linearity(op: Op): string {
  if (op === 'unary' || op === 'binary') return 'see below';
  if (primitives[op].transpose === undefined) return '';
  switch (op) {
    case 'gatherAt':
    case 'scatterAt':
      return 'in x';
    case 'select':
      return 'in then and else';
    case 'matMul':
      return 'in either';
    case 'solve':
    case 'triangularSolve':
      return 'in B';
    default:
      return 'yes';
  }
}

function isLinearUnary(fn: UnaryName): boolean {
  const node = unary(fn, a);
  return isOp(node, 'unary') && isLinear(node, [true]);
}

function linearityOfBinary(fn: BinaryName): string {
  const node = binary(fn, a, b);
  const [both, first, second] = [
    [true, true],
    [true, false],
    [false, true],
  ].map(operands => isLinear(node, operands));
  return both
    ? 'linear'
    : first && second
      ? 'linear in either operand'
      : first
        ? 'linear in the first operand'
        : second
          ? 'linear in the second operand'
          : '';
}

const row = (...cells: readonly string[]): string => `| ${cells.map(cell => cell.replace(/\|/g, '\\|')).join(' | ')} |`;
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [row(...head), row(...head.map(() => '---')), ...rows.map(cells => row(...cells))].join('\n');

/** Kernels one after another, in a paragraph. */
const list = (kernels: readonly string[]): string => kernels.map(kernel => `\`${kernel}\``).join(', ');

/** The functions of two numbers that have a derivative, by what they are linear in. */
function functionsOfTwo(): string {
  const kinds = new Map<string, BinaryName[]>();
  for (const fn of binaryNames) {
    if (binaryRules[fn].tangent === undefined) continue;
    const linearity = linearityOfBinary(fn);
    const kind = linearity === '' ? 'With a derivative' : `${linearity[0].toUpperCase()}${linearity.slice(1)}`;
    kinds.set(kind, [...(kinds.get(kind) ?? []), fn]);
  }
  return [...kinds].map(([kind, fns]) => `- ${kind}: ${list(fns)}.`).join('\n');
}

function refused(): string {
  const byReason = new Map<string, string[]>();
  for (const {kernel, reason} of refusals) byReason.set(reason, [...(byReason.get(reason) ?? []), kernel]);
  return table(
    ['kernels', 'why, and what to use instead'],
    [...byReason].sort(([x], [y]) => (x < y ? -1 : 1)).map(([reason, kernels]) => [list(kernels), reason]),
  );
}

/** The whole document. */
export function primitivesDocument(): string {
  const meanings = described();
  const ops = Object.keys(primitives) as Op[];
  return `<!-- Written by bench/docs-primitives.ts from the code; edits are lost. -->
# What can be traced

This page lists what a traced function may contain. A force, a constraint or a network is a tfjs function. It runs once, its
kernels are recorded, and each becomes a few of the primitives below. Primitives have static shapes, double precision, and
rules for derivatives of any order and for dependence (sparsity). A function may use the kernels of the second list; one of the
third throws a \`TraceError\` that names it.

## Primitives

The column *linear* says in which operands a primitive is linear, so that a tangent may contain it and it can be transposed.
Operands have the shapes that the constructors in \`lib/graph/build.ts\` require; b is a batch.

${table(
  ['primitive', 'attributes', 'meaning', 'linear'],
  ops.map(op => [`\`${op}\``, meanings.get(op)?.attributes ?? '', meanings.get(op)?.meaning ?? '', linearity(op)]),
)}

### Functions of one number

- Linear: ${list(unaryNames.filter(isLinearUnary))}.
- With a derivative: ${list(unaryNames.filter(fn => !isLinearUnary(fn) && unaryRules[fn].derivative !== undefined))}.
- Constant between jumps, with a derivative of zero: ${list(unaryNames.filter(fn => unaryRules[fn].derivative === undefined))}.

### Functions of two numbers

${functionsOfTwo()}
- Constant between jumps, with a derivative of zero: ${list(binaryNames.filter(fn => binaryRules[fn].tangent === undefined))}.

At a tie, \`maximum\` and \`minimum\` follow the first. \`mod\` has the divisor's sign.

### Whole numbers

Numbers of type \`int32\` are kept in double precision. A quotient and a cast are rounded towards whole numbers as in tfjs, but sums
and products do not wrap at 2³¹: beyond it they go on, exact up to 2⁵³ and rounded from there on. A random number generator or a hash
of integers that counts on the overflow, as \`x·1103515245 + 12345\`, gives other numbers in a traced function than in tfjs. Draw random
numbers outside of the function and pass them as params, or reduce each product by \`tf.mod\` with factors whose product stays below 2⁵³.

### Reductions of nothing

Over an axis without elements \`tf.sum\` is 0, \`tf.prod\` 1, \`tf.mean\` NaN, \`tf.max\` −∞, \`tf.min\` ∞, \`tf.all\` true and \`tf.any\` false.
tfjs itself gives 0 for the mean, NaN for both extremes and false for \`tf.all\`. \`tf.argMax\` and \`tf.argMin\` throw a \`TraceError\`.

## tfjs kernels a function may use

${list(supportedKernels)}.

## tfjs kernels that are refused

${refused()}
`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(documentPath, primitivesDocument());
