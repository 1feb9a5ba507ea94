/**
 * Flow: runs ownership states over the segments of each function until nothing changes, then once
 * more to collect what went wrong: leaks, overwrites, uses and disposals after disposal, disposed
 * parameters. A state is a set of possibilities per variable; what is only possible together with
 * "unknown" is never reported. Read by the rules through `analyse.ts`.
 */
import ts from "typescript";
import { isLocalLife, isOfCaller, type Cell } from "./cells.ts";
import { beforeCatch, isEndedInTry } from "./conditions.ts";
import type { Event, FunctionPaths, Segment, Site } from "./events.ts";
import { handBack, mayBeDisposed } from "./heirs.ts";
import { refined } from "./refined.ts";
import {
  disposed,
  escaped,
  isEndedUnderSameTest,
  joinValue,
  keepBits,
  leakIsOneWay,
  leakIsSure,
  nil,
  none,
  noSites,
  owned,
  sameCall,
  sameValue,
  unknown,
  value,
  type State,
  type Value,
} from "./states.ts";
import { leftByRejections } from "./rejections.ts";
import { storesOnWays } from "./stores-on-ways.ts";
import { leftByTurns } from "./turns.ts";
import { leftOnWays } from "./ways-out.ts";

/** Something wrong that the dataflow found. */
export type Problem =
  /**
   * A fresh value nobody disposes, on every path (`always`) or on the one that ends at `exit`; with
   * `never`, no path disposes it or hands it on, though another name may.
   */
  | {
      kind: "leak";
      site: Site;
      always: boolean;
      never: boolean;
      exit: ts.Node | undefined;
      cell: Cell;
    }
  | { kind: "overwrite"; site: Site; node: ts.Node; cell: Cell; next: Site | undefined }
  /** A slot is given something else; `surely` tells that it held something, else it may have. */
  | { kind: "loss"; node: ts.Node; cell: Cell; surely: boolean }
  | { kind: "use-after-dispose"; node: ts.Node; cell: Cell; at: ts.Node }
  | { kind: "double-dispose"; node: ts.Node; cell: Cell; at: ts.Node | undefined }
  | { kind: "dispose-parameter"; node: ts.Node; cell: Cell }
  /**
   * A fresh value goes where others reach it: by a mention, or `by` a function that reads it;
   * `surely` where the function owns it on every path.
   */
  | {
      kind: "leaves";
      site: Site;
      node: ts.Node;
      cell: Cell;
      by: ts.Node | undefined;
      surely: boolean;
    }
  | { kind: "return-disposed"; node: ts.Node; cell: Cell; at: ts.Node | undefined };

/** A value that one path leaves behind. */
const left = { kind: "leak", always: false, never: false } as const;

/** States grow from round to round; a function that takes more is left alone. */
const mostRounds = 200;

/** Everything wrong in one function. */
export class Flow {
  /** What is wrong where nothing throws. */
  readonly problems: Problem[] = [];
  private readonly seen = new Set<string>();
  private readonly outs = new Map<Segment, State>();
  private reporting = false;
  private readonly paths: FunctionPaths;

  constructor(paths: FunctionPaths) {
    this.paths = paths;
    if (!this.settle()) return; // unknown, and unknown is silent
    this.reporting = true;
    for (const segment of paths.segments) this.transfer(segment, this.inState(segment));
    for (const segment of paths.returned) if (!segment.yields) this.leaks(segment);
    const { outs } = this;
    for (const { cell, value, exit } of [...leftByTurns(paths, outs), ...leftOnWays(paths, outs)])
      this.leaksOf(cell, value, exit);
    for (const store of storesOnWays(paths, outs, (segment) => this.inState(segment)))
      this.report({ kind: "overwrite", ...store, next: undefined });
  }

  /** What is wrong besides where something throws, or where an `await` that counts rejects. */
  exceptional(counts: (wait: ts.AwaitExpression) => boolean): Problem[] {
    if (!this.reporting) return [];
    const known = this.problems.length;
    for (const segment of this.paths.returned) this.leaks(segment);
    for (const segment of this.paths.thrown) this.leaks(segment, segment.last);
    const stateAt = (segment: Segment, index: number) => this.transferQuietly(segment, index);
    for (const { cell, value, exit } of leftByRejections(this.paths, stateAt, counts))
      this.leaksOf(cell, value, exit);
    return this.problems.splice(known);
  }

  /** Runs the segments until no state changes; false when that takes too long. */
  private settle(): boolean {
    for (let round = 0; round < mostRounds; round++) {
      const changed = this.paths.segments.filter((segment) => this.update(segment));
      if (changed.length === 0) return true;
    }
    return false;
  }

