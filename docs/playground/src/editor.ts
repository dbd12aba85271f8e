/** The editor: CodeMirror 6 (a tenth of Monaco's size), with completions, hovers and complaints from a compiler in a worker. */
import {autocompletion, type CompletionContext, type CompletionResult} from '@codemirror/autocomplete';
import {javascript} from '@codemirror/lang-javascript';
import {linter, type Diagnostic} from '@codemirror/lint';
import {basicSetup, EditorView} from 'codemirror';
import {hoverTooltip, keymap} from '@codemirror/view';
import {Prec} from '@codemirror/state';
import {HighlightStyle, syntaxHighlighting} from '@codemirror/language';
import {tags} from '@lezer/highlight';
import type {Types} from './types.js';

/** Contrast of 4.5:1 and more on either ground. */
const colours = HighlightStyle.define([
  {tag: [tags.keyword, tags.moduleKeyword], color: 'var(--cm-keyword)'},
  {tag: [tags.string, tags.special(tags.string)], color: 'var(--cm-string)'},
  {tag: [tags.number, tags.bool], color: 'var(--cm-number)'},
  {tag: tags.comment, color: 'var(--cm-comment)'},
]);

export interface Editor {
  text(): string;
  show(text: string): void;
}

export function editorIn(parent: HTMLElement, types: Types, submit: () => void): Editor {
  const complete = async (context: CompletionContext): Promise<CompletionResult | null> => {
    const word = context.matchBefore(/[\w$]*/);
    const before = context.state.sliceDoc(Math.max(0, context.pos - 1), context.pos);
    if (!context.explicit && word?.from === word?.to && before !== '.') return null;
    const options = await types.completions(context.state.doc.toString(), context.pos);
    return options.length === 0 ? null : {from: word?.from ?? context.pos, options, validFor: /^[\w$]*$/};
  };
  const view = new EditorView({
    parent,
    extensions: [
      Prec.highest(keymap.of([{key: 'Ctrl-Enter', mac: 'Cmd-Enter', run: () => (submit(), true)}])),
      basicSetup,
      javascript(),
      syntaxHighlighting(colours),
      autocompletion({override: [complete]}),
      linter(async ({state}) => (await types.complaints(state.doc.toString())) as Diagnostic[], {delay: 500}),
      hoverTooltip(async ({state}, pos) => {
        const said = await types.hover(state.doc.toString(), pos);
        if (said === undefined) return null;
        const dom = document.createElement('pre');
        dom.textContent = said;
        dom.style.cssText = 'margin: 4px 8px; white-space: pre-wrap;';
        return {pos, create: () => ({dom})};
      }),
      EditorView.lineWrapping,
      EditorView.contentAttributes.of({'aria-label': 'The model, as JavaScript'}),
    ],
  });
  view.contentDOM.addEventListener('focus', () => types.load(), {once: true});
  return {
    text: () => view.state.doc.toString(),
    show: text => view.dispatch({changes: {from: 0, to: view.state.doc.length, insert: text}}),
  };
}
