/**
 * Transfer: what a mention of a value does to its ownership. The tables below are the whole answer:
 * the first row that fits wins, and each carries an example in which `t` is a value, `ts` an array
 * of them. Pure: it sees a mention as described by `mention.ts` and asks nothing else. Every verb,
 * the dataflow, the function summaries and the rules are its clients.
 */
import type { ContainerMethod } from "../program/containers.ts";
import type { Fate } from "./fate.ts";

/** What a mention does to the value. */
export type Effect =
  /** Says nothing about it, alive or not: its shape, a comparison, a place being written. */
  | "nothing"
  /** Looks at it, which must be alive; whoever owned it still does. */
  | "borrows"
  /** Ends it. */
  | "disposes"
  /** Hands it to an outer scope or to none; the expression is the same value. */
  | "moves"
  /** Gives it to a callee, or to whoever catches: somebody else's from here on. */
  | "takes"
  /** Puts it where it outlives the expression: a field, an element, an outer object. */
  | "stores"
  /** Gives it to the caller, or to the consumer of a generator. */
  | "returns"
  /** Gives it another name. */
  | "aliases"
  /** Hands it through a call that gives it back unchanged. */
  | "passes"
  /** Speaks of a value inside it: an element or a field. */
  | "enters"
  /** Does something for each value inside it: `forEach`, `for … of`. */
  | "visits"
  /** Puts something into it. */
  | "receives"
  /** Leaves it standing as a statement. */
  | "drops"
  /** No telling; rules stay silent. */
  | "unknown";

/** What the tables need to know of a mention. All of it is asked for lazily. */
export interface Mention {
  readonly fate: Pick<Fate, "kind" | "member">;
  readonly shape: "one" | "many" | "record";
  /** The mention is the value itself and not a name for it: nobody can reach it later. */
  readonly temporary: boolean;
  /** The expression is written to. */
  readonly target: boolean;
  /** For `receiver`: the method ends, keeps or moves the value, by the owner's settings. */
  readonly disposer: boolean;
  readonly keeper: boolean;
  /** The member may be asked of a disposed value. */
  readonly safe: boolean;
  /** The member's value goes on using the one it is asked of. */
  readonly shared: boolean;
  /** For `read`: a part that is an object goes to somebody, who may use or end the whole by it. */
  readonly parted: boolean;
  /** For `bound`: a pattern that takes plain parts of it, such as its shape. */
  readonly unpacked: boolean;
  /** For `iterated`: one value, which makes a new one for each turn. */
  readonly parting: boolean;
  /** `then` and its like. */
  readonly promise: boolean;
  /** `x[Symbol.dispose]()`. */
  readonly symbolDispose: boolean;
  /** For `receiver` of a container. */
  readonly container: ContainerMethod;
  /** For `receiver`: the result uses the value from now on, and outlives the function. */
  readonly held: boolean;
  /** For `receiver`: whether the method may keep the value or hand it back. */
  readonly chained: boolean;
  /** For `receiver`: the method says that it gives its object. */
  readonly itself: boolean;
  /** For `assigned`: what stands at the left. */
  readonly left: "name" | "place" | "alias";
  /** For `read` and `element`: whether the value inside is owned. */
  readonly inner: boolean;
  /** For `operand`: `for (const key in value)`. */
  readonly keys: boolean;
  /** For `argument`: what the call does, by the second table. */
  readonly argument: Effect;
}

/** One row: for mentions of a kind, under a condition, an effect; and what that looks like. */
export interface Row {
  readonly kind: Fate["kind"];
  readonly when?: (m: Mention) => boolean;
  readonly effect: Effect | ((m: Mention) => Effect);
  readonly example: string;
}

