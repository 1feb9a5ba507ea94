/**
 * A recording: everything one call of a function asked of the library, in order, with places for
 * the storages that are others in every call. Made by capture.ts, compared here, done again by
 * replay.ts. Owns nothing: it knows the storages of parameters and states, and holds none of them.
 */
import type { DType } from "../base/dtype.ts";
import { type Layout, sameView } from "../base/layout.ts";
import type { AnyOp } from "../ops/op.ts";
import type { Storage } from "../tensor/dispatch.ts";
import type { Gradient } from "../tensor/tape.ts";
import { type Pattern, patternDifference } from "./outcome.ts";

/** A leaf of the graph: that of an argument, or one from outside. */
export type Leaf =
  | { readonly argument: number; readonly gradient: null }
  | { readonly argument: null; readonly gradient: Gradient };

/** Where a storage comes from. */
export type Place =
  | { readonly kind: "argument"; readonly index: number }
  | { readonly kind: "outside"; readonly storage: Storage }
  | { readonly kind: "gradient"; readonly leaf: Leaf; readonly bytes: number }
  | { readonly kind: "made"; readonly bytes: number; readonly role: Storage["role"] };

/** A place whose storage a call brings along: with an argument, or as a leaf's gradient. */
export type GivenPlace = Extract<Place, { kind: "argument" | "gradient" }>;

/** A view of a storage, by its place. */
export interface PlacedView {
  readonly place: number;
  readonly layout: Layout;
  readonly dtype: DType;
}

/** One thing a function does. */
export type Act =
  | {
      readonly kind: "op";
      readonly op: AnyOp;
      readonly inputs: readonly PlacedView[];
      readonly outputs: readonly PlacedView[];
      readonly attrs: unknown;
      readonly scalars: readonly number[];
      /** The draw whose numbers are its first scalars; -1 for none. */
      readonly draw: number;
      readonly phase: "forward" | "calcGradient" | "calcDerivative" | "apply";
      readonly layer: string;
      /** Places nobody needs any more. */
      readonly lastOf: readonly number[];
    }
  | { readonly kind: "draw" }
  | {
      readonly kind: "gradient";
      readonly leaf: Leaf;
      /** What the leaf gets; `behind`: writes since it was one. */
      readonly grad: (PlacedView & { readonly behind: number }) | null;
    }
  | { readonly kind: "again"; readonly who: object; readonly act: () => void };

/** A tensor in the result. */
export interface PlacedResult extends PlacedView {
  readonly name: string;
}

/** What a leaf had for a gradient when the call began. */
export interface LeafBefore {
  readonly leaf: Leaf;
  readonly view: { readonly layout: Layout; readonly dtype: DType } | null;
}

/** One call of a function. */
export interface Recording {
  readonly acts: readonly Act[];
  readonly places: readonly Place[];
  readonly outside: ReadonlySet<Storage>;
  /** Tensors from outside, which must be live whenever it is done again. */
  readonly handles: readonly { readonly isLive: boolean }[];
  /** By place: storages that are the same in every call. */
  readonly fixed: readonly (Storage | undefined)[];
  /** Places whose storages a call brings along. */
  readonly given: readonly (readonly [place: number, of: GivenPlace])[];
  readonly leaves: readonly LeafBefore[];
  readonly pattern: Pattern;
  readonly results: readonly PlacedResult[];
  /** Numbers of the arguments' storages. */
  readonly argumentIds: readonly number[];
}

/** How a recording differs from an earlier one of such a call; null when it does not. */
export function difference(now: Recording, before: Recording): string | null {
  return (
    differentPlaces(now, before) ??
    differentActs(now.acts, before.acts) ??
    differentLeaves(now.leaves, before.leaves) ??
    (now.results.length === before.results.length &&
    now.results.every((r, i) => sameViewOf(r, before.results[i]))
      ? patternDifference(now.pattern, before.pattern)
      : "its result holds other tensors")
  );
}

function differentPlaces(now: Recording, before: Recording): string | null {
  for (const [i, place] of now.places.entries()) {
    const other = before.places[i];
    if (other === undefined || place.kind !== other.kind) continue; // the acts say it better
    if (place.kind === "outside" && other.kind === "outside" && place.storage !== other.storage)
      return "it uses another tensor from outside than the last time; pass it as an argument";
  }
  return null;
}

function differentActs(now: readonly Act[], before: readonly Act[]): string | null {
  for (let i = 0; i < now.length; i++) {
    const a = now[i];
    const b = before[i];
    if (a === undefined || b === undefined) break;
    const found = differentAct(a, b);
    if (found !== null) return found;
  }
  return now.length === before.length
    ? null
    : `it records ${now.length} things, not ${before.length} as the last time`;
}

function differentAct(a: Act, b: Act): string | null {
  if (a.kind !== b.kind) return `${nameOf(a)} comes where ${nameOf(b)} came the last time`;
  if (a.kind === "again" && b.kind === "again")
    return a.who === b.who ? null : `another ${a.who.constructor.name} makes its step`;
  if (a.kind === "gradient" && b.kind === "gradient") {
    const same =
      sameLeaf(a.leaf, b.leaf) &&
      (a.grad === null ? b.grad === null : sameViewOf(a.grad, b.grad ?? undefined));
    return same ? null : "other leaves get gradients";
  }
  if (a.kind !== "op" || b.kind !== "op") return null;
  if (a.op !== b.op) return `${a.op.name} comes where ${b.op.name} came the last time`;
  const sameViews =
    a.inputs.length === b.inputs.length &&
    a.inputs.every((x, i) => sameViewOf(x, b.inputs[i])) &&
    a.outputs.every((x, i) => sameViewOf(x, b.outputs[i]));
  if (!sameViews) return `${a.op.name} works on other tensors`;
  const keys = [a, b].map(({ op, attrs }) => op.key?.(attrs) ?? []);
  if (keys[0]?.join() !== keys[1]?.join()) return `${a.op.name} has other attributes`;
  if (a.draw !== b.draw) return `${a.op.name} draws other random numbers`;
  const from = a.draw === -1 ? 0 : 3;
  for (let i = from; i < a.scalars.length; i++)
    if (a.scalars[i] !== b.scalars[i])
      return `a number that ${a.op.name} takes changed; pass it as a tensor`;
  return null;
}

function nameOf(act: Act): string {
  if (act.kind === "op") return act.op.name;
  if (act.kind === "again") return `${act.who.constructor.name}.step()`;
  return act.kind === "draw" ? "a random number" : "a change of a gradient";
}

function differentLeaves(now: readonly LeafBefore[], before: readonly LeafBefore[]): string | null {
  const same =
    now.length === before.length &&
    now.every(({ leaf, view }, i) => {
      const other = before[i];
      return (
        other !== undefined &&
        sameLeaf(leaf, other.leaf) &&
        (view === null) === (other.view === null)
      );
    });
  return same ? null : "other leaves have gradients when it begins";
}

/** Whether two mean the same leaf. */
export function sameLeaf(a: Leaf, b: Leaf): boolean {
  return a.argument === b.argument && a.gradient === b.gradient;
}

function sameViewOf(a: PlacedView, b: PlacedView | undefined): boolean {
  return (
    b !== undefined && a.place === b.place && a.dtype === b.dtype && sameView(a.layout, b.layout)
  );
}
