/**
 * Scripts whose loops take apart what a list or table holds: each case says which rules must
 * report. What the loop ends is ended, and what it only looks at is still lost.
 */
import { suite } from "uvu";
import plugin from "../src/index.ts";
import { assert, lines, lint, projectDir } from "./tester.ts";

const test = suite("untyped patterns");
const dropped = "no-dropped-element";

function script(name: string, code: string, expected: string[] = []): void {
  test(name, () => {
    const settings = { presets: ["webgpu"] };
    const rules = plugin.configs.recommended.rules;
    const found = lint(code, { settings, rules, file: `${projectDir}script.js` });
    const reported = found.map((m) => (m.ruleId ?? m.message).replace("tenure/", ""));
    assert.equal(reported, expected, lines(found).join("\n"));
  });
}

const buffer = "device.createBuffer({ size, usage: 32 })";

/** A list or table, what puts something into it, and what takes all of it out. */
const held = (start: string, put: string, clear: string): string => `
export class Items {
  constructor() { this.items = ${start}; }
  add(device, size, key) { ${put}; }
  clear() { ${clear} }
}`;

/** A case in which a loop ends what it takes apart, and one in which it only looks. */
function both(name: string, start: string, put: string, clear: (does: string) => string): void {
  script(`${name}, ended`, held(start, put, clear("b.destroy();")));
  script(`${name}, looked at`, held(start, put, clear("console.log(b.size);")), [dropped]);
}

const pushed = `this.items.push({ b: ${buffer}, size })`;
const set = `if (!this.items.has(key)) this.items.set(key, { b: ${buffer}, size })`;
const empty = "this.items.length = 0;";
both("records of a list", "[]", pushed, (d) => `for (const { b } of this.items) ${d} ${empty}`);
both("records that are spliced out", "[]", pushed, (d) => {
  return `for (const { b } of this.items.splice(0)) ${d}`;
});
both("a batch that has a name", "[]", pushed, (d) => {
  return `const all = this.items.splice(0); for (const { b } of all) ${d}`;
});
both("records by another name", "[]", `this.items.push({ old: ${buffer} })`, (d) => {
  return `for (const { old: b } of this.items) ${d} ${empty}`;
});
both("records in records", "[]", `this.items.push({ gpu: { b: ${buffer} } })`, (d) => {
  return `for (const { gpu: { b } } of this.items) ${d} ${empty}`;
});
both("lists in records", "[]", `this.items.push({ all: [${buffer}, ${buffer}] })`, (d) => {
  return `for (const { all } of this.items) for (const b of all) ${d} ${empty}`;
});
both("records of a set", "new Set()", `this.items.add({ b: ${buffer}, size })`, (d) => {
  return `for (const { b } of this.items) ${d} this.items.clear();`;
});
both("records of a table", "new Map()", set, (d) => {
  return `for (const { b } of this.items.values()) ${d} this.items.clear();`;
});
both("entries of a table", "new Map()", set, (d) => {
  return `for (const [, { b }] of this.items) ${d} this.items.clear();`;
});
both("entries that are deleted one by one", "new Map()", set, (d) => {
  const ends = `{ ${d} this.items.delete(key); }`;
  return `for (const [key, { b, size }] of this.items) if (size > 9) ${ends}`;
});
const pair = `this.items.push([${buffer}, size])`;
both("pairs of a list", "[]", pair, (d) => `for (const [b] of this.items) ${d} ${empty}`);
script(
  "pairs of which only the other part is spoken of",
  held("[]", pair, `for (const [, size] of this.items) free(size); ${empty}`),
  [dropped],
);
const keyed = `if (!this.items.has(key)) this.items.set(key, [${buffer}, size])`;
both("pairs of a table", "new Map()", keyed, (d) => {
  return `for (const [key, [b]] of this.items) { console.log(key); ${d} } this.items.clear();`;
});

const two = `this.items.push({ a: ${buffer}, b: ${buffer} })`;
script(
  "a part that nothing ends",
  held("[]", two, `for (const { b } of this.items) b.destroy(); ${empty}`),
  ["require-member-disposal"],
);
script(
  "a table that closures share",
  `/** @param {GPUDevice} device */
export function labels(device) {
  const all = new Map();
  return {
    set(id, size) { if (!all.has(id)) all.set(id, { b: ${buffer} }); },
    clear() { for (const [, { b }] of all) b.destroy(); all.clear(); },
  };
}`,
);

test.run();
