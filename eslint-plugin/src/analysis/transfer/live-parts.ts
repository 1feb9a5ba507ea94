/**
 * Live parts: whether what a method of a resource gives is something that works on, such as a
 * statement of a database, and goes on to somebody: the resource lives on with it. Data, lists and
 * dates are no such thing. Used by the verbs about mentions, where nobody agreed on a protocol.
 */
import ts from "typescript";
import { enclosingFunction, fateOf } from "./fate.ts";
import { referencesTo } from "../program/references.ts";
import type { Session } from "../session.ts";

/** Whether the result of a call is something live that outlives the expression it stands in. */
export function givesLivePart(session: Session, call: ts.CallExpression): boolean {
  const { kind, node } = fateOf(call);
  if (!goesOn.test(kind) || !isLive(session, call)) return false;
  if (kind !== "bound" || !ts.isVariableDeclaration(node)) return true;
  if (!ts.isIdentifier(node.name)) return true;
  const home = enclosingFunction(node);
  const root = home ?? node.getSourceFile();
  return referencesTo(session.oracle, node, node.name, root).some(
    (id) => enclosingFunction(id) !== home || goesOn.test(fateOf(id).kind),
  );
}

const goesOn = /^(argument|bound|assigned|returned|yielded|field)$/;

/** Whether a value has methods of its own, or nobody knows what it is. */
function isLive({ oracle }: Session, node: ts.Expression): boolean {
  if (oracle.gives(node, "anything")) return true;
  return oracle.declarationsAt(node).some((d) => {
    if (!ts.isClassLike(d) && !ts.isInterfaceDeclaration(d)) return false;
    if (oracle.isBuiltin(d.getSourceFile())) return !plain.test(d.name?.text ?? "");
    return d.members.some((m) => ts.isMethodDeclaration(m) || ts.isMethodSignature(m));
  });
}

/** Classes of the language whose instances only hold data. */
const plain = new RegExp(
  "^((Readonly)?(Array|Map|Set)|Date|Error|RegExp|Object|String|Number|Boolean|Promise|URL|" +
    "(Shared)?ArrayBuffer|DataView|Buffer|(Big)?(Ui|I)nt\\d+(Clamped)?Array|Float\\d+Array)$",
);
