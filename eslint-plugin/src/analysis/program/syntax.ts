/**
 * Syntax: small questions about nodes that need no types: what has a body, what a wrapper holds,
 * what a literal contains. Used everywhere in the plugin; owns nothing.
 */
import ts from "typescript";

/** A function, method, accessor, constructor or arrow whose body can be read. */
export type FunctionWithBody = ts.FunctionLikeDeclaration & { body: ts.Node };
/** A call or a `new`. */
export type CallLike = ts.CallExpression | ts.NewExpression;

/** Functions, methods, accessors, constructors and arrows that have a body. */
export const hasBody = (node: ts.Node | undefined): node is FunctionWithBody =>
  node !== undefined &&
  ts.isFunctionLike(node) &&
  (node as Partial<FunctionWithBody>).body !== undefined;

/** Looks through parentheses, `as`, `satisfies`, `!` and `await`. */
export function unwrap(node: ts.Expression): ts.Expression {
  while (
    ts.isParenthesizedExpression(node) ||
    ts.isAsExpression(node) ||
    ts.isSatisfiesExpression(node) ||
    ts.isNonNullExpression(node) ||
    ts.isTypeAssertionExpression(node) ||
    ts.isAwaitExpression(node)
  )
    node = node.expression;
  return node;
}

/** Looks through parentheses, `as` and `!` around what a call calls. */
export function unwrapCallee(node: ts.Expression): ts.Expression {
  while (
    ts.isParenthesizedExpression(node) ||
    ts.isNonNullExpression(node) ||
    ts.isAsExpression(node)
  )
    node = node.expression;
  return node;
}

/** The name a call is made by: `f` of `f(x)`, `g` of `a.b.g(x)`. */
export function calleeNameNode(call: CallLike): ts.Identifier | ts.MemberName | undefined {
  const target = unwrapCallee(call.expression);
  if (ts.isPropertyAccessExpression(target)) return target.name;
  return ts.isIdentifier(target) ? target : undefined;
}

/** Whether a file is JavaScript, where an object may get more than it starts with. */
export const isScript = ({ fileName }: ts.SourceFile): boolean => /\.[cm]?jsx?$/.test(fileName);

/** What an assignment that declares a member in a script gives it: `Net.prototype.run = …`. */
export function assignedTo(declaration: ts.Node): ts.Expression | undefined {
  const store = ts.isBinaryExpression(declaration) ? declaration : declaration.parent;
  const isStore =
    (ts.isPropertyAccessExpression(declaration) || store === declaration) &&
    ts.isBinaryExpression(store) &&
    store.operatorToken.kind === ts.SyntaxKind.EqualsToken &&
    (store === declaration || store.left === declaration);
  return isStore ? unwrap(store.right) : undefined;
}

/** `Net` of `Net.prototype.run`. */
export const prototypeOf = (node: ts.Node): ts.Expression | undefined =>
  ts.isPropertyAccessExpression(node) &&
  ts.isPropertyAccessExpression(node.expression) &&
  node.expression.name.text === "prototype"
    ? node.expression.expression
    : undefined;

/** The symbol that `Symbol.dispose` and its like name: "dispose". */
export const wellKnownSymbol = (node: ts.Expression): string | undefined =>
  ts.isPropertyAccessExpression(node) &&
  ts.isIdentifier(node.expression) &&
  node.expression.text === "Symbol"
    ? node.name.text
    : undefined;

/** The name of a member: `x`, `#x`, `@@dispose` for `[Symbol.dispose]`; empty where computed. */
export function memberName(name: ts.PropertyName | ts.BindingName): string {
  if (ts.isObjectBindingPattern(name) || ts.isArrayBindingPattern(name)) return "";
  if (!ts.isComputedPropertyName(name)) return name.text;
  const symbol = wellKnownSymbol(name.expression);
  if (symbol !== undefined) return `@@${symbol}`;
  return ts.isStringLiteralLike(name.expression) ? name.expression.text : "";
}

/** `[best]`, `[, second]`: a pattern of places with no rest. */
export const isPatternOfPlaces = (name: ts.BindingName): boolean =>
  ts.isArrayBindingPattern(name) &&
  name.elements.every((e) => ts.isOmittedExpression(e) || !e.dotDotDotToken);

/** `null` and `undefined` as written. */
export const isNullish = (node: ts.Expression): boolean =>
  node.kind === ts.SyntaxKind.NullKeyword || (ts.isIdentifier(node) && node.text === "undefined");

/** `===`, `!=` and the other two that ask whether values are one. */
export const isEquality = ({ operatorToken }: ts.BinaryExpression): boolean =>
  /^[!=]==?$/.test(operatorToken.getText());

/** What a class extends. */
export const baseOf = (node: ts.ClassLikeDeclaration): ts.ExpressionWithTypeArguments | undefined =>
  node.heritageClauses?.find((h) => h.token === ts.SyntaxKind.ExtendsKeyword)?.types[0];