  private update(segment: Segment): boolean {
    const out = this.transfer(segment, this.inState(segment));
    const before = this.outs.get(segment);
    const same =
      before !== undefined &&
      before.size === out.size &&
      [...out].every(([cell, v]) => sameValue(before.get(cell), v));
    this.outs.set(segment, out);
    return !same;
  }

  private inState(segment: Segment): State {
    const state: State = new Map();
    if (segment === this.paths.initial)
      for (const cell of this.paths.cells.all)
        if (cell.kind === "parameter" || cell.kind === "place") state.set(cell, value(none));
        else if (cell.kind === "slot") state.set(cell, value(owned | nil));
    for (const previous of segment.previous) {
      const out = this.outs.get(previous);
      if (!out) continue;
      for (const [cell, v] of refined(this.paths.cells, out, previous, segment)) {
        if (beforeCatch(v.sites, segment) || isEndedInTry(segment, cell)) continue;
        const known = state.get(cell);
        state.set(cell, known ? joinValue(known, v) : v);
      }
    }
    return state;
  }

  // ---- transfer ----

  private transfer({ events }: Segment, state: State, until = events.length): State {
    for (let at = 0; at < until; at++) this.apply(state, events[at]!);
    return state;
  }

  private apply(state: State, event: Event): void {
    const { cell } = event;
    const v = state.get(cell) ?? value(0);
    switch (event.kind) {
      case "own":
        return this.own(state, cell, v, event.site);
      case "set":
        if (cell.kind !== "place") this.overwritten(state, v, cell, event.node);
        this.unlink(state, cell);
        state.set(cell, value(event.to === "none" ? none : event.to === "null" ? nil : unknown));
        return;
      case "alias":
        return this.alias(state, cell, event.from, event.node);
      case "gather":
        return this.gather(state, cell, event.from, event.sites);
      case "use":
        if (v.bits === disposed && v.at)
          this.report({ kind: "use-after-dispose", node: event.node, cell, at: v.at });
        return;
      case "dispose":
        return this.dispose(state, cell, v, event.node, event.certain);
      case "present":
        state.set(cell, { ...v, bits: keepBits(v.bits, "present") });
        return;
      case "capture":
        return this.leaves(v, cell, event.node, event.by);
      case "return":
        this.leaves(v, cell, event.node);
        if (cell.kind === "using")
          this.report({ kind: "return-disposed", node: event.node, cell, at: undefined });
        else if (v.bits === disposed && v.at)
          this.report({ kind: "return-disposed", node: event.node, cell, at: v.at });
        return this.escape(state, cell, v);
      case "escape":
        this.leaves(v, cell, event.node);
        if (
          v.bits === disposed &&
          v.at &&
          cell.owned.shape === "one" &&
          ts.isIdentifier(event.node)
        )
          this.report({ kind: "use-after-dispose", node: event.node, cell, at: v.at });
        return this.escape(state, cell, v);
    }
  }

  private own(state: State, cell: Cell, v: Value, site: Site): void {
    if (cell.kind === "slot" && site.declares && cell.owned.shape === "one") {
      state.set(cell, { ...v, bits: keepBits(v.bits, "present") | owned }); // `this.x ??= make()`
      return;
    }
    if (cell.owned.shape === "many" && addsTo(cell, site)) {
      const { link } = v;
      if (link?.kind === "place" || link?.kind === "parameter") return; // somebody else's list
      state.set(cell, { ...v, bits: (v.bits & ~none) | owned, sites: new Set([...v.sites, site]) });
      return;
    }
    if (!site.declares) this.overwritten(state, v, cell, site.node, site);
    else if (v.bits & owned && !(v.bits & (unknown | escaped)))
      for (const old of [...v.sites].filter((o) => !o.partial || cell.disposals === 0))
        this.report({
          kind: "leak",
          site: old,
          always: (v.bits & disposed) === 0,
          never: (v.bits & disposed) === 0,
          exit: undefined,
          cell,
        });
    this.unlink(state, cell);
    const other = (site.nullable ? nil : 0) | (site.partial ? none : 0);
    state.set(cell, value(owned | other, new Set([site])));
  }

