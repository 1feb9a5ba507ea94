/**
 * The library by name: whether a call reaches a function of an owner's library of which the program
 * has no types: a global from a script tag, a `require` or an import that does not resolve. Used by
 * the oracle and by `untyped.ts`.
 */
import ts from "typescript";
import type { Owner } from "../../owner.ts";
import { baseOf, isScript, memberName, someWithin, unwrap } from "../program/syntax.ts";

/** What is needed to know of the program. */
export interface NameContext {
  declarationAt(node: ts.Node): ts.Declaration | undefined;
}

/** Whether a call calls a function of the owner's library, as far as names tell. */
export function isLibraryCall(
  context: NameContext,
  { expression }: ts.CallExpression | ts.NewExpression,
  owner: Owner,
): boolean {
  if (owner.untyped.globals.length === 0) return false;
  if (ts.isPropertyAccessExpression(expression))
    return (
      isLibrary(context, expression.expression, owner) || isOfDataset(context, expression, owner)
    );
  if (!ts.isIdentifier(expression)) return false;
  const declaration = bindingOf(context, expression);
  return declaration !== undefined && comesFrom(context, declaration, owner);
}

/** `tf.data.csv(url).map(scale)`: a call that a dataset makes for each of its elements. */
function isOfDataset(
  context: NameContext,
  { name, expression }: ts.PropertyAccessExpression,
  owner: Owner,
): boolean {
  return /^(map|filter)$/.test(name.text) && isDataset(context, expression, owner, 0);
}

function isDataset(context: NameContext, node: ts.Node, owner: Owner, depth: number): boolean {
  const value = ts.isExpression(node) ? unwrap(node) : node;
  if (depth > furthest) return false;
  if (ts.isIdentifier(value)) {
    const declaration = bindingOf(context, value);
    const made = declaration && ts.isVariableDeclaration(declaration) && declaration.initializer;
    return made ? isDataset(context, made, owner, depth + 1) : false;
  }
  if (!ts.isCallExpression(value) || !ts.isPropertyAccessExpression(value.expression)) return false;
  const { expression: on } = value.expression;
  if (ts.isPropertyAccessExpression(on) && on.name.text === "data")
    return isLibrary(context, on.expression, owner);
  return isDataset(context, on, owner, depth + 1);
}

const furthest = 8;

/** `tf`, `window.tf`, `human.tf`, `tf.image`: the library or a part of it that counts. */
function isLibrary(context: NameContext, node: ts.Expression, owner: Owner, depth = 0): boolean {
  if (depth > furthest) return false; // names that are given one another
  const { globals } = owner.untyped;
  if (ts.isPropertyAccessExpression(node)) {
    if (isLibrary(context, node.expression, owner, depth))
      return owner.untyped.parts.includes(node.name.text);
    return globals.includes(node.name.text); // `window.tf`, `human.tf`
  }
  if (!ts.isIdentifier(node)) return false;
  const declaration = bindingOf(context, node);
  if (!declaration) return globals.includes(node.text);
  const declaredOnly = ts.isVariableDeclaration(declaration) && isAmbient(declaration);
  const handedIn = ts.isParameter(declaration) && !declaration.initializer;
  if (declaredOnly || handedIn) return globals.includes(node.text);
  return comesFrom(context, declaration, owner, depth);
}

/**
 * `d.createBuffer({ size, usage })`: a method that is told what to make; of what is called a
 * device, also `device.createTexture(spec.texture)`, where nobody sees what it is told.
 */
