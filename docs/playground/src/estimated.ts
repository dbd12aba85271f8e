/** What a fit has found as a run takes it: starts, and parameters in the tree that the model reads. */
import {withLeaf} from '../../../training/identify/nested.js';

type Tree = {readonly [name: string]: unknown};

/** @param found by the names of `parameters`: 'k', 'spring.k' in a branch, and 'initial.q' for a start that is looked for */
export function estimated(
  found: object,
  initial: object,
  params: object = {},
): {readonly initial: Tree; readonly params: Tree} {
  return Object.entries(found).reduce<{readonly initial: Tree; readonly params: Tree}>(
    (at, [name, value]: [string, unknown]) =>
      name.startsWith('initial.')
        ? {...at, initial: withLeaf(at.initial, name.slice('initial.'.length), value)}
        : {...at, params: withLeaf(at.params, name, value)},
    {initial: {...initial}, params: {...params}},
  );
}
