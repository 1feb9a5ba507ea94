/**
 * Sources: what a function of the library gives that makes values when it is asked to:
 * `webcam = await tf.data.webcam(video); const image = await webcam.capture();`. Used by
 * `untyped.ts` alone.
 */
import ts from "typescript";
import type { Owner } from "../../owner.ts";
import { calleeNameNode, isTarget, unwrap } from "../program/syntax.ts";
import { assignedNames } from "./globals.ts";
import { isLibraryCall } from "./library-names.ts";
import { storedAt, type FieldContext } from "./untyped-fields.ts";
import { usesOf } from "./untyped-parameters.ts";

/** Whether a call asks a source of the library's for a value. */
export function isFromSource(
  context: FieldContext,
  { expression }: ts.CallExpression,
  owner: Owner,
): boolean {
  if (!ts.isPropertyAccessExpression(expression)) return false;
  const { name, expression: source } = expression;
  const known = owner.untyped.sources.filter(({ methods }) => methods.includes(name.text));
  if (known.length === 0) return false;
  return valuesOf(context, unwrap(source)).some((value) => {
    const awaited = unwrap(value);
    const call = ts.isAwaitExpression(awaited) ? unwrap(awaited.expression) : awaited;
    const callee = ts.isCallExpression(call) ? calleeNameNode(call)?.text : undefined;
    const isKnown = known.some((k) => k.callee === callee);
    return isKnown && isLibraryCall(context, call as ts.CallExpression, owner);
  });
}

/** All that is put into a variable or a field; of anything else itself. */
function valuesOf(context: FieldContext, place: ts.Expression): readonly ts.Expression[] {
  if (ts.isPropertyAccessExpression(place)) return storedAt(context, place).map((s) => s.value);
  if (!ts.isIdentifier(place)) return [place];
  const source = context.declarationAt(place);
  if (!source)
    return (context.facts.of(place.getSourceFile(), assignedNames).get(place.text) ?? []).map(
      ({ right }) => right,
    );
  if (!ts.isVariableDeclaration(source)) return [];
  const stores = usesOf(context, source).flatMap((id) =>
    isTarget(id) && ts.isBinaryExpression(id.parent) ? [id.parent.right] : [],
  );
  return source.initializer ? [source.initializer, ...stores] : stores;
}
