/** What is made once for a function of a user's, by the shapes and types of what it is given. */
import {sameShape} from '../graph/node.js';
import type {Leaf} from '../system/params.js';

/** What was made for functions, each for so many saved states and data of some shapes. */
export class FunctionCache<T> {
  private readonly all = new WeakMap<
    object,
    {readonly counts: readonly number[]; readonly data: Shaped; readonly made: T}[]
  >();

  /** That of before, or what is made now. */
  of(by: object, counts: readonly number[], data: readonly Leaf[], make: () => T): T {
    let its = this.all.get(by);
    if (its === undefined) this.all.set(by, (its = []));
    for (const one of its) if (sameShape(one.counts, counts) && sameShapes(one.data, data)) return one.made;
    const made = make();
    its.push({counts, data: data.map(({name, shape, dtype}) => ({name, shape, dtype})), made});
    return made;
  }
}

type Shaped = readonly Pick<Leaf, 'name' | 'shape' | 'dtype'>[];

const sameShapes = (a: Shaped, b: Shaped): boolean =>
  a.length === b.length
  && a.every(({name, shape, dtype}, i) => name === b[i].name && dtype === b[i].dtype && sameShape(shape, b[i].shape));
