/**
 * What declarations leave to TypeScript's type checker: the questions that `declared.ts` and
 * `declared-member.ts` ask. `checker.ts` answers them, and asks these two before TypeScript.
 */
import type ts from "typescript";

/** Questions about types and symbols. */
export interface Questions {
  /** What calling a symbol gives, where that was asked; null where declarations do not tell. */
  readonly results: Map<ts.Symbol, ts.Type | null>;
  /** The type of an expression or name where it stands. */
  typeAt(node: ts.Node): ts.Type;
  /** The type a type annotation names. */
  annotated(node: ts.TypeNode): ts.Type;
  /** The instance type of a class symbol. */
  instanceOf(symbol: ts.Symbol): ts.Type;
  /** What waiting for a promise gives; of anything else, itself. */
  awaited(type: ts.Type): ts.Type;
  /** The symbol a name refers to, through imports. */
  symbolAt(node: ts.Node): ts.Symbol | undefined;
  /** The member of a type that has a name. */
  memberOf(type: ts.Type, name: string): ts.Symbol | undefined;
  /** Whether a type is, whatever its own type parameters stand for, that of one owned value. */
  isOwner(type: ts.Type): boolean;
  /** Whether a type is an array or a tuple. */
  isList(type: ts.Type): boolean;
  /** Whether a type says nothing: `any`, and a promise or a list of it. */
  isUntyped(type: ts.Type): boolean;
  /** Whether a type is a tuple. */
  isTuple(type: ts.Type): boolean;
  /** The type arguments of a reference such as `Map<K, V>`. */
  argumentsOf(type: ts.Type): readonly ts.Type[];
  /** What a module exports under a name. */
  exportOf(module: ts.Symbol, name: string): ts.Symbol | undefined;
  /** What a type parameter, or a part of a table by one, is bound to extend. */
  boundOf(type: ts.Type): ts.Type | undefined;
}
