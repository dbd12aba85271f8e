/** Calls of compiled functions as one: their order, their arguments, what they return, and where they stop. */
import {expect} from 'chai';
import {numericKernels} from '../../lib/engine/wasm/kernels.js';
import {sequence, STOPPED} from '../../lib/engine/wasm/sequence.js';

const memory = new WebAssembly.Memory({initial: 1, maximum: 1});
const doubles = new Float64Array(memory.buffer);
const {advance, copy, largest, sumOfSquares} = numericKernels(memory);
/** A function of WebAssembly that returns the 32-bit integer at an address; by hand (core spec, §5). */
const bitsAt = new WebAssembly.Instance(
  new WebAssembly.Module(
    Uint8Array.of(
      ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
      ...[0x01, 0x06, 0x01, 0x60, 0x01, 0x7f, 0x01, 0x7f],
      ...[0x02, 0x0f, 0x01, 0x03, 0x65, 0x6e, 0x76, 0x06, 0x6d, 0x65, 0x6d, 0x6f, 0x72, 0x79, 0x02, 0x00, 0x00],
      ...[0x03, 0x02, 0x01, 0x00],
      ...[0x07, 0x08, 0x01, 0x04, 0x62, 0x69, 0x74, 0x73, 0x00, 0x00],
      ...[0x0a, 0x09, 0x01, 0x07, 0x00, 0x20, 0x00, 0x28, 0x02, 0x00, 0x0b],
    ),
  ),
  {env: {memory}},
).exports.bits;

describe('a sequence of compiled functions', () => {
  beforeEach(() => doubles.fill(0));

  it('calls them in their order and returns what the last one does', () => {
    doubles.set([3, -4], 0);
    const run = sequence(memory, [
      {run: copy, arguments: [16, 0, 2]},
      {run: advance, arguments: [16, 16, 0, 2, {number: 0.5}]},
      {run: sumOfSquares, arguments: [16, 2], returns: 'f64'},
    ]);
    expect(run()).to.equal(1.5 ** 2 + 2 ** 2);
    expect([...doubles.subarray(0, 4)]).to.deep.equal([3, -4, 1.5, -2]);
  });

  it('hands its own numbers on, and stores what calls between return', () => {
    doubles.set([1, 2], 0);
    const run = sequence(
      memory,
      [
        {run: sumOfSquares, arguments: [0, 2], returns: 'f64', store: 64},
        {run: advance, arguments: [0, 0, 0, 2, {parameter: 1}]},
        {run: advance, arguments: [0, 0, 0, 2, {parameter: 0}]},
        {run: largest, arguments: [0, 2], returns: 'f64', store: 72},
      ],
      2,
    );
    // x − s x twice: (1 − 3)(1 − 0.5) = −1.
    expect(run(0.5, 3)).to.equal(2);
    expect([...doubles.subarray(8, 10)]).to.deep.equal([5, 2]);
    expect([...doubles.subarray(0, 2)]).to.deep.equal([-1, -2]);
  });

  it('stops where a number is not above what is asked for, NaN included', () => {
    const run = sequence(memory, [
      {run: largest, arguments: [0, 1], returns: 'f64', onlyIf: {above: 2}},
      {run: copy, arguments: [8, 0, 1]},
      {run: largest, arguments: [8, 1], returns: 'f64'},
    ]);
    for (const [x, returned, copied] of [
      [3, 3, 3],
      [2, STOPPED, 3],
      [NaN, STOPPED, 3],
      [2.5, 2.5, 2.5],
    ]) {
      doubles[0] = x;
      expect(run()).to.equal(returned);
      expect(doubles[1]).to.equal(copied);
    }
  });

  it('stops where a set of bits has none in common with what is returned', () => {
    const integers = new Int32Array(memory.buffer);
    const run = sequence(memory, [
      {run: bitsAt, arguments: [256], returns: 'i32', onlyIf: {bits: [1, 6]}},
      {run: sumOfSquares, arguments: [0, 1], returns: 'f64'},
    ]);
    doubles[0] = 3;
    for (let bits = 0; bits < 8; bits++) {
      integers[64] = bits;
      expect(run(), `bits ${bits}`).to.equal((bits & 1) !== 0 && (bits & 6) !== 0 ? 9 : STOPPED);
    }
  });
});
