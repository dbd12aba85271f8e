/**
 * HTML and SVG as text. `markup` is a template that escapes its values unless they are markup already, so that the text
 * of a user, a file or another process stays text; `scriptJson` is the same for data within a script. Every page and
 * picture is written with them, which eslint checks.
 */

/** Text in which elements are elements. */
export class Markup {
  constructor(private readonly text: string) {}

  toString(): string {
    return this.text;
  }
}

/** What a template takes: nothing, text and numbers, markup, or a list of these. */
export type Content = Markup | string | number | undefined | readonly Content[];

/** HTML or SVG with values in elements and in quoted attributes. */
export function markup(strings: TemplateStringsArray, ...values: readonly Content[]): Markup {
  return new Markup(strings.reduce((written, part, i) => written + textOf(values[i - 1]) + part));
}

/** Parts below each other; those that are left out leave no line. */
export function lines(parts: readonly Content[]): Markup {
  return new Markup(
    parts
      .map(textOf)
      .filter(text => text !== '')
      .join('\n'),
  );
}

/** Text that is markup already: own style rules, or a picture that a user hands over as such. Never for data. */
export const verbatim = (text: string): Markup => new Markup(text);

/** Data as an expression within a script: JSON that can neither end the element nor open a comment. */
export const scriptJson = (value: unknown): Markup => new Markup(JSON.stringify(value).replace(/</g, '\\u003c'));

/** The parts of a page. */
export interface PageParts {
  readonly title: string;
  /** Rules of style. */
  readonly style: string;
  readonly body: Content;
  /** The class of the body. */
  readonly name?: string;
  /** A script at the end of the body. */
  readonly script?: Markup;
  /** Seconds after which it is loaded again. */
  readonly refresh?: number;
}

/**
 * A page that needs nothing else. Its policy forbids all that it does not bring: what is loaded, and scripts where it
 * has none.
 */
export function htmlPage({title, style, body, name, script, refresh}: PageParts): string {
  const scripts = script === undefined ? '' : "script-src 'unsafe-inline'; ";
  const policy = verbatim(
    `default-src 'none'; style-src 'unsafe-inline'; ${scripts}base-uri 'none'; form-action 'none'`,
  );
  return String(markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${policy}">
${refresh === undefined ? '' : markup`<meta http-equiv="refresh" content="${refresh}">\n`}<title>${title}</title>
<style>
${verbatim(style)}
</style>
</head>
<body${name === undefined ? '' : markup` class="${name}"`}>
${body}
${script === undefined ? '' : markup`<script>\n${script}\n</script>\n`}</body>
</html>
`);
}

function textOf(value: Content): string {
  if (value instanceof Markup) return value.toString();
  if (Array.isArray(value)) return (value as readonly Content[]).map(textOf).join('');
  return value === undefined ? '' : escaped(String(value));
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/**
 * Text as it may stand in XML and HTML. Control characters, halves of pairs and U+FFFE, U+FFFF are forbidden in XML
 * 1.0.
 */
const escaped = (text: string): string =>
  text
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/gu, '\ufffd')
    .replace(/[&<>"']/g, character => entities[character]);