/** The values an array or object literal (or pattern) is written with, spreads left out. */
export function valuesOf(
  literal: ts.ArrayLiteralExpression | ts.ObjectLiteralExpression,
): ts.Expression[] {
  if (ts.isArrayLiteralExpression(literal)) return [...literal.elements];
  return literal.properties.flatMap((property): ts.Expression[] => {
    if (ts.isPropertyAssignment(property)) return [property.initializer];
    return ts.isShorthandPropertyAssignment(property) ? [property.name] : [];
  });
}

/** `&&`, `||`, `??`: they give one of their operands, and may not ask for the second. */
export const shortCircuits: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.AmpersandAmpersandToken,
  ts.SyntaxKind.BarBarToken,
  ts.SyntaxKind.QuestionQuestionToken,
]);

/** `[]`, `{}`, `new Map()`, `new Set()`, `new Array()`: a container that starts empty. */
export const isEmptyContainer = (node: ts.Expression): boolean =>
  (ts.isArrayLiteralExpression(node) && node.elements.length === 0) ||
  (ts.isObjectLiteralExpression(node) && node.properties.length === 0) ||
  (ts.isNewExpression(node) &&
    (node.arguments ?? []).length <= (node.expression.getText() === "Array" ? 1 : 0) &&
    /^(Map|Set|Array)$/.test(node.expression.getText()));

/** The values of `[a, b]` and of `await Promise.all([a, b])`; nothing of a list with a spread. */
export function elementsGiven(value: ts.Expression): readonly ts.Expression[] | undefined {
  const bare = unwrap(value);
  if (ts.isArrayLiteralExpression(bare))
    return bare.elements.some(ts.isSpreadElement) ? undefined : bare.elements;
  const isJoined = ts.isCallExpression(bare) && bare.expression.getText() === "Promise.all";
  const list = isJoined ? bare.arguments[0] : undefined;
  return list && ts.isArrayLiteralExpression(list) ? elementsGiven(list) : undefined;
}

/** Whether a function is `async`. */
export const isAsync = (fn: ts.Node | undefined): boolean =>
  fn !== undefined &&
  (ts.getCombinedModifierFlags(fn as ts.Declaration) & ts.ModifierFlags.Async) !== 0;

/** Whether a declaration list is `using` or `await using`; both share flag bits with `const`. */
export function isUsingList(list: ts.VariableDeclarationList): boolean {
  const kind = list.flags & ts.NodeFlags.AwaitUsing;
  return kind === ts.NodeFlags.Using || kind === ts.NodeFlags.AwaitUsing;
}

/** Whether a variable is declared with `using` or `await using`. */
export const isUsing = (declaration: ts.Node): boolean =>
  ts.isVariableDeclaration(declaration) &&
  ts.isVariableDeclarationList(declaration.parent) &&
  isUsingList(declaration.parent);

/** `Object.values(parts) as Tensor[]`: an expression as what the program says that it is. */
export function asSaid(node: ts.Expression): ts.Expression {
  let said = node;
  while (ts.isAsExpression(said.parent) || ts.isParenthesizedExpression(said.parent))
    said = said.parent;
  return said;
}

/** Whether an assignment operator writes what stands at its left. */
export const assigns = (operator: ts.SyntaxKind): boolean =>
  operator >= ts.SyntaxKind.FirstAssignment && operator <= ts.SyntaxKind.LastAssignment;

/** Whether an expression is assigned to rather than read. */
export function isTarget(node: ts.Node): boolean {
  const { parent } = node;
  if (ts.isBinaryExpression(parent))
    return parent.left === node && assigns(parent.operatorToken.kind);
  const isPart = ts.isPropertyAssignment(parent)
    ? parent.initializer === node
    : ts.isShorthandPropertyAssignment(parent);
  const pattern = isPart ? parent.parent : parent;
  if (ts.isArrayLiteralExpression(pattern) || ts.isObjectLiteralExpression(pattern))
    return (
      ts.isBinaryExpression(pattern.parent) &&
      pattern.parent.left === pattern &&
      pattern.parent.operatorToken.kind === ts.SyntaxKind.EqualsToken
    );
  return (
    (ts.isForOfStatement(parent) || ts.isForInStatement(parent)) && parent.initializer === node
  );
}

/** `x = make()`, as part of another expression. */
export const isAssignment = (node: ts.Node): boolean =>
  ts.isBinaryExpression(node) && assigns(node.operatorToken.kind);

/** The name or `this` that a chain of accesses starts from. */
export function rootOf(node: ts.Expression): ts.Expression {
  let root = node;
  while (
    ts.isPropertyAccessExpression(root) ||
    ts.isElementAccessExpression(root) ||
    ts.isNonNullExpression(root)
  )
    root = root.expression;
  return root;
}

