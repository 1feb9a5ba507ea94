/**
 * Checkpoints: one safetensors file with everything a training run needs to continue bit by bit. A
 * model's tensors have their PyTorch names, so PyTorch loads the same file. Written atomically, in
 * Node; elsewhere use `toSafetensors` and the host's own storage. Borrows what it saves and owns
 * nothing.
 */
import { builtin } from "../base/env.ts";
import { ArgumentError, TenureError } from "../base/errors.ts";
import { checkOptions, needOptions } from "../base/options.ts";
import { newDisposeScope } from "../ownership/open.ts";
import { type GeneratorState, generatorState, restoreGenerator } from "../tensor/generator.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { HostTensor } from "./elements.ts";
import { type SafetensorsOptions, readSafetensors, toSafetensors } from "./safetensors.ts";

/** A module, as checkpoints see it. */
export interface SavedModel {
  stateDict(): ReadonlyMap<string, Tensor>;
  loadStateDict(state: ReadonlyMap<string, HostTensor>): unknown;
  /** If there is one, it is asked before anything changes. */
  checkStateDict?(state: ReadonlyMap<string, HostTensor>): void;
}
/** An optimizer: numbers and tensors. */
export interface SavedOptimizer {
  stateDict(): { readonly tensors: ReadonlyMap<string, Tensor> };
  loadStateDict(state: never): unknown;
  checkStateDict?(state: never): void;
}
/** A schedule or a data loader: numbers. */
export interface SavedNumbers {
  stateDict(): object;
  loadStateDict(state: never): unknown;
}

/** What to save, or to load into. */
export interface CheckpointParts {
  readonly model?: SavedModel;
  readonly optimizer?: SavedOptimizer;
  readonly schedule?: SavedNumbers;
  readonly loader?: SavedNumbers;
  /**
   * Where the random generator stands; true by default, if anything but the model is in the file.
   */
  readonly random?: boolean;
}

