/**
 * Watches one call of a function and makes a recording of it, or says why there can be none: it
 * reads values, uploads host data, keeps a tensor that nobody is given, and so on. Called by
 * compiled.ts. Holds what it sees until the call has ended; owns no tensor.
 */
import { HANDLE } from "../ownership/handle.ts";
import type { DisposeScope } from "../ownership/scope.ts";
import type { AnyOp } from "../ops/op.ts";
import { TensorHandle } from "../tensor/body.ts";
import {
  type Operand,
  type RecordingWatcher,
  type Storage,
  labels,
  lastStorage,
  watchRecording,
} from "../tensor/dispatch.ts";
import {
  type GradNode,
  type Gradient,
  type Saved,
  type TapeWatcher,
  tape,
} from "../tensor/tape.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { Given } from "./given.ts";
import { NoPattern, type Pattern, patternOf } from "./outcome.ts";
import type {
  Act,
  Leaf,
  LeafBefore,
  Place,
  PlacedResult,
  PlacedView,
  Recording,
} from "./recording.ts";

type OpAct = Extract<Act, { kind: "op" }>;

/** One watched call. */
export class Capture implements RecordingWatcher, TapeWatcher {
  /** Why there will be no recording; the first reason counts. */
  refusal: string | null;
  readonly #given: Given;
  readonly #acts: Act[] = [];
  readonly #places: Place[] = [];
  /** Storages by place. */
  readonly #storages: Storage[] = [];
  readonly #placeOf = new Map<Storage, number>();
  /** Storages with higher numbers were made by the call. */
  readonly #before = lastStorage();
  /** So were nodes. */
  readonly #nodeBefore = tape().nextNodeId();
  /** Tensors from outside that it used; those live when it has ended are no aliases of its own. */
  readonly #handles = new Set<TensorHandle>();
  /** Those that became leaves in it, or ceased to be leaves. */
  readonly #switched: TensorHandle[] = [];
  readonly #draws = new Map<string, number>();
  readonly #leaves = new Map<Gradient, { leaf: Leaf; before: Saved | null; counts: boolean }>();
  readonly #results: { readonly view: PlacedResult; readonly handle: TensorHandle }[] = [];
  #pattern: Pattern = { kind: "value", value: undefined };

  constructor(given: Given) {
    this.#given = given;
    this.refusal = given.refusal;
    for (const [index, { storage }] of given.handles.entries())
      if (!this.#placeOf.has(storage)) this.#place(storage, { kind: "argument", index });
  }

  /** Runs a function and sees what it does. */
  watch<T>(fn: () => T): T {
    const before = watchRecording(this);
    const own = tape();
    own.watcher = this;
    try {
      return fn();
    } finally {
      own.watcher = null;
      watchRecording(before);
    }
  }

  /** There will be no recording. */
  refuse(why: string): void {
    this.refusal ??= why;
  }

  #place(storage: Storage, place: Place): number {
    const index = this.#places.push(place) - 1;
    this.#storages.push(storage);
    this.#placeOf.set(storage, index);
    return index;
  }

  /** The place of a storage that is used, or, as the result of an op, made. */
  #placed(storage: Storage, made: boolean): number {
    const known = this.#placeOf.get(storage);
    if (known !== undefined) return known;
    const { bytes, role } = storage;
    if (storage.id <= this.#before) return this.#place(storage, { kind: "outside", storage });
    if (!made) this.refuse("it uses a tensor that an optimizer made in it");
    return this.#place(storage, { kind: "made", bytes, role });
  }

  #view({ storage, layout, dtype }: Operand, made = false): PlacedView {
    return { place: this.#placed(storage, made), layout, dtype };
  }

  // === What it does ===

