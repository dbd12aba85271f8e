#!/usr/bin/env node
/**
 * npx stiffgrad: projects, fits, runs and checks of models from the terminal. Arguments are read by node:util's
 * parseArgs; results go to standard output, progress and errors to standard error.
 */
import {realpathSync, statSync} from 'node:fs';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import * as tf from '@tensorflow/tfjs';
import {suggestion} from '../lib/checks.js';
import {StiffgradError} from '../lib/index.js';
import {check, identify, newProject, packageVersion, report, simulate} from './commands.js';
import {parsed, type Given, type Out} from './given.js';
import {placeOf} from './loaded.js';
import {sweep, worker} from './sweep.js';
import {Usage} from './usage.js';

interface Command {
  readonly run: (given: Given, out: Out) => Promise<number>;
  readonly usage: string;
  readonly what: string;
  readonly maxArguments: number;
  /** Advice for those who give more arguments. */
  readonly more?: string;
  /** Options that take a text, with what they do. */
  readonly options: {readonly [name: string]: string};
  /** Options without a text. */
  readonly flags?: {readonly [name: string]: string};
  /** Options that name a file to be written. */
  readonly files?: readonly string[];
}

const commands: {readonly [name: string]: Command} = {
  new: {
    run: newProject,
    maxArguments: 1,
    usage: 'new <folder> [--template identify|train|notebook|page]',
    what: 'creates a project that runs with npm install and npm start',
    options: {
      template:
        'identify (default): a model, a record, a fit; train: a network beside physics; '
        + "notebook: for Deno's Jupyter kernel; page: for the browser",
      from: 'what npm installs as stiffgrad, such as file:../stiffgrad.tgz; default this version',
    },
  },
  identify: {
    run: identify,
    maxArguments: 2,
    more: 'To fit several records together, give identify of stiffgrad/training a list of them as data.',
    usage: 'identify <model.ts> <record.csv> [--report page.html]',
    what: "finds a model's parameters from a record, with their standard errors",
    options: {report: 'file for a page that shows the fit'},
    files: ['report'],
  },
  simulate: {
    run: simulate,
    maxArguments: 1,
    usage: 'simulate <model.ts> [--csv file] [--plot file.svg] [--animate file.html]',
    what: 'runs a model',
    options: {
      csv: 'file for the saved states',
      plot: 'file for a plot over time',
      animate: 'file for a page with a player',
    },
    files: ['csv', 'plot', 'animate'],
  },
  check: {
    run: check,
    maxArguments: 1,
    usage: 'check <model.ts>',
    what:
      'compares first and second derivatives with differences, looks for jumps and hidden reads, '
      + "shows the step's matrix and Newton's history",
    options: {},
  },
  report: {
    run: report,
    maxArguments: 1,
    usage: 'report <model.ts> [--output page.html]',
    what: 'runs a model and shows it on a page: series, phases, matrix, motion',
    options: {output: 'file for the page; default run.html'},
    files: ['output'],
  },
  sweep: {
    run: sweep,
    maxArguments: 2,
    usage: 'sweep <sweep.ts> | status <store> | collect <store> --to file.csv | prune <store>',
    what: 'computes the cases of a sweep that its store lacks; counts, collects or removes what a store has',
    options: {
      workers: 'number of processes; default one per processor',
      index: 'which share of the cases, from 0, with --of',
      of: 'how many shares',
      server: "a queue's server, redis://, rediss:// or postgres://; default STIFFGRAD_SERVER of the environment",
      queue: "the queue's name; default stiffgrad",
      ca: "file with the certificate of the server's authority",
      page: 'file for a page that shows the progress',
      script: 'slurm or kubernetes: prints a script that runs the shares on a cluster, with --of',
      to: 'for collect: file.jsonl, file.csv or file.parquet',
      versions: 'for collect and prune: the versions of tasks to write or keep, separated by commas',
    },
    files: ['page', 'to'],
    flags: {
      failures: 'for prune: also remove failures, so that their cases are tried again',
      'on-queue': 'distribute the cases through the queue of --server or STIFFGRAD_SERVER',
    },
  },
  worker: {
    run: worker,
    maxArguments: 0,
    usage: 'worker --tasks <folder> --store <folder> [--server redis://host:port]',
    what: 'computes cases from a queue until it is stopped',
    options: {
      tasks: "the folder of the tasks, modules that begin with 'use stiffgrad task'; several separated by commas",
      store: "the sweep's store",
      server: "the queue's server, redis://, rediss:// or postgres://; default STIFFGRAD_SERVER of the environment",
      queue: "the queue's name; default stiffgrad",
      ca: "file with the certificate of the server's authority",
      workers: 'number of processes; default one per processor',
      memory: 'memory limit of one process, in bytes',
      rate: 'most cases per second that all workers of the queue start together',
      stalled: 'seconds without a heartbeat after which others take over its cases; default 30',
    },
  },
};

