/**
 * What a view that a function's own variable is given goes on using, and values that are claimed to
 * be there. Each is a program of which the marked lines are reported.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("held by names");
const finds = marked(test);

/** A function of each frame that makes a texture, with what it does with it. */
const render = (does: string, mark = ""): string => `
declare const assert: undefined | ((value: unknown, message?: string) => void);
let last: GPUTextureView;
export const shown = (): GPUTextureView => last;
export function render(device: GPUDevice, out: GPUTexture, isFast: boolean): void {
  const texture = device.createTexture({ size: [out.width], format: "r8unorm", usage: 4 });${mark}
  ${does}
}
`;
const show = `const encoder = device.createCommandEncoder();
  const colorAttachments = [{ view, loadOp: "clear" as const, storeOp: "store" as const }];
  encoder.beginRenderPass({ colorAttachments }).end();
  device.queue.submit([encoder.finish()]);`;
const either = `let view: GPUTextureView;
  if (isFast) view = out.createView();
  else view = texture.createView();
  ${show}`;
finds("a view of either", render(either, " // !"), "webgpu");
finds("a view of either, ended", render(`${either}\n  texture.destroy();`), "webgpu");
finds("a view that is kept where it was none", render(`${either}\n  last ??= view;`), "webgpu");
const claims = 'assert && assert(texture, "there is one");';
finds("a texture that is claimed to be there", render(claims, " // !"), "webgpu");
finds("one that is, and ended", render(`${claims}\n  texture.destroy();`), "webgpu");
finds("one whose answer counts", render("last = keep(texture).createView();"), "webgpu");

test.run();
