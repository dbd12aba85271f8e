/** Counted loops whose trips are known when the code is written. */
import type {FunctionBody, Local} from '../../wasm/assembler.js';

/** A pointer and the bytes it moves on with every trip. */
export interface Advance {
  readonly local: Local;
  readonly bytes: number;
  /** The pointer is known to be 0 when the loop begins: it may count the trips as well. */
  readonly fromZero?: boolean;
}

export function move(body: FunctionBody, pointer: Local, bytes: number): void {
  body.get(pointer).i32(bytes).op('i32.add').set(pointer);
}

/** Runs code so many times, moving the pointers on after each. */
export function repeat(body: FunctionBody, trips: number, advances: readonly Advance[], code: () => void): void {
  if (trips === 0) return;
  const counter = trips === 1 ? undefined : advances.find(({fromZero, bytes}) => fromZero === true && bytes > 0);
  const advance = (): void => {
    for (const each of advances) if (each !== counter && each.bytes !== 0) move(body, each.local, each.bytes);
  };
  if (trips === 1) {
    code();
    advance();
    return;
  }
  if (counter !== undefined) {
    const {local, bytes} = counter;
    body.loop(() => {
      code();
      advance();
      body
        .get(local)
        .i32(bytes)
        .op('i32.add')
        .tee(local)
        .i32(bytes * trips)
        .op('i32.lt_u')
        .branchIf();
    });
    return;
  }
  const left = body.local('i32');
  body.i32(trips).set(left);
  body.loop(() => {
    code();
    advance();
    body.get(left).i32(1).op('i32.sub').tee(left).branchIf();
  });
  body.release(left);
}

/** Runs code with a fresh local that is released afterwards. */
export function withLocal(body: FunctionBody, type: Local['type'], code: (local: Local) => void): void {
  const local = body.local(type);
  code(local);
  body.release(local);
}

/** Runs code and puts the pointers back where they were. */
function restored(body: FunctionBody, walks: readonly Advance[], code: () => void): void {
  const kept = walks.map(({local}) => {
    const copy = body.local('i32');
    body.get(local).set(copy);
    return copy;
  });
  code();
  walks.forEach(({local}, i) => {
    body.get(kept[i]).set(local);
    body.release(kept[i]);
  });
}

/**
 * Runs over 0 … count in blocks, with pointers that move by `bytes` a step: as many whole ones of the first size as
 * fit, then one block of as many as are left in whole multiples of the next, and so on; the last size is 1.
 */
export function inBlocks(
  body: FunctionBody,
  count: number,
  sizes: readonly number[],
  walks: readonly Advance[],
  code: (size: number) => void,
): void {
  const [most, ...smaller] = sizes;
  restored(body, walks, () => {
    const whole = Math.floor(count / most);
    repeat(
      body,
      whole,
      walks.map(({local, bytes}) => ({local, bytes: bytes * most})),
      () => code(most),
    );
    let left = count - whole * most;
    for (const unit of smaller) {
      const size = left - (left % unit);
      left -= size;
      if (size > 0) {
        code(size);
        if (left > 0) for (const {local, bytes} of walks) move(body, local, bytes * size);
      }
    }
  });
}
