/**
 * The `tfjs` preset: tensors of TensorFlow.js, `tf.tidy` and engine scopes. Used by `settings.ts`.
 * TF.js tensors have no `[Symbol.dispose]`, so suggestions here speak of `tidy` and `dispose()`,
 * not of `using`.
 */
import type { OwnerSettings, Specifier } from "../owner.ts";

const packages = [
  "@tensorflow/tfjs-core",
  "@tensorflow/tfjs",
  "@tensorflow/tfjs-node",
  "@tensorflow/tfjs-layers",
];
const types: Specifier[] = packages.map((name) => ({
  from: "package",
  package: name,
  name: ["Tensor", "Variable"],
}));

/** Tensors and variables of TensorFlow.js. */
export const tfjs: readonly OwnerSettings[] = [
  {
    noun: "tensor",
    types,
    library: ["@tensorflow/*"],
    brand: ["dataSync", "arraySync", "dispose", "isDisposedInternal"],
    dispose: { methods: ["dispose"], functions: ["dispose"] },
    calls: "fresh",
    borrows: [
      "getWeights",
      "getTensor",
      "read",
      "getVariable",
      "getStepTensor",
      "convertToTensor",
      "convertToTensorArray",
      "makeTensorFromDataId",
      "makeTensorFromTensorInfo",
      "minimize",
      "getTensorsInContainer",
    ],
    args: "borrow",
    keep: { methods: [], functions: ["keep"] },
    lasting: ["keep"],
    alias: "clone",
    scopes: [
      { callee: "tidy", callback: "last", movesResultOut: true },
      { begin: "startScope", end: "endScope" },
    ],
    runsInScope: [
      "minimize",
      "variableGrads",
      "valueAndGrad",
      "valueAndGrads",
      "grad",
      "grads",
      "customGrad",
      "computeGradients",
      "runKernelFunc",
      "op",
      "filter",
      "map",
    ],
    runsInline: ["time", "profile", "forEachAsync", "mapAsync"],
    safeAfterDispose: [
      "shape",
      "dtype",
      "id",
      "size",
      "rank",
      "rankType",
      "strides",
      "isDisposed",
      "isDisposedInternal",
      "name",
      "dataId",
      "kept",
      "scopeId",
    ],
    outsideScopes: ["Variable"],
    managers: ["Layer", "Container", "LayersModel", "Sequential", "Optimizer", "RNNCell"],
    policy: "scoped",
  },
];
