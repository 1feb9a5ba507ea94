/**
 * Which places of a program with TensorFlow.js run within a scope whenever they run: what stands in
 * a callback of `tidy` and the like, and functions that the program only ever calls there. It goes
 * by the checker and by names, and asks nothing of the plugin. Used by `deletion-sites.ts`.
 */
import ts from "typescript";

/** Functions of the library that run their callback in a scope. */
const scopes = /^(tidy|scopedRun|minimize|(variable|custom|valueAnd)?grads?)$/i;

/** The last name of what a call calls. */
export function nameOfCall(call: ts.CallExpression): string | undefined {
  const callee = call.expression;
  if (ts.isIdentifier(callee)) return callee.text;
  return ts.isPropertyAccessExpression(callee) ? callee.name.text : undefined;
}

/** The function a node stands in, itself left out. */
export function enclosingFunction(node: ts.Node): ts.FunctionLikeDeclaration | undefined {
  return ts.findAncestor(
    node.parent,
    (n): n is ts.FunctionLikeDeclaration => ts.isFunctionLike(n) && "body" in n,
  );
}

/** Answers for one program; what it learned is kept for the next question. */
export class ScopedFunctions {
  readonly checker: ts.TypeChecker;
  readonly #mentions = new Map<string, ts.Identifier[]>();
  readonly #known = new Map<ts.Node, boolean>();

  constructor(program: ts.Program) {
    this.checker = program.getTypeChecker();
    for (const source of program.getSourceFiles())
      if (!source.isDeclarationFile && !source.fileName.includes("/node_modules/"))
        this.#collect(source);
  }

  #collect(node: ts.Node): void {
    if (ts.isIdentifier(node) && !isDeclaring(node)) {
      const same = this.#mentions.get(node.text);
      if (same) same.push(node);
      else this.#mentions.set(node.text, [node]);
    }
    ts.forEachChild(node, (child) => {
      this.#collect(child);
    });
  }

  /** Whether a scope is open whenever a node runs. */
  isScoped(node: ts.Node): boolean {
    const around = enclosingFunction(node);
    return around !== undefined && this.#isScopedFunction(around);
  }

  #isScopedFunction(fn: ts.FunctionLikeDeclaration): boolean {
    const known = this.#known.get(fn);
    if (known !== undefined) return known;
    this.#known.set(fn, true); // a function that calls itself runs where it was called first
    const result = this.#decide(fn);
    this.#known.set(fn, result);
    return result;
  }

  #decide(fn: ts.FunctionLikeDeclaration): boolean {
    const parent = fn.parent;
    if (ts.isCallExpression(parent) && fn !== parent.expression) {
      // a callback: in a scope of its own, or where the call stands
      return scopes.test(nameOfCall(parent) ?? "") || this.isScoped(parent);
    }
    if (isCallOfLayer(fn)) return true;
    const name = nameOf(fn);
    if (!name) return ts.isArrowFunction(fn) && this.isScoped(fn);
    const calls = (this.#mentions.get(name.text) ?? []).filter((m) => this.#means(m, name));
    return (
      calls.length > 0 &&
      calls.every((m) => {
        const handed = m.parent;
        const toScope = ts.isCallExpression(handed) && scopes.test(nameOfCall(handed) ?? "");
        return toScope || this.isScoped(m);
      })
    );
  }

  /** Whether a mention is of what a name declares, or may be. */
  #means(mention: ts.Identifier, name: ts.Identifier): boolean {
    const own = this.checker.getSymbolAtLocation(name);
    let symbol = this.checker.getSymbolAtLocation(mention);
    if (symbol && symbol.flags & ts.SymbolFlags.Alias)
      symbol = this.checker.getAliasedSymbol(symbol);
    if (symbol === own) return true;
    // by an abstract method, an interface or a value without type
    const body = (d: ts.Declaration): boolean => "body" in d && d.body !== undefined;
    return (
      ts.isPropertyAccessExpression(mention.parent) && !(symbol?.declarations ?? []).some(body)
    );
  }
}

/** Layers are called by their model, in a scope. */
const isCallOfLayer = (fn: ts.FunctionLikeDeclaration): boolean =>
  ts.isMethodDeclaration(fn) &&
  fn.name.getText() === "call" &&
  ts.isClassLike(fn.parent) &&
  (fn.parent.heritageClauses ?? []).length > 0;

function nameOf(fn: ts.FunctionLikeDeclaration): ts.Identifier | undefined {
  if (fn.name && ts.isIdentifier(fn.name)) return fn.name;
  const holder = fn.parent;
  const named =
    ts.isVariableDeclaration(holder) ||
    ts.isPropertyAssignment(holder) ||
    ts.isPropertyDeclaration(holder);
  return named && ts.isIdentifier(holder.name) ? holder.name : undefined;
}

/** Whether an identifier names what is declared, imported or exported there. */
function isDeclaring(node: ts.Identifier): boolean {
  const parent = node.parent;
  return (
    ("name" in parent && parent.name === node && !ts.isPropertyAccessExpression(parent)) ||
    ts.isImportSpecifier(parent) ||
    ts.isExportSpecifier(parent) ||
    ts.isExportAssignment(parent)
  );
}
