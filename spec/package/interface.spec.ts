/**
 * The interface as the compiler sees it: every type that an exported signature names can be imported under its name,
 * and everything exported is documented. What is asked for spec/types/ is compiled with the rest of the sources.
 */
import path from 'node:path';
import {expect} from 'chai';
import ts from 'typescript';
import {entries, nodeEntries, root} from './sources.js';
import {slow} from '../tiers.js';

const sources = [...Object.values(entries), ...Object.values(nodeEntries)].map(entry => path.join(root, entry));
let program: ts.Program;
let checker: ts.TypeChecker;
const aliased = (symbol: ts.Symbol): ts.Symbol =>
  (symbol.flags & ts.SymbolFlags.Alias) === 0 ? symbol : checker.getAliasedSymbol(symbol);
const exportsOf = (file: string): ts.Symbol[] =>
  checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(file)!)!);
const ours = (node: ts.Node): boolean => !/node_modules|\.d\.ts$/.test(node.getSourceFile().fileName);

/** Parts of a declaration that its users see: not its body, nor what is private. */
function visible(node: ts.Node, see: (node: ts.Node) => void): void {
  if (ts.isBlock(node) || (ts.isClassElement(node) && node.name !== undefined && ts.isPrivateIdentifier(node.name)))
    return;
  if (
    ts.canHaveModifiers(node)
    && ts.getModifiers(node)?.some(({kind}) => kind === ts.SyntaxKind.PrivateKeyword) === true
  )
    return;
  if (ts.isVariableDeclaration(node) || ts.isPropertyDeclaration(node) || ts.isParameter(node)) {
    if (node.type !== undefined) visible(node.type, see);
    else if (isSchema(node)) typesIn(node.initializer!, type => visible(type, see));
    return;
  }
  see(node);
  ts.forEachChild(node, child => visible(child, see));
}

/** A schema of options: `Options<typeof schema>` is the object type that its users see, with the types in it. */
const isSchema = (node: ts.Node): node is ts.VariableDeclaration =>
  ts.isVariableDeclaration(node) && node.initializer !== undefined && ts.isObjectLiteralExpression(node.initializer);

function typesIn(node: ts.Node, found: (type: ts.Node) => void): void {
  if (ts.isTypeNode(node)) found(node);
  else ts.forEachChild(node, child => typesIn(child, found));
}

/** Types named in what an exported symbol declares, with the place that names them. */
function named(symbol: ts.Symbol): Map<ts.Symbol, string> {
  const found = new Map<ts.Symbol, string>();
  for (const declaration of symbol.declarations ?? []) {
    if (!ours(declaration)) continue;
    visible(declaration, node => {
      const name = ts.isTypeReferenceNode(node)
        ? node.typeName
        : ts.isExpressionWithTypeArguments(node)
          ? node.expression
          : ts.isTypeQueryNode(node)
            ? node.exprName
            : undefined;
      const to = name === undefined ? undefined : checker.getSymbolAtLocation(name);
      if (to === undefined || (to.flags & ts.SymbolFlags.TypeParameter) !== 0 || readsSchemas(aliased(to))) return;
      found.set(aliased(to), `${symbol.name} names ${name?.getText()}`);
    });
  }
  return found;
}

/** `Options` and `OptionValues`, which make types of schemas. */
const readsSchemas = (symbol: ts.Symbol): boolean =>
  (symbol.declarations ?? []).some(declaration => declaration.getSourceFile().fileName.endsWith('lib/checks.ts'));

/**
 * Local parts of a type, which its own file does not export either, and schemas: the reader meets what they contain.
 */
const isLocal = (symbol: ts.Symbol): boolean =>
  (symbol.declarations ?? []).every(
    declaration =>
      isSchema(declaration)
      || ((ts.getCombinedModifierFlags(declaration as ts.Declaration) & ts.ModifierFlags.Export) === 0
        && ts.isTypeAliasDeclaration(declaration)),
  );

describe('the interface', function () {
  this.timeout(60_000);

  before(() => {
    const config = ts.parseJsonConfigFileContent({}, ts.sys, root);
    program = ts.createProgram(sources, {
      ...config.options,
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
      strict: true,
      skipLibCheck: true,
      types: ['node'],
    });
    checker = program.getTypeChecker();
  });

  slow('exports every type that an exported signature names', () => {
    // What one entry exports may be named by another; a local alias is taken apart like the type that names it.
    const all = new Set(sources.flatMap(exportsOf).map(aliased));
    const missing = new Set<string>();
    const seen = new Set<ts.Symbol>();
    const look = (symbol: ts.Symbol): void => {
      if (seen.has(symbol)) return;
      seen.add(symbol);
      for (const [to, text] of named(symbol)) {
        if (all.has(to) || !(to.declarations ?? []).some(ours)) continue;
        if (isLocal(to)) look(to);
        else missing.add(`${text} (${path.relative(root, to.declarations![0].getSourceFile().fileName)})`);
      }
    };
    all.forEach(look);
    expect([...missing].sort()).to.deep.equal([]);
  });

  it('documents everything it exports', () => {
    const bare = sources.flatMap(source =>
      exportsOf(source)
        .map(aliased)
        .filter(
          symbol =>
            (symbol.declarations ?? []).some(ours)
            && ts.displayPartsToString(symbol.getDocumentationComment(checker)).trim() === '',
        )
        .map(symbol => `${symbol.name} (${path.relative(root, symbol.declarations![0].getSourceFile().fileName)})`),
    );
    expect([...new Set(bare)].sort()).to.deep.equal([]);
  });

  it('documents the members of simulate, batch, batchAsync and equilibrium', () => {
    const exported = exportsOf(sources[0]).map(aliased);
    for (const name of ['simulate', 'batch', 'batchAsync', 'equilibrium']) {
      const symbol = exported.find(one => one.name === name)!;
      const type = checker.getTypeOfSymbol(symbol);
      expect(type.getProperties().length, name).to.be.above(0);
      for (const member of type.getProperties())
        expect(ts.displayPartsToString(member.getDocumentationComment(checker)), `${name}.${member.name}`).to.not.equal(
          '',
        );
    }
  });
});
