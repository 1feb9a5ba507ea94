/**
 * Own calls: a method of a class and those that it calls as `this.other()`, directly or not. Unlike
 * `reach` of `members.ts`, which goes by names alone and so finds too many rather than too few, it
 * does not take `old.x.dispose()` for the class's own `dispose`. Used where a method is asked what
 * it does to a field.
 */
import ts from "typescript";
import { fieldOfThis } from "./members.ts";
import { memberName } from "../program/syntax.ts";

/** A member and the methods of its class that run with it. */
export function runWith(node: ts.ClassLikeDeclaration, member: ts.Node): ReadonlySet<ts.Node> {
  const run = new Set<ts.Node>();
  const add = (one: ts.Node): void => {
    if (run.has(one)) return;
    run.add(one);
    const visit = (at: ts.Node): void => {
      const called = ts.isCallExpression(at) ? fieldOfThis(at.expression)?.name.text : undefined;
      if (called !== undefined) node.members.filter((m) => isNamed(m, called)).forEach(add);
      ts.forEachChild(at, visit);
    };
    ts.forEachChild(one, visit);
  };
  add(member);
  return run;
}

const isNamed = ({ name }: ts.ClassElement, text: string): boolean =>
  name !== undefined && memberName(name) === text;
