/**
 * Callees: what a call calls: its name, its declaration, its body where the program has one, its
 * ownership tags. Used by the oracle, which keeps the answers, and where functions are handed on.
 */
import ts from "typescript";
import type { Owner } from "../../owner.ts";
import {
  assignedTo,
  baseOf,
  calleeNameNode,
  hasBody,
  unwrap,
  unwrapCallee,
  wellKnownSymbol,
  type CallLike,
  type FunctionWithBody,
} from "./syntax.ts";
import { noTags, type Tags } from "./tags.ts";

/** A call as resolved: its name, what it refers to, and its body where the program has one. */
export interface Callee {
  name: string;
  receiver: ts.Expression | undefined;
  declaration: ts.Declaration | undefined;
  body: FunctionWithBody | undefined;
  tags: Tags;
  package: string;
  /** Declared in TypeScript's own library files. */
  builtin: boolean;
  /** Declared as a member of an owned type. */
  member: Owner | undefined;
  /** The owner whose library, of which the program has no types, declares it by name. */
  library: Owner | undefined;
}

/** What resolving a callee needs to know of the program. */
export interface CalleeContext {
  symbolAt(node: ts.Node): ts.Symbol | undefined;
  declarationAt(node: ts.Node): ts.Declaration | undefined;
  /** What the value of an expression has under a name. */
  memberAt(node: ts.Expression, name: string): ts.Symbol | undefined;
  tags(declaration: ts.Node): Tags;
  packageOf(file: ts.SourceFile): string;
  isBuiltin(file: ts.SourceFile): boolean;
  memberOwner(declaration: ts.Declaration): Owner | undefined;
}

/** Whether a method says that it gives its object: `eval(): this`. */
export const givesThis = ({ declaration }: Callee): boolean =>
  declaration !== undefined &&
  ts.isFunctionLike(declaration) &&
  declaration.type?.kind === ts.SyntaxKind.ThisType;

/** What a call calls. */
export function resolveCallee(context: CalleeContext, call: CallLike): Callee {
  const target = unwrapCallee(call.expression);
  const name = calleeNameNode(call);
  const isAccess = ts.isPropertyAccessExpression(target) || ts.isElementAccessExpression(target);
  const called = name ? context.symbolAt(name) : symbolMember(context, target);
  const symbol = called && (functionBehind(context, called, 0) ?? called);
  let declarations = symbol?.declarations ?? [];
  if (ts.isNewExpression(call)) declarations = constructors(context, declarations);
  const body = hasBody(target) ? target : declarations.map(bodyOf).find((b) => b !== undefined);
  const declaration = body ?? symbol?.valueDeclaration ?? declarations[0];
  const file = declaration?.getSourceFile();
  return {
    name: (symbol === called ? name?.text : symbol?.name) ?? "",
    receiver: isAccess ? target.expression : undefined,
    declaration,
    body,
    tags: declarations.map((d) => context.tags(d)).find((t) => t !== noTags) ?? noTags,
    package: file ? context.packageOf(file) : "",
    builtin: file ? context.isBuiltin(file) : false,
    member: declaration && context.memberOwner(declaration),
    library: undefined,
  };
}

/** The method that `this[Symbol.dispose]()` calls. */
function symbolMember(context: CalleeContext, target: ts.Expression): ts.Symbol | undefined {
  if (!ts.isElementAccessExpression(target)) return undefined;
  const name = wellKnownSymbol(target.argumentExpression);
  return name === undefined ? undefined : context.memberAt(target.expression, `@@${name}`);
}

/** The function that a constant stands for: `const { scoped } = tenure`, `const run = scoped`. */
function functionBehind(
  context: CalleeContext,
  symbol: ts.Symbol,
  hops: number,
): ts.Symbol | undefined {
  const declaration = symbol.valueDeclaration;
  if (!declaration || hops > 4) return undefined;
  const isKnown =
    ts.isFunctionDeclaration(declaration) ||
    (hops > 0 && (isVariableOfLibrary(declaration) || bodyOf(declaration) !== undefined));
  if (isKnown) return hops > 0 ? symbol : undefined;
  const next = valueOf(context, declaration);
  return next && functionBehind(context, next, hops + 1);
}

const isVariableOfLibrary = (declaration: ts.Declaration): boolean =>
  ts.isVariableDeclaration(declaration) && declaration.getSourceFile().isDeclarationFile;

/** What a constant or a property of an object was given by name, or the function its type names. */
function valueOf(context: CalleeContext, declaration: ts.Declaration): ts.Symbol | undefined {
  if (ts.isShorthandPropertyAssignment(declaration)) return context.symbolAt(declaration.name);
  if (ts.isPropertyAssignment(declaration)) {
    const value = unwrap(declaration.initializer);
    return ts.isIdentifier(value) ? context.symbolAt(value) : undefined;
  }
  if (!(ts.getCombinedNodeFlags(declaration) & ts.NodeFlags.Const)) return undefined;
  if (ts.isVariableDeclaration(declaration)) {
    const named = typeNamed(declaration);
    if (named) return context.symbolAt(named);
    const value = declaration.initializer && unwrap(declaration.initializer);
    if (!value) return undefined;
    if (ts.isIdentifier(value)) return context.symbolAt(value);
    return ts.isPropertyAccessExpression(value) ? context.symbolAt(value.name) : undefined;
  }
  return ts.isBindingElement(declaration) ? propertyTaken(context, declaration) : undefined;
}

