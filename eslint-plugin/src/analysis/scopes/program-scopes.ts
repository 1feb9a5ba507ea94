/**
 * Program scopes: which kinds of dispose scopes a program opens anywhere at all. Where it opens
 * none, nothing can stand in one; where all end before their callback returns, nothing behind an
 * `await` does. Used by `scope-context.ts` alone.
 */
import type { CalleeSpecifier, Owner } from "../../owner.ts";
import { callsNamed } from "../program/call-index.ts";
import type { Session } from "../session.ts";
import { hasBody, unwrap, type CallLike } from "../program/syntax.ts";

/** What scopes a program opens. */
export interface ProgramScopes {
  /** Any, by any function of any owner. */
  any: boolean;
  /** One that stays open while its function waits: held by `using`, begun and ended, async. */
  lasting: boolean;
}

/** The scopes that the sources of a program open. */
export const programScopes = (session: Session): ProgramScopes =>
  session.oracle.facts.of(session, collect);

function collect(session: Session): ProgramScopes {
  const found: ProgramScopes = { any: false, lasting: false };
  for (const owner of session.settings.owners) {
    for (const scope of owner.scopes) {
      if (found.any && found.lasting) return found;
      const callee = "begin" in scope ? scope.begin : "using" in scope ? scope.using : scope.callee;
      if (!opens(session, owner, callee, "begin" in scope ? "named" : "strange")) continue;
      found.any = true;
      found.lasting ||= !("callee" in scope) || scope.async === true;
    }
    found.any ||= owner.runsInScope.some((c) => opens(session, owner, c, "known"));
  }
  return found;
}

/**
 * Whether the program calls a function of the owner's: known to be it, or a strange one of that
 * name which is given a function, or anything of that name.
 */
function opens(
  session: Session,
  owner: Owner,
  specifier: CalleeSpecifier,
  trust: "known" | "strange" | "named",
): boolean {
  const names = typeof specifier === "string" ? [specifier] : [specifier.name].flat();
  const calls = names.flatMap((name) => callsNamed(session.oracle, name));
  if (trust === "named") return calls.length > 0;
  return calls.some((call) => {
    const callee = session.oracle.callee(call);
    if (trust === "strange" && callee.declaration === undefined && runsFunction(call)) return true;
    return session.oracle.is(callee, [specifier], owner);
  });
}

const runsFunction = (call: CallLike): boolean =>
  call.arguments?.some((a) => hasBody(unwrap(a))) === true;
