/**
 * How results show themselves: Jupyter kernels for JavaScript (Deno's) call `Symbol.for('Jupyter.display')` of a cell's
 * value and take texts by media type.
 */

/** Texts by media type; what shows them takes the richest that it can. */
export interface MediaBundle {
  readonly [mime: string]: string;
}

/** A result that has a page. */
export interface Shows {
  /** The result as HTML: a whole page, or a fragment with its own style for a page or a cell. */
  html(options?: {readonly fragment?: boolean}): string;
}

/**
 * Texts and pictures made of a result, and further methods, found by no loop over its properties: copies and JSON stay
 * as they were.
 */
export function showing<T extends object, M extends object = object>(
  result: T,
  html: (fragment: boolean) => string,
  text: () => string,
  methods?: M,
): T & Shows & M {
  const hidden = (value: unknown): PropertyDescriptor => ({value, enumerable: false});
  return Object.defineProperties(result, {
    ...Object.fromEntries(Object.entries(methods ?? {}).map(([name, method]) => [name, hidden(method)])),
    html: hidden(({fragment = false}: {readonly fragment?: boolean} = {}) => html(fragment)),
    toString: hidden(text),
    [Symbol.for('nodejs.util.inspect.custom')]: hidden(text),
    [Symbol.for('Jupyter.display')]: hidden((): MediaBundle => ({'text/html': html(true), 'text/plain': text()})),
  }) as T & Shows & M;
}
