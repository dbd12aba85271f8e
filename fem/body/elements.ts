/** Energies of elements as parts of a body: one function gives their forces, their sum, and their values. */
import * as tf from '@tensorflow/tfjs';
import {elements, type ElementsSpec, type Params} from '../../lib/index.js';
import {constantTensor, ElementNodes} from '../../lib/internal.js';

/** Elements with an energy of the values at their nodes. */
export interface ElementGroup {
  readonly rows: ElementNodes;
  /** Numbers of the elements, with elements along the first axis; typed arrays have them one after another. */
  readonly data: {readonly [name: string]: Float64Array | tf.Tensor};
  /** Parts of the energy of elements, [elements, …], of which the sum counts; x is [elements, nodes, components]. */
  readonly energies: (at: ElementsAt) => tf.Tensor;
  readonly hessian?: ElementsSpec['hessian'];
}

/** Values at the nodes of elements, [elements, nodes, components], and their data. */
export interface ElementsAt {
  readonly x: tf.Tensor;
  readonly data: {readonly [name: string]: tf.Tensor};
  readonly params: Params;
}

/** The nodes of elements, `width` of each. */
export const nodeRows = (nodes: Int32Array, width: number): ElementNodes => new ElementNodes(nodes, width);

/** Forces of elements at nodes, [nodes, components], where `nodal` are the values there. */
export function forceOf({rows, data, energies, hessian}: ElementGroup, nodal: tf.Tensor, params: Params): tf.Tensor {
  const term = elements({
    nodes: rows,
    data,
    energy: ({x, data: own, params: inner}) =>
      tf.sum(
        energies({
          x: tf.expandDims(x, 0),
          data: Object.fromEntries(Object.entries(own).map(([name, value]) => [name, tf.expandDims(value, 0)])),
          params: inner,
        }),
      ),
    ...(hessian === undefined ? {} : {hessian}),
  });
  return term({q: nodal, v: nodal, t: constantTensor(0, []), params});
}

/** All elements of a group with their values at nodes, for a function of `ElementsAt`. */
export function elementsAt(
  {rows, data}: Pick<ElementGroup, 'rows' | 'data'>,
  nodal: tf.Tensor,
  params: Params,
): ElementsAt {
  const {table, count, width} = rows;
  return {
    x: tf.reshape(tf.gather(nodal, tf.tensor1d(table, 'int32')), [count, width, nodal.shape[1]!]),
    data: Object.fromEntries(
      Object.entries(data).map(([name, value]) => [
        name,
        value instanceof tf.Tensor ? value : constantTensor(value, [count, value.length / count]),
      ]),
    ),
    params,
  };
}
