/** A function of two numbers that the graph has not, x exp(xy): as a user's own, it is known by a number. */
import {add, mul, scalar, unary} from '../../lib/graph/build.js';
import {addMapped} from '../../lib/graph/primitives/mapped.js';

export const xExpXy = addMapped({
  name: 'xExpXy',
  value: (x, y) => x * Math.exp(x * y),
  derivatives: [([x, y]) => mul(add(scalar(1), mul(x, y)), unary('exp', mul(x, y))), ([x], value) => mul(x, value)],
});
