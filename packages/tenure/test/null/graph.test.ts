/**
 * The IR: reading and writing program JSON, what a reader refuses, which storages are there at the
 * start, the printed form, and program signatures.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { ArgumentError } from "../../src/base/errors.ts";
import { type ProgramJSON, formatProgram, residentAtEntry } from "../../src/graph/program.ts";
import { programFromJSON } from "../../src/graph/from-json.ts";
import { Signature } from "../../src/graph/signature.ts";

const test = suite("graph");

const example = (): ProgramJSON => ({
  version: 1,
  storages: [
    { id: "x", bytes: 4096, role: "input", pinned: false, lifespan: "iteration" },
    { id: "w", bytes: 64, role: "param", pinned: true },
    { id: "y", bytes: 128, role: "activation", pinned: false },
    { id: "unused", bytes: 4, role: "activation", pinned: false },
    { id: "spare", bytes: 4, role: "state", pinned: false },
  ],
  ops: [
    {
      name: "relu1",
      reads: ["x"],
      writes: ["y"],
      phase: "forward",
      layer: "net.0",
      flops: 1024,
      recomputable: true,
    },
    {
      name: "sgd",
      reads: ["w", "y"],
      writes: ["w"],
      phase: "apply",
      layer: "net.0",
      flops: 16,
      recomputable: false,
    },
  ],
});

test("names become indices", () => {
  const program = programFromJSON(example());
  assert.equal(program.storages[0], example().storages[0]);
  assert.equal(
    program.ops.map(({ reads, writes }) => [reads, writes]),
    [
      [[0], [2]],
      [[1, 2], [1]],
    ],
  );
});

test("what may be left out has a default", () => {
  const program = programFromJSON({
    version: 1,
    storages: [{ id: "a", bytes: 8, role: "output" }],
    ops: [{ name: "f", reads: [], writes: ["a"], phase: "forward" }],
  });
  assert.equal(program.storages[0], { id: "a", bytes: 8, role: "output", pinned: false });
  assert.equal(program.ops[0], {
    name: "f",
    reads: [],
    writes: [0],
    phase: "forward",
    layer: "",
    flops: 0,
    recomputable: false,
  });
});

test("storages that are there at the start", () => {
  assert.equal(residentAtEntry(programFromJSON(example())), [true, true, false, false, true]);
});

test("the printed form", () => {
  assert.is(
    formatProgram(programFromJSON(example())),
    "   0 relu1            forward        net.0      x -> y\n   1 sgd              apply     " +
      "     net.0      w y -> w",
  );
});

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- broken on purpose
type Change = (json: any) => unknown;
const broken: readonly (readonly [string, Change, RegExp])[] = [
  ["no object", () => 3, /expected an object, got 3/],
  ["null", () => null, /expected an object, got null/],
  ["nothing", () => undefined, /expected an object, got undefined/],
  ["another version", (j) => ({ ...j, version: 2 }), /expected version 1, got 2/],
  [
    "no storages",
    (j) => ({ ...j, storages: undefined }),
    /expected an array `storages`, got undefined/,
  ],
  ["no ops", (j) => ({ ...j, ops: {} }), /expected an array `ops`, got \{\}/],
  [
    "a storage that is no object",
    (j) => {
      j.storages[0] = "x";
      return j;
    },
    /expected a storage object, got "x"/,
  ],
  [
    "an id twice",
    (j) => {
      j.storages[1].id = "x";
      return j;
    },
    /`id` that is a string and unique, got "x"/,
  ],
  [
    "an id that is a number",
    (j) => {
      j.storages[1].id = 7;
      return j;
    },
    /`id` that is a string and unique, got 7/,
  ],
  [
    "bytes below 1",
    (j) => {
      j.storages[0].bytes = 0;
      return j;
    },
    /bytes of storage x to be a positive integer, got 0/,
  ],
  [
    "bytes as text",
    (j) => {
      j.storages[0].bytes = "4096";
      return j;
    },
    /bytes of storage x to be a positive integer, got "4096"/,
  ],
  [
    "a fraction of a byte",
    (j) => {
      j.storages[0].bytes = 1.5;
      return j;
    },
    /positive integer, got 1\.5/,
  ],
  [
    "an unknown role",
    (j) => {
      j.storages[0].role = "weight";
      return j;
    },
    /role of storage x to be one of input, param, state, activation, grad, output, got "weight"/,
  ],
  [
    "an op that is no object",
    (j) => {
      j.ops[0] = null;
      return j;
    },
    /expected an op object, got null/,
  ],
  [
    "no name",
    (j) => {
      delete j.ops[0].name;
      return j;
    },
    /name of op 0 to be a string, got undefined/,
  ],
  [
    "an unknown storage",
    (j) => {
      j.ops[0].reads = ["z"];
      return j;
    },
    /op 0 relu1 to name existing storages, got "z"/,
  ],
  [
    "reads that are no list",
    (j) => {
      j.ops[0].reads = "x";
      return j;
    },
    /op 0 relu1 to list storages, got "x"/,
  ],
  [
    "an unknown phase",
    (j) => {
      j.ops[1].phase = "backward";
      return j;
    },
    /phase of op 1 sgd to be one of forward, calcGradient, calcDerivative, apply, got "backward"/,
  ],
];

for (const [label, change, pattern] of broken) {
  test(`programFromJSON refuses ${label}`, () => {
    let thrown: unknown;
    try {
      programFromJSON(change(example()));
    } catch (error) {
      thrown = error;
    }
    assert.instance(thrown, ArgumentError);
    assert.match((thrown as Error).message, /^programFromJSON: /);
    assert.match((thrown as Error).message, pattern);
  });
}

test("signatures are equal for equal words only", () => {
  const a = new Signature(),
    b = new Signature();
  for (let i = 0; i < 5000; i++) {
    a.push(i * 7);
    b.push(i * 7);
  }
  assert.is(a.hash(), b.hash());
  assert.ok(a.equals(b.snapshot()));
  b.push(1);
  assert.not(a.equals(b.snapshot()));
  const other = a.snapshot();
  other[4999]! ^= 1;
  assert.not(a.equals(other));
  a.clear();
  assert.is(a.length, 0);
  assert.is(a.snapshot().length, 0);
  const hashes = new Set<number>();
  for (let i = 0; i < 20_000; i++) {
    a.clear();
    a.push(i);
    a.push(i % 3);
    hashes.add(a.hash());
  }
  assert.ok(hashes.size > 19_900, `${hashes.size} different hashes of 20,000`);
});

test.run();
