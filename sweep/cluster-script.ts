/** Scripts that run a sweep's shares on a cluster: a job array of Slurm, an indexed job of Kubernetes. */
import {positiveInteger, readOptions, type Check, type Options} from '../lib/checks.js';
import {shellWord} from '../lib/text.js';

const path: Check<string> = {
  what: 'the path of a file',
  test: value => typeof value === 'string' && value !== '' && !value.includes('\0'),
};

const scriptOptions = {
  /** The sweep's file, relative to the folder that all machines share. */
  file: path,
  /** Number of shares. */
  shards: positiveInteger,
  /** Number of processes per share. */
  workers: positiveInteger,
};

/** The arguments of a cluster script. @interface */
export type ClusterScript = Options<typeof scriptOptions>;

/**
 * The command that computes one share, word by word.
 * @param index what the cluster replaces by the number of the share
 * @throws OptionError
 */
function wordsOf(given: ClusterScript, index: string): readonly string[] {
  const {file, shards, workers} = readOptions(given, scriptOptions, 'engines.clusterScripts');
  // A name that begins like an option is none as a path.
  const named = file.startsWith('-') ? `./${file}` : file;
  return ['npx', 'stiffgrad', 'sweep', named, '--index', index, '--of', String(shards), '--workers', String(workers)];
}

/** A text as a scalar of YAML: JSON, with what YAML calls unprintable escaped, too. */
const yamlText = (given: string): string =>
  JSON.stringify(given).replace(
    /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g,
    letter => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** A name for a job, as Kubernetes asks for it: at most 63 small letters, digits and dashes, none at its ends. */
const jobName = (file: string): string =>
  (file.split('/').at(-1) ?? '')
    .replace(/\.[^.]+$/, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 63)
    .replace(/^-+|-+$/g, '') || 'sweep';

/**
 * One task of the array for each share. The line has the number of shares: an array that is run in part has another
 * count.
 */
function slurm(given: ClusterScript): string {
  const index = '$SLURM_ARRAY_TASK_ID';
  const words = wordsOf(given, index);
  const line = words.map(word => (word === index ? `"${index}"` : shellWord(word))).join(' ');
  return `#!/bin/bash
#SBATCH --job-name=${jobName(given.file)}
#SBATCH --array=0-${given.shards - 1}
#SBATCH --cpus-per-task=${given.workers}
#SBATCH --time=24:00:00
#SBATCH --requeue
# Submit with sbatch from the project's folder. Run again, it goes on where it was.
srun ${line}
`;
}

/** One pod a share; the volume claim is the folder that all of them see. */
function kubernetes(given: ClusterScript): string {
  const index = '$(JOB_COMPLETION_INDEX)';
  // Kubernetes replaces $(NAME) by a variable, and $$ by $.
  const words = wordsOf(given, index).map(word => yamlText(word === index ? word : word.replace(/\$/g, '$$$$')));
  return `apiVersion: batch/v1
kind: Job
metadata:
  name: ${jobName(given.file)}
spec:
  completionMode: Indexed
  completions: ${given.shards}
  parallelism: ${given.shards}
  backoffLimitPerIndex: 3
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: sweep
          image: node:22 # or one with the project in it
          workingDir: /project
          command: [${words.join(', ')}]
          resources:
            requests:
              cpu: "${given.workers}"
          volumeMounts:
            - name: project
              mountPath: /project
      volumes:
        - name: project
          persistentVolumeClaim:
            claimName: project
`;
}

/** The text of a script by the cluster's kind. @throws OptionError */
export const clusterScripts = {slurm, kubernetes} as const;