/** What goes into a checkpoint beside the parts. */
export interface SaveOptions {
  /** Anything that JSON holds: epoch, best loss, settings. */
  readonly extra?: unknown;
  /** Free-form strings of the safetensors header. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/** Tensors of the optimizer in the file begin with this. */
const optimizerPrefix = "__optimizer__.";
/** Our key in the safetensors metadata. */
const metadataKey = "tenure";

interface Numbers {
  readonly version: 1;
  readonly optimizer?: object;
  readonly schedule?: object;
  readonly loader?: object;
  readonly random?: object;
  readonly extra?: unknown;
}

/** The few functions of Node's fs that are needed. */
interface FileHandle {
  write(data: Uint8Array, offset: number, length: number): Promise<{ bytesWritten: number }>;
  read(data: Uint8Array, offset: number, length: number): Promise<{ bytesRead: number }>;
  sync(): Promise<void>;
  stat(): Promise<{ size: number }>;
  close(): Promise<void>;
}
interface FileSystem {
  open(path: string, flags: string): Promise<FileHandle>;
  rename(from: string, to: string): Promise<void>;
  rm(path: string, options: { force: boolean }): Promise<void>;
}

function fileSystem(op: string): FileSystem {
  const fs = builtin<{ promises: FileSystem }>("node:fs");
  if (fs === undefined)
    throw new TenureError(
      op,
      "expected a host with files, got one without; " +
        "use toSafetensors and fromSafetensors with the host's own storage",
    );
  return fs.promises;
}

/** @throws ArgumentError for anything but parts by name */
function checkParts(op: string, parts: CheckpointParts): void {
  needOptions(op, parts, ["model", "optimizer", "schedule", "loader", "random"]);
}

/**
 * The bytes of a checkpoint: what `saveCheckpoint` writes. Reads are pinned at once: later steps do
 * not change what is saved.
 */
export function packCheckpoint(
  parts: CheckpointParts,
  options: SaveOptions = {},
): Promise<Uint8Array<ArrayBuffer>> {
  checkParts("saveCheckpoint", parts);
  checkOptions("saveCheckpoint", options, ["extra", "metadata"]);
  using _ = newDisposeScope("saveCheckpoint");
  const tensors = new Map<string, Tensor>();
  for (const [name, t] of parts.model?.stateDict() ?? []) {
    if (name.startsWith(optimizerPrefix))
      throw new ArgumentError(
        "saveCheckpoint",
        `names that do not begin with ${optimizerPrefix}`,
        name,
        "rename the module's field",
      );
    tensors.set(name, t);
  }
  const { tensors: states = [], ...optimizer } = parts.optimizer?.stateDict() ?? {};
  for (const [name, t] of states) tensors.set(optimizerPrefix + name, t);
  const more = parts.optimizer ?? parts.schedule ?? parts.loader;
  const numbers: Numbers = {
    version: 1,
    ...(parts.optimizer === undefined ? {} : { optimizer }),
    ...(parts.schedule === undefined ? {} : { schedule: parts.schedule.stateDict() }),
    ...(parts.loader === undefined ? {} : { loader: parts.loader.stateDict() }),
    ...((parts.random ?? more !== undefined) ? { random: generatorState() } : {}),
    ...(options.extra === undefined ? {} : { extra: options.extra }),
  };
  // A file with just a model stays as plain as one that PyTorch writes.
  const plain = Object.keys(numbers).length === 1;
  const metadata = {
    format: "pt",
    ...options.metadata,
    ...(plain ? {} : { [metadataKey]: JSON.stringify(numbers) }),
  };
  return toSafetensors(tensors, metadata);
}

/**
 * Writes a checkpoint atomically: to a file beside it, flushed to the disk, then renamed over
 * `path`. A crash leaves the old file or the new one, never a part. What is saved is the state at
 * the moment of the call, whatever runs while it is written.
 * @throws ArgumentError for names that clash, TenureError in hosts without files, and what the file
 *   system says
 */
export async function saveCheckpoint(
  path: string,
  parts: CheckpointParts,
  options: SaveOptions = {},
): Promise<void> {
  const fs = fileSystem("saveCheckpoint"),
    bytes = await packCheckpoint(parts, options),
    temporary = `${path}.${crypto.randomUUID()}.part`;
  try {
    const file = await fs.open(temporary, "wx");
    try {
      for (let at = 0; at < bytes.length;)
        at += (await file.write(bytes, at, Math.min(bytes.length - at, 2 ** 26))).bytesWritten;
      await file.sync();
    } finally {
      await file.close();
    }
    await fs.rename(temporary, path);
  } catch (error) {
    await fs.rm(temporary, { force: true });
    throw error;
  }
}

/** What was in a checkpoint besides the parts. */
export interface LoadedCheckpoint {
  readonly extra: unknown;
  readonly metadata: Readonly<Record<string, string>>;
}

/**
 * Loads bytes of a checkpoint into the given parts. Everything is checked first: on an error
 * nothing has changed.
 * @throws ArgumentError for a damaged file, one that lacks a part, and one of another architecture
 */
export function unpackCheckpoint(
  bytes: Uint8Array,
  parts: CheckpointParts,
  options: string | SafetensorsOptions = {},
): LoadedCheckpoint {
  checkParts("loadCheckpoint", parts);
  const { tensors, metadata } = readSafetensors(bytes, options),
    name = (typeof options === "string" ? options : options.name) ?? "the checkpoint";
  const numbers = parseNumbers(metadata[metadataKey], name);
  const model = new Map<string, HostTensor>(),
    states = new Map<string, HostTensor>();
  for (const [key, t] of tensors) {
    if (key.startsWith(optimizerPrefix)) states.set(key.slice(optimizerPrefix.length), t);
    else model.set(key, t);
  }
  for (const part of ["optimizer", "schedule", "loader"] as const) {
    if (parts[part] !== undefined && numbers[part] === undefined)
      throw new ArgumentError(
        "loadCheckpoint",
        `the state of ${part === "optimizer" ? "an" : "a"} ${part} in ${name}`,
        "none",
        "leave it out, or use a file that was saved with it",
      );
  }
  const optimizer = { ...numbers.optimizer, tensors: states } as never;
  parts.model?.checkStateDict?.(model);
  parts.optimizer?.checkStateDict?.(optimizer);
  const before = parts.schedule?.stateDict();
  // plain numbers: they refuse before they change
  parts.schedule?.loadStateDict(numbers.schedule as never);
  try {
    parts.loader?.loadStateDict(numbers.loader as never);
  } catch (error) {
    parts.schedule?.loadStateDict(before as never);
    throw error;
  }
  parts.model?.loadStateDict(model);
  parts.optimizer?.loadStateDict(optimizer);
  if (parts.schedule !== undefined && parts.optimizer !== undefined)
    parts.schedule.loadStateDict(numbers.schedule as never); // its rates win
  if (parts.random !== false && numbers.random !== undefined)
    restoreGenerator(numbers.random as GeneratorState);
  return {
    extra: numbers.extra,
    metadata: Object.fromEntries(Object.entries(metadata).filter(([key]) => key !== metadataKey)),
  };
}

function parseNumbers(text: string | undefined, name: string): Numbers {
  if (text === undefined) return { version: 1 };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new ArgumentError(
      "loadCheckpoint",
      `JSON in the metadata of ${name}`,
      String(error),
      "the file is damaged",
    );
  }
  const object = (v: unknown): boolean => typeof v === "object" && v !== null && !Array.isArray(v),
    numbers = value as Numbers;
  if (!object(value) || numbers.version !== 1)
    throw new ArgumentError(
      "loadCheckpoint",
      `a checkpoint of version 1 in ${name}`,
      object(value) ? String(numbers.version) : typeof value,
      "update tenure",
    );
  for (const part of ["optimizer", "schedule", "loader", "random"] as const)
    if (numbers[part] !== undefined && !object(numbers[part]))
      throw new ArgumentError(
        "loadCheckpoint",
        `an object for ${part} in ${name}`,
        typeof numbers[part],
        "the file is damaged",
      );
  const { low, high, stream } = (numbers.random ?? { low: 0, high: 0, stream: 0 }) as Record<
    string,
    unknown
  >;
  if ([low, high, stream].some((n) => !Number.isSafeInteger(n) || (n as number) < 0))
    throw new ArgumentError(
      "loadCheckpoint",
      `a state of the random generator in ${name}`,
      JSON.stringify(numbers.random),
      "the file is damaged",
    );
  return numbers;
}