  private overwritten(state: State, lost: Value, cell: Cell, node: ts.Node, next?: Site): void {
    const v = handBack(state, cell, lost, node);
    // whatever came before, the last turn of the loop made it
    const again = v.bits & unknown && next && !v.link && v.sites.has(next) ? [next] : undefined;
    if (!(v.bits & owned) || v.bits & (escaped | disposed | (again ? 0 : unknown))) return;
    if (cell.kind === "slot")
      return this.report({ kind: "loss", node, cell, surely: !(v.bits & (nil | none)) });
    if (cell.fields) return; // cells of their own
    // of the last turn of a loop: a leak, see `leaks`
    if (cell.owned.shape === "many" && ts.isVariableDeclaration(node)) return;
    for (const site of again ?? v.sites) this.report({ kind: "overwrite", site, node, cell, next });
  }

  /** `b = a`: what `a` owned is now `b`'s; `a` still names it. */
  private alias(state: State, cell: Cell, from: Cell, node: ts.Node): void {
    const source = state.get(from) ?? value(unknown);
    if (source.link === cell) return; // it is that already
    if (!ts.isVariableDeclaration(node)) this.leaves(source, from, node);
    const before = state.get(cell);
    if (before && !ts.isVariableDeclaration(node)) this.overwritten(state, before, cell, node);
    this.unlink(state, cell);
    const kept = from.kind === "place" || (from.kind === "parameter" && !(source.bits & owned));
    state.set(cell, { ...source, link: kept ? from : undefined });
    if (!kept)
      state.set(from, {
        bits: (source.bits & ~owned) | (source.bits & owned ? none : 0),
        sites: noSites,
        link: cell,
        at: source.at,
      });
  }

  /** `xs = [a, b]`: what `a` and `b` own is now the list's; they still name it. */
  private gather(state: State, cell: Cell, from: readonly Cell[], made: readonly Site[]): void {
    const before = state.get(cell);
    const values = from.map((c) => {
      const v = state.get(c) ?? value(unknown);
      return before && v.link === cell ? before : v; // `xs = [a, b]; xs = [a, c, b];`
    });
    const other = none | disposed | escaped | unknown;
    const sure = values.every((v) => v.bits & owned && !(v.bits & other));
    if (!sure) for (const part of from) this.escape(state, part, state.get(part) ?? value(0));
    this.unlink(state, cell);
    const sites = new Set([...made, ...values.flatMap((v) => [...v.sites])]);
    state.set(cell, sure ? value(owned, sites) : value(unknown));
    if (sure) for (const part of from) state.set(part, value(none, noSites, cell));
  }

  private unlink(state: State, cell: Cell): void {
    for (const [other, v] of state)
      if (v.link === cell) state.set(other, { ...v, link: undefined });
  }

  private linked(state: State, cell: Cell): Cell[] {
    const found = new Set<Cell>();
    const isApart = ({ bits }: Value): boolean => (bits & owned) !== 0;
    const own = state.get(cell);
    const visit = (c: Cell): void => {
      if (found.has(c)) return;
      found.add(c);
      const link = state.get(c)?.link;
      if (link) visit(link);
      // `x = on ? a : b`, arm by arm: where one may have a value apart, so has the other
      const isEither = c !== cell && c.kind === "local";
      for (const [other, v] of state)
        if (v.link === c && !(isEither && (isApart(v) || (own && isApart(own))))) visit(other);
    };
    visit(cell);
    return [...found];
  }

  private dispose(state: State, cell: Cell, v: Value, node: ts.Node, certain: boolean): void {
    if (cell.kind === "using")
      return certain
        ? this.report({ kind: "double-dispose", node, cell, at: undefined })
        : undefined;
    if (v.bits === disposed && !cell.fields && v.at && !sameCall(v.at, node) && certain)
      this.report({ kind: "double-dispose", node, cell, at: v.at });
    if (certain && cell.kind === "parameter" && v.bits === none && !cell.label.includes("."))
      this.report({ kind: "dispose-parameter", node, cell });
    const group = v.link;
    if (group && group.owned.shape === "many" && cell.owned.shape === "one") {
      this.escape(state, group, state.get(group) ?? value(0)); // the others are still to be freed
      state.set(cell, value(disposed, noSites, undefined, certain ? node : undefined));
      return;
    }
    for (const target of this.linked(state, cell)) {
      // a name that may also hold a value of its own is disposed under some condition
      const alias = target !== cell && target.kind === "parameter" && !(v.bits & owned);
      if (certain && alias) {
        const inner = state.get(target);
        if (inner?.bits === none) this.report({ kind: "dispose-parameter", node, cell: target });
      }
      const before = state.get(target) ?? value(0);
      const after = { ...before, bits: disposed, sites: noSites, at: certain ? node : undefined };
      state.set(target, (target !== cell && mayBeDisposed(before, cell)) || after);
    }
  }

