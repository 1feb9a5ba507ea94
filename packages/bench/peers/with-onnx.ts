/**
 * The rows in ONNX Runtime with its WebGPU provider: those without training. Called by `worker.ts`;
 * a program's session is its own until `dispose`.
 */
import { type OnnxNode, onnxModel } from "./onnx-model.ts";
import { type Program, type Spec, type Values, spread, startOf } from "./rows.ts";

type Outputs = Readonly<Record<string, { readonly data: Float32Array }>>;

interface Session {
  run(feeds: object, fetches: readonly string[]): Promise<Outputs>;
  release(): Promise<void>;
}

/** What is used of ONNX Runtime. */
export interface Onnx {
  readonly InferenceSession: {
    create(
      model: Uint8Array,
      options: { executionProviders: readonly string[]; logSeverityLevel: number },
    ): Promise<Session>;
  };
}

/** The operators of a row on tensors called a, b, c; undefined for what needs gradients. */
function nodesOf(spec: Spec): OnnxNode[] | undefined {
  switch (spec.kind) {
    case "matmul":
      return [{ op: "MatMul", inputs: ["a", "b"], output: "y" }];
    case "softmax":
      return [{ op: "Softmax", inputs: ["a"], output: "y", attributes: { axis: 1 } }];
    case "layerNorm":
      return [
        {
          op: "LayerNormalization",
          inputs: ["a", "b", "c"],
          output: "y",
          attributes: { axis: 1 },
        },
      ];
    case "chain":
      return Array.from({ length: spec.ops }, (_, i) => {
        const multiply = spec.multiply && i % 2 === 0;
        return {
          op: multiply ? "Mul" : "Add",
          inputs: [i === 0 ? "a" : `y${i}`, multiply ? "c" : "b"],
          output: i === spec.ops - 1 ? "y" : `y${i + 1}`,
        };
      });
    case "mlp":
    case "lenet":
      return undefined;
  }
}

/** Sets a row up. */
export async function onnxProgram(onnx: Onnx, spec: Spec): Promise<Program | undefined> {
  const nodes = nodesOf(spec);
  if (nodes === undefined) return undefined;
  const used = new Set(nodes.flatMap((n) => n.inputs));
  const tensors = new Map<string, Values>();
  startOf(spec).inputs.forEach((values, i) => {
    const name = "abc".charAt(i);
    if (used.has(name)) tensors.set(name, values);
  });
  const session = await onnx.InferenceSession.create(
    onnxModel(tensors, nodes, startOf(spec).inputs[0]?.shape ?? []),
    { executionProviders: ["webgpu"], logSeverityLevel: 3 },
  );
  const fetch = async (name: string): Promise<Float32Array> => {
    const output = (await session.run({}, [name]))[name];
    if (output === undefined) throw new Error(`onnx: expected the output ${name}, got none`);
    return output.data;
  };
  return {
    run: async () => {
      await fetch("first");
    },
    values: async () => spread(await fetch("y")),
    dispose: () => void session.release(),
  };
}
