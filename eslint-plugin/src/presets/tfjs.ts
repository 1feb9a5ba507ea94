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
  ...["tensor", "tensor1d", "tensor2d", "tensor3d", "tensor4d", "tensor5d", "scalar", "variable"],
  ...["clone", "zeros", "ones", "zerosLike", "onesLike", "fill", "range", "linspace", "eye"],
  ...["oneHot", "complex", "real", "imag", "diag", "multinomial", "rand", "randomGamma"],
  ...["randomNormal", "randomUniform", "truncatedNormal", "fromPixels", "fromPixelsAsync"],
  ...["add", "addN", "sub", "mul", "div", "divNoNan", "floorDiv", "pow", "maximum", "minimum"],
  ...["mod", "squaredDifference", "matMul", "dot", "outerProduct", "einsum", "norm", "sum", "mean"],
  ...["max", "min", "prod", "argMax", "argMin", "all", "any", "cumsum", "cumprod", "logSumExp"],
  ...["abs", "neg", "sign", "ceil", "floor", "round", "exp", "expm1", "log", "log1p", "sqrt"],
  ...["rsqrt", "square", "reciprocal", "sin", "cos", "tan", "asin", "acos", "atan", "atan2"],
  ...["sinh", "cosh", "tanh", "erf", "relu", "relu6", "elu", "selu", "leakyRelu", "prelu"],
  ...["sigmoid", "logSigmoid", "softmax", "logSoftmax", "softplus", "step", "clipByValue"],
  ...["equal", "notEqual", "greater", "greaterEqual", "less", "lessEqual", "logicalAnd"],
  ...["logicalOr", "logicalXor", "logicalNot", "where", "whereAsync", "isNaN", "isFinite"],
  ...["reshape", "reshapeAs", "expandDims", "squeeze", "flatten", "transpose", "cast", "asType"],
  ...["toFloat", "toInt", "toBool", "as1D", "as2D", "as3D", "as4D", "asScalar", "broadcastTo"],
  ...["slice", "slice1d", "slice2d", "slice3d", "slice4d", "stridedSlice", "gather", "gatherND"],
  ...["tile", "pad", "pad1d", "pad2d", "pad3d", "pad4d", "mirrorPad", "reverse", "reverse1d"],
  ...["reverse2d", "reverse3d", "reverse4d", "concat", "concat1d", "concat2d", "concat3d"],
  ...["concat4d", "stack", "scatterND", "booleanMaskAsync", "conv1d", "conv2d", "conv3d"],
  ...["conv2dTranspose", "depthwiseConv2d", "separableConv2d", "maxPool", "avgPool", "pool"],
  ...["batchNorm", "dropout", "fft", "ifft", "rfft", "irfft", "stft", "hannWindow"],
  ...["hammingWindow", "resizeBilinear", "resizeNearestNeighbor", "cropAndResize", "bandPart"],
  ...["flipLeftRight", "rotateWithOffset", "grayscaleToRGB", "rgbToGrayscale", "threshold"],
  ...["transform", "nonMaxSuppression", "nonMaxSuppressionAsync", "decodeImage", "decodeJpeg"],
  ...["decodePng", "decodeGif", "decodeBmp", "softmaxCrossEntropy", "meanSquaredError"],
  ...["sigmoidCrossEntropy", "absoluteDifference", "cosineDistance", "huberLoss", "logLoss"],
];

/** Parts of the library whose functions give tensors; those of `tf.layers` give layers. */
const parts = [
  ...["browser", "image", "linalg", "losses", "metrics", "spectral", "signal", "fused"],
  ...["sparse", "string", "math", "node", "show", "render", "data"],
];

/** Methods that tensors have and hardly anything else. */
const marks = [
  ...["dataSync", "arraySync", "bufferSync", "expandDims", "squeeze", "toFloat", "toInt"],
  ...["as1D", "as2D", "as3D", "as4D", "asScalar", "argMax", "argMin", "matMul", "oneHot"],
  ...["resizeBilinear", "resizeNearestNeighbor", "softmax", "logSoftmax", "clipByValue"],
];

/** Methods of models, which look at tensors and keep none. */
const runs = [
  ...["predict", "predictOnBatch", "evaluate", "execute", "executeAsync", "infer", "embed"],
];
const looks = [
  ...["fit", "evaluate", "trainOnBatch", "setWeights"],
  ...["classify", "detect", "detectObjects", "segment"],
  ...["estimatePoses", "estimateFaces", "estimateHands", "estimateSinglePose"],
  ...["estimateMultiplePoses", "recognize"],
];

/** Methods of optimizers, which open a scope of their own. */
const encloses = ["minimize", "computeGradients"];

/** Methods of classifiers that are given features. */
const wants = ["addExample", "predictClass"];

/** Methods that join two tensors, and that no list, set, scene or page has. */
const joins = [
  ...["mul", "sub", "div", "divNoNan", "floorDiv", "mod", "pow", "dot", "matMul", "maximum"],
  ...["minimum", "squaredDifference", "equal", "notEqual", "greater", "greaterEqual", "less"],
  ...["lessEqual", "logicalAnd", "logicalOr", "gather", "prelu"],
];

