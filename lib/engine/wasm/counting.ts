/** Counted loops whose trips are known when the code is written. */
import type {Body, Local} from '../../wasm/assembler.js';

/** A pointer and the bytes it moves on with every trip. */
export interface Advance {
  readonly local: Local;
  readonly bytes: number;
  /** The pointer is known to be 0 when the loop begins: it may count the trips as well. */
  readonly fromZero?: boolean;
}

/** Runs code so many times, moving the pointers on after each. */
export function repeat(body: Body, trips: number, advances: readonly Advance[], code: () => void): void {
  if (trips === 0) return;
  const counter = trips === 1 ? undefined : advances.find(({fromZero, bytes}) => fromZero === true && bytes > 0);
  const advance = (): void => {
    for (const each of advances)
      if (each !== counter && each.bytes !== 0) body.get(each.local).i32(each.bytes).op('i32.add').set(each.local);
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
export function withLocal(body: Body, type: Local['type'], code: (local: Local) => void): void {
  const local = body.local(type);
  code(local);
  body.release(local);
}
