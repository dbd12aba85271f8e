/**
 * Modules by their paths. TypeScript is taken by Node itself (22.18 and later strip types), or by tsx where the project
 * has it.
 */
import {createRequire} from 'node:module';
import path from 'node:path';
import {pathToFileURL} from 'node:url';
import {OptionError} from '../lib/errors.js';

/** @throws OptionError where it is TypeScript that nothing here reads; whatever the module throws */
export async function loadModule(file: string): Promise<Readonly<Record<string, unknown>>> {
  if (/\.[mc]?ts$/.test(file) && !('typescript' in process.features && process.features.typescript !== false))
    await registerTsx(file);
  return (await import(pathToFileURL(path.resolve(file)).href)) as Readonly<Record<string, unknown>>;
}

/** The project's own tsx, which it has for its scripts; ours, where the program runs from its sources. */
async function registerTsx(file: string): Promise<void> {
  if (process.execArgv.some(argument => argument.includes('tsx'))) return;
  try {
    // require.resolve finds the CommonJS twin, which looks for its loader in the wrong folder (tsx 4.23).
    const place = createRequire(path.join(process.cwd(), 'package.json'))
      .resolve('tsx/esm/api')
      .replace(/\.cjs$/, '.mjs');
    const {register} = (await import(pathToFileURL(place).href)) as {register: () => unknown};
    register();
  } catch (error) {
    if (!/MODULE_NOT_FOUND$/.test((error as NodeJS.ErrnoException).code ?? '')) throw error;
    throw new OptionError(
      'no-tsx',
      `${file} is TypeScript, which this Node (${process.version}) cannot load by itself. `
        + 'Install tsx here (npm install -D tsx), or use Node 22.18 or later.',
    );
  }
}