/** Functions that give a model; the last two those of releases before 1.0. */
const models = [
  ...["sequential", "model", "loadLayersModel", "loadGraphModel"],
  ...["loadModel", "loadFrozenModel"],
];

/** What makes an optimizer, below `tf.train`, and the classes of those. */
const optimizers = ["sgd", "momentum", "adam", "adamax", "adadelta", "adagrad", "rmsprop"];
const optimizerTypes = [
  ...["SGDOptimizer", "MomentumOptimizer", "AdamOptimizer", "AdamaxOptimizer"],
  ...["AdadeltaOptimizer", "AdagradOptimizer", "RMSPropOptimizer"],
];

/** Models that packages beside TensorFlow.js have ready, by package; others free nothing. */
const readyMade: Readonly<Record<string, string>> = {
  blazeface: "BlazeFaceModel",
  "body-pix": "BodyPix",
  "body-segmentation": "BodySegmenter",
  "coco-ssd": "ObjectDetection",
  deeplab: "SemanticSegmentation",
  "face-detection": "FaceDetector",
  "face-landmarks-detection": "FaceLandmarksDetector",
  "hand-pose-detection": "HandDetector",
  "knn-classifier": "KNNClassifier",
  "pose-detection": "PoseDetector",
  posenet: "PoseNet",
};

/** What makes such a model, and the names their script tags leave. */
const readers = ["load", "create", "createDetector", "createSegmenter"];
const readyGlobals = [
  ...["blazeface", "bodyPix", "bodySegmentation", "cocoSsd", "deeplab", "faceDetection"],
  ...["faceLandmarksDetection", "handPoseDetection", "handTrack", "knnClassifier"],
  ...["poseDetection", "posenet"],
];

/** Tensors and variables of TensorFlow.js, and its models. */
export const tfjs: readonly OwnerSettings[] = [
  {
    noun: "tensor",
    types,
    library: ["@tensorflow/*"],
    brand: ["dataSync", "arraySync", "dispose", "isDisposedInternal"],
    dispose: { methods: ["dispose"], functions: ["dispose"] },
    calls: "fresh",
    untyped: {
      globals: ["tf", "tfvis"],
      makes,
      lists: ["split", "unstack", "getWeights"],
      records: [
        { callee: "topk", fields: ["values", "indices"] },
        { callee: "moments", fields: ["mean", "variance"] },
      ],
      sources: [{ callee: "webcam", methods: ["capture"] }],
      parts,
      marks,
      runs,
      answers: ["data", "array"],
      looks,
      encloses,
      joins,
      wants,
    },
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
    freshWhen: [{ callee: "minimize", arg: 1 }],
    args: "borrow",
    keep: { methods: [], functions: ["keep"] },
    lasting: ["keep"],
    alias: "clone",
    scopes: [
      { callee: "tidy", callback: "last", movesResultOut: true },
      { begin: "startScope", end: "endScope" },
    ],
    runsInScope: [
      ...["map", "filter"], // of a dataset
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
    freshArguments: ["forEachAsync"],
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
    lost: "running",
    managers: ["Layer", "Container", "LayersModel", "Sequential", "Optimizer", "RNNCell"],
    policy: "scoped",
  },
  {
    noun: "model",
    types: [
      ...packages.map((name): Specifier => ({
        from: "package",
        package: name,
        name: ["LayersModel", "Sequential", "Model"],
      })),
      {
        from: "package",
        package: "@tensorflow/tfjs-converter",
        name: ["GraphModel", "FrozenModel"],
      },
    ],
    library: ["@tensorflow/*"],
    dispose: { methods: ["dispose"], functions: ["dispose"] },
    calls: "unknown",
    fresh: models,
    untyped: { globals: ["tf"], makes: models, lists: [] },
    args: "transfer",
    shares: [
      ...["layers", "inputs", "outputs", "input", "output", "getLayer", "apply", "optimizer"],
      ...["weights", "trainableWeights", "loadWeights", "setWeights"],
    ],
    adopts: ["add"],
    lost: "repeated",
    policy: "generic",
  },
  {
    // an optimizer keeps moments of each weight, which a model it is given to does not dispose
    noun: "TF.js optimizer", // messages say "a"
    types: packages.map((name): Specifier => ({
      from: "package",
      package: name,
      name: optimizerTypes,
    })),
    library: ["@tensorflow/*"],
    dispose: { methods: ["dispose"], functions: ["dispose"] },
    calls: "unknown",
    fresh: optimizers,
    untyped: { globals: ["tf"], parts: ["train"], makes: optimizers, lists: [] },
    args: "transfer",
    lost: "repeated",
    policy: "generic",
  },
  {
    noun: "model",
    types: Object.entries(readyMade).map(([name, type]) => ({
      from: "package",
      package: `@tensorflow-models/${name}`,
      name: type,
    })),
    // not those without a dispose(): mobilenet, handpose, speech-commands, toxicity, …
    library: [...Object.keys(readyMade).map((name) => `@tensorflow-models/${name}`), "handtrackjs"],
    dispose: { methods: ["dispose"], functions: [] },
    calls: "unknown",
    fresh: readers,
    untyped: { globals: readyGlobals, makes: readers, lists: [] },
    args: "transfer",
    lost: "repeated",
    policy: "generic",
  },
];
