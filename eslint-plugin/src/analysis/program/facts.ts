/**
 * Facts: what pure functions found out about trees, programs and settings, kept as long as these
 * live. A file that an edit leaves alone keeps its tree, so what was read from it is not read
 * again. Owned by the workspace of `open.ts`, reached through the oracle.
 */
import ts from "typescript";
import { hasBody, type FunctionWithBody } from "./syntax.ts";

/** Remembers what functions of one object gave for it. */
export class Facts {
  readonly #known = new WeakMap<object, Map<unknown, unknown>>();

  /** What `find` gives for `key`; `find` is a function of a module, and the same at every call. */
  of<K extends object, T>(key: K, find: (key: K, facts: Facts) => T): T {
    const found = this.#of(key);
    const known = found.get(find);
    if (known !== undefined) return known as T;
    const value = find(key, this);
    found.set(find, value);
    return value;
  }

  /** What `make` gave the first time that `question` was asked of `key`. */
  once<T>(key: object, question: unknown, make: () => T): T {
    const found = this.#of(key);
    if (!found.has(question)) found.set(question, make());
    return found.get(question) as T;
  }

  #of(key: object): Map<unknown, unknown> {
    let found = this.#known.get(key);
    if (!found) this.#known.set(key, (found = new Map()));
    return found;
  }

  /** The functions of a file that have a body. */
  functions(file: ts.SourceFile): readonly FunctionWithBody[] {
    return this.of(file, functionsIn);
  }
  /** The classes of a file. */
  classes(file: ts.SourceFile): readonly ts.ClassLikeDeclaration[] {
    const { ClassDeclaration, ClassExpression } = ts.SyntaxKind;
    return this.nodes<ts.ClassLikeDeclaration>(file, ClassDeclaration, ClassExpression);
  }
  /** The calls of a file, `new` left out. */
  calls(file: ts.SourceFile): readonly ts.CallExpression[] {
    return this.nodes<ts.CallExpression>(file, ts.SyntaxKind.CallExpression);
  }
  /** The variables of a file. */
  variables(file: ts.SourceFile): readonly ts.VariableDeclaration[] {
    return this.nodes<ts.VariableDeclaration>(file, ts.SyntaxKind.VariableDeclaration);
  }
  /** `left = right`, plain assignments of a file. */
  assignments(file: ts.SourceFile): readonly ts.BinaryExpression[] {
    return this.of(file, assignmentsIn);
  }

  /** The nodes of some kinds in a file, types and imports left out: inner ones before outer. */
  nodes<N extends ts.Node>(file: ts.SourceFile, ...kinds: readonly N["kind"][]): readonly N[] {
    const all = this.of(file, nodesByKind);
    const lists = kinds.map((kind) => (all.get(kind) ?? []) as unknown as readonly N[]);
    if (lists.length === 1) return lists[0] ?? [];
    return lists.flat().sort((a, b) => a.end - b.end || b.pos - a.pos);
  }
}

const functionsIn = (file: ts.SourceFile, facts: Facts): readonly FunctionWithBody[] =>
  facts.nodes<ts.FunctionLikeDeclaration>(file, ...functionKinds).filter((f) => hasBody(f));

const assignmentsIn = (file: ts.SourceFile, facts: Facts): readonly ts.BinaryExpression[] =>
  facts
    .nodes<ts.BinaryExpression>(file, ts.SyntaxKind.BinaryExpression)
    .filter((n) => n.operatorToken.kind === ts.SyntaxKind.EqualsToken);

const functionKinds = [
  ts.SyntaxKind.FunctionDeclaration,
  ts.SyntaxKind.FunctionExpression,
  ts.SyntaxKind.ArrowFunction,
  ts.SyntaxKind.MethodDeclaration,
  ts.SyntaxKind.GetAccessor,
  ts.SyntaxKind.SetAccessor,
  ts.SyntaxKind.Constructor,
] as const;

function nodesByKind(file: ts.SourceFile): ReadonlyMap<ts.SyntaxKind, ts.Node[]> {
  const found = new Map<ts.SyntaxKind, ts.Node[]>();
  const visit = (node: ts.Node): void => {
    const { kind } = node;
    if (ts.isTypeNode(node) || kind === ts.SyntaxKind.ImportDeclaration) return;
    ts.forEachChild(node, visit);
    const list = found.get(kind);
    if (list) list.push(node);
    else found.set(kind, [node]);
  };
  visit(file);
  return found;
}