const help = `stiffgrad: differentiable simulation of stiff systems

${Object.values(commands)
  .map(({usage, what}) => `  stiffgrad ${usage}\n      ${what}`)
  .join('\n')}

Every command takes --json (its result as one JSON object) and --help; stiffgrad --version prints the version.
Exit codes: 0 done; 1 the model or its fit is wrong; 2 wrong usage; 3 a run ended with an error.

A model is a file with one default export:
  export default {
    system: mechanics({mass: 1, forces: spring({stiffness: ({k}) => k})}),
    initial: {q: 0.1, v: 0},
    options: {dt: 0.01, t1: 4, params: {k: 30}},   // as simulate takes them
    parameters: {k: positive(30)},                 // what identify estimates
    data: table => ({t: table.column('time'), q: table.column('position')}),   // default: columns t and q, v or y
  };

To start: npx stiffgrad new demo && cd demo && npm install && npm start`;

function helpOf({flags, options, usage, what}: Command): string {
  const lines = Object.entries({...options, ...flags, json: 'the result as one JSON object'}).map(
    ([name, does]) => `  --${name.padEnd(9)} ${does}`,
  );
  return `stiffgrad ${usage}\n\n${what[0].toUpperCase()}${what.slice(1)}.\n\n${lines.join('\n')}`;
}

/** Runs one command line; gives the exit code. */
export async function main(
  args: readonly string[],
  write: {out(text: string): void; err(text: string): void},
): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    write.out(help);
    return name === undefined ? 2 : 0;
  }
  if (name === '--version' || name === '-v' || name === 'version') {
    write.out(packageVersion());
    return 0;
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  // In development mode tfjs prints an advertisement of its native backend, among output that programs read.
  tf.enableProdMode();
  let json = rest.includes('--json');
  try {
    if (command === undefined)
      throw new Usage(
        `There is no command '${name}'; choose one of ${Object.keys(commands).join(', ')}.`
          + `${suggestion(name, Object.keys(commands))} See stiffgrad --help.`,
      );
    if (rest.some(word => word === '--help' || word === '-h')) {
      write.out(helpOf(command));
      return 0;
    }
    const flags = [...Object.keys(command.flags ?? {}), 'json', 'help'];
    const given = parsed(name, rest, command.options, flags);
    json = given.values.json === true;
    refuseMore(name, command, given);
    refuseMissingFolders(command, given);
    return await command.run(given, {
      text: lines => {
        if (!json) write.out(lines);
      },
      json: value => {
        if (json) write.out(JSON.stringify(value));
      },
      progress: line => {
        if (!json) write.err(line);
      },
    });
  } catch (error) {
    if (!(error instanceof Usage) && !(error instanceof StiffgradError)) throw error;
    const code = error instanceof Usage ? 2 : 3;
    if (json)
      write.out(
        JSON.stringify({
          error: {
            name: error.name,
            message: error.message,
            ...(error instanceof StiffgradError ? {code: error.code} : {}),
          },
        }),
      );
    else write.err(error instanceof Usage ? error.message : `${error.name}: ${error.message}`);
    return code;
  }
}

/** Refuses arguments that the command would not read. */
function refuseMore(name: string, {maxArguments, more, usage}: Command, {positionals}: Given): void {
  if (positionals.length <= maxArguments) return;
  const many = ['no arguments', 'one argument'][maxArguments] ?? `${maxArguments} arguments`;
  const rest = positionals.slice(maxArguments).map(text => `'${text}'`);
  throw new Usage(
    `${name} takes ${many}, and has no use for ${rest.join(', ')}: stiffgrad ${usage}.`
      + `${more === undefined ? '' : ` ${more}`}`,
  );
}

/** A folder that is not there is probably a misspelling: it is refused before anything is computed. */
function refuseMissingFolders({files = []}: Command, {values}: Given): void {
  for (const option of files) {
    const file = values[option];
    if (typeof file !== 'string') continue;
    const folder = path.dirname(path.resolve(file));
    if (!statSync(folder, {throwIfNoEntry: false})?.isDirectory())
      throw new Usage(
        `There is no folder ${path.dirname(file)} for --${option} ${file}: create it, or correct the path.`,
      );
    if (statSync(file, {throwIfNoEntry: false})?.isDirectory())
      throw new Usage(`--${option} ${file} is a folder: name a file.`);
  }
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  main(process.argv.slice(2), {out: text => console.log(text), err: text => console.error(text)}).then(
    code => {
      process.exitCode = code;
    },
    (error: unknown) => {
      // Neither a wrong usage nor an error of the library: a function of the model threw it, or it is a fault of ours.
      console.error(error instanceof Error ? `${error.name}: ${error.message}${placeOf(error)}` : error);
      process.exitCode = 3;
    },
  );
}
