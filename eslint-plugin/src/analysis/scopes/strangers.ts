/**
 * Strangers: calls that leave the program for code which does not know the library, so that it
 * opens none of its scopes. Used by `scope-context.ts` and `scope-reach.ts`.
 */
import type { Session } from "../session.ts";
import type { CallLike } from "../program/syntax.ts";

/** Whether a call reaches code that, as far as can be seen, opens no scope. */
export function isStranger(session: Session, host: CallLike): boolean {
  const callee = session.oracle.callee(host);
  if (callee.body !== undefined || /scope|tidy/i.test(callee.name)) return false;
  const file = callee.declaration?.getSourceFile();
  if (file && !file.isDeclarationFile) return false; // declared, and written who knows where
  return session.settings.owners
    .filter((o) => o.scopes.length > 0)
    .every((o) => {
      const packages = Array.isArray(o.types) ? o.types.flatMap((t) => t.package ?? []) : [];
      return (
        !session.oracle.fromLibrary(callee, o) &&
        !packages.some((name) => file?.text.includes(name) === true)
      );
    });
}