/**
 * Reads a checkpoint, or any safetensors file (PyTorch's included), into the given parts.
 * Everything is checked first: on an error nothing has changed.
 * @throws ArgumentError for a damaged file, one that lacks a part, and one of another architecture;
 *   TenureError in hosts without files
 */
export async function loadCheckpoint(
  path: string,
  parts: CheckpointParts,
  options: SafetensorsOptions = {},
): Promise<LoadedCheckpoint> {
  checkParts("loadCheckpoint", parts);
  checkOptions("loadCheckpoint", options, ["name", "lossy"]);
  return unpackCheckpoint(await readFile(path), parts, { name: path, ...options });
}

/** A whole file: `readFile` of Node stops at 2 GiB. */
async function readFile(path: string): Promise<Uint8Array> {
  const file = await fileSystem("loadCheckpoint").open(path, "r");
  try {
    const bytes = new Uint8Array((await file.stat()).size);
    for (let at = 0; at < bytes.length;) {
      const { bytesRead } = await file.read(bytes, at, Math.min(bytes.length - at, 2 ** 26));
      if (bytesRead === 0)
        throw new ArgumentError(
          "loadCheckpoint",
          `${bytes.length} bytes in ${path}`,
          String(at),
          "the file is being changed",
        );
      at += bytesRead;
    }
    return bytes;
  } finally {
    await file.close();
  }
}