/** Mentions of a value, by the construct they stand in. */
export const mentions: readonly Row[] = [
  { kind: "receiver", when: (m) => m.disposer, effect: "disposes", example: "t.dispose()" },
  { kind: "receiver", when: (m) => m.keeper, effect: "moves", example: "t.moveToOuter()" },
  { kind: "receiver", when: (m) => m.shared, effect: "unknown", example: "model.getLayer(0)" },
  {
    kind: "receiver",
    when: ({ promise, fate }) => promise && (fate.member === "catch" || fate.member === "finally"),
    effect: "passes",
    example: "later().catch(report)",
  },
  {
    kind: "receiver",
    when: (m) => m.promise,
    effect: ({ fate }) => (fate.member === "then" ? "visits" : "unknown"),
    example: "later().then(use)",
  },
  {
    kind: "receiver",
    when: (m) => m.shape === "one" && m.held,
    effect: "stores",
    example: "return t.createView()",
  },
  {
    kind: "receiver",
    when: (m) => m.shape === "one" && m.itself,
    effect: "passes",
    example: "model.eval()",
  },
  {
    kind: "receiver",
    when: (m) => m.shape === "one" && m.chained,
    effect: "unknown",
    example: "builder.with(1)",
  },
  {
    kind: "receiver",
    when: (m) => m.shape === "one" && m.safe && !m.temporary,
    effect: "nothing",
    example: "t.toString()",
  },
  { kind: "receiver", when: (m) => m.shape === "one", effect: "borrows", example: "t.neg()" },
  {
    kind: "receiver",
    when: (m) => m.container === "reads",
    effect: "borrows",
    example: "ts.some(use)",
  },
  {
    kind: "receiver",
    when: (m) => m.container === "asks",
    effect: "nothing",
    example: "ts.includes(x)",
  },
  {
    kind: "receiver",
    when: (m) => m.container === "views",
    effect: "passes",
    example: "for (const t of ts.values()) use(t)",
  },
  {
    kind: "receiver",
    when: (m) => m.container === "lends" && !m.temporary,
    effect: "enters",
    example: "ts.at(-1)",
  },
  {
    kind: "receiver",
    when: (m) => m.container === "visits" || m.container === "receives",
    effect: ({ container }) => (container === "visits" ? "visits" : "receives"),
    example: "ts.forEach(use)",
  },
  { kind: "receiver", effect: "unknown", example: "ts.pop()" },

  { kind: "read", when: (m) => m.shared, effect: "unknown", example: "model.layers" },
  { kind: "read", when: (m) => m.parted, effect: "unknown", example: "a.pipeTo(t.writable)" },
  { kind: "read", when: (m) => m.shape !== "one" && m.inner, effect: "enters", example: "ts.a" },
  {
    kind: "read",
    when: (m) => m.temporary && (m.promise || m.shape !== "one"),
    effect: "unknown",
    example: "make().then",
  },
  {
    kind: "read",
    when: (m) => !m.temporary && (m.safe || m.fate.member === "length"),
    effect: "nothing",
    example: "t.shape",
  },
  { kind: "read", effect: "borrows", example: "t.grad" },

  {
    kind: "element",
    when: (m) => m.symbolDispose,
    effect: "disposes",
    example: "t[Symbol.dispose]()",
  },
  { kind: "element", when: (m) => m.shape === "one", effect: "nothing", example: "t[key]" },
  { kind: "element", effect: "enters", example: "ts[0]" },

  { kind: "argument", effect: (m) => m.argument, example: "use(t)" },
  { kind: "returned", effect: "returns", example: "return t" },
  { kind: "yielded", effect: "returns", example: "yield t" },
  { kind: "thrown", effect: "takes", example: "throw t" },
  { kind: "field", effect: "stores", example: "class { x = t }" },
  {
    kind: "bound",
    when: (m) => m.shape === "one" && m.unpacked,
    effect: "borrows",
    example: "const { shape } = t",
  },
  { kind: "bound", effect: "aliases", example: "const other = t" },
  { kind: "assigned", when: (m) => m.left === "alias", effect: "borrows", example: "p.grad = t" },
  { kind: "assigned", when: (m) => m.left === "place", effect: "stores", example: "this.x = t" },
  { kind: "assigned", effect: "aliases", example: "other = t" },
  {
    kind: "iterated",
    when: (m) => m.parting,
    effect: "borrows",
    example: "for (using row of t) use(row)",
  },
  { kind: "iterated", effect: "visits", example: "for (const x of ts) use(x)" },
  {
    kind: "operand",
    when: (m) => m.keys && m.temporary,
    effect: "unknown",
    example: "for (const k in make()) use(k)",
  },
  { kind: "operand", effect: "nothing", example: "t === other" },
  { kind: "called", effect: "nothing", example: "t()" },
  { kind: "dropped", effect: "drops", example: "t;" },
  { kind: "spread", effect: "unknown", example: "({ ...t })" },
  { kind: "unknown", when: (m) => m.target, effect: "nothing", example: "t = other" },
  { kind: "unknown", effect: "unknown", example: "tag`${t}`" },
];

const byKind: ReadonlyMap<Fate["kind"], readonly Row[]> = new Map(
  mentions.map(({ kind }) => [kind, mentions.filter((r) => r.kind === kind)]),
);

