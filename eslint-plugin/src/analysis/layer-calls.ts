/**
 * Layer calls: the `call()` of a class that extends a layer of the library. Models run it in a
 * scope of their own, with `predict`, `evaluate` and `fit` alike. Used by `scope-context.ts` alone.
 */
import ts from "typescript";
import type { Owner } from "../owner.ts";
import { extendsLibrary } from "./library-names.ts";
import { managed } from "./members.ts";
import type { Session } from "./session.ts";
import { memberName } from "./syntax.ts";

/** Whether a method is the `call()` of a layer, which the model it is in runs in a scope. */
export function isLayerCall(session: Session, fn: ts.Node): boolean {
  if (!ts.isMethodDeclaration(fn) || memberName(fn.name) !== "call") return false;
  const node = fn.parent;
  return (
    ts.isClassLike(node) &&
    session.settings.owners.some(
      (owner) => owner.policy === "scoped" && isLayer(session, node, owner),
    )
  );
}

const isLayer = (session: Session, node: ts.ClassLikeDeclaration, owner: Owner): boolean =>
  managed(session, node, owner.managers) || extendsLibrary(session.oracle, node, owner);
