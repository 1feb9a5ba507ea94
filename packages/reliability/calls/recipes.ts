/**
 * Calls that the types do not say enough about: sizes that must fit, texts in a language of their
 * own, files. Everything else is derived.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Tensor, zeros } from "tenure";
import { packCheckpoint } from "tenure/data";
import {
  type Linear,
  TransformerDecoder,
  TransformerDecoderLayer,
  TransformerEncoder,
  TransformerEncoderLayer,
} from "tenure/nn";
import type { SGD, StepLR } from "tenure/optim";
import { type Program, Scheduler, plan, programFromJSON } from "tenure/scheduler";
import type { Environment, Make } from "./environment.ts";

/** A call in full, or the part of it that cannot be derived. */
export interface Recipe {
  readonly receiver?: Make;
  readonly args?: readonly Make[];
}

/** What cannot be derived. */
export interface Recipes {
  /** By the name of the class. */
  readonly instances: Readonly<Record<string, Make>>;
  /** By the name of the callee. */
  readonly calls: Readonly<Record<string, Recipe>>;
  /** Callees that have no valid call: they only say what to do instead. */
  readonly refusing: ReadonlySet<string>;
}

const leaf: Make = (env) => env.tensor(zeros([3], { requiresGrad: true }));
const parameters: Make = (env) => [leaf(env)];
const rate: Make = () => ({ lr: 0.1 });
const value =
  (v: unknown): Make =>
  () =>
    v;
const floats =
  (...shape: number[]) =>
  (env: Environment): Tensor =>
    env.tensor(zeros(shape));

const op = { phase: "forward", layer: "", flops: 10, recomputable: true };
const programJSON = {
  version: 1,
  storages: [
    { id: "w", role: "param", bytes: 4096, pinned: true },
    { id: "a", role: "activation", bytes: 4096, pinned: false },
    { id: "b", role: "activation", bytes: 4096, pinned: true },
  ],
  ops: [
    { name: "relu", reads: ["w"], writes: ["a"], ...op },
    { name: "tanh", reads: ["a"], writes: ["b"], ...op },
  ],
};
const program = (): Program => programFromJSON(structuredClone(programJSON));

function idx(): Uint8Array {
  return new Uint8Array([0, 0, 8, 1, 0, 0, 0, 2, 7, 9]);
}

function npy(): Uint8Array {
  const header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }".padEnd(117) + "\n";
  const head = [0x93, ...Buffer.from("NUMPY"), 1, 0, header.length, 0, ...Buffer.from(header)];
  return new Uint8Array([...head, ...new Uint8Array(8)]);
}

/** A zip archive with nothing in it. */
function emptyZip(): Uint8Array {
  return new Uint8Array([0x50, 0x4b, 5, 6, ...new Array<number>(18).fill(0)]);
}

function safetensors(): Uint8Array {
  const header = '{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'.padEnd(56);
  return new Uint8Array([
    header.length,
    ...new Uint8Array(7),
    ...Buffer.from(header),
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
  ]);
}

async function stepped(env: Environment): Promise<Scheduler> {
  const scheduler = env.keep(new Scheduler({}));
  await scheduler.step(() => zeros([2]).add(1).data());
  return scheduler;
}

const optimizers = ["Adagrad", "Adam", "AdamW", "Lion", "RMSprop", "SGD"].map(
  (name) => [`optim.${name}`, { args: [parameters, rate] }] as const,
);

/** Makes the recipes; runs on the device of the moment. */
export async function makeRecipes(): Promise<Recipes> {
  const saved = await packCheckpoint({ loader: loader() }),
    file = join(process.cwd(), "checkpoint.safetensors");
  await writeFile(file, saved);
  return {
    instances: { Program: program, Plan: () => plan(program()) },
    refusing: new Set([
      "nn.ModuleDict.forward",
      "nn.ModuleDict.call",
      "nn.ModuleList.forward",
      "nn.ModuleList.call",
      // without a device of the program's own
      "Tensor.copyToBuffer",
      "tensorFromBuffer",
    ]),
    calls: {
      ...Object.fromEntries(optimizers),
      "nn.TransformerDecoder": { args: [() => () => new TransformerDecoderLayer(4, 2), value(2)] },
      "nn.TransformerEncoder": { args: [() => () => new TransformerEncoderLayer(4, 2), value(2)] },
      "nn.Upsample": { args: [() => ({ scaleFactor: 2 })] },
      "nn.functional.upsample": { args: [floats(1, 2, 3, 3), () => ({ scaleFactor: 2 })] },
      "nn.functional.convTranspose1d": { args: [floats(1, 2, 4), floats(2, 3, 3)] },
      "nn.functional.convTranspose2d": { args: [floats(1, 2, 4, 4), floats(2, 3, 3, 3)] },
      "nn.functional.batchNorm": {
        args: [floats(2, 3), () => ({ training: true })],
      },
      "nn.TransformerDecoder.forward": {
        receiver: (env) =>
          env.keep(new TransformerDecoder(() => new TransformerDecoderLayer(4, 2), 1)),
        args: [floats(2, 4), floats(3, 4)],
      },
      "nn.TransformerEncoder.forward": {
        receiver: (env) =>
          env.keep(new TransformerEncoder(() => new TransformerEncoderLayer(4, 2), 1)),
        args: [floats(2, 4)],
      },
      "optim.*.addGroup": { args: [(env) => ({ parameters: [leaf(env)] })] },
      "optim.*.checkStateDict": { args: [optimizerState] },
      "optim.*.loadStateDict": { args: [optimizerState] },
      "data.loadCheckpoint": { args: [value(file), () => ({ loader: loader() })] },
      einsum: { args: [value("ij,jk->ik"), floats(2, 3), floats(3, 2)] },
      "defineOp()": { args: [floats(2)] },
      defineOp: { args: [() => ({ name: "own", inputs: 1, expression: "r0 = a0;" })] },
      "data.parseIdx": { args: [idx] },
      "data.parseNpy": { args: [npy] },
      "data.parseNpz": { args: [emptyZip] },
      "data.fromSafetensors": { args: [safetensors] },
      "data.readSafetensors": { args: [safetensors] },
      "data.unpackCheckpoint": { args: [() => saved.slice(), () => ({ loader: loader() })] },
      "scheduler.programFromJSON": { args: [() => structuredClone(programJSON)] },
      "Tensor.clamp": { args: [value(0), value(1)] },
      "Tensor.clamp_": { args: [value(0), value(1)] },
      "nn.*.checkStateDict": { args: [state] },
      "nn.*.loadStateDict": { args: [state] },
      "scheduler.Scheduler.report": { receiver: stepped, args: [] },
      "scheduler.Scheduler.explain": { receiver: stepped, args: [] },
    },
  };
}

function state({ receiver }: Environment): unknown {
  return (receiver as Linear).stateDict();
}

function optimizerState(env: Environment): object {
  const state = (env.receiver as SGD | StepLR).stateDict();
  if ("tensors" in state) for (const [, t] of state.tensors) env.tensor(t);
  return state;
}

/** Something with numbers to save. */
function loader(): { stateDict(): object; loadStateDict(): void } {
  return { stateDict: () => ({ epoch: 1 }), loadStateDict: () => undefined };
}
