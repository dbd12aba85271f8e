/** The record of runs in lanes: rows as they were put there, whatever the room. */
import {expect} from 'chai';
import {LaneRecord} from '../../lib/adjoint/lane-record.js';

const [lanes, size, kept] = [3, 2, 5];
const bytes = (layers: number): number => 8 * (lanes * (2 + size) + layers);

const row = (k: number) => ({
  t: Float64Array.from({length: lanes}, (_, l) => k + 0.1 * l),
  h: Float64Array.from({length: lanes}, (_, l) => 0.01 * (l + 1)),
  x: Float64Array.from({length: lanes * size}, (_, i) => 100 * k + i),
  layers: Float64Array.from({length: kept}, (_, i) => -k - i),
});

const empty = () => ({
  t: new Float64Array(lanes),
  h: new Float64Array(lanes),
  x: new Float64Array(lanes * size),
  layers: new Float64Array(kept),
});

describe('LaneRecord', () => {
  const taken = Uint8Array.of(1, 0, 1);

  it('gives back what it was given, beyond the rows it expected', () => {
    const record = new LaneRecord(lanes, size, kept, 2, Infinity);
    for (let k = 0; k < 7; k++) record.append(row(k), k === 3 ? taken : undefined);
    expect(record.count).to.equal(7);
    for (let k = 6; k >= 0; k--) {
      const read = empty();
      record.steps.load(k, {...read, z: read.layers});
      expect(record.takenAt(k)).to.equal(k === 3 ? taken : undefined);
      expect(read).to.deep.equal(row(k));
      expect([...record.steps.laneState(k, 1)]).to.deep.equal([100 * k + 2, 100 * k + 3]);
    }
  });

  it('leaves the layers where its bytes are used up, and keeps the states', () => {
    const record = new LaneRecord(lanes, size, kept, 2, 4 * bytes(kept));
    for (let k = 0; k < 4; k++) record.append(row(k), undefined);
    expect(record.hasLayers).to.equal(true);
    for (let k = 4; k < 9; k++) record.append(row(k), undefined);
    expect(record.hasLayers).to.equal(false);
    for (let k = 0; k < 9; k++) {
      const {layers, ...read} = empty();
      record.steps.load(k, read);
      const {layers: none, ...expected} = row(k);
      expect(read).to.deep.equal(expected);
      expect(layers.length).to.equal(none.length);
    }
    expect(new LaneRecord(lanes, size, kept, 5, bytes(kept) - 1).hasLayers).to.equal(false);
  });
});
