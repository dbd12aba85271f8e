/** Routines that serve many owners: settings tell them apart, and each call is that of the owner bound last. */
import {expect} from 'chai';
import type {Executable} from '../../lib/engine/engine.js';
import {RoutineBuilder} from '../../lib/routine/routine.js';
import {RoutineCache} from '../../lib/routine/shared.js';

interface Owner {
  readonly value: number;
}

interface Settings {
  readonly factor: number;
  readonly solver?: object;
}

describe('routine: shared', () => {
  const executable = {} as Executable;
  let emitted = 0;
  const cache = (interpretedCalls: number): RoutineCache<Owner, readonly [Settings]> => {
    emitted = 0;
    return new RoutineCache<Owner, readonly [Settings]>({
      emit(_owner, host, [{factor}]) {
        emitted++;
        const b = new RoutineBuilder(1);
        const value = b.result({run: () => host.owner.value, returns: true});
        b.return({kind: 'binary', operation: 'mul', a: value, b: factor});
        return b.routine;
      },
      interpretedCalls,
    });
  };

  it('one for equal settings, others for others; objects count by identity, not by what they contain', () => {
    const routines = cache(Infinity);
    const solver = {name: 'lu'};
    const routine = routines.of(executable, [{factor: 2, solver}]);
    expect(routines.of(executable, [{solver, factor: 2}])).to.equal(routine);
    for (const settings of [{factor: 3, solver}, {factor: 2, solver: {name: 'lu'}}, {factor: 2}])
      expect(routines.of(executable, [settings])).not.to.equal(routine);
    expect(routines.of({...executable}, [{factor: 2, solver}])).not.to.equal(routine);
    expect(routines.of(undefined, [{factor: 2, solver}])).not.to.equal(routines.of(undefined, [{factor: 2, solver}]));
  });

  it('is emitted when it is first called, and calls the owner bound last', () => {
    const routine = cache(Infinity).of(executable, [{factor: 2}]);
    expect(emitted).to.equal(0);
    const first = routine.bind({value: 5});
    expect(first()).to.equal(10);
    expect(routine.bind({value: 7})()).to.equal(14);
    expect(first()).to.equal(14);
    expect(emitted).to.equal(1);
  });

  it('lets go of an owner, but not of the one bound after it', () => {
    const routine = cache(Infinity).of(executable, [{factor: 2}]);
    const [one, other] = [{value: 1}, {value: 2}];
    const call = routine.bind(one);
    routine.bind(other);
    routine.release(one);
    expect(call()).to.equal(4);
    routine.release(other);
    expect(() => call()).to.throw('a routine is bound to the run that calls it');
  });

  it('is compiled after so many calls where programs are compiled, and interpreted elsewhere', () => {
    const compiled = {routines: {memory: new WebAssembly.Memory({initial: 1})}} as unknown as Executable;
    for (const [interpretedCalls, tiers] of [
      [0, [1, 1, 1, 1]],
      [2, [1, 1, 2, 2]],
      [Infinity, [1, 1, 1, 1]],
    ] as const) {
      const routine = cache(interpretedCalls).of(compiled, [{factor: 2}]);
      const calls = tiers.map(count => {
        const call = routine.bind({value: 4});
        expect([call(), emitted]).to.deep.equal([8, count]);
        return call;
      });
      expect(new Set(calls).size).to.equal(tiers[3]);
    }
    const plain = cache(0).of(executable, [{factor: 2}]);
    expect(plain.bind({value: 4})()).to.equal(8);
  });
});
