/** Coefficients in the cells of a block: fields are data of elements, and what is one number for all is not. */
import * as tf from '@tensorflow/tfjs';
import type {Params} from '../../lib/index.js';
import {constantTensor} from '../../lib/internal.js';
import type {CellBlock, CellRule} from './blocks.js';
import type {ReadField} from './coefficient.js';

/** Coefficients by name, as functions of parameters. */
export interface ReadFields {
  readonly [name: string]: (params: Params) => ReadField;
}

/** Coefficients as data of elements, and from these their values. */
export interface CellCoefficients {
  readonly data: {readonly [name: string]: tf.Tensor};
  /** Values at the points of the rule: [] of a number, [cells, 1] or [cells, points]. */
  readonly at: (data: {readonly [name: string]: tf.Tensor}) => {readonly [name: string]: tf.Tensor};
}

/** Fields in the cells of a block, and at the points of a rule. */
export function coefficientsIn(
  {block, rule}: {readonly block: CellBlock; readonly rule: CellRule},
  fields: ReadFields,
  params: Params,
): CellCoefficients {
  const read = Object.entries(fields).map(([name, field]) => ({
    name,
    key: `coefficient.${name}`,
    field: field(params),
  }));
  return {
    data: Object.fromEntries(
      read.flatMap(({key, field}) => (field.per === 'body' ? [] : [[key, cellRows(block, field)]])),
    ),
    at: data =>
      Object.fromEntries(
        read.map(({name, key, field}) => [
          name,
          field.per === 'body' ? tf.reshape(field.tensor, []) : atPoints(data[key], field, block, rule),
        ]),
      ),
  };
}

/** A field's rows of the cells of a block: [cells], or [cells, nodes of a cell]. */
export function cellRows({nodes, count, shape, first}: CellBlock, {per, tensor}: ReadField): tf.Tensor {
  if (per === 'cells') return tf.slice(tf.reshape(tensor, [-1]), [first], [count]);
  return tf.reshape(tf.gather(tf.reshape(tensor, [-1]), tf.tensor1d(nodes, 'int32')), [count, shape.nodes]);
}

/** Rows of `cellRows` at points: [cells, 1] or [cells, points]. */
export function atPoints(rows: tf.Tensor, {per}: ReadField, {shape}: CellBlock, rule: CellRule): tf.Tensor {
  if (per === 'cells') return tf.reshape(rows, [-1, 1]);
  const N = constantTensor(rule.N, [rule.count, shape.nodes]) as tf.Tensor2D;
  return tf.matMul(tf.reshape(rows, [-1, shape.nodes]), N, false, true);
}
