/**
 * What is made where something has become another, as a test of what the function remembers says:
 * it comes again. Each is a program of which the marked lines are reported.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("for changes");
const finds = marked(test);
const types = `
interface Attachment { view: GPUTextureView }
interface Frame { depth: Attachment; colors: Attachment[] }
declare const screen: { width: number };
declare const device: GPUDevice;
`;

/** A function that others call before each frame. */
const fit = (test: string, mark = "", set = "width = screen.width;"): string => `${types}
export function fitting(start: number): (frame: Frame) => Frame {
  let width = start;
  return (frame) => {
    ${test}
    ${set}
    const texture = device.createTexture({ width });${mark}
    frame.depth.view = texture.createView();
    return frame;
  };
}
`;
finds(
  "after a way out for the same",
  fit("if (width === screen.width) return frame;", " // !"),
  "webgpu",
);
finds(
  "after one where one of two is the same",
  fit("if (width === screen.width || !frame) return frame;", " // !"),
  "webgpu",
);
finds(
  "after one for what nobody sets",
  fit("if (width === screen.width) return frame;", "", ""),
  "webgpu",
);
finds("after one for what is not there", fit("if (width === null) return frame;"), "webgpu");

/** The same with a part of the frame that has a name, within the test. */
const grow = (test: string, mark = ""): string => `${types}
const kept = { size: 0 };
export function grown(frame: Frame, size: number): void {
  const color = frame.colors[0]!;
  if (${test}) {
    kept.size = size;
    const texture = device.createTexture({ size });${mark}
    color.view = texture.createView();
  }
}
`;
finds("where more is asked for", grow("kept.size < size", " // !"), "webgpu");
finds("where another is asked for", grow("kept.size !== size", " // !"), "webgpu");
finds("for another device", grow("kept.size !== size").replaceAll("kept", "deviceState"), "webgpu");

/** A list of a module that a function fills again. */
const listed = (name: string, mark = ""): string => `${types}
const entries: { resource: GPUTextureView | null }[] = [{ resource: null }];
export function ${name}(pass: GPURenderPassEncoder, size: number): void {
  const texture = device.createTexture({ size });${mark}
  entries[0]!.resource = texture.createView();
  pass.setBindGroup(0, device.createBindGroup({ entries }));
}
`;
finds("a list that a module uses again", listed("blur", " // !"), "webgpu");
finds("a list that is filled as it starts", listed("createTargets"), "webgpu");

/** A helper that binds what it is given and gives a new buffer. */
const helper = (gives: string, mark = ""): string => `${types}
function run(input: GPUBuffer, more: object[]) {
  const out = device.createBuffer({ size: 4 });
  const group = device.createBindGroup({ entries: [{ buffer: input }, { buffer: out }, ...more] });
  device.createCommandEncoder({}).beginRenderPass({}).setBindGroup(0, group);
  return ${gives};
}
export function scaled(input: GPUBuffer, by: number) {
  const factor = device.createBuffer({ size: 4 });${mark}
  device.queue.writeBuffer(factor, 0, { by });
  return run(input, [{ buffer: factor }]);
}
`;
finds("a buffer that a helper binds for another", helper("out", " // !"), "webgpu");
finds("one whose bind group is given back", helper("{ out, group }"), "webgpu");

test.run();
