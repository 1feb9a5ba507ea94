/**
 * Values that an `await` which rejects leaves behind: `require-disposal` with `paths: "all"`, as
 * `strict` has it.
 */
import { suite } from "uvu";
import plugin from "../src/index.ts";
import { applied, assert, lines, lint, projectDir } from "./tester.ts";
import { gpuTypes } from "./webgpu-cases.ts";

const test = suite("rejections");

/** Lines that are reported with the rules of `strict` and not with those of `recommended`. */
function extra(code: string, preset: string, file?: string): readonly number[] {
  const text = preset === "webgpu" ? code + gpuTypes : code;
  const settings = { presets: [preset] };
  const found = (rules: Record<string, unknown>): string[] =>
    lines(lint(text, { rules, settings, ...(file ? { file: `${projectDir}${file}` } : {}) }));
  const before = found(plugin.configs.recommended.rules);
  const { "tenure/prefer-using": _, ...rules } = plugin.configs.strict.rules;
  const after = found(rules);
  return after.filter((line) => !before.includes(line)).map((line) => parseInt(line, 10));
}

/** A case: the lines marked with `// !` are reported, no others. */
function finds(name: string, code: string, preset = "webgpu"): void {
  test(name, () => {
    const marked = code.split("\n").flatMap((l, i) => (l.includes("// !") ? [i + 1] : []));
    assert.equal(extra(code, preset), marked);
  });
}

finds(
  "a read back",
  `export async function read(d: GPUDevice, n: number): Promise<ArrayBuffer> {
  const b = d.createBuffer({ size: n }); // !
  await b.mapAsync(1);
  const copy = b.getMappedRange().slice(0);
  b.destroy();
  return copy;
}
export async function guarded(d: GPUDevice, n: number): Promise<ArrayBuffer> {
  const b = d.createBuffer({ size: n });
  try {
    await b.mapAsync(1);
    return b.getMappedRange().slice(0);
  } finally {
    b.destroy();
  }
}
export async function caught(d: GPUDevice, n: number): Promise<ArrayBuffer | null> {
  const b = d.createBuffer({ size: n });
  try {
    await b.mapAsync(1);
  } catch {
    b.destroy();
    return null;
  }
  const copy = b.getMappedRange().slice(0);
  b.destroy();
  return copy;
}
export async function after(d: GPUDevice, n: number): Promise<void> {
  const b = d.createBuffer({ size: n });
  try {
    await b.mapAsync(1);
  } catch (error) {
    console.error(error);
  }
  b.destroy();
}
export async function inside(d: GPUDevice, n: number): Promise<void> {
  try {
    const b = d.createBuffer({ size: n }); // !
    await b.mapAsync(1);
    b.destroy();
  } catch (error) {
    console.error(error);
  }
}
export async function rethrown(d: GPUDevice, n: number): Promise<void> {
  const b = d.createBuffer({ size: n }); // !
  try {
    await b.mapAsync(1);
  } catch (error) {
    throw new Error(\`mapping: \${String(error)}\`);
  }
  b.destroy();
}
export async function outer(d: GPUDevice, n: number): Promise<void> {
  let b: GPUBuffer | undefined;
  try {
    b = d.createBuffer({ size: n });
    await b.mapAsync(1);
  } finally {
    b?.destroy();
  }
}
`,
);

finds(
  "what never rejects",
  `const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1));
function frame(): Promise<number> {
  return new Promise((done) => requestAnimationFrame(done));
}
declare const work: Promise<number>;
export async function waits(d: GPUDevice): Promise<void> {
  const b = d.createBuffer({ size: 4 });
  await pause();
  await frame();
  await new Promise<void>((resolve) => setTimeout(resolve, 1));
  await Promise.allSettled([work]);
  await work.catch(() => 0);
  await work.then(
    () => 0,
    () => 1,
  );
  d.queue.writeBuffer(b, 0, new Float32Array(1));
  b.destroy();
}
export async function may(d: GPUDevice): Promise<void> {
  const b = d.createBuffer({ size: 4 }); // !
  await new Promise<void>((resolve, reject) => setTimeout(n => n ? resolve() : reject(), 1));
  b.destroy();
}
`,
);

finds(
  "what is not owned while the function waits, or is another's",
  `declare function take(b: GPUBuffer): Promise<void>;
declare const all: GPUBuffer[];
export async function later(d: GPUDevice): Promise<void> {
  await d.createCommandEncoder({});
  const b = d.createBuffer({ size: 4 });
  d.queue.writeBuffer(b, 0, new Float32Array(1));
  b.destroy();
  await take(b);
}
export async function listed(d: GPUDevice, flip: boolean): Promise<void> {
  const b = d.createBuffer({ size: 4 });
  all.push(b);
  await fetch("x");
  if (flip) b.destroy();
}
export async function before(d: GPUDevice): Promise<void> {
  const a = d.createBuffer({ size: 4 }); // !
  const b = d.createBuffer({ size: 4 }); // !
  const many = [d.createBuffer({ size: 4 }), d.createBuffer({ size: 8 })]; // !
  await fetch("x");
  a.destroy();
  b.destroy();
  for (const one of many) one.destroy();
}
export async function closed(d: GPUDevice): Promise<void> {
  const b = d.createBuffer({ size: 4 });
  const end = (): void => b.destroy();
  await fetch("x").catch(end);
  await fetch("y");
  end();
}
`,
);