/** `this`, or the `self` of `const self = this` around it. */
export const isSelf = (node: ts.Node): boolean =>
  node.kind === ts.SyntaxKind.ThisKeyword ||
  (ts.isIdentifier(node) && /^_?(self|that|this|me|vm)_?$/.test(node.text) && isNameOfThis(node));

function isNameOfThis(name: ts.Identifier): boolean {
  for (let at: ts.Node = name.parent; !ts.isSourceFile(at); at = at.parent) {
    if (!ts.isBlock(at)) continue;
    for (const statement of at.statements) {
      if (!ts.isVariableStatement(statement)) continue;
      const found = statement.declarationList.declarations.find(
        (d) => ts.isIdentifier(d.name) && d.name.text === name.text,
      );
      if (found) return found.initializer?.kind === ts.SyntaxKind.ThisKeyword;
    }
  }
  return false;
}

/** Whether a node stands inside another, or is it. */
export function within(node: ts.Node, ancestor: ts.Node): boolean {
  let current: ts.Node | undefined = node;
  while (current) {
    if (current === ancestor) return true;
    current = current.parent;
  }
  return false;
}

/** Whether a node stands in a loop below a root. */
export function isInLoop(node: ts.Node, root: ts.Node | undefined): boolean {
  for (let at: ts.Node = node; at !== root && !ts.isSourceFile(at); at = at.parent)
    if (ts.isIterationStatement(at, false)) return true;
  return false;
}

/** Whether a member of a class is static. */
export const isStatic = (member: ts.Declaration): boolean =>
  (ts.getCombinedModifierFlags(member) & ts.ModifierFlags.Static) !== 0;

/** Whether only the class itself can use a member: `private x`, `#x`. */
export const isPrivate = (member: ts.ClassElement): boolean =>
  (ts.getCombinedModifierFlags(member) & ts.ModifierFlags.Private) !== 0 ||
  (member.name !== undefined && ts.isPrivateIdentifier(member.name));

/** Whether a call by a name gives the same elements as its list has, or some of them. */
export const passesOn = ({ name }: ts.PropertyAccessExpression): boolean =>
  /^(sort|reverse|toSorted|toReversed|slice|filter)$/.test(name.text);

/** The literal that `[x, ...xs].sort(f).slice(0, n)` begins with, of which the rest gives some. */
export function literalUnder(value: ts.Expression): ts.ArrayLiteralExpression | undefined {
  const node = unwrap(value);
  if (ts.isArrayLiteralExpression(node)) return node;
  return ts.isCallExpression(node) &&
    ts.isPropertyAccessExpression(node.expression) &&
    passesOn(node.expression)
    ? literalUnder(node.expression.expression)
    : undefined;
}

/** What the last of `a = b = value` is. */
export function valueGiven(store: ts.BinaryExpression): ts.Expression {
  const right = unwrap(store.right);
  return ts.isBinaryExpression(right) && right.operatorToken.kind === ts.SyntaxKind.EqualsToken
    ? valueGiven(right)
    : right;
}

/** Whether a node, or something within it that is ever reached, is as asked. */
export const someWithin = (node: ts.Node, test: (inner: ts.Node) => boolean): boolean =>
  test(node) ||
  (ts.isBlock(node)
    ? reachedOf(node).some((statement) => someWithin(statement, test))
    : (ts.forEachChild(node, (child) => someWithin(child, test) || undefined) ?? false));

/** Whether a function has a variable or parameter of a name, itself or in what stands in it. */
export const declares = (fn: ts.Node, name: string): boolean =>
  someWithin(
    fn,
    (inner) =>
      (ts.isVariableDeclaration(inner) || ts.isParameter(inner) || ts.isBindingElement(inner)) &&
      ts.isIdentifier(inner.name) &&
      inner.name.text === name,
  );

/** The statements of a block up to its `return`, and the functions after it. */
export function reachedOf({ statements }: ts.Block): readonly ts.Statement[] {
  const last = statements.findIndex((s) => ts.isReturnStatement(s) || ts.isThrowStatement(s));
  if (last < 0 || last === statements.length - 1) return statements;
  return statements.filter((s, at) => at <= last || ts.isFunctionDeclaration(s));
}

/** The name of a variable, of a parameter or of what a pattern takes; of nothing else. */
export const variableName = (declaration: ts.Declaration): ts.Identifier | undefined =>
  (ts.isVariableDeclaration(declaration) ||
    ts.isParameter(declaration) ||
    ts.isBindingElement(declaration)) &&
  ts.isIdentifier(declaration.name)
    ? declaration.name
    : undefined;

/** The classes and interfaces of a file that have one of some names. */
export const classesNamed = (
  { statements }: ts.SourceFile,
  names: readonly string[],
): (ts.ClassDeclaration | ts.InterfaceDeclaration)[] =>
  statements.filter(
    (s): s is ts.ClassDeclaration | ts.InterfaceDeclaration =>
      (ts.isClassDeclaration(s) || ts.isInterfaceDeclaration(s)) &&
      s.name !== undefined &&
      names.includes(s.name.text),
  );