/** `const { draw } = make()`: the property that a pattern takes. */
export function propertyTaken(
  context: Pick<CalleeContext, "memberAt">,
  element: ts.BindingElement,
): ts.Symbol | undefined {
  if (element.initializer || element.dotDotDotToken) return undefined;
  const { parent, propertyName = element.name } = element;
  const from = ts.isVariableDeclaration(parent.parent) ? parent.parent.initializer : undefined;
  return ts.isObjectBindingPattern(parent) && from && ts.isIdentifier(propertyName)
    ? context.memberAt(from, propertyName.text)
    : undefined;
}

/** `const add: typeof tf.add = (...args) => load().add(...args)`: it is what its type says. */
function typeNamed({ type }: ts.VariableDeclaration): ts.Identifier | undefined {
  if (!type || !ts.isTypeQueryNode(type) || type.getSourceFile().isDeclarationFile)
    return undefined;
  return ts.isIdentifier(type.exprName) ? type.exprName : type.exprName.right;
}

/** The constructors that `new` runs, inherited ones too. */
function constructors(
  context: CalleeContext,
  declarations: readonly ts.Declaration[],
): ts.Declaration[] {
  const found = declarations.flatMap((declaration) =>
    ts.isClassLike(declaration) ? [constructorOf(context, declaration)] : [],
  );
  return found.length > 0 ? found : [...declarations];
}

/** What `new` runs: the constructor of a class or of one above it; with neither, the class. */
export function constructorOf(
  context: Pick<CalleeContext, "declarationAt">,
  node: ts.ClassLikeDeclaration,
  hops = 0,
): ts.Declaration {
  const own = node.members.find((m) => ts.isConstructorDeclaration(m) && m.body !== undefined);
  if (own) return own;
  const base = baseOf(node)?.expression;
  const parent =
    base && context.declarationAt(ts.isPropertyAccessExpression(base) ? base.name : base);
  return parent && ts.isClassLike(parent) && hops < 8
    ? constructorOf(context, parent, hops + 1)
    : node;
}

/** The function that an expression is or names: `(x) => x`, `load`, `this.load.bind(this)`. */
export function functionHanded(
  context: Pick<CalleeContext, "declarationAt">,
  expression: ts.Expression,
): FunctionWithBody | undefined {
  const node = unwrap(expression);
  if (hasBody(node)) return node;
  if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression))
    return node.expression.name.text === "bind"
      ? functionHanded(context, node.expression.expression)
      : undefined;
  const name = ts.isPropertyAccessExpression(node) ? node.name : node;
  const declaration = ts.isMemberName(name) ? context.declarationAt(name) : undefined;
  return declaration && bodyOf(declaration);
}

/** The body of a function, or of the function a constant holds. */
function bodyOf(declaration: ts.Declaration): FunctionWithBody | undefined {
  if (hasBody(declaration)) return declaration;
  const assigned = assignedTo(declaration);
  if (assigned) return hasBody(assigned) ? assigned : undefined;
  const isVariable = ts.isVariableDeclaration(declaration);
  if (
    !isVariable &&
    !ts.isPropertyDeclaration(declaration) &&
    !ts.isPropertyAssignment(declaration)
  )
    return undefined;
  if (isVariable && !(ts.getCombinedNodeFlags(declaration) & ts.NodeFlags.Const)) return undefined;
  const given = declaration.initializer && unwrap(declaration.initializer);
  const value = given && isVariable ? rememberedBy(given) : given;
  if (!hasBody(value) || isStandIn(declaration, value)) return undefined;
  return value;
}

/** The function of `useCallback(() => { … }, [video])`, which a component calls by that name. */
function rememberedBy(value: ts.Expression): ts.Expression {
  const isHook = ts.isCallExpression(value) && calleeNameNode(value)?.text === "useCallback";
  const [fn] = isHook ? value.arguments : [];
  return fn ? unwrap(fn) : value;
}

/** `onFrame: (t: Tensor) => void = () => {}`: what others put in its place is not known. */
const isStandIn = (declaration: ts.Declaration, { parameters }: FunctionWithBody): boolean =>
  ts.isPropertyDeclaration(declaration) &&
  declaration.type !== undefined &&
  ts.isFunctionTypeNode(declaration.type) &&
  declaration.type.parameters.length > parameters.length &&
  !declaration.modifiers?.some((m) => m.kind === ts.SyntaxKind.ReadonlyKeyword);
