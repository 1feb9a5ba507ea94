/**
 * For models: what plain JavaScript runs a model on is a value of the model's library, where lists
 * and texts have no such method: `model.fit(batch.xs.reshape(shape), batch.labels)`. Used by
 * `untyped.ts`.
 */
import ts from "typescript";
import type { Owner } from "../../owner.ts";
import { calleeNameNode } from "../program/syntax.ts";
import type { NameContext } from "./library-names.ts";

const trains = /^(fit|evaluate|trainOnBatch)$/;

/** Whether what a method gives is an argument of a call that runs or trains a model. */
export function isForModel(
  context: NameContext,
  call: ts.Node,
  method: string,
  { untyped: { runs } }: Owner,
): boolean {
  const name = ts.isCallExpression(call) ? calleeNameNode(call) : undefined;
  if (!name || method in Array.prototype || method in Math) return false;
  const isRun = runs.includes(name.text) || (runs.length > 0 && trains.test(name.text));
  if (!isRun) return false;
  const declared = context.declarationAt(name)?.getSourceFile().fileName;
  return declared === undefined || /[\\/]@tensorflow[\\/]/.test(declared);
}
