/**
 * The table of hostile values: what takes the place of one argument, one option or one element at a
 * time. Each is made anew for each call, unless it is large and frozen.
 */
import { tensor, zeros } from "tenure";
import { CallersError, type Environment } from "./environment.ts";

/** One hostile value. */
export interface Hostile {
  readonly name: string;
  make(env: Environment): unknown;
}

const long: readonly number[] = Object.freeze(new Array<number>(200_000).fill(1));

function cyclic(): unknown[] {
  const list: unknown[] = [1];
  list.push(list);
  return list;
}

function mine(): never {
  throw new CallersError("the caller's own");
}

function detached(): ArrayBuffer {
  const buffer = new ArrayBuffer(8);
  structuredClone(buffer, { transfer: [buffer] });
  return buffer;
}

function detachedArray(): Float32Array {
  const array = new Float32Array(2);
  structuredClone(array.buffer, { transfer: [array.buffer] });
  return array;
}

function throwingProxy(): object {
  return new Proxy(
    {},
    {
      get: mine,
      has: mine,
      ownKeys: mine,
      getPrototypeOf: mine,
      getOwnPropertyDescriptor: mine,
      set: mine,
    },
  );
}

/** A value that is the same each time. */
function constant(name: string, value: unknown): Hostile {
  return { name, make: () => value };
}

/** A value made with a tensor or more. */
const fresh = (name: string, make: (env: Environment) => unknown): Hostile => ({ name, make });

const primitives: readonly Hostile[] = [
  constant("undefined", undefined),
  constant("null", null),
  constant("NaN", NaN),
  constant("Infinity", Infinity),
  constant("-Infinity", -Infinity),
  constant("-1", -1),
  constant("-0", -0),
  constant("0", 0),
  constant("0.5", 0.5),
  constant("2**53", 2 ** 53),
  constant("1e9", 1e9),
  constant('""', ""),
  constant('"x"', "x"),
  constant('"__proto__"', "__proto__"),
  constant("true", true),
  constant("Symbol()", Symbol("hostile")),
  constant("10n", 10n),
];

const objects: readonly Hostile[] = [
  fresh("{}", () => ({})),
  fresh("Object.create(null)", () => Object.create(null)),
  fresh("own __proto__", () => JSON.parse('{"__proto__": {"polluted": true}}')),
  fresh("{ constructor }", () => ({ constructor: null, toString: 1, length: -1 })),
  fresh("{ length: 3 }", () => ({ length: 3 })),
  fresh("throwing getter", () => ({
    get shape() {
      return mine();
    },
    get length() {
      return mine();
    },
  })),
  fresh("throwing valueOf", () => ({ valueOf: mine, toString: mine, [Symbol.toPrimitive]: mine })),
  fresh("throwing Proxy", throwingProxy),
  fresh("{ then }", () => ({ then: 1 })),
  fresh("Date", () => new Date(NaN)),
  fresh("Map", () => new Map([["a", 1]])),
  fresh("Set", () => new Set([1])),
  fresh("RegExp", () => /x/),
  fresh("Error", () => new Error("x")),
  fresh("Promise", () => Promise.resolve(1)),
  fresh("new String", () => new String("x")),
  fresh("new Number", () => new Number(1)),
];

const lists: readonly Hostile[] = [
  fresh("[]", () => []),
  fresh("[NaN]", () => [NaN]),
  fresh("[-1, -1]", () => [-1, -1]),
  fresh("[null]", () => [null]),
  fresh("[undefined]", () => [undefined]),
  fresh("[Symbol()]", () => [Symbol("hostile")]),
  fresh("[10n]", () => [10n]),
  fresh("[{}]", () => [{}]),
  fresh("[[]]", () => [[]]),
  fresh('["x"]', () => ["x"]),
  fresh("[2**31, 2**31]", () => [2 ** 31, 2 ** 31]),
  fresh("sparse array", () => {
    const list: number[] = [];
    list[2] = 1;
    return list;
  }),
  fresh("cyclic array", cyclic),
  fresh("ragged array", () => [[1, 2], [3], [[4]]]),
  constant("very long array", long),
  fresh("array-like", () => ({ 0: 1, 1: 2, length: 2 })),
];

const binaries: readonly Hostile[] = [
  fresh("BigInt64Array", () => new BigInt64Array(2)),
  fresh("Uint8ClampedArray", () => new Uint8ClampedArray(2)),
  fresh("Float64Array", () => new Float64Array([NaN, 1])),
  fresh("DataView", () => new DataView(new ArrayBuffer(8))),
  fresh("ArrayBuffer", () => new ArrayBuffer(3)),
  fresh("detached ArrayBuffer", detached),
  fresh("detached Float32Array", detachedArray),
  fresh("SharedArrayBuffer", () => new SharedArrayBuffer(8)),
  fresh("shared Uint8Array", () => new Uint8Array(new SharedArrayBuffer(8))),
];

const functions: readonly Hostile[] = [
  fresh("function", () => () => 1),
  fresh("function that gives undefined", () => () => undefined),
  fresh("function that gives a symbol", () => () => Symbol("hostile")),
  fresh("function that throws", () => mine),
  fresh("async function", () => async () => Promise.resolve(1)),
  fresh("async function that throws", () => async () => Promise.reject(new CallersError("later"))),
  fresh(
    "generator function",
    () =>
      function* () {
        yield 1;
      },
  ),
  fresh("generator", () =>
    (function* () {
      yield 1;
    })(),
  ),
  fresh("class", () => class {}),
];

const tensors: readonly Hostile[] = [
  fresh("disposed tensor", () => {
    const t = zeros([2, 3]);
    t.dispose();
    return t;
  }),
  fresh("bool tensor", (env) => env.tensor(tensor([true, false]))),
  fresh("int32 tensor", (env) => env.tensor(zeros([2, 3], { dtype: "int32" }))),
  fresh("tensor of rank 7", (env) => env.tensor(zeros([1, 1, 1, 2, 1, 1, 1]))),
  fresh("empty tensor", (env) => env.tensor(zeros([0, 3]))),
  fresh("0-d tensor", (env) => env.tensor(tensor(1))),
  fresh("tensor with requiresGrad", (env) => env.tensor(zeros([5], { requiresGrad: true }))),
  fresh("tensor of another copy", () => ({ [Symbol.for("tenure.tensor")]: true })),
  fresh("object that looks like a tensor", () => ({ shape: [2], dtype: "float32", rank: 1 })),
  fresh("[tensor, disposed tensor]", (env) => {
    const t = zeros([2, 3]);
    t.dispose();
    return [env.tensor(zeros([2, 3])), t];
  }),
];

/** Everything that takes the place of something valid. */
export const hostiles: readonly Hostile[] = [
  ...primitives,
  ...objects,
  ...lists,
  ...binaries,
  ...functions,
  ...tensors,
];
