/**
 * The session: one object through which the verbs of `analysis/` reach the oracle and each other
 * without importing each other. Created once per program and settings by `analysis/open.ts`;
 * everything in it is lazy and cached.
 */
import type ts from "typescript";
import type { ResolvedSettings } from "../owner.ts";
import type { Oracle, Owned } from "./program/oracle.ts";
import type { Transfer } from "./transfer/mention.ts";
import type { CallLike, FunctionWithBody } from "./program/syntax.ts";
import type { Effect } from "./transfer/transfer.ts";

/**
 * Who owns the value of an expression: `fresh`, this code; `borrowed`, somebody else; `mixed`, it
 * depends on the path; `unknown`, no telling; `never`, nothing yet: a recursive call while its
 * group is being solved.
 */
export type Freshness = "fresh" | "borrowed" | "mixed" | "unknown" | "never";

/** What a function does to one of its parameters, over all paths. */
export interface ParameterEffect {
  disposes: boolean;
  stores: boolean;
  returns: boolean;
  /** Takes it by its tag, and all its body does is give it back. */
  givesBack: boolean;
  /** For function parameters: how the function calls them. */
  calls: CallMode | null;
}
/**
 * `scoped`: inside a scope the function opens; `inline`: before the function returns; `later`:
 * after it has returned.
 */
export type CallMode = "scoped" | "inline" | "later";

/** What calling a function does and gives. */
export interface Summary {
  result: Freshness;
  parameters: readonly ParameterEffect[];
}

/**
 * Whether tensors created at a place belong to an open scope. `unknown` makes rules silent;
 * `mixed` says that some callers have a scope and some have none, and one rule speaks of it.
 */
export type ScopeState = "in" | "out" | "unknown" | "mixed";

/** A function whose callers decide whether it runs in a scope. */
export interface Divided {
  fn: FunctionWithBody;
  /** Where it is called, through others too, with no scope open: in the order of the files. */
  lacking: readonly ts.Node[];
}

/** The analysis of one program under one set of settings. */
export interface Session {
  readonly oracle: Oracle;
  readonly settings: ResolvedSettings;
  /**
   * Whether a function without a body, which nobody vouches for, is taken to make what it returns.
   */
  readonly guesses: boolean;
  /** The same program without guesses: what is fresh here, a fix may free unasked. */
  readonly sure: Session;
  /** Expressions whose freshness is being asked for in the function at hand. */
  readonly asking: {
    expressions: Set<ts.Node>;
    /** Variables of which the same is asked. */
    variables: Set<ts.Node>;
    /** Parameters of which is asked whether what they hold is only lent. */
    lent: Set<ts.Node>;
  };
  freshness(expression: ts.Expression): Freshness;
  summary(fn: FunctionWithBody): Summary;
  /** What a mention of an owned value does to it. */
  transfer(node: ts.Expression): Transfer;
  /**
   * What a call does to one of its arguments (or to an element of an array or object literal
   * argument).
   *
   * @param owned what the argument owns; asked for when not given
   */
  effect(call: CallLike, argument: ts.Node, owned?: Owned): Effect;
  /** How a call runs a callback given as an argument. */
  callback(call: CallLike, argument: ts.Node): CallMode | "unknown";
  scopeAt(node: ts.Node): ScopeState;
  /** The function that leaves what is made at a node to those of its callers that have a scope. */
  dividedAt(node: ts.Node): Divided | null;
  /** What `find`, a function of a module, gives for `key`: kept where no answer is still open. */
  once<K extends object, T>(key: K, find: (session: Session, key: K) => T): T;
  /** Whether a file can hold owned values at all. */
  reaches(file: ts.SourceFile): boolean;
}

/** Whether two summaries say the same. */
export const sameSummary = (a: Summary, b: Summary): boolean =>
  a.result === b.result &&
  a.parameters.length === b.parameters.length &&
  a.parameters.every((effect, i) => {
    const other = b.parameters[i];
    return (
      other !== undefined &&
      effect.disposes === other.disposes &&
      effect.stores === other.stores &&
      effect.returns === other.returns &&
      effect.givesBack === other.givesBack &&
      effect.calls === other.calls
    );
  });
