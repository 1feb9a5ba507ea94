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

/** Functions and methods that give one tensor, for scripts in which nothing has a type. */
const makes = [
  ...["tensor", "tensor1d", "tensor2d", "tensor3d", "tensor4d", "scalar", "variable", "clone"],
  ...["zeros", "ones", "zerosLike", "onesLike", "fill", "range", "linspace", "eye", "oneHot"],
  ...["randomNormal", "randomUniform", "truncatedNormal", "fromPixels", "fromPixelsAsync"],
  ...["add", "sub", "mul", "div", "pow", "maximum", "minimum", "mod", "squaredDifference"],
  ...["matMul", "dot", "norm", "sum", "mean", "max", "min", "prod", "argMax", "argMin", "all"],
  ...["neg", "abs", "exp", "log", "sqrt", "square", "relu", "sigmoid", "tanh", "softmax", "round"],
  ...["equal", "greater", "less", "greaterEqual", "lessEqual", "logicalAnd", "logicalNot", "where"],
  ...["reshape", "expandDims", "squeeze", "flatten", "transpose", "cast", "toFloat", "toInt"],
  ...["as1D", "slice", "gather", "tile", "pad", "reverse", "concat", "stack", "clipByValue"],
  ...["resizeBilinear", "resizeNearestNeighbor", "cropAndResize", "flipLeftRight"],
];

/** Tensors and variables of TensorFlow.js. */
export const tfjs: readonly OwnerSettings[] = [
  {
    noun: "tensor",
    types,
    library: ["@tensorflow/*"],
    brand: ["dataSync", "arraySync", "dispose", "isDisposedInternal"],
    dispose: { methods: ["dispose"], functions: ["dispose"] },
    calls: "fresh",
    untyped: { globals: ["tf"], makes, lists: ["split", "unstack"] },
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
