/**
 * The random numbers of a training run: xoroshiro128+, whose state is four integers that a checkpoint keeps.
 * There is no other state, so a resumed run draws the same numbers.
 */
import {uniformFloat64} from 'pure-rand/distribution/uniformFloat64';
import {uniformInt} from 'pure-rand/distribution/uniformInt';
import {xoroshiro128plusFromState} from 'pure-rand/generator/xoroshiro128plus';
import {seeded} from '../../lib/random.js';
import {normalPair} from '../data/noise.js';

/** Random numbers from a seed; their state is part of a checkpoint. */
export class Random {
  private generator;

  constructor(seed: number) {
    this.generator = seeded(seed);
  }

  get state(): readonly number[] {
    return this.generator.getState();
  }

  set state(state: readonly number[]) {
    this.generator = xoroshiro128plusFromState(state);
  }

  /** An independent generator that continues from the same state. */
  copy(): Random {
    const other = new Random(0);
    other.state = this.state;
    return other;
  }

  /** Uniform in [0, 1). */
  uniform(): number {
    return uniformFloat64(this.generator);
  }

  /** Uniform among 0 … count − 1. */
  below(count: number): number {
    return uniformInt(this.generator, 0, count - 1);
  }

  /** Normal with mean 0 and variance 1; the second number of the pair is not kept, because it would be state too. */
  normal(): number {
    return normalPair(() => this.uniform())[0];
  }

  /** In place, every order as likely as any other (Fisher and Yates). */
  shuffle(order: Uint32Array): void {
    for (let i = order.length - 1; i > 0; i--) {
      const j = this.below(i + 1);
      [order[i], order[j]] = [order[j], order[i]];
    }
  }
}