export function isDescribed(context: NameContext, call: ts.CallExpression, owner: Owner): boolean {
  const { expression, arguments: args } = call;
  if (!ts.isPropertyAccessExpression(expression) || args.length !== 1) return false;
  const { name, expression: target } = expression;
  const known = owner.untyped.described.find(({ callee }) => callee === name.text);
  if (!known || context.declarationAt(name)) return false;
  const asked = ts.isPropertyAccessExpression(target) ? target.name : target;
  const isOfDevice = /^[_#]*(gpu)?device$/i.test(asked.getText());
  // what is `any` in TypeScript may be of any library, and `device.resources` keeps what it makes
  if (!isOfDevice && (!isScript(call.getSourceFile()) || isPartOfDevice(target))) return false;
  const given = unwrap(args[0]!);
  const declaration = ts.isIdentifier(given) ? context.declarationAt(given) : undefined;
  const isNamed = declaration !== undefined && ts.isVariableDeclaration(declaration);
  const literal = isNamed && declaration.initializer ? unwrap(declaration.initializer) : given;
  if (!ts.isObjectLiteralExpression(literal)) {
    return isOfDevice && (ts.isIdentifier(literal) || ts.isPropertyAccessExpression(literal));
  }
  const fields = literal.properties.map((p) => (p.name ? memberName(p.name) : ""));
  return known.fields.every((field) => fields.includes(field));
}

/** `device.resources`: a manager, which no device has itself. */
const isPartOfDevice = (target: ts.Expression): boolean =>
  ts.isPropertyAccessExpression(target) && /device$/i.test(target.expression.getText());

/** Whether a class of a script extends one of the owner's library: `extends tf.layers.Layer`. */
export function extendsLibrary(
  context: NameContext,
  node: ts.ClassLikeDeclaration,
  owner: Owner,
): boolean {
  let from: ts.Expression | undefined = baseOf(node)?.expression;
  while (from && ts.isPropertyAccessExpression(from)) {
    from = from.expression;
    if (isLibrary(context, from, owner)) return true;
  }
  return false;
}

/**
 * Whether a file may say `using`: it is compiled, or a script that says it already, for a runtime
 * that knows it.
 */
export const mayUse = ({ fileName, text }: ts.SourceFile): boolean =>
  !/\.[cm]?jsx?$/.test(fileName) || /^\s*(await\s+)?using\s+[\w$]+\s*=/m.test(text);

/** What binds a name in its file; a name for a whole module leads to that, not to its import. */
export function bindingOf(context: NameContext, id: ts.Identifier): ts.Declaration | undefined {
  const known = context.declarationAt(id);
  const found = known && ts.isIdentifier(known) ? undefined : known; // `tf.own = …` binds no `tf`
  const isModule = found && (ts.isSourceFile(found) || ts.isModuleDeclaration(found));
  return isModule ? importOf(id) : (found ?? importOf(id));
}

/** The import or `require` of a file that binds a name; what does not resolve has no symbol. */
function importOf(id: ts.Identifier): ts.Declaration | undefined {
  for (const statement of id.getSourceFile().statements) {
    if (ts.isVariableStatement(statement)) {
      const found = statement.declarationList.declarations.find((d) => binds(d.name, id.text));
      if (found) return found;
    }
    if (!ts.isImportDeclaration(statement)) continue;
    const { importClause } = statement;
    const named = importClause?.namedBindings;
    const bound = named && (ts.isNamedImports(named) ? [...named.elements] : [named]);
    const found = [importClause, ...(bound ?? [])].find((d) => d?.name?.text === id.text);
    if (found) return found;
  }
  return undefined;
}

const binds = (name: ts.BindingName, text: string): boolean =>
  ts.isIdentifier(name)
    ? name.text === text
    : name.elements.some((e) => ts.isBindingElement(e) && binds(e.name, text));

/** `declare const tf: any`: says that there is one, and nothing more. */
const isAmbient = (declaration: ts.Declaration): boolean =>
  (ts.getCombinedModifierFlags(declaration) & ts.ModifierFlags.Ambient) !== 0;

/** Whether a name is imported or required from the owner's library, whole or in part. */
function comesFrom(
  context: NameContext,
  declaration: ts.Declaration,
  owner: Owner,
  depth = 0,
): boolean {
  let holder: ts.Node = declaration;
  while (!ts.isVariableDeclaration(holder) && !ts.isImportDeclaration(holder)) {
    if (ts.isSourceFile(holder) || ts.isFunctionLike(holder)) return false;
    holder = holder.parent;
  }
  if (ts.isImportDeclaration(holder)) return namesLibrary(holder.moduleSpecifier, owner);
  const value = holder.initializer && unwrap(holder.initializer);
  if (!value) return false;
  if (ts.isIdentifier(value) && ts.isObjectBindingPattern(holder.name))
    return isLibrary(context, value, owner, depth + 1); // `const { tidy } = tf`
  if (ts.isPropertyAccessExpression(value) && holder === declaration)
    return isLibrary(context, value, owner, depth + 1); // `const T = human.tf`
  const isRequire =
    ts.isCallExpression(value) &&
    ((ts.isIdentifier(value.expression) && value.expression.text === "require") ||
      value.expression.kind === ts.SyntaxKind.ImportKeyword);
  const [from] = isRequire ? value.arguments : [];
  return from !== undefined && namesLibrary(from, owner);
}

/** A module specifier that is one of the owner's packages, or an address with it inside. */
export function namesLibrary(specifier: ts.Expression, owner: Owner): boolean {
  if (!ts.isStringLiteralLike(specifier)) return false;
  const packages = Array.isArray(owner.types) ? owner.types.map((s) => s.package ?? "") : [];
  return [...packages, ...owner.library.map((l) => l.replace(/\*$/, ""))].some(
    (name) => name !== "" && specifier.text.includes(name),
  );
}

/**
 * `x.mul(y)` of an `x: Tensor`, where that name comes from another package: no such value of the
 * owner, though the methods have the same names.
 */
export function isOfNamesake(context: NameContext, start: ts.Node, owner: Owner): boolean {
  const names = Array.isArray(owner.types) ? owner.types.flatMap((t) => t.name) : [];
  if (names.length === 0 || owner.library.length === 0) return false;
  let at = start;
  while (ts.isExpression(at) && !ts.isIdentifier(at)) {
    const inner = unwrap(at);
    if (ts.isPropertyAccessExpression(inner)) {
      if (isNamesake(context, context.declarationAt(inner.name), names, owner)) return true;
      at = inner.expression;
    } else if (ts.isCallExpression(inner) || ts.isElementAccessExpression(inner))
      at = inner.expression;
    else return false;
  }
  const declaration = ts.isIdentifier(at) ? context.declarationAt(at) : (at as ts.Declaration);
  return isNamesake(context, declaration, names, owner);
}

/** `numbers`, `@maker/numbers`: a package; `src/numbers` may be the program's own. */
const bare = /^(@[\w-]+\/.+|[\w-]+)$/;

function isNamesake(
  context: NameContext,
  declaration: ts.Declaration | undefined,
  names: readonly string[],
  owner: Owner,
): boolean {
  const { type } = (declaration ?? {}) as { type?: ts.TypeNode };
  if (!type) return false;
  return someWithin(type, (node) => {
    if (!ts.isTypeReferenceNode(node) || !ts.isIdentifier(node.typeName)) return false;
    const isNamed = names.includes(node.typeName.text.replace(/\d+D$/, ""));
    const imported = isNamed && bindingOf(context, node.typeName);
    const from = imported ? ts.findAncestor(imported, ts.isImportDeclaration) : undefined;
    return (
      from !== undefined &&
      ts.isStringLiteralLike(from.moduleSpecifier) &&
      bare.test(from.moduleSpecifier.text) &&
      !namesLibrary(from.moduleSpecifier, owner)
    );
  });
}