/** What a mention does to the value. */
export function transfer(mention: Mention): Effect {
  const row = byKind.get(mention.fate.kind)?.find((r) => r.when?.(mention) ?? true);
  if (!row) throw new Error(`internal: no row for "${mention.fate.kind}"`);
  return typeof row.effect === "string" ? row.effect : row.effect(mention);
}

/** What the second table needs to know of a call and one of its arguments; asked for lazily. */
export interface Argument {
  /** The callee's tags say that it keeps or frees the parameter, or that it only looks. */
  readonly taggedTakes: boolean;
  readonly taggedBorrows: boolean;
  /** The owner's settings: a function that frees, takes, or keeps what it is given. */
  readonly freeing: boolean;
  readonly taking: boolean;
  readonly keeping: boolean;
  /** For `keeping`: the argument that the call hands back. */
  readonly handedBack: boolean;
  /** The call's result uses the value from now on, and outlives the function. */
  readonly held: boolean;
  /** A method of a type that never keeps what it is given. */
  readonly lent: boolean;
  /** For functions of the standard library: what they do. */
  readonly builtin: Effect | null;
  /** A function beside it in the call ends what it is given. */
  readonly endedByCallback: boolean;
  /** A method of the owned type itself, where arguments are lent: a list of modules keeps them. */
  readonly ofOwner: boolean;
  /** What the callee's body does, where there is one. */
  readonly body: Effect | null;
  /** A function of the owner's library, which borrows by contract. */
  readonly contract: boolean;
  /** What the method does that a function of the library runs: `forward` for `call`. */
  readonly overridden: Effect | null;
  /** A function that the caller hands in, which only looks by the owner's protocol. */
  readonly handed: boolean;
  /** A function of a package, of which is waited for what it finds out. */
  readonly asked: boolean;
  /** The function that makes the call ends the value straight after it. */
  readonly endedAfter: boolean;
  /** Only claimed to be there, `assert(t)`, or used at once by what nobody knows: `draw(t)`. */
  readonly claimed: boolean;
}

/** One row for arguments. */
export interface ArgumentRow {
  readonly when: (a: Argument) => boolean;
  readonly effect: Effect | ((a: Argument) => Effect);
  readonly example: string;
}

/** Arguments: tags, then settings, then what is known of the callee, then the owner's contract. */
export const calls: readonly ArgumentRow[] = [
  { when: (a) => a.taggedTakes, effect: "takes", example: "/** @takes t */ f(t)" },
  { when: (a) => a.taggedBorrows, effect: "borrows", example: "/** @borrows t */ f(t)" },
  { when: (a) => a.freeing, effect: "disposes", example: "tf.dispose(t)" },
  { when: (a) => a.taking, effect: "takes", example: "scope.carry(t, next)" },
  { when: (a) => a.keeping && a.handedBack, effect: "passes", example: "keep(t)" },
  { when: (a) => a.keeping, effect: "takes", example: "scope.attach(other, t)" },
  { when: (a) => a.held, effect: "stores", example: "return device.createBindGroup({ … t … })" },
  { when: (a) => a.lent, effect: "borrows", example: "queue.writeBuffer(t, 0, data)" },
  { when: (a) => a.builtin !== null, effect: (a) => a.builtin ?? "unknown", example: "log(t)" },
  { when: (a) => a.endedByCallback, effect: "takes", example: "later(t, (old) => old.dispose())" },
  { when: (a) => a.ofOwner, effect: "borrows", example: "x.add(t)" },
  { when: (a) => a.body !== null, effect: (a) => a.body ?? "unknown", example: "mine(t)" },
  { when: (a) => a.contract, effect: "borrows", example: "concat([t])" },
  {
    when: (a) => a.overridden !== null,
    effect: (a) => a.overridden ?? "unknown",
    example: "model.call({ t })",
  },
  { when: (a) => a.handed, effect: "borrows", example: "(fn) => fn(t)" },
  { when: (a) => a.asked, effect: "borrows", example: "await foreign.detect(t)" },
  { when: (a) => a.endedAfter, effect: "borrows", example: "foreign(t); t.dispose()" },
  { when: (a) => a.claimed, effect: "borrows", example: 'assert(t, "there is one")' },
  { when: () => true, effect: "unknown", example: "foreign(t)" },
];

/** What a call does to one of its arguments. */
export function transferArgument(argument: Argument): Effect {
  const row = calls.find((r) => r.when(argument));
  if (!row) throw new Error("internal: no row for an argument");
  return typeof row.effect === "string" ? row.effect : row.effect(argument);
}

/** Whether a mention leaves the value where it was: read, asked or lent. */
export const onlyLooksAt = (effect: Effect): boolean =>
  effect === "nothing" || effect === "borrows";
