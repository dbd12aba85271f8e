/** What a run of the benchmarks leaves, as bench/results/latest.json holds it. Times in milliseconds. */
import type {CheckedRow} from './checked.js';
import type {WorkloadName} from './workloads.js';

export interface Times {
  readonly min: number;
  readonly median: number;
}

/** Gradient over forward of one round's batches, timed one after the other, so that a clock that drifts is in both: over the rounds. */
export interface Ratios {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

export interface Timed {
  readonly name: string;
  readonly loss: number;
  readonly gradientNorm: number;
  /** From nothing traced or compiled to the first gradient, in a process that has imported everything. */
  readonly first: number;
  readonly forward: Times;
  readonly gradient: Times;
  /** Not of results older than this. */
  readonly ratios?: Ratios;
  /** Processor time of a gradient, of all threads together; of the workloads of training. */
  readonly processor?: number;
  readonly details: Readonly<Record<string, unknown>>;
}

export interface Row {
  readonly workload: WorkloadName;
  readonly n: number;
  /** Load average of the machine when it was done. */
  readonly load: number;
  readonly contestants: readonly Timed[];
  /** Who did not take part, and why. */
  readonly skipped: Readonly<Record<string, string>>;
}

/** Of the net's factor: nonzeros of L with its diagonal, beside those of reference orderings. */
export interface Fill {
  readonly rows: number;
  readonly unknowns: number;
  /** Of the matrix. */
  readonly entries: number;
  readonly nonzeros: number;
  /** Numbers kept, with the zeros of supernodes. */
  readonly stored: number;
  /** Floating-point operations of a factorization. */
  readonly work: number;
  /** Milliseconds of ordering and symbolic factorization. */
  readonly analysis: number;
  readonly references: Readonly<Record<string, number>>;
}

/** One run of the net and its gradient in a process of its own, cold; peak is its largest resident memory in MiB. */
export interface Large {
  readonly rows: number;
  readonly unknowns: number;
  readonly iterations: number;
  readonly first: number;
  readonly forward: number;
  readonly gradient: number;
  readonly factorization: number;
  readonly peak: number;
}

/** Every adjoint on one problem (adjoints.ts). */
export interface AdjointsResults {
  /** Milliseconds by number of masses: the run alone, and with each adjoint's gradient, or a product with the Hessian. */
  readonly times: readonly {
    readonly n: number;
    readonly parameters: number;
    readonly steps: number;
    readonly forward: number;
    readonly gradients: Readonly<Record<string, number>>;
    readonly hvp: number;
  }[];
  /** Relative: of the run's derivative against the motion's, and of each adjoint's gradient against the run's derivative. */
  readonly errors: readonly {
    readonly scheme: string;
    readonly steps: number;
    readonly run: number;
    readonly adjoints: Readonly<Record<string, number>>;
  }[];
  /** By damping, of the continuous adjoint; null where it failed. */
  readonly decay: readonly {readonly c: number; readonly error: number | null; readonly code?: string}[];
  /** Bytes held between a run and its gradient, by number of steps. */
  readonly memory: readonly {
    readonly name: string;
    readonly bytes: readonly {readonly steps: number; readonly held: number}[];
  }[];
}

/** Errors and times of one stiff problem, by contestant and tolerance. */
export interface StiffRow {
  readonly problem: string;
  /** Load average of the machine when it was done. */
  readonly load: number;
  readonly contestants: readonly {
    readonly name: string;
    readonly points: readonly {
      readonly rtol: number;
      readonly error: number;
      readonly steps: number;
      readonly milliseconds: number;
    }[];
  }[];
  readonly skipped: Readonly<Record<string, string>>;
}

/** Many runs at once, the shortest of twelve. */
export interface BatchTimes {
  readonly runs: number;
  readonly masses: number;
  readonly steps: number;
  /** Load average of the machine: two threads have no second core where others keep it busy. */
  readonly load: number;
  readonly threads: readonly {readonly workers: number; readonly forward: number; readonly gradient: number}[];
}

export interface Results {
  readonly machine: {readonly node: string; readonly processor: string; readonly cores: number; readonly load: number};
  readonly rows: readonly Row[];
  /** A new process: importing tfjs alone; to the first gradient; of that, importing everything and the gradient; a second system of the same structure. */
  readonly cold?: {
    readonly tfjs: number;
    readonly total: number;
    readonly imported: number;
    readonly gradient: number;
    readonly second: number;
  };
  /** The first gradient of a chain of springs written one by one, against the number of terms. */
  readonly tracing?: readonly {
    readonly terms: number;
    readonly trace: number;
    readonly compile: number;
    readonly again: number;
  }[];
  readonly stiff?: readonly StiffRow[];
  readonly fill?: readonly Fill[];
  readonly large?: readonly Large[];
  readonly adjoints?: AdjointsResults;
  readonly batch?: BatchTimes;
  readonly checked?: readonly CheckedRow[];
  /** Over 10,000 steps of a warm run: growth of the heap after a collection in bytes, and of tf.memory().numTensors. */
  readonly growth?: {readonly steps: number; readonly heap: number; readonly tensors: number};
}
