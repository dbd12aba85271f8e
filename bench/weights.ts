/** The networks' weights of all workloads. */

/** Weights without a random generator, so that every contestant has the same: sin of the place, over √inputs. */
export function layer(index: number, inputs: number, outputs: number): number[][] {
  return Array.from({length: inputs}, (_, i) =>
    Array.from({length: outputs}, (_, j) => Math.sin(1 + 7 * i + 13 * j + 5 * index) / Math.sqrt(inputs)),
  );
}
