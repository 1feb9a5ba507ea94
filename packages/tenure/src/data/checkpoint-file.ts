/**
 * Checkpoints: one safetensors file with everything a training run needs to continue bit by bit. A
 * model's tensors have their PyTorch names, so PyTorch loads the same file. Written atomically, in
 * Node; elsewhere use `toSafetensors` and the host's own storage. Borrows what it saves and owns
 * nothing.
 */
import "../compose.ts";
import type { Bytes } from "../base/bytes.ts";
import { ArgumentError, TenureError, calledAs, renamed } from "../base/errors.ts";
import {
  type OptionRow,
  type OptionTable,
  checkArgument,
  describeValue,
  readOptions,
} from "../base/options.ts";
import { newDisposeScope } from "../ownership/open.ts";
import { type GeneratorState, generatorState, restoreGenerator } from "../tensor/generator.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { blankChecksum, checksumKey, seal } from "./checksum.ts";
import type { Fail, HostTensor } from "./elements.ts";
import { fileSystem, readFile } from "./files.ts";
import { checkJson } from "./json.ts";
import {
  type SafetensorsOptions,
  readSafetensors,
  safetensorsOptions,
  toSafetensors,
} from "./safetensors.ts";

/** A module, as checkpoints see it. */
export interface SavedModel {
  /** What is saved, by name. */
  stateDict(): ReadonlyMap<string, Tensor>;
  /** Takes what was saved. */
  loadStateDict(state: ReadonlyMap<string, HostTensor>): unknown;
  /** If there is one, it is asked before anything changes; what it lets pass must load. */
  checkStateDict?(state: ReadonlyMap<string, HostTensor>): void;
}
/** An optimizer: numbers and tensors. */
export interface SavedOptimizer {
  /** What is saved: tensors by name, and anything that JSON holds. */
  stateDict(): { readonly tensors: ReadonlyMap<string, Tensor> };
  /** Takes what was saved. */
  loadStateDict(state: never): unknown;
  /** If there is one, it is asked before anything changes; what it lets pass must load. */
  checkStateDict?(state: never): void;
}
/** A schedule or a data loader: numbers. */
export interface SavedNumbers {
  /** What is saved: anything that JSON holds. */
  stateDict(): object;
  /** Takes what was saved. */
  loadStateDict(state: never): unknown;
  /** If there is one, it is asked before anything changes; what it lets pass must load. */
  checkStateDict?(state: never): void;
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

const part = {
  type: "any",
  check: (op, value) => {
    const { stateDict } = (value ?? {}) as { readonly stateDict?: unknown };
    if (typeof stateDict !== "function")
      refuse(
        op,
        "parts that have a stateDict()",
        describeValue(value),
        "pass for example { model }",
      );
  },
} as const satisfies OptionRow;
const partsRow = {
  type: "options",
  of: {
    model: part,
    optimizer: part,
    schedule: part,
    loader: part,
    random: { type: "flag" },
  } satisfies OptionTable<CheckpointParts>,
} as const;

const pathRow = { type: "text", remedy: "pass the path of a file" } as const satisfies OptionRow;

const saveOptions = {
  extra: { type: "any" },
  metadata: { type: "any", check: checkMetadata },
} satisfies OptionTable<SaveOptions>;

/**
 * The bytes of a checkpoint: what `saveCheckpoint` writes. Reads are pinned at once: later steps do
 * not change what is saved.
 * @borrows parts
 * @throws ArgumentError for parts that are none, and for names that clash
 * @example
 * ```ts
 * const bytes = await packCheckpoint({ model, optimizer });
 * unpackCheckpoint(bytes, { model, optimizer });
 * ```
 */
export function packCheckpoint(parts: CheckpointParts, options?: SaveOptions): Promise<Bytes> {
  return packed("packCheckpoint", parts, options);
}

/** `packCheckpoint` for the function that the user called. */
function packed(op: string, parts: CheckpointParts, options?: SaveOptions): Promise<Bytes> {
  checkArgument(op, "parts", parts, partsRow);
  const { extra, metadata: given } = readOptions(op, options, saveOptions);
  using _ = newDisposeScope(op);
  const tensors = new Map<string, Tensor>();
  for (const [name, t] of parts.model?.stateDict() ?? []) {
    if (name.startsWith(optimizerPrefix))
      throw new ArgumentError(
        op,
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
    ...(extra === undefined ? {} : { extra }),
  };
  // A file with just a model stays as plain as one that PyTorch writes.
  const plain = Object.keys(numbers).length === 1;
  const metadata = {
    [checksumKey]: blankChecksum,
    format: "pt",
    ...given,
    ...(plain ? {} : { [metadataKey]: numbersText(op, numbers) }),
  };
  return sealed(toSafetensors(tensors, metadata));
}

async function sealed(bytes: Promise<Bytes>): Promise<Bytes> {
  const file = await bytes;
  seal(file);
  return file;
}

/** @throws ArgumentError for metadata that are not strings, and for a name that is ours */
function checkMetadata(op: string, metadata: unknown): void {
  if (typeof metadata !== "object" || metadata === null || Array.isArray(metadata))
    return refuse(
      op,
      "metadata that map names to strings",
      describeValue(metadata),
      'pass for example { note: "…" }',
    );
  for (const [name, text] of Object.entries(metadata)) {
    if (typeof text !== "string")
      refuse(
        op,
        `a string as metadata ${name}`,
        describeValue(text),
        "put other values into extra",
      );
    if (name === metadataKey || name === checksumKey)
      refuse(op, "metadata with names of your own", name, "use another name");
  }
}

/** The numbers as text that `parseNumbers` takes. @throws ArgumentError for what is no JSON */
function numbersText(op: string, numbers: Numbers): string {
  let text: string;
  try {
    text = JSON.stringify(numbers);
  } catch (error) {
    return refuse(op, "an extra that JSON holds", String(error), "leave it out");
  }
  checkJson(text, limits, (expected, got) =>
    refuse(op, expected, got, "keep large values in a file of their own"),
  );
  return text;
}

function refuse(op: string, expected: string, got: string, remedy: string): never {
  throw new ArgumentError(op, expected, got.slice(0, 200), remedy);
}

/** What the numbers may be: two million, which take a second to read. */
const limits = { depth: 1000, marks: 2 ** 22 } as const;

/**
 * Writes a checkpoint atomically: to a file beside it, flushed to the disk, then renamed over
 * `path`. A crash leaves the old file or the new one, never a part. What is saved is the state at
 * the moment of the call, whatever runs while it is written.
 * @borrows parts
 * @throws ArgumentError for names that clash, TenureError in hosts without files; what the file
 *   system says, a code as ENOENT included, comes through as it is
 */
export async function saveCheckpoint(
  path: string,
  parts: CheckpointParts,
  options: SaveOptions = {},
): Promise<void> {
  checkArgument("saveCheckpoint", "path", path, pathRow);
  const fs = fileSystem("saveCheckpoint"),
    bytes = await packed("saveCheckpoint", parts, options),
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
 * @borrows parts
 * @throws ArgumentError for a damaged file, one that lacks a part, and one of another architecture
 */
export function unpackCheckpoint(
  bytes: Uint8Array,
  parts: CheckpointParts,
  options: string | SafetensorsOptions = {},
): LoadedCheckpoint {
  return unpacked("unpackCheckpoint", bytes, parts, options);
}

/** `unpackCheckpoint` for the function that the user called. */
function unpacked(
  op: string,
  bytes: Uint8Array,
  parts: CheckpointParts,
  options: string | SafetensorsOptions,
): LoadedCheckpoint {
  checkArgument(op, "parts", parts, partsRow);
  const { tensors, metadata } = calledAs(op, () => readSafetensors(bytes, options)),
    name = (typeof options === "string" ? options : options.name) ?? "the checkpoint";
  const numbers = parseNumbers(op, metadata[metadataKey], name);
  const model = new Map<string, HostTensor>(),
    states = new Map<string, HostTensor>();
  for (const [key, t] of tensors) {
    if (key.startsWith(optimizerPrefix)) states.set(key.slice(optimizerPrefix.length), t);
    else model.set(key, t);
  }
  for (const part of ["optimizer", "schedule", "loader"] as const) {
    if (parts[part] !== undefined && numbers[part] === undefined)
      throw new ArgumentError(
        op,
        `the state of ${part === "optimizer" ? "an" : "a"} ${part} in ${name}`,
        "none",
        "leave it out, or use a file that was saved with it",
      );
  }
  const optimizer = { ...numbers.optimizer, tensors: states };
  try {
    loadParts(parts, { ...numbers, optimizer }, model);
  } catch (error) {
    throw isOurs(error) ? renamed(error, op) : error;
  }
  if (parts.random !== false && numbers.random !== undefined)
    restoreGenerator(numbers.random as GeneratorState);
  return {
    extra: numbers.extra,
    metadata: Object.fromEntries(Object.entries(metadata).filter(([key]) => key !== metadataKey)),
  };
}

/** Whether modules, optimizers, schedules or loaders refused, and no part of the user's own. */
function isOurs(error: unknown): boolean {
  return error instanceof TenureError && /^(check|load)StateDict$/.test(error.op);
}

/**
 * Checks all parts, then loads all. A part of the user's own that has no `checkStateDict` and
 * refuses while it loads takes back the numbers that were loaded before it.
 */
function loadParts(parts: CheckpointParts, numbers: Numbers, model: Map<string, HostTensor>): void {
  const optimizer = numbers.optimizer as never;
  parts.model?.checkStateDict?.(model);
  parts.optimizer?.checkStateDict?.(optimizer);
  const undo: (() => void)[] = [];
  try {
    for (const name of ["schedule", "loader"] as const)
      parts[name]?.checkStateDict?.(numbers[name] as never);
    for (const name of ["schedule", "loader"] as const) {
      const before = parts[name]?.stateDict();
      undo.push(() => parts[name]?.loadStateDict(before as never));
      parts[name]?.loadStateDict(numbers[name] as never);
    }
    parts.model?.loadStateDict(model);
    parts.optimizer?.loadStateDict(optimizer);
  } catch (error) {
    for (const takeBack of undo.reverse()) takeBack();
    throw error;
  }
  if (parts.schedule !== undefined && parts.optimizer !== undefined)
    parts.schedule.loadStateDict(numbers.schedule as never); // its rates win
}

/** The numbers of a file, whose parts are objects; what is in them their owners check. */
function parseNumbers(op: string, text: string | undefined, name: string): Numbers {
  if (text === undefined) return { version: 1 };
  const fail: Fail = (expected, got, remedy = "the file is damaged") =>
    refuse(op, `${expected} in ${name}`, got, remedy);
  let value: unknown;
  try {
    checkJson(text, limits, fail);
    value = JSON.parse(text);
  } catch (error) {
    if (error instanceof ArgumentError) throw error;
    fail("JSON in the metadata", String(error));
  }
  if (!isObject(value) || value["version"] !== 1)
    return fail(
      "a checkpoint of version 1",
      describeValue(isObject(value) ? value["version"] : value),
      "update tenure",
    );
  for (const part of ["optimizer", "schedule", "loader", "random"] as const)
    if (value[part] !== undefined && !isObject(value[part]))
      fail(`an object for ${part}`, describeValue(value[part]));
  const { random } = value;
  if (isObject(random))
    for (const part of ["low", "high", "stream"])
      if (!isCount(random[part]))
        fail(`a state of the random generator, ${part},`, describeValue(random[part]));
  return value as unknown as Numbers;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/**
 * Reads a checkpoint, or any safetensors file (PyTorch's included), into the given parts.
 * Everything is checked first: on an error nothing has changed.
 * @borrows parts
 * @throws ArgumentError for a damaged file, one that lacks a part, and one of another architecture;
 *   TenureError in hosts without files; what the file system says, a code as ENOENT included,
 *   comes through as it is
 */
export async function loadCheckpoint(
  path: string,
  parts: CheckpointParts,
  options?: SafetensorsOptions,
): Promise<LoadedCheckpoint> {
  checkArgument("loadCheckpoint", "parts", parts, partsRow);
  checkArgument("loadCheckpoint", "path", path, pathRow);
  readOptions("loadCheckpoint", options, safetensorsOptions);
  return unpacked("loadCheckpoint", await readFile("loadCheckpoint", path), parts, {
    name: path,
    ...options,
  });
}
