/**
 * The `webgpu` preset: buffers, textures, query sets and devices of the WebGPU API, freed by
 * `destroy()`. Used by `settings.ts`. WebGPU has no scopes; `getCurrentTexture()` lends a texture
 * that the canvas keeps.
 */
import type { OwnerSettings } from "../owner.ts";

/** Methods of queues, encoders and passes: what they are given, they use at once. */
const lent = [
  ...["writeBuffer", "writeTexture", "copyBufferToBuffer", "copyBufferToTexture", "clearBuffer"],
  ...[
    "copyTextureToBuffer",
    "copyTextureToTexture",
    "copyExternalImageToTexture",
    "createBindGroup",
  ],
  ...["setVertexBuffer", "setIndexBuffer", "setBindGroup", "beginRenderPass", "beginComputePass"],
  "configure",
  ...["drawIndirect", "drawIndexedIndirect", "dispatchWorkgroupsIndirect", "resolveQuerySet"],
];

/** What a WebGPU device makes. */
export const webgpu: readonly OwnerSettings[] = [
  {
    noun: "GPU object",
    types: [{ name: ["GPUBuffer", "GPUTexture", "GPUQuerySet", "GPUDevice"] }],
    dispose: { methods: ["destroy"], functions: [] },
    calls: "unknown",
    fresh: ["createBuffer", "createTexture", "createQuerySet", "requestDevice"],
    borrows: ["getCurrentTexture"],
    args: "borrow",
    borrowers: ["GPU"],
    holders: ["createBindGroup", "createView"],
    recorders: ["createRenderBundleEncoder"],
    untyped: {
      globals: [],
      makes: [],
      lists: [],
      described: [
        { callee: "createBuffer", fields: ["usage"] },
        { callee: "createTexture", fields: ["usage"] },
        { callee: "createQuerySet", fields: ["type", "count"] },
      ],
      lent,
    },
    safeAfterDispose: [
      "label",
      "size",
      "usage",
      "mapState",
      "width",
      "height",
      "format",
      "type",
      "count",
      "lost",
      "destroyed",
    ],
    policy: "generic",
  },
];
