/**
 * Assignments that fill several places at once, and values that come in pairs: what the places held
 * is lost as with any other assignment. Each is a program of which the marked lines are reported.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";
import { assert, lint } from "./tester.ts";

const test = suite("pattern stores");
const finds = marked(test);

/** Two textures that are made together, and what resizes them. */
const pair = (made: string, resize: string, more = ""): string => `export class Sim {
  private a!: GPUTexture;
  private b!: GPUTexture;
  constructor(private d: GPUDevice) { this.resize(1); }
  private make() { return ${made}; }
  resize(w: number) {
    ${resize}
  }
  ${more}
  destroy() { this.a.destroy(); this.b.destroy(); }
}
`;
const tuple = "[this.d.createTexture({}), this.d.createTexture({})] as const";
const record = "{ a: this.d.createTexture({}), b: this.d.createTexture({}) }";
const called = (program: string): string =>
  `${program}export function run(d: GPUDevice, sizes: number[]) {
  const sim = new Sim(d);
  for (const w of sizes) sim.resize(w);
  sim.destroy();
}
`;

finds(
  "fields by the places of a list",
  called(pair(tuple, "[this.a, this.b] = this.make(); // !")),
  "webgpu",
);
finds(
  "fields by the names of a record",
  called(pair(record, "({ a: this.a, b: this.b } = this.make()); // !")),
  "webgpu",
);
finds(
  "fields that are ended first",
  called(
    pair(
      tuple,
      "this.end(); [this.a, this.b] = this.make();",
      "end() { this.a?.destroy(); this.b?.destroy(); }",
    ),
  ),
  "webgpu",
);
const swap =
  "swap() { [this.a, this.b] = [this.b, this.a]; } end() { this.a?.destroy(); this.b?.destroy(); }";
finds(
  "fields that change places",
  called(pair(tuple, "const [a, b] = this.make(); this.end(); this.a = a; this.b = b;", swap)),
  "webgpu",
);
finds(
  "fields from the fields of a record by its name",
  called(
    pair(record, "const made = this.make();\n    this.a = made.a; // !\n    this.b = made.b; // !"),
  ),
  "webgpu",
);
finds(
  "variables of a module",
  `let a: GPUTexture, b: GPUTexture;
const make = (d: GPUDevice): [GPUTexture, GPUTexture] => [d.createTexture({}), d.createTexture({})];
export function resize(d: GPUDevice, w: number) {
  [a, b] = make(d); // !
}
export function end() { a.destroy(); b.destroy(); }
`,
  "webgpu",
);
finds(
  "one of a pair, and a number",
  `const make = (d: GPUDevice, n: number): [GPUBuffer, number] => [d.createBuffer({ size: n }), n];
export function size(d: GPUDevice) {
  const [buffer, n] = make(d, 4); // !
  return buffer.size + n;
}
export function given(d: GPUDevice) {
  const [buffer, n] = make(d, 4);
  buffer.destroy();
  return n;
}
`,
  "webgpu",
);

finds(
  "one of a pair, and what ends it",
  `const make = (d: GPUDevice): readonly [GPUBuffer, () => void] => {
  const b = d.createBuffer({ size: 4 });
  return [b, () => b.destroy()];
};
export function size(d: GPUDevice) {
  const [buffer, release] = make(d);
  try { return buffer.size; } finally { release(); }
}
`,
  "webgpu",
);
finds(
  "a part of a list that a method ends",
  `const make = (d: GPUDevice): GPUBuffer[] => [d.createBuffer({ size: 4 })];
export function size(d: GPUDevice) {
  const all = make(d);
  const first = all[0]!;
  const n = first.size;
  all.forEach((b) => b.destroy());
  return n;
}
`,
  "webgpu",
);

test("each place is told by its name, and kept by it", () => {
  const head = 'import { Tensor, zeros } from "tenure";\n';
  const code = `${head}let a: Tensor = zeros([1]);
let b: Tensor = zeros([1]);
export function step(x: Tensor) {
  [a, b] = [x.neg(), x.abs()];
}
export function end() { a.dispose(); b.dispose(); }
`;
  const found = lint(code);
  assert.equal(
    found.map((m) => m.message.match(/`(\w+)` held/)?.[1]),
    ["a", "b"],
  );
  const [fix] = found[1]?.suggestions ?? [];
  assert.match(fix?.fix.text ?? "", /const previous = b;\n.*\n.*previous\.dispose\(\);/);
});

test.run();
