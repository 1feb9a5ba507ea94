/**
 * Opens the analysis session of a program: wires oracle, summaries and scope context together, once
 * per program and settings. Used by `analyse.ts` for every linted file; all files of one program
 * share the session and its caches.
 */
import type ts from "typescript";
import type { ResolvedSettings } from "../owner.ts";
import { effectOf } from "./argument.ts";
import { callbackMode } from "./callbacks.ts";
import { freshness } from "./is-fresh.ts";
import { Oracle } from "./oracle.ts";
import { ScopeContext } from "./scope-context.ts";
import { Reach } from "./reach.ts";
import type { Session } from "./session.ts";
import { Summaries } from "./summary.ts";
import { transferOf } from "./mention.ts";

const sessions = new WeakMap<ts.Program, Map<ResolvedSettings, Session>>();

/** The session of a program and settings. */
export function openSession(program: ts.Program, settings: ResolvedSettings): Session {
  const known = sessions.get(program)?.get(settings);
  if (known) return known;
  const session = wire(new Oracle(program, settings), settings, true);
  const map = sessions.get(program) ?? new Map<ResolvedSettings, Session>();
  sessions.set(program, map.set(settings, session));
  return session;
}

function wire(oracle: Oracle, settings: ResolvedSettings, guesses: boolean): Session {
  const summaries = new Summaries(() => session);
  const scopes = new ScopeContext(() => session);
  const reach = new Reach(oracle, settings);
  let sure: Session | undefined;
  const session: Session = {
    oracle,
    settings,
    guesses,
    get sure() {
      return (sure ??= guesses ? wire(oracle, settings, false) : session);
    },
    asking: { expressions: new Set() },
    freshness: (expression) => freshness(session, expression),
    summary: (fn) => summaries.of(fn),
    transfer: (node) => transferOf(session, node),
    effect: (call, argument) => effectOf(session, call, argument),
    callback: (call, argument) => callbackMode(session, call, argument),
    scopeAt: (node) => scopes.at(node),
    reaches: (file) => reach.of(file),
  };
  return session;
}
