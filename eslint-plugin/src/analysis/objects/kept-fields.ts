/**
 * Kept fields: fields that a class gives a local value of which a function keeps the end:
 * `this.ends.push(() => lut.destroy()); this.lut = lut;`. What runs that function ends the field.
 * Used by the rule about members.
 */
import ts from "typescript";
import { isTarget, someWithin, unwrap } from "../program/syntax.ts";
import type { Session } from "../session.ts";
import { enclosingFunction } from "../transfer/fate.ts";
import { keepersOfEnd, type Keeper, type Kept } from "../transfer/kept-ends.ts";
import { isRun, isRunIn } from "../transfer/run-ends.ts";
import { fieldOfThis, type Member } from "./members.ts";

/** Whether some methods of a class, or somebody else, run what ends all that a field is given. */
export const isEndRunBy = (
  session: Session,
  { name, makes }: Member,
  methods: ReadonlySet<ts.Node>,
): boolean =>
  makes.every((made) => {
    const value = unwrap(made);
    const source = ts.isIdentifier(value) ? session.oracle.declarationAt(value) : undefined;
    const home = source && enclosingFunction(source);
    if (!home || !ts.isVariableDeclaration(source)) return false;
    const runsIt = (keeper: Keeper): boolean => {
      if (keeper.kind !== "place" || ts.isIdentifier(keeper.place)) return isRun(session, keeper);
      return isRunIn(session, methods, keeper) && !losesLast(keeper, name);
    };
    return keepersOfEnd(session, source, home).some(runsIt);
  });

/** `this.end = () => b.destroy();` with no look at what the field held, which is gone. */
function losesLast({ place, store }: Kept, field: string): boolean {
  const fn = store && enclosingFunction(store);
  if (!fn || ts.isConstructorDeclaration(fn) || ts.isIdentifier(place)) return false;
  const looks = (at: ts.Node): boolean => {
    const name = fieldOfThis(at)?.name.text;
    return (name === place.name.text || name === field) && at.pos < store.pos && !isTarget(at);
  };
  return !someWithin(fn, looks);
}
