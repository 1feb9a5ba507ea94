/**
 * Which typed errors a function of the library can throw: its own `throw` statements and those of
 * the functions it calls, as far as arguments are checked there. Called by the docstring check;
 * owns what it remembers of one program.
 *
 * Not followed are the layers below the tensors (a device can be lost anywhere), gradients and
 * kernels, and callbacks of the caller's. Errors that begin with `internal:` are bugs of ours.
 */
import ts from "typescript";

/** Where arguments are checked: folders of `packages/tenure/src`. */
const FOLLOWED = /\/packages\/tenure\/src\/(?:base|data|graph|nn|ops|optim|scheduling|tensor)\//;
/** How ops get run. What they throw is said once, of the class `Tensor`. */
const MACHINERY = /\/src\/(?:tensor\/(?:call|run|body|dispatch)|base\/(?:realm|access))\.ts$/;
/** How tensors are made: others call these with what they have checked. */
const MAKING = /\/src\/(?:tensor\/create|nn\/init)\.ts$/;
/** What belongs to op records and runs later than the call, or only in place. */
const LATER = new Set(["vjp", "kernel", "expression", "facts", "gradientOps", "withInplace"]);
/** Every call on a tensor that is gone, or is none, throws; the class says so once. */
const EVERYWHERE = new Set(["DisposedError", "ScopeDisposedError", "DeviceLostError"]);

/** Tells what functions throw. */
export class Thrown {
  readonly #checker: ts.TypeChecker;
  readonly #direct = new Map<ts.Node, { errors: ReadonlySet<string>; calls: readonly ts.Node[] }>();

  constructor(checker: ts.TypeChecker) {
    this.#checker = checker;
  }

  /** Names of the errors that a declaration can throw, sorted. */
  by(declaration: ts.Node): string[] {
    const errors = new Set<string>();
    const seen = new Set<ts.Node>();
    const open = [declaration];
    for (let node = open.pop(); node !== undefined; node = open.pop()) {
      if (seen.has(node)) continue;
      seen.add(node);
      const own = this.#read(node);
      for (const error of own.errors) errors.add(error);
      open.push(...own.calls);
    }
    return [...errors].sort();
  }

  #read(declaration: ts.Node): { errors: ReadonlySet<string>; calls: readonly ts.Node[] } {
    const known = this.#direct.get(declaration);
    if (known !== undefined) return known;
    const errors = new Set<string>();
    const calls: ts.Node[] = [];
    const visit = (node: ts.Node): void => {
      if (ts.isTypeNode(node) || (ts.isIdentifier(node) && LATER.has(node.text))) return;
      if (isLater(node)) return;
      if (ts.isThrowStatement(node)) for (const name of this.#errorsOf(node)) errors.add(name);
      if (ts.isIdentifier(node)) calls.push(...this.#leadsTo(node));
      ts.forEachChild(node, visit);
    };
    ts.forEachChild(declaration, visit);
    const found = { errors, calls };
    this.#direct.set(declaration, found);
    return found;
  }

  #errorsOf({ expression }: ts.ThrowStatement): string[] {
    const names = ts.isNewExpression(expression)
      ? [expression.expression.getText()]
      : this.#typesOf(expression);
    return names.filter(
      (name) => /^\w+Error$/.test(name) && name !== "Error" && !EVERYWHERE.has(name),
    );
  }

  /** Names of the types of what is not simply `new ShapeError(…)`. */
  #typesOf(thrown: ts.Expression): string[] {
    const type = this.#checker.getTypeAtLocation(thrown);
    return (type.isUnion() ? type.types : [type]).map(({ symbol }) => symbol?.name ?? "");
  }

  /** Whether a method's receiver and one of its arguments are the caller's own. */
  #isAsked(receiver: ts.Expression, { arguments: given }: ts.CallExpression): boolean {
    if (receiver.kind !== ts.SyntaxKind.ThisKeyword && !this.#isParameter(receiver)) return false;
    return given.some((argument) => this.#mentionsParameter(argument));
  }

  #isModule(node: ts.Expression): boolean {
    const [declaration] = this.#checker.getSymbolAtLocation(node)?.declarations ?? [];
    return declaration !== undefined && ts.isNamespaceImport(declaration);
  }

  #mentionsParameter(node: ts.Node): boolean {
    return (
      this.#isParameter(node) ||
      ts.forEachChild(node, (child) => this.#mentionsParameter(child)) === true
    );
  }

  #isParameter(node: ts.Node): boolean {
    if (!ts.isIdentifier(node)) return false;
    const [declaration] = this.#checker.getSymbolAtLocation(node)?.declarations ?? [];
    return declaration !== undefined && ts.isParameter(declaration);
  }

  /** The functions, classes and records that a mention of a name leads to. */
  #leadsTo(node: ts.Identifier): ts.Node[] {
    const { parent } = node;
    if (ts.isPropertyAccessExpression(parent) && parent.name === node) {
      const { expression, parent: use } = parent;
      const called = ts.isCallExpression(use) && use.expression === parent;
      if (!this.#isModule(expression) && !(called && this.#isAsked(expression, use))) return [];
    }
    if (ts.isPropertyAssignment(parent) && parent.name === node) return [];
    let symbol = this.#checker.getSymbolAtLocation(node);
    if (symbol !== undefined && symbol.flags & ts.SymbolFlags.Alias)
      symbol = this.#checker.getAliasedSymbol(symbol);
    return (symbol?.declarations ?? []).flatMap((declaration): readonly ts.Node[] => {
      const { fileName } = declaration.getSourceFile();
      if (!FOLLOWED.test(fileName) || MACHINERY.test(fileName)) return [];
      if (MAKING.test(fileName) && fileName !== node.getSourceFile().fileName) return [];
      if (ts.isClassDeclaration(declaration))
        return ts.isNewExpression(parent)
          ? declaration.members.filter(ts.isConstructorDeclaration)
          : [];
      if (ts.isFunctionDeclaration(declaration) || ts.isMethodDeclaration(declaration))
        return isCallee(node) ? [declaration] : [];
      if (
        ts.isVariableDeclaration(declaration) &&
        ts.isSourceFile(declaration.parent.parent.parent)
      )
        return [declaration];
      return [];
    });
  }
}

/** `f()` and `a.f()`, but not `g(f)`. */
function isCallee(node: ts.Identifier): boolean {
  const { parent } = node;
  const named = ts.isPropertyAccessExpression(parent) && parent.name === node ? parent : node;
  return ts.isCallExpression(named.parent) && named.parent.expression === named;
}

function isLater(node: ts.Node): boolean {
  return (
    (ts.isPropertyAssignment(node) || ts.isMethodDeclaration(node)) &&
    ts.isIdentifier(node.name) &&
    LATER.has(node.name.text)
  );
}