finds(
  "throws and turns of a loop",
  `export async function turns(d: GPUDevice, n: number): Promise<void> {
  for (let i = 0; i < n; i++) {
    const b = d.createBuffer({ size: 4 }); // !
    if (n > 3) await b.mapAsync(1);
    b.destroy();
  }
}
export function checked(d: GPUDevice, n: number): void {
  const b = d.createBuffer({ size: 4 }); // !
  if (n > 4) throw new RangeError("n");
  b.destroy();
}
`,
);

finds(
  "tensors",
  `import { ones, type Tensor } from "tenure";
export async function value(x: Tensor): Promise<number> {
  const y = x.neg(); // !
  const all = await y.data();
  y.dispose();
  return all[0] ?? 0;
}
export async function ended(): Promise<number> {
  using y = ones([2]);
  const all = await y.data();
  return all[0] ?? 0;
}
`,
  "tenure",
);

finds(
  "what the callback of a promise ends",
  `declare const known: Map<string, GPUBuffer>;
export function read(d: GPUDevice): void {
  const b = d.createBuffer({ size: 4 }); // !
  void b.mapAsync(1).then(() => {
    console.log(b.getMappedRange());
    b.destroy();
  });
}
export function both(d: GPUDevice): Promise<void> {
  const a = d.createBuffer({ size: 4 }); // !
  const b = d.createBuffer({ size: 4 }); // !
  return Promise.all([a.mapAsync(1), b.mapAsync(1)]).then(() => {
    a.destroy();
    b.destroy();
  });
}
export function logged(d: GPUDevice): void {
  const b = d.createBuffer({ size: 4 }); // !
  b.mapAsync(1)
    .then(() => b.destroy())
    .catch((error: unknown) => {
      console.error(error);
    });
}
export function ended(d: GPUDevice): void {
  const b = d.createBuffer({ size: 4 });
  b.mapAsync(1)
    .then(() => b.destroy())
    .catch(() => b.destroy());
}
export function lastly(d: GPUDevice): void {
  const b = d.createBuffer({ size: 4 });
  void b
    .mapAsync(1)
    .then(() => b.getMappedRange())
    .finally(() => b.destroy());
}
export function two(d: GPUDevice): void {
  const b = d.createBuffer({ size: 4 });
  void b.mapAsync(1).then(
    () => b.destroy(),
    () => b.destroy(),
  );
}
export function done(d: GPUDevice): void {
  const b = d.createBuffer({ size: 4 });
  void (d.queue as any).onSubmittedWorkDone().then(() => b.destroy());
}
export async function guarded(d: GPUDevice): Promise<void> {
  const b = d.createBuffer({ size: 4 });
  try {
    await b.mapAsync(1).then(() => b.destroy());
  } catch {
    b.destroy();
  }
}
export function given(d: GPUDevice, b: GPUBuffer): void {
  const c = known.get("c") ?? b;
  void b.mapAsync(1).then(() => b.destroy());
  void c.mapAsync(1).then(() => c.destroy());
}
`,
);

/** What is said of the first value, and the text after the suggestion. */
function cured(code: string, preset = "webgpu"): [message: string, text: string] {
  const types = preset === "webgpu" ? gpuTypes : "";
  const { rules } = plugin.configs.strict;
  const [found] = lint(code + types, { rules, settings: { presets: [preset] } });
  const suggestion = found?.suggestions?.[0];
  assert.ok(found && suggestion, "a report with a suggestion");
  const text = applied(code + types, suggestion);
  return [found.message, text.slice(0, text.length - types.length)];
}

test("the cure without `using`", () => {
  const [message, text] = cured(`export async function read(d: GPUDevice): Promise<void> {
  const b = d.createBuffer({ size: 4 });
  await b.mapAsync(1);
  b.destroy();
}
`);
  assert.is(
    message,
    "`b` is not destroyed when the `await` on line 3 rejects; `destroy()` it in `finally`.",
  );
  assert.is(
    text,
    `export async function read(d: GPUDevice): Promise<void> {
  const b = d.createBuffer({ size: 4 });
  try {
    await b.mapAsync(1);
  } finally {
    b.destroy();
  }
}
`,
  );
});

test("the cure where more is made in between", () => {
  const [, text] = cured(`export async function read(d: GPUDevice): Promise<number> {
  const b = d.createBuffer({ size: 4 });
  await b.mapAsync(1);
  const copy = b.getMappedRange().slice(0);
  b.destroy();
  // what it holds
  return copy.byteLength;
}
`);
  assert.is(
    text,
    `export async function read(d: GPUDevice): Promise<number> {
  const b = d.createBuffer({ size: 4 });
  try {
    await b.mapAsync(1);
    const copy = b.getMappedRange().slice(0);
    // what it holds
    return copy.byteLength;
  } finally {
    b.destroy();
  }
}
`,
  );
});

test("the cure with `using`", () => {
  const [message, text] = cured(
    `import type { Tensor } from "tenure";
export async function value(x: Tensor): Promise<number> {
  const y = x.neg();
  const all = await y.data();
  y.dispose();
  return all[0] ?? 0;
}
`,
    "tenure",
  );
  assert.is(
    message,
    "`y` is not disposed when the `await` on line 4 rejects; declare it with `using`.",
  );
  assert.match(text, /using y = x\.neg\(\);\n  const all = await y\.data\(\);\n  return/);
});

test("one report where `prefer-using` has one", () => {
  const code = `import type { Tensor } from "tenure";
export async function show(x: Tensor): Promise<void> {
  const y = x.neg();
  console.log(await y.data());
  y.dispose();
}
`;
  const { rules } = plugin.configs.strict;
  assert.equal(
    lint(code, { rules }).map((m) => m.ruleId),
    ["tenure/prefer-using"],
  );
});

test.run();
