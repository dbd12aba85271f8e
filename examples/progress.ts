/**
 * Progress of a long task on the terminal: a bar with rate and time left (drawn by `cli-progress`) where
 * the stream is a terminal, and a line every few seconds where it is a file or a pipe, so that logs stay short.
 * For scripts: `identify` and `train` themselves only call back.
 */
import cliProgress from 'cli-progress';

export interface ProgressOptions {
  /** What is being done, at the head of the line. */
  readonly title: string;
  /** What is counted: 'steps', 'iterations'. */
  readonly unit: string;
  /** How many there will be, where that is known: without it there is neither bar nor time left. */
  readonly total?: number;
  /** Default: standard error, so that results on standard output stay clean. */
  readonly stream?: NodeJS.WritableStream & {readonly isTTY?: boolean};
  /** Seconds between lines where the stream is no terminal; default 10. */
  readonly every?: number;
  /** The time in milliseconds, for tests; default `performance.now`. */
  readonly clock?: () => number;
}

export interface Progress {
  /** `done` of `total` so far, with a remark such as the present cost. */
  update(done: number, remark?: string): void;
  /** Ends the line: call it in `finally`, for the bar keeps the process alive until then. */
  finish(remark?: string): void;
}

export function progress(options: ProgressOptions): Progress {
  const {stream = process.stderr} = options;
  return stream.isTTY === true ? bar(options, stream) : lines(options, stream);
}

function bar(options: ProgressOptions, stream: NodeJS.WritableStream): Progress {
  const counts = new Counts(options);
  const display = new cliProgress.SingleBar(
    {
      stream,
      format: options.total === undefined ? '{text}' : `${options.title} {bar} {text}`,
      fps: 5, // fast enough to be seen moving, slow enough not to cost anything
      barsize: 24, // title, bar, counts and remark fit the usual 80 columns
      // Otherwise the first interrupt would only stop the bar; and then neither cursor nor wrapping may be changed.
      gracefulExit: false,
      hideCursor: null,
      linewrap: null,
    },
    cliProgress.Presets.shades_classic,
  );
  const draw = (): {text: string} => ({
    text: options.total === undefined ? `${options.title} ${counts.text}` : counts.text,
  });
  display.start(options.total ?? 1, 0, draw());
  return {
    update(done, remark) {
      counts.update(done, remark);
      display.update(Math.min(done, options.total ?? done), draw());
    },
    finish(remark) {
      counts.finish(remark);
      display.update(draw());
      display.stop();
    },
  };
}

function lines(options: ProgressOptions, stream: NodeJS.WritableStream): Progress {
  const {every = 10, title} = options;
  const counts = new Counts(options);
  let lastLine = 0;
  const write = (): void => {
    lastLine = counts.seconds;
    stream.write(`${title} ${counts.text}\n`);
  };
  return {
    update(done, remark) {
      counts.update(done, remark);
      if (counts.seconds - lastLine >= every) write();
    },
    finish(remark) {
      counts.finish(remark);
      write();
    },
  };
}

/** How much is done, how fast, and how long it will still take. */
class Counts {
  private readonly started: number;
  private readonly clock: () => number;
  private done = 0;
  private remark = '';
  private ended = false;

  constructor(private readonly options: ProgressOptions) {
    this.clock = options.clock ?? (() => performance.now());
    this.started = this.clock();
  }

  update(done: number, remark = ''): void {
    this.done = done;
    this.remark = remark;
  }

  finish(remark = this.remark): void {
    this.remark = remark;
    this.ended = true;
  }

  get seconds(): number {
    return (this.clock() - this.started) / 1000;
  }

  get text(): string {
    const {total, unit} = this.options;
    const {done, remark, seconds} = this;
    const rate = done / seconds;
    const parts = [total === undefined ? `${done} ${unit}` : `${done}/${total} ${unit}`];
    if (done > 0 && seconds > 0) parts.push(rateText(rate, unit));
    if (this.ended) parts.push(`took ${duration(seconds)}`);
    else if (total !== undefined && done > 0 && seconds > 0)
      parts.push(`${duration(Math.max(total - done, 0) / rate)} left`);
    if (remark !== '') parts.push(remark);
    return parts.join(' · ');
  }
}

/** Slow work is told in seconds for each. */
function rateText(rate: number, unit: string): string {
  return rate >= 1
    ? `${rate >= 100 ? Math.round(rate) : rate.toPrecision(2)} ${unit}/s`
    : `${(1 / rate).toPrecision(2)} s each`;
}

function duration(seconds: number): string {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
