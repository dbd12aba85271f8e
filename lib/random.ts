/**
 * Random numbers that a seed repeats: xoroshiro128+ of the library `pure-rand`. Its state of 128 bits is the first two
 * numbers of SplitMix64 (Steele, Lea & Flood, OOPSLA 2014) from the seed, as the authors of xoroshiro128+ ask for. The
 * library itself fills the state with the seed and its complement, so that the first number was 1 − 1.5e-8 (seed + 1),
 * the second one near a multiple of 1/16, and normal numbers of a seed and the next but one correlated by −0.17.
 */
import type {JumpableRandomGenerator} from 'pure-rand/types/JumpableRandomGenerator';
import {xoroshiro128plusFromState} from 'pure-rand/generator/xoroshiro128plus';
import {finite, requireValue} from './checks.js';

/**
 * @param seed a whole number; of others the part before the point counts
 * @throws OptionError 'bad-option' if the seed is not a finite number
 */
export function seeded(seed: number): JumpableRandomGenerator {
  requireValue(seed, finite, 'seed');
  const [first, second] = splitMix(BigInt(Math.trunc(seed)));
  return xoroshiro128plusFromState([high(first), low(first), high(second), low(second)]);
}

const bits = (value: bigint): bigint => BigInt.asUintN(64, value);
const low = (value: bigint): number => Number(BigInt.asIntN(32, value));
const high = (value: bigint): number => low(value >> 32n);

/**
 * The first two numbers of SplitMix64. Neither pair is zero at once, for the mixing has an inverse and the two inputs
 * differ.
 */
function splitMix(seed: bigint): [bigint, bigint] {
  const step = 0x9e3779b97f4a7c15n; // 2⁶⁴ over the golden ratio, odd: the published increment
  const mixed = (state: bigint): bigint => {
    let z = bits(state);
    z = bits((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
    z = bits((z ^ (z >> 27n)) * 0x94d049bb133111ebn);
    return z ^ (z >> 31n);
  };
  return [mixed(seed + step), mixed(seed + 2n * step)];
}
