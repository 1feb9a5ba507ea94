/**
 * Writes the few ONNX models that the rows need (protocol buffers, onnx.proto of IR version 8,
 * operator set 17). Called by `with-onnx.ts`. Bytes in, bytes out.
 */
import type { Values } from "./rows.ts";

const concatenated = (parts: readonly Uint8Array[]): Uint8Array => Buffer.concat(parts);

function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Uint8Array.of(...bytes, rest);
}

/** A field that holds a number. */
const int = (field: number, value: number): Uint8Array =>
  concatenated([varint(field * 8), varint(value)]);

/** A field that holds bytes, text or another message. */
function bytes(field: number, value: Uint8Array | string): Uint8Array {
  const body = typeof value === "string" ? Buffer.from(value) : value;
  return concatenated([varint(field * 8 + 2), varint(body.length), body]);
}

const message = (field: number, ...parts: readonly Uint8Array[]): Uint8Array =>
  bytes(field, concatenated(parts));

const float = 1;
const int64 = 7;

/** A tensor that stands in the model. */
function initializer(name: string, { shape, data }: Values): Uint8Array {
  return message(
    5,
    ...shape.map((d) => int(1, d)),
    int(2, float),
    bytes(8, name),
    bytes(9, new Uint8Array(data.buffer)),
  );
}

/** A list of integers that stands in the model: where slices begin and end. */
function integers(name: string, values: readonly number[]): Uint8Array {
  return message(
    5,
    int(1, values.length),
    int(2, int64),
    ...values.map((v) => int(7, v)),
    bytes(8, name),
  );
}

/** A named input or output. */
function valueInfo(field: number, name: string, shape: readonly number[]): Uint8Array {
  const dimensions = shape.map((d) => message(1, int(1, d)));
  return message(
    field,
    bytes(1, name),
    message(2, message(1, int(1, float), message(2, ...dimensions))),
  );
}

/** One operator; attributes are integers. */
export interface OnnxNode {
  readonly op: string;
  readonly inputs: readonly string[];
  readonly output: string;
  readonly attributes?: Readonly<Record<string, number>>;
}

function node({ op, inputs, output, attributes = {} }: OnnxNode): Uint8Array {
  return message(
    1,
    ...inputs.map((i) => bytes(1, i)),
    bytes(2, output),
    bytes(4, op),
    ...Object.entries(attributes).map(([name, value]) =>
      message(5, bytes(1, name), int(3, value), int(20, 2)),
    ),
  );
}

/**
 * A model without inputs that must be fed. Its tensors are initializers that are inputs too, so
 * that nothing is computed when the model is loaded. Outputs: `y`, and `first`, its first element,
 * which is what to ask for when only the time matters.
 */
export function onnxModel(
  tensors: ReadonlyMap<string, Values>,
  nodes: readonly OnnxNode[],
  shape: readonly number[],
): Uint8Array {
  const ones = shape.map(() => 1);
  const graph = message(
    7,
    ...nodes.map(node),
    node({ op: "Slice", inputs: ["y", "from", "to"], output: "first" }),
    bytes(2, "row"),
    ...[...tensors].map(([name, values]) => initializer(name, values)),
    integers(
      "from",
      shape.map(() => 0),
    ),
    integers("to", ones),
    ...[...tensors].map(([name, values]) => valueInfo(11, name, values.shape)),
    valueInfo(12, "y", shape),
    valueInfo(12, "first", ones),
  );
  return concatenated([int(1, 8), graph, message(8, int(2, 17))]);
}
