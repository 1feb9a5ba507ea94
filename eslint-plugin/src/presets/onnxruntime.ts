/**
 * The `onnxruntime` preset: sessions of ONNX Runtime (onnxruntime-web and its kin), which hold a
 * model in memory of WebAssembly or the GPU until `release()`. Used by `settings.ts`. Tensors are
 * left out: a type does not say whether one lies on the GPU, and the others need no `dispose()`.
 */
import type { OwnerSettings } from "../owner.ts";

const packages = ["common", "web", "node", "react-native"].map((name) => `onnxruntime-${name}`);

/** Sessions of ONNX Runtime. */
export const onnxruntime: readonly OwnerSettings[] = [
  {
    noun: "session",
    types: packages.map((name) => ({ from: "package", package: name, name: ["InferenceSession"] })),
    dispose: { methods: ["release"], functions: [] },
    calls: "unknown",
    fresh: ["create"],
    args: "transfer",
    safeAfterDispose: ["inputNames", "outputNames"],
    policy: "generic",
  },
];
