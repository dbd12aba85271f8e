/** Scripts that have a cluster run a sweep's shares: a job array of Slurm, an indexed job of Kubernetes. To be fitted to the place. */

/** The arguments of a cluster script. */
export interface ClusterScript {
  /** The sweep's file, relative to the folder that all machines share. */
  readonly file: string;
  /** Number of shares. */
  readonly shards: number;
  /** Number of processes per share. */
  readonly workers: number;
}

const stem = (file: string): string =>
  (file.split('/').at(-1) ?? 'sweep')
    .replace(/\.[^.]+$/, '')
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-');

/** One task of the array a share. The number of shares stands in the line itself: an array that is run in part has another count. */
function slurm({file, shards, workers}: ClusterScript): string {
  return `#!/bin/bash
#SBATCH --job-name=${stem(file)}
#SBATCH --array=0-${shards - 1}
#SBATCH --cpus-per-task=${workers}
#SBATCH --time=24:00:00
#SBATCH --requeue
# Submit with sbatch from the project's folder. Run again, it goes on where it was.
srun npx stiffgrad sweep '${file}' --index "$SLURM_ARRAY_TASK_ID" --of ${shards} --workers ${workers}
`;
}

/** One pod a share; the volume claim is the folder that all of them see. */
function kubernetes({file, shards, workers}: ClusterScript): string {
  return `apiVersion: batch/v1
kind: Job
metadata:
  name: ${stem(file)}
spec:
  completionMode: Indexed
  completions: ${shards}
  parallelism: ${shards}
  backoffLimitPerIndex: 3
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: sweep
          image: node:22 # or one with the project in it
          workingDir: /project
          command: ["npx", "stiffgrad", "sweep", ${JSON.stringify(file)}, "--index", "$(JOB_COMPLETION_INDEX)", "--of", "${shards}", "--workers", "${workers}"]
          resources:
            requests:
              cpu: "${workers}"
          volumeMounts:
            - name: project
              mountPath: /project
      volumes:
        - name: project
          persistentVolumeClaim:
            claimName: project
`;
}

/** By the cluster's kind: the text of a script. */
export const clusterScripts = {slurm, kubernetes} as const;