  /** An op is recorded. */
  op(
    op: AnyOp,
    inputs: readonly Operand[],
    outputs: readonly Operand[],
    attrs: unknown,
    scalars: readonly number[],
  ): void {
    const { phase, layer } = labels();
    const draws = op.facts.random === true && scalars.length > 0;
    const draw = draws ? (this.#draws.get(scalars.slice(0, 3).join()) ?? -1) : -1;
    if (draws && draw === -1)
      this.refuse(`${op.name} takes random numbers that were drawn before it`);
    for (const i of op.facts.inplaceOf ?? []) this.#changes(inputs[i]);
    this.#acts.push({
      kind: "op",
      op,
      inputs: inputs.map((x) => this.#view(x)),
      outputs: outputs.map((x) => this.#view(x, true)),
      attrs,
      scalars: [...scalars],
      draw,
      phase,
      layer,
      lastOf: [],
    });
  }

  /** Random numbers are taken. */
  took(scalars: readonly number[], displaced: boolean): void {
    const key = scalars.join();
    if (displaced) {
      if (!this.#draws.has(key)) this.refuse("it draws random numbers from before it again");
      return;
    }
    this.#draws.set(key, this.#draws.size);
    this.#acts.push({ kind: "draw" });
  }

  /** A leaf gets another gradient, or none. */
  setGrad(leaf: Gradient, grad: Saved | null): void {
    const own = this.#leaf(leaf, grad !== null);
    const behind = grad === null ? 0 : grad.storage.version - grad.version;
    this.#acts.push({
      kind: "gradient",
      leaf: own,
      grad: grad === null ? null : { ...this.#view(grad), behind },
    });
  }

  /** Somebody looks at a leaf's gradient. */
  readGrad(leaf: Gradient): void {
    this.#leaf(leaf, true);
  }

  /** A backward pass goes through a node. Nobody would ask whether what it saved is there. */
  visits(node: GradNode): void {
    if (node.id <= this.#nodeBefore) this.refuse("it goes back through a graph from outside");
  }

  /** An op writes to one of its inputs: a tensor with a graph knows when it was written to. */
  #changes(target: Operand | undefined): void {
    const { node = null } = (target instanceof TensorHandle ? target.gradient : null) ?? {};
    if (node !== null && node.id <= this.#nodeBefore)
      this.refuse("it changes a tensor from outside that is part of a graph");
  }

  /** A tensor is used. */
  uses(handle: TensorHandle): void {
    if (handle.storage.id <= this.#before) this.#handles.add(handle);
  }

  /** A tensor becomes a leaf, or ceases to be one. */
  switches(handle: TensorHandle): void {
    if (handle.storage.id <= this.#before) this.#switched.push(handle);
  }

  /** `counts`: what it had before decides what the function does. */
  #leaf(gradient: Gradient, counts: boolean): Leaf {
    const known = this.#leaves.get(gradient);
    if (known !== undefined) return known.leaf;
    const argument = this.#given.handles.findIndex((h) => h.gradient === gradient);
    const leaf: Leaf =
      argument === -1 ? { argument: null, gradient } : { argument, gradient: null };
    this.#leaves.set(gradient, { leaf, before: gradient.grad, counts });
    return leaf;
  }

  /**
   * Something is simply done again. It is not looked at, but whether leaves have gradients decides
   * what it does, and so what may be done after it.
   */
  again(who: object, act: () => void): void {
    this.#acts.push({ kind: "again", who, act });
    const own = tape();
    const nothing = (): void => undefined;
    own.watcher = {
      readGrad: (leaf) => {
        this.readGrad(leaf);
      },
      setGrad: nothing,
      took: nothing,
      visits: nothing,
      uses: nothing,
      switches: nothing,
      refuse: nothing,
      again: (_, inner) => {
        inner();
      },
    };
    const before = watchRecording(null);
    try {
      act();
    } finally {
      watchRecording(before);
      own.watcher = this;
    }
  }

  // === How it ends ===

  /** Takes note of the result, which still belongs to the call's scope. */
  returned(result: unknown, scope: DisposeScope): void {
    const numbers = new Map<Tensor, number>();
    try {
      this.#pattern = patternOf(result, (t) => {
        const known = numbers.get(t);
        if (known !== undefined) return known;
        numbers.set(t, numbers.size);
        this.#returned(t, scope);
        return numbers.size - 1;
      });
    } catch (error) {
      if (!(error instanceof NoPattern)) throw error;
      this.refuse(error.message);
    }
  }

  #returned(t: Tensor, scope: DisposeScope): void {
    const handle = t[HANDLE];
    if (handle.scope !== scope && handle.scope?.isInside(scope) !== true)
      throw new NoPattern("it returns a tensor that it did not make; return an alias() of it");
    // one that backward() has been through leads nowhere: the graph behind it goes with the call
    if (handle.gradient?.node?.consumed === true) handle.setGradient(null);
    if (handle.gradient !== null)
      throw new NoPattern(
        "it returns a tensor that gradients flow to; call backward() in it, " +
          "or return a detach() of the tensor",
      );
    const view = { ...this.#view(handle), name: handle.name };
    this.#results.push({ view, handle });
  }

  /** The recording, once the call's scope has ended; null where there can be none. */
  recording(): Recording | null {
    if (this.refusal !== null) return null;
    if (this.#given.handles.some((h) => !h.isLive)) this.refuse("it disposes an argument");
    if (this.#switched.some((h) => h.isLive))
      this.refuse("it sets requiresGrad of another's tensor");
    const leaves = [...this.#leaves].filter(([{ refs }]) => refs > 0);
    for (const [, { leaf, before }] of leaves) this.#asGradient(leaf, before);
    this.#checkKept(leaves.map(([gradient]) => gradient));
    if (this.refusal !== null) return null;
    const places = this.#places.map((place, i): Place => {
      const role = this.#storages[i]?.role;
      return place.kind === "made" && role !== undefined ? { ...place, role } : place;
    });
    const outside = new Set(places.flatMap((p) => (p.kind === "outside" ? [p.storage] : [])));
    for (const { handle } of this.#results) this.#handles.delete(handle);
    for (const handle of this.#given.handles) this.#handles.delete(handle);
    const dead = new Set([...this.#leaves.keys()].filter(({ refs }) => refs <= 0));
    const acts = this.#acts.filter(
      (act) =>
        act.kind !== "gradient" || act.leaf.gradient === null || !dead.has(act.leaf.gradient),
    );
    return {
      acts: withLasts(acts, places, new Set(this.#results.map(({ view }) => view.place))),
      places,
      outside,
      handles: [...this.#handles].filter(({ isLive }) => isLive),
      fixed: places.map((p) => (p.kind === "outside" ? p.storage : undefined)),
      given: places.flatMap((p, i) =>
        p.kind === "argument" || p.kind === "gradient" ? [[i, p] as const] : [],
      ),
      leaves: leaves.flatMap(([, { leaf, before, counts }]): LeafBefore[] =>
        counts ? [{ leaf, view: before }] : [],
      ),
      pattern: this.#pattern,
      results: this.#results.map(({ view }) => view),
      argumentIds: this.#given.handles.map(({ storage }) => storage.id),
    };
  }

  /** A storage that was a leaf's gradient when the call began is another one in every call. */
  #asGradient(leaf: Leaf, before: Saved | null): void {
    const place = before === null ? undefined : this.#placeOf.get(before.storage);
    if (before === null || place === undefined) return;
    const { kind } = this.#places[place] ?? {};
    if (kind === "gradient") this.refuse("two leaves have one gradient");
    else if (kind !== "outside")
      this.refuse("an argument is the gradient of a leaf that it changes");
    this.#places[place] = { kind: "gradient", leaf, bytes: before.storage.bytes };
  }

  /** Everything that it made and somebody owns must be in the result, or a gradient. */
  #checkKept(leaves: readonly Gradient[]): void {
    const explained = new Map<Storage, number>();
    const explain = (storage: Storage): void => {
      explained.set(storage, (explained.get(storage) ?? 0) + 1);
    };
    for (const { handle } of this.#results) if (handle.isLive) explain(handle.storage);
    for (const { grad } of leaves) if (grad !== null) explain(grad.storage);
    for (const [i, storage] of this.#storages.entries())
      if (this.#places[i]?.kind === "made" && storage.refs !== (explained.get(storage) ?? 0))
        this.refuse(
          "a tensor made in it is kept by something that it does not return; " +
            "return the tensor, and keep it outside",
        );
  }
}

/** Notes with each op which of the storages made by it or before it are not needed any more. */
function withLasts(
  acts: readonly Act[],
  places: readonly Place[],
  results: ReadonlySet<number>,
): Act[] {
  const last = new Map<number, OpAct>();
  const kept = new Set(results);
  for (const act of acts) {
    if (act.kind === "gradient" && act.grad !== null) kept.add(act.grad.place);
    if (act.kind !== "op") continue;
    for (const { place } of act.inputs) last.set(place, act);
    for (const { place } of act.outputs) last.set(place, act);
  }
  const lastOf = new Map<OpAct, number[]>();
  for (const [place, act] of last) {
    if (places[place]?.kind !== "made" || kept.has(place)) continue;
    lastOf.set(act, [...(lastOf.get(act) ?? []), place]);
  }
  return acts.map((act) => (act.kind === "op" ? { ...act, lastOf: lastOf.get(act) ?? [] } : act));
}
