/**
 * Messages in the words of each preset: GPU objects are destroyed, sessions are released, tensors
 * of TensorFlow.js are disposed or put into `tidy()`; a script is told `using` only where it says
 * it already. With names as long as they come, each is one sentence of at most 140 characters.
 */
import { suite } from "uvu";
import { assert, everyRule, lines, lint } from "./tester.ts";

const test = suite("messages");

/** Whether a message is one sentence that an editor shows whole. */
const isShort = (message: string): boolean =>
  message.length <= 140 && message.endsWith(".") && !/[.!?] [A-Z`]/.test(message);
const long = "theTextureThatTheRendererDrawsTheWholeSceneTo";

const gpu = `export {};
interface GPUBuffer { destroy(): void; size: number }
interface GPUDevice { createBuffer(d: object): GPUBuffer; queue: GPUQueue }
interface GPUQueue { writeBuffer(b: GPUBuffer, o: number, d: object): void }
export class Owner { ${long}: GPUBuffer; other: GPUBuffer;
  constructor(readonly d: GPUDevice) {
    this.${long} = d.createBuffer({}); this.other = d.createBuffer({}); }
  setOther() { this.other = this.d.createBuffer({}); }
  destroy() { this.${long}.destroy(); } }
export class Endless { ${long}: GPUBuffer;
  constructor(d: GPUDevice) { this.${long} = d.createBuffer({}); } }
export function draw(d: GPUDevice, ${long}: Map<string, GPUBuffer>, n: number) {
  const owner = new Endless(d);
  let ${long}2 = d.createBuffer({});
  ${long}2 = d.createBuffer({});
  d.queue.writeBuffer(${long}2, 0, {});
  d.queue.writeBuffer(d.createBuffer({}), 0, owner);
  d.createBuffer({});
  ${long}.delete("a");
  const list = [d.createBuffer({})];
  if (n > 0) return list.length;
  return 0;
}
`;

test("of GPU objects", () => {
  const settings = { presets: ["webgpu"] };
  const found = lint(gpu, { settings, rules: everyRule });
  assert.ok(found.length >= 7, lines(found).join("\n"));
  for (const { message } of found) {
    assert.ok(isShort(message), message);
    assert.not.match(message, /dispos|using|tidy/);
    assert.match(message, /destroy/);
  }
});

const own = `import { zeros, type Tensor } from "tenure";
export async function f(x: Tensor) {
  const ${long} = zeros([2]);
  return await ${long}.mul(x).sum().item();
}
`;
test("of tensors in compiled code", () => {
  const found = lines(lint(own)).join("\n");
  assert.match(found, /`using`/);
});

test.run();
