/** The compiler's side of the editor: a worker that is loaded when the editor is first entered (some 4 MB), and silent before. */
import type {Diagnostic} from '@codemirror/lint';
import type {Question, Reply} from './types-worker.js';

export interface Completion {
  readonly label: string;
  readonly type: string;
}

export interface Types {
  load(): void;
  completions(text: string, pos: number): Promise<readonly Completion[]>;
  complaints(text: string): Promise<readonly Diagnostic[]>;
  hover(text: string, pos: number): Promise<string | undefined>;
}

export function typesBy(make: () => Worker, told: (sentence: string) => void): Types {
  let worker: Worker | undefined;
  let next = 0;
  const waiting = new Map<number, (answer: unknown) => void>();
  const ask = <T>(question: Omit<Question, 'id'>, otherwise: T): Promise<T> => {
    if (worker === undefined) return Promise.resolve(otherwise);
    const id = next++;
    worker.postMessage({...question, id});
    return new Promise(resolve => waiting.set(id, answer => resolve(answer as T)));
  };
  return {
    load: () => {
      if (worker !== undefined) return;
      worker = make();
      told('Types are being loaded …');
      worker.onmessage = ({data: {id, answer}}: MessageEvent<Reply>) => {
        waiting.get(id)?.(answer);
        waiting.delete(id);
      };
      worker.onerror = () => told('Types could not be loaded; the model runs without them.');
      void ask({kind: 'ready', text: ''}, undefined).then(() =>
        told('Types: completions by Ctrl+Space, explanations under the pointer, faults underlined.'),
      );
    },
    completions: (text, pos) => ask({kind: 'completions', text, pos}, []),
    complaints: text => ask({kind: 'complaints', text}, []),
    hover: (text, pos) => ask({kind: 'hover', text, pos}, undefined),
  };
}
