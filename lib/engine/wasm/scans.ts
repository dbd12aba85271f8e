/** Kernels that walk along an axis with a memory of what came before: running sums, first extremes, bisection. */
import type {Node} from '../../graph/node.js';
import {sizeOf, stridesOf} from '../../graph/node.js';
import type {FunctionBody, Local} from '../../wasm/assembler.js';
import {repeat, withLocal} from './counting.js';

/** An array seen along one axis: outer × length × inner. */
interface Walked {
  readonly outer: number;
  readonly length: number;
  readonly inner: number;
}

function walked(shape: readonly number[], axis: number): Walked {
  return {outer: sizeOf(shape.slice(0, axis)), length: shape[axis], inner: stridesOf(shape)[axis]};
}

export function emitCumsum(body: FunctionBody, node: Node<'cumsum'>, from: number, to: number): void {
  if (node.size === 0) return;
  const {axis, exclusive, reverse} = node.attributes;
  const {outer, length, inner} = walked(node.shape, axis);
  const begin = reverse ? 8 * (length - 1) * inner : 0;
  const step = reverse ? -8 * inner : 8 * inner;
  withLocal(body, 'i32', block => {
    body.i32(begin).set(block);
    repeat(body, outer, [{local: block, bytes: 8 * length * inner}], () => {
      withLocal(body, 'i32', line => {
        body.get(block).set(line);
        repeat(body, inner, [{local: line, bytes: 8}], () => runningSum(body, line, length, step, exclusive, from, to));
      });
    });
  });
}

function runningSum(
  body: FunctionBody,
  line: Local,
  length: number,
  step: number,
  exclusive: boolean,
  from: number,
  to: number,
): void {
  const at = body.local('i32');
  const total = body.local('f64');
  body.get(line).set(at).f64(0).set(total);
  repeat(body, length, [{local: at, bytes: step}], () => {
    if (exclusive) {
      withLocal(body, 'f64', value => {
        body.get(at).memory('f64.load', from).set(value);
        body.get(at).get(total).memory('f64.store', to);
        body.get(total).get(value).op('f64.add').set(total);
      });
    } else {
      body.get(at).get(total).get(at).memory('f64.load', from).op('f64.add').tee(total).memory('f64.store', to);
    }
  });
  body.release(at);
  body.release(total);
}

/** Position of the first extreme along an axis; comparisons with NaN fail, as in the interpreter. */
export function emitArgExtreme(body: FunctionBody, node: Node<'argMax' | 'argMin'>, from: number, to: number): void {
  const {outer, length, inner} = walked(node.operands[0].shape, node.attributes.axis);
  if (node.size === 0) return;
  const [line, result, at, position] = [body.local('i32'), body.local('i32'), body.local('i32'), body.local('i32')];
  const [best, value, where] = [body.local('f64'), body.local('f64'), body.local('i32')];
  body.i32(0).set(line).i32(0).set(result);
  repeat(body, outer, [{local: line, bytes: 8 * (length - 1) * inner}], () => {
    repeat(
      body,
      inner,
      [
        {local: line, bytes: 8},
        {local: result, bytes: 8},
      ],
      () => {
        body.get(line).tee(at).memory('f64.load', from).set(best).i32(0).set(where).i32(1).set(position);
        repeat(
          body,
          length - 1,
          [
            {local: at, bytes: 8 * inner},
            {local: position, bytes: 1},
          ],
          () => {
            body
              .get(at)
              .memory('f64.load', from + 8 * inner)
              .tee(value)
              .get(best)
              .op(node.op === 'argMax' ? 'f64.gt' : 'f64.lt')
              .if(() => {
                body.get(value).set(best).get(position).set(where);
              });
          },
        );
        body.get(result).get(where).op('f64.convert_i32_u').memory('f64.store', to);
      },
    );
  });
  for (const local of [line, result, at, position, best, value, where]) body.release(local);
}

/** Counts by bisection how many of each row's sorted numbers are below (or not above) each value. */
export function emitSearchSorted(
  body: FunctionBody,
  node: Node<'searchSorted'>,
  sorted: number,
  values: number,
  to: number,
): void {
  const [rows, n] = node.operands[0].shape;
  const m = node.shape[1];
  if (node.size === 0) return;
  const [row, at, low, high, middle] = [
    body.local('i32'),
    body.local('i32'),
    body.local('i32'),
    body.local('i32'),
    body.local('i32'),
  ];
  const value = body.local('f64');
  body.i32(0).set(row).i32(0).set(at);
  repeat(body, rows, [{local: row, bytes: 8 * n}], () => {
    repeat(body, m, [{local: at, bytes: 8}], () => {
      body.get(at).memory('f64.load', values).set(value).i32(0).set(low).i32(n).set(high);
      body.block(() =>
        body.loop(() => {
          body.get(low).get(high).op('i32.ge_u').branchIf(1);
          body.get(low).get(high).op('i32.add').i32(1).op('i32.shr_u').tee(middle);
          body.i32(3).op('i32.shl').get(row).op('i32.add').memory('f64.load', sorted).get(value);
          body.op(node.attributes.side === 'right' ? 'f64.le' : 'f64.lt').if(
            () => body.get(middle).i32(1).op('i32.add').set(low),
            () => body.get(middle).set(high),
          );
          body.branch(0);
        }),
      );
      body.get(at).get(low).op('f64.convert_i32_u').memory('f64.store', to);
    });
  });
  for (const local of [row, at, low, high, middle, value]) body.release(local);
}