  private escape(state: State, cell: Cell, v: Value): void {
    if (v.bits === disposed) return;
    for (const target of this.linked(state, cell)) {
      const inner = state.get(target) ?? value(0);
      if (target !== cell && target.kind === "parameter") continue;
      state.set(target, {
        ...inner,
        bits:
          inner.bits & owned
            ? (inner.bits & ~owned) | escaped
            : inner.bits === none && target.kind === "parameter"
              ? none
              : escaped,
        sites: noSites,
      });
    }
  }

  // ---- reports ----

  private leaves(v: Value, cell: Cell, node: ts.Node, by?: ts.Node): void {
    if (!(v.bits & owned) || v.bits & unknown || cell.kind === "using") return;
    const surely = !(v.bits & (disposed | escaped));
    for (const site of v.sites) this.report({ kind: "leaves", site, node, cell, by, surely });
  }

  private leaks(segment: Segment, exit = segment.returns): void {
    const state = this.transferQuietly(segment);
    for (const [cell, v] of state) {
      if (v.bits === (owned | escaped)) this.otherArm(segment, cell);
      if (!(v.bits & owned) || !(leakIsSure(v.bits) || leakIsOneWay(v.bits, cell))) continue;
      // disposed under several conditions, which may well be each other's opposite
      if (v.bits & disposed && cell.disposals > 1) continue;
      this.leaksOf(cell, v, exit);
    }
  }

  private leaksOf(cell: Cell, v: Value, exit: ts.Node | undefined): void {
    if (cell.fields || cell.kind === "using" || isOfCaller(cell)) return;
    const ends = ["dispose", "escape", "return"].some((verb) => cell.seen.has(verb));
    for (const site of v.sites) {
      if (site.partial && cell.disposals > 0) continue; // under the same condition, perhaps
      if (v.bits & nil && isEndedUnderSameTest(cell, site, exit)) continue;
      if (!isLocalLife(site.cell)) continue;
      const at = partOf(cell, site.cell) ? site.cell : cell;
      const always = !ends && (at !== cell || !cell.seen.has("alias"));
      const isHandedOver = exit && ts.isBreakStatement(exit) && cell.seen.has("alias");
      const never = !ends && !isHandedOver && !(v.bits & (disposed | escaped));
      this.report({ kind: "leak", site, always, never, exit, cell: at });
    }
  }

  /** `return cond ? a : b`: where `b` is returned, `a` is left behind. */
  private otherArm(segment: Segment, cell: Cell): void {
    if (
      cell.fields ||
      cell.kind !== "local" ||
      !segment.returns ||
      segment.events.some((e) => e.cell === cell)
    )
      return;
    const returns = (s: Segment, of: Cell): boolean =>
      s.events.some((e) => e.kind === "return" && e.cell === of);
    if (!segment.previous.some((p) => returns(p, cell))) return;
    for (const previous of segment.previous) {
      const v = this.outs.get(previous)?.get(cell);
      if (v?.bits !== owned || !previous.events.some((e) => e.kind === "return")) continue;
      for (const site of v.sites)
        if (isLocalLife(site.cell)) this.report({ ...left, site, exit: segment.returns, cell });
    }
  }

  private transferQuietly(segment: Segment, until?: number): State {
    this.reporting = false;
    const state = this.transfer(segment, this.inState(segment), until);
    this.reporting = true;
    return state;
  }

  private report(problem: Problem): void {
    if (!this.reporting || (problem.cell.kind === "slot" && problem.kind !== "loss")) return;
    const node = problem.kind === "leak" ? problem.site.value : problem.node;
    const isOfSite = problem.kind === "overwrite" || problem.kind === "leaves";
    const lost = isOfSite ? problem.site.node.pos : "";
    const key = `${problem.kind}:${problem.cell.index}:${node.pos}:${lost}`;
    if (this.seen.has(key)) return;
    this.seen.add(key);
    this.problems.push(problem);
  }
}

/** `xs.push(t)`, `xs[i] = t`: a container owns more than before. */
const addsTo = (cell: Cell, { node, declares }: Site): boolean =>
  node !== cell.declaration &&
  (ts.isCallExpression(node) || (declares && ts.isBinaryExpression(node)));

/** Whether a cell that owns a value is the list or the field that another variable went into. */
const partOf = (cell: Cell, made: Cell): boolean =>
  cell !== made &&
  (cell.owned.shape === "many" ? made.owned.shape === "one" : cell.label.includes("."));
