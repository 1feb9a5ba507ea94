/**
 * Opens the analysis session of a program: wires oracle, summaries and scope context together, once
 * per program and settings. Used by `analyse.ts` for every linted file; all files of one program
 * share the session and its caches.
 */
import type ts from "typescript";
import type { ResolvedSettings } from "../owner.ts";
import { resolveSettings } from "../settings.ts";
import { effectOf } from "./transfer/argument.ts";
import { callbackMode } from "./transfer/callbacks.ts";
import { Facts } from "./program/facts.ts";
import { freshness } from "./fresh/is-fresh.ts";
import { Oracle } from "./program/oracle.ts";
import { ScopeContext } from "./scopes/scope-context.ts";
import { Reach } from "./program/reach.ts";
import type { Session } from "./session.ts";
import { Summaries } from "./transfer/summary.ts";
import { transferOf } from "./transfer/mention.ts";

/** More settings than a config has parts; an editor may see many while one is written. */
const mostSettings = 50;

/** The sessions of all programs, and what was read from the syntax of files, which they share. */
export class Workspace {
  /** What is known of trees, programs and settings. */
  readonly facts = new Facts();
  readonly #sessions = new WeakMap<ts.Program, Map<ResolvedSettings, Session>>();
  readonly #resolved = new Map<string, ResolvedSettings>();

  /**
   * What settings mean, validated once. ESLint makes a new object for every part of a config, and
   * for every run: objects that say the same are given the same answer, so that their files share a
   * session and what is known of the owners.
   */
  settings(raw: object): ResolvedSettings {
    return this.facts.of(raw, this.#resolve);
  }

  readonly #resolve = (raw: object): ResolvedSettings => {
    const found = resolveSettings(raw); // what passes is plain data, which text tells apart
    const text = JSON.stringify(raw);
    const known = this.#resolved.get(text);
    if (known) return known;
    if (this.#resolved.size >= mostSettings) this.#resolved.clear();
    this.#resolved.set(text, found);
    return found;
  };

  /** The session of a program and settings. */
  open(program: ts.Program, settings: ResolvedSettings): Session {
    let known = this.#sessions.get(program);
    if (!known) this.#sessions.set(program, (known = new Map<ResolvedSettings, Session>()));
    let session = known.get(settings);
    if (!session)
      known.set(
        settings,
        (session = wire(new Oracle(program, settings, this.facts), settings, true)),
      );
    return session;
  }
}

function wire(oracle: Oracle, settings: ResolvedSettings, guesses: boolean): Session {
  const summaries = new Summaries(() => session);
  const scopes = new ScopeContext(() => session);
  const reach = new Reach(oracle, settings);
  const kept = new Facts(); // these hang on the program, those of the oracle do not
  let sure: Session | undefined;
  const session: Session = {
    oracle,
    settings,
    guesses,
    get sure() {
      return (sure ??= guesses ? wire(oracle, settings, false) : session);
    },
    asking: { expressions: new Set(), variables: new Set(), lent: new Set() },
    freshness: (expression) => freshness(session, expression),
    summary: (fn) => summaries.of(fn),
    transfer: (node) => transferOf(session, node),
    effect: (call, argument, owned) => effectOf(session, call, argument, owned),
    callback: (call, argument) => callbackMode(session, call, argument),
    scopeAt: (node) => scopes.at(node),
    dividedAt: (node) => scopes.dividedAt(node),
    once: (key, find) => {
      const { asking } = session;
      const isOpen = Object.values(asking).some(({ size }) => size > 0);
      if (isOpen || !summaries.isIdle || !scopes.isIdle) return find(session, key);
      return kept.once(key, find, () => find(session, key));
    },
    reaches: (file) => reach.of(file),
  };
  return session;
}
