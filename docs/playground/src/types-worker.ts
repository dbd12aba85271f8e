/** TypeScript's language service over one file, the model, and the declarations of stiffgrad and tfjs. */
import ts from 'typescript';
import declarations from 'virtual:declarations';

export interface Question {
  readonly id: number;
  readonly kind: 'ready' | 'completions' | 'complaints' | 'hover';
  readonly text: string;
  readonly pos?: number;
}

export interface Reply {
  readonly id: number;
  readonly answer: unknown;
}

const MODEL = '/model.js';
const files = new Map(Object.entries(declarations));
let [text, version] = ['', 0];

const options: ts.CompilerOptions = {
  allowJs: true,
  checkJs: true,
  strict: true,
  // A model's functions have no annotations; what they are given follows from where they stand.
  noImplicitAny: false,
  noEmit: true,
  skipLibCheck: true,
  target: ts.ScriptTarget.ES2022,
  lib: ['lib.es2022.d.ts'],
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  types: [],
};

const contentOf = (name: string): string | undefined => (name === MODEL ? text : files.get(name));

const folders = new Set<string>();
for (const name of files.keys())
  for (let at = name.lastIndexOf('/'); at > 0; at = name.lastIndexOf('/', at - 1)) folders.add(name.slice(0, at));

const service = ts.createLanguageService({
  getCompilationSettings: () => options,
  getScriptFileNames: () => [MODEL],
  getScriptVersion: name => (name === MODEL ? String(version) : '0'),
  getScriptSnapshot: name => {
    const content = contentOf(name);
    return content === undefined ? undefined : ts.ScriptSnapshot.fromString(content);
  },
  getCurrentDirectory: () => '/',
  getDefaultLibFileName: () => '/lib/lib.es2022.d.ts',
  fileExists: name => contentOf(name) !== undefined,
  readFile: contentOf,
  directoryExists: name => folders.has(name.replace(/\/$/, '')),
  getDirectories: () => [],
});

const kinds: {readonly [kind: string]: string} = {
  function: 'function',
  method: 'method',
  property: 'property',
  const: 'variable',
  let: 'variable',
  parameter: 'variable',
  alias: 'variable',
  interface: 'interface',
  module: 'namespace',
  keyword: 'keyword',
};

function answerTo({kind, pos = 0}: Question): unknown {
  switch (kind) {
    case 'ready':
      return service.getSemanticDiagnostics(MODEL).length;
    case 'completions':
      return (service.getCompletionsAtPosition(MODEL, pos, {})?.entries ?? []).map(({name, kind: of}) => ({
        label: name,
        type: kinds[of] ?? 'variable',
      }));
    case 'complaints':
      return [...service.getSyntacticDiagnostics(MODEL), ...service.getSemanticDiagnostics(MODEL)].map(
        ({start = 0, length = 0, messageText}) => ({
          from: start,
          to: start + length,
          severity: 'warning',
          message: ts.flattenDiagnosticMessageText(messageText, '\n'),
        }),
      );
    case 'hover': {
      const info = service.getQuickInfoAtPosition(MODEL, pos);
      if (info === undefined) return undefined;
      return [info.displayParts, info.documentation]
        .map(parts => ts.displayPartsToString(parts))
        .join('\n')
        .trim();
    }
  }
}

onmessage = ({data}: MessageEvent<Question>): void => {
  if (data.text !== text) [text, version] = [data.text, version + 1];
  postMessage({id: data.id, answer: answerTo(data)} satisfies Reply);
};
