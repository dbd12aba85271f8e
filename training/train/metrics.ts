/**
 * Metrics of a run: one JSON object a line. In a file, a line of a step that a killed run took
 * after its last checkpoint is cut off when the run is resumed, so that every step stands there once.
 */
import {DataError} from '../../lib/errors.js';
import type {FileHandle} from '../data/filesystem.js';
import {filesystem, nodePath, reasonOf} from '../data/filesystem.js';

/** Metrics of a step. */
export interface StepMetrics {
  readonly kind: 'step';
  /** From 1: how many were taken. */
  readonly step: number;
  readonly epoch: number;
  /** Null where the batch could not be evaluated and was skipped. */
  readonly loss: number | null;
  /** Norm of the gradient before clipping. */
  readonly gradient: number | null;
  readonly learningRate?: number;
  /** Since the start of this process's part of the run. */
  readonly seconds: number;
}

/** Metrics of an epoch. */
export interface EpochMetrics {
  readonly kind: 'epoch';
  /** From 1: how many are done. */
  readonly epoch: number;
  readonly step: number;
  /** Mean over the epoch's examples, each before the step that used it. */
  readonly loss: number;
  readonly validation?: number;
  readonly learningRate?: number;
  readonly skipped: number;
}

/** Metrics of a step or an epoch. */
export type Metrics = StepMetrics | EpochMetrics;

export interface MetricsSink {
  write(line: Metrics): void;
  /** Writes everything to the disk; returns its length in bytes. @throws DataError 'metrics-unwritable' */
  flush(): Promise<number>;
  /** Flushes once more, if that is possible. */
  close(): Promise<void>;
}

/** @param from bytes to keep of the file there is, on resuming */
export async function openMetrics(
  target: string | ((line: Metrics) => void) | undefined,
  from: number,
): Promise<MetricsSink> {
  if (typeof target === 'string') return MetricsFile.open(target, from);
  return {write: line => target?.(line), flush: () => Promise.resolve(0), close: () => Promise.resolve()};
}

class MetricsFile implements MetricsSink {
  private lines: string[] = [];

  private constructor(
    private readonly path: string,
    private readonly file: FileHandle,
    private length: number,
  ) {}

  static async open(path: string, from: number): Promise<MetricsFile> {
    const {mkdir, open} = filesystem(
      () =>
        new DataError(
          'metrics-unwritable',
          `There is no file system here to write ${path} to: give metrics as a function.`,
          {file: path},
        ),
    );
    try {
      await mkdir(nodePath().dirname(path), {recursive: true});
      const file = await open(path, 'a'); // at its end even if somebody else makes it shorter: no gap of zeros
      const {size} = await file.stat();
      const length = Math.min(from, size);
      await file.truncate(length);
      return new MetricsFile(path, file, length);
    } catch (cause) {
      throw unwritable(path, cause);
    }
  }

  write(line: Metrics): void {
    this.lines.push(`${JSON.stringify(line)}\n`);
  }

  async flush(): Promise<number> {
    if (this.lines.length === 0) return this.length;
    const text = Buffer.from(this.lines.join(''));
    try {
      await this.file.appendFile(text);
      await this.file.datasync();
    } catch (cause) {
      // A part of the text may have been written: all of it is written again.
      await this.file.truncate(this.length).catch(() => {}); // the first failure is the one to tell
      throw unwritable(this.path, cause);
    }
    this.lines = [];
    return (this.length += text.length);
  }

  async close(): Promise<void> {
    try {
      await this.flush();
    } catch {
      // The run has said so already, or ends with an error of its own.
    } finally {
      await this.file.close();
    }
  }
}

function unwritable(path: string, cause: unknown): DataError {
  return new DataError('metrics-unwritable', `The metrics cannot be written to ${path}: ${reasonOf(cause)}.`, {
    file: path,
    cause,
  });
}
