/** A strict reader of markup, for tests: every tag closed in order, every attribute quoted, no stray character. */

/** HTML elements that are never closed. */
const empty = new Set(['meta', 'br', 'hr', 'link', 'img', 'input']);

/** Names of the elements in document order; throws where the markup is not well formed. */
export function elementsOf(markup: string): string[] {
  const text = markup.replace(/^<!doctype html>/i, '').replace(/<style>[^<]*<\/style>/g, '<style></style>');
  const names: string[] = [];
  const open: string[] = [];
  const tag = /<(\/?)([a-zA-Z][\w-]*)((?:\s+[\w:-]+="[^"<]*")*)\s*(\/?)>/y;
  for (let at = 0; at < text.length;) {
    if (text[at] !== '<') {
      const next = text.indexOf('<', at);
      const words = text.slice(at, next < 0 ? text.length : next);
      if (/>/.test(words) || /&(?!(?:amp|lt|gt|quot|#39);)/.test(words))
        throw new Error(`stray character in: ${words.slice(0, 80)}`);
      at += words.length;
      continue;
    }
    tag.lastIndex = at;
    const found = tag.exec(text);
    if (found === null) throw new Error(`not a tag: ${text.slice(at, at + 80)}`);
    const [whole, closing, name, , selfClosing] = found;
    if (closing !== '') {
      const expected = open.pop();
      if (expected !== name) throw new Error(`</${name}> where </${expected}> belongs`);
    } else {
      names.push(name);
      if (selfClosing === '' && !empty.has(name)) open.push(name);
    }
    at += whole.length;
  }
  if (open.length > 0) throw new Error(`never closed: ${open.join(', ')}`);
  return names;
}
