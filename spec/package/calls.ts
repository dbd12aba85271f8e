/**
 * What the quick tier calls of the public interface, read from the sources of its specs. Code counts as run where it
 * stands at the top of a file, in a callback, or in a function that such code names; bodies of `slow(...)` do not run
 * in this tier.
 */
import path from 'node:path';
import ts from 'typescript';
import {parse} from './sources.js';

/** How a spec uses an exported name beyond importing it. */
export interface Uses {
  /** Called, constructed or taken as a template's tag; of an object: a member of it. */
  readonly called: Set<string>;
  /** Named in any other way: an error class that a run must throw, a constant that is read. */
  readonly named: Set<string>;
}

interface Module {
  readonly source: ts.SourceFile;
  /** Local names of imports: where they come from, and what they are called there ('*' for a namespace). */
  readonly imports: Map<string, {from: string; name: string}>;
  /** Functions with a name, whose bodies run where something that runs names them. */
  readonly functions: Map<string, ts.Node[]>;
  readonly reached: Set<string>;
}

const isFunction = (node: ts.Node | undefined): boolean =>
  node !== undefined && (ts.isArrowFunction(node) || ts.isFunctionExpression(node));

function moduleOf(file: string): Module {
  const module: Module = {source: parse(file), imports: new Map(), functions: new Map(), reached: new Set()};
  const declare = (name: string, node: ts.Node): void => {
    module.functions.set(name, [...(module.functions.get(name) ?? []), node]);
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) importsInto(module, file, node);
    else if (ts.isFunctionDeclaration(node) && node.name !== undefined) declare(node.name.text, node);
    else if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && isFunction(node.initializer))
      declare(node.name.text, node.initializer!);
    ts.forEachChild(node, visit);
  };
  visit(module.source);
  return module;
}

function importsInto(module: Module, file: string, {importClause, moduleSpecifier}: ts.ImportDeclaration): void {
  const {text} = moduleSpecifier as ts.StringLiteral;
  if (importClause === undefined || importClause.isTypeOnly || !text.startsWith('.')) return;
  const from = path.posix.join(path.posix.dirname(file), text).replace(/\.js$/, '.ts');
  const bindings = importClause.namedBindings;
  if (bindings === undefined) return;
  if (ts.isNamespaceImport(bindings)) module.imports.set(bindings.name.text, {from, name: '*'});
  else
    for (const {isTypeOnly, name, propertyName} of bindings.elements)
      if (!isTypeOnly) module.imports.set(name.text, {from, name: (propertyName ?? name).text});
}

/** Uses of names by files and the modules of spec/ that they import, under 'file name' for each file outside spec/. */
export function usesIn(files: readonly string[]): Map<string, Uses> {
  const modules = new Map<string, Module>();
  const uses = new Map<string, Uses>();
  const usesOf = (file: string): Uses => {
    if (!uses.has(file)) uses.set(file, {called: new Set(), named: new Set()});
    return uses.get(file)!;
  };
  const load = (file: string): Module => {
    let module = modules.get(file);
    if (module === undefined) {
      modules.set(file, (module = moduleOf(file)));
      const loaded = module;
      loaded.source.statements.forEach(statement => run(loaded, statement));
    }
    return module;
  };
  const reach = (module: Module, name: string): void => {
    if (module.reached.has(name)) return;
    module.reached.add(name);
    module.functions.get(name)?.forEach(body => ts.forEachChild(body, child => run(module, child)));
  };

  /** A name that running code uses: `call` where it is called. */
  const use = (module: Module, {text}: ts.Identifier, call: boolean, member?: string): void => {
    const imported = module.imports.get(text);
    if (imported === undefined) return reach(module, text);
    const {from} = imported;
    const name = imported.name === '*' ? member : imported.name;
    if (name === undefined) return;
    if (from.startsWith('spec/')) return reach(load(from), name);
    const names = usesOf(from)[call ? 'called' : 'named'];
    names.add(name);
    if (member !== undefined) names.add(`${name}.${member}`);
  };

  const run = (module: Module, node: ts.Node): void => {
    if (ts.isImportDeclaration(node) || ts.isTypeNode(node) || ts.isInterfaceDeclaration(node)) return;
    if (ts.isFunctionDeclaration(node)) return;
    if (ts.isVariableDeclaration(node) && isFunction(node.initializer)) return;
    if (ts.isCallExpression(node) && ts.isIdentifier(node.expression) && node.expression.text === 'slow') return;
    if (ts.isIdentifier(node)) use(module, node, isCallee(node));
    else if (ts.isPropertyAccessExpression(node)) {
      // A call of a namespace's member, or of a member of an exported object such as linalg.
      if (ts.isIdentifier(node.expression)) use(module, node.expression, isCallee(node), node.name.text);
      else run(module, node.expression);
    } else if (ts.isPropertyAssignment(node)) run(module, node.initializer);
    else ts.forEachChild(node, child => run(module, child));
  };
  files.forEach(load);
  return uses;
}

function isCallee(node: ts.Expression): boolean {
  const {parent} = node;
  return (
    ((ts.isCallExpression(parent) || ts.isNewExpression(parent)) && parent.expression === node)
    || (ts.isTaggedTemplateExpression(parent) && parent.tag === node)
  );
}
