/**
 * The formats that the library reads from strangers: how to make a sound file, how to damage it by
 * its structure, how to read it. Used by `main.ts`. Files belong to the caller.
 */
import { crc32, deflateRawSync } from "node:zlib";
import { Linear } from "tenure/nn";
import { Adam } from "tenure/optim";
import {
  fromSafetensors,
  packCheckpoint,
  parseIdx,
  parseNpy,
  parseNpz,
  unpackCheckpoint,
} from "tenure/data";
import { Scheduler, plan, programFromJSON, trace } from "tenure/scheduler";
import { memory, newDisposeScope, ones, scoped } from "tenure";
import { TraceError, checkTrace, parseTrace } from "../../inspector/src/check.ts";
import { modelOf } from "../../inspector/src/page/model.ts";
import { inspectorHTML } from "../../inspector/src/render.ts";
import type { Random } from "../random.ts";
import { mutateBytes, mutateJson } from "./mutate.ts";

/** A class of errors. */
export type ErrorClass = new (...args: never[]) => Error;

/** One format. */
export interface Format {
  readonly name: string;
  /** Host bytes that reading may take, as a multiple of the file, beside 64 KiB. */
  readonly factor: number;
  /** A file that nobody has seen, most of them damaged. */
  make(random: Random): Uint8Array;
  /** The class of errors that its reader throws; TenureError unless given. */
  readonly errors?: ErrorClass;
  /** Something that reads files of the format, one after the other. */
  reader(): Reader;
}

/** Reads files; whatever it holds meanwhile goes with it. */
export interface Reader extends Disposable {
  /** Gives anything, or throws. */
  read(bytes: Uint8Array): unknown;
}

/** A reader that holds nothing. */
function plainReader(read: Reader["read"]): Format["reader"] {
  return () => ({ read, [Symbol.dispose]: () => undefined });
}

const encoder = new TextEncoder();

function concat(...parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}

function shapeOf(random: Random): number[] {
  return Array.from({ length: random.int(4) }, () => random.int(5));
}

function elements(shape: readonly number[], bytes: number, random: Random): Uint8Array {
  const size = shape.reduce((n, d) => n * d, 1);
  return Uint8Array.from({ length: size * bytes }, () => random.int(256));
}

// === npy and npz ===

const descrs = [
  ["<f4", 4],
  [">f4", 4],
  ["<f8", 8],
  ["<f2", 2],
  ["<i8", 8],
  ["|u1", 1],
  ["|b1", 1],
  ["<i4", 4],
] as const;

function npy(random: Random): Uint8Array {
  const shape = shapeOf(random);
  const [descr, bytes] = random.pick(descrs);
  const order = random.chance(0.3) ? "True" : "False";
  const dims = shape.length === 1 ? `${String(shape[0])},` : shape.join(", ");
  let header = `{'descr': '${descr}', 'fortran_order': ${order}, 'shape': (${dims}), }`;
  if (random.chance(0.3)) header = mutateText(header, random);
  header = `${header.padEnd(Math.ceil((header.length + 11) / 16) * 16 - 11)}\n`;
  const length = header.length;
  const prefix = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, length & 255, (length >> 8) & 255];
  return concat(Uint8Array.from(prefix), encoder.encode(header), elements(shape, bytes, random));
}

const pieces = ["'", "(", ")", ",", "L", "9".repeat(30), " ", "}", "{", "True", "\n", "[", "é"];

function mutateText(text: string, random: Random): string {
  const at = random.int(text.length);
  return text.slice(0, at) + random.pick(pieces) + text.slice(at + random.int(4));
}

interface ZipNumbers {
  readonly crc: number;
  readonly packed: number;
  readonly size: number;
}

/** An archive of one to three arrays, whose directory may lie. */
function npz(random: Random): Uint8Array {
  const locals: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let offset = 0;
  const count = 1 + random.int(3);
  // Now and then all entries name the first file's bytes.
  const shared = random.chance(0.05);
  let first: ZipNumbers | undefined;
  for (let k = 0; k < count; k++) {
    const data = random.chance(0.1) ? new Uint8Array(100_000) : npy(random);
    const deflated = random.chance(0.6);
    const packed = deflated ? new Uint8Array(deflateRawSync(data)) : data;
    const lie = random.chance(0.15) ? random.pick([0, 1, 0x7fff_ffff, 0xffff_fff0]) : data.length;
    const numbers = { crc: crc32(data), packed: packed.length, size: lie };
    const name = encoder.encode(random.chance(0.1) ? "a.npy" : `a${k}.npy`);
    const local = concat(zipHeader(0x04034b50, deflated, numbers, name, 0), name, packed);
    first ??= numbers;
    const [lies, at] = shared ? [first, 0] : [numbers, offset];
    directory.push(directoryEntry(deflated, lies, name, at, random.chance(0.2)));
    locals.push(local);
    offset += local.length;
  }
  const entries = concat(...directory);
  const place = { count, size: entries.length, offset };
  return random.chance(0.3)
    ? concat(...locals, entries, zip64End(place), endRecord({ ...place, offset: 0xffff_ffff }))
    : concat(...locals, entries, endRecord(place));
}

interface DirectoryPlace {
  readonly count: number;
  readonly size: number;
  readonly offset: number;
}

function endRecord({ count, size, offset }: DirectoryPlace): Uint8Array {
  const end = new DataView(new ArrayBuffer(22));
  end.setUint32(0, 0x06054b50, true);
  end.setUint16(8, count, true);
  end.setUint16(10, count, true);
  end.setUint32(12, size, true);
  end.setUint32(16, offset, true);
  return new Uint8Array(end.buffer);
}

/** The record of a large archive, and the locator that says where it lies. */
function zip64End({ count, size, offset }: DirectoryPlace): Uint8Array {
  const end = new DataView(new ArrayBuffer(56 + 20));
  end.setUint32(0, 0x06064b50, true);
  end.setBigUint64(4, 44n, true);
  end.setBigUint64(24, BigInt(count), true);
  end.setBigUint64(32, BigInt(count), true);
  end.setBigUint64(40, BigInt(size), true);
  end.setBigUint64(48, BigInt(offset), true);
  end.setUint32(56, 0x07064b50, true);
  end.setBigUint64(64, BigInt(offset + size), true);
  end.setUint32(72, 1, true);
  return new Uint8Array(end.buffer);
}

/** A line of the directory; a wide one has its numbers in a zip64 field. */
function directoryEntry(
  deflated: boolean,
  numbers: ZipNumbers,
  name: Uint8Array,
  offset: number,
  wide: boolean,
): Uint8Array {
  if (!wide) return concat(zipHeader(0x02014b50, deflated, numbers, name, offset), name);
  const lies = { ...numbers, packed: 0xffff_ffff, size: 0xffff_ffff };
  const head = zipHeader(0x02014b50, deflated, lies, name, 0xffff_ffff);
  new DataView(head.buffer).setUint16(30, 28, true);
  const extra = new DataView(new ArrayBuffer(28));
  extra.setUint16(0, 1, true);
  extra.setUint16(2, 24, true);
  for (const [k, n] of [numbers.size, numbers.packed, offset].entries())
    extra.setBigUint64(4 + 8 * k, BigInt(n), true);
  return concat(head, name, new Uint8Array(extra.buffer));
}

function zipHeader(
  signature: number,
  deflated: boolean,
  { crc: sum, packed, size }: ZipNumbers,
  name: Uint8Array,
  offset: number,
): Uint8Array {
  const central = signature === 0x02014b50;
  const view = new DataView(new ArrayBuffer(central ? 46 : 30));
  const at = central ? 10 : 8;
  view.setUint32(0, signature, true);
  view.setUint16(at, deflated ? 8 : 0, true);
  view.setUint32(at + 6, sum, true);
  view.setUint32(at + 10, packed, true);
  view.setUint32(at + 14, size, true);
  view.setUint16(at + 18, name.length, true);
  if (central) view.setUint32(42, offset, true);
  return new Uint8Array(view.buffer);
}

// === idx ===

const idxTypes = [
  [0x08, 1],
  [0x09, 1],
  [0x0b, 2],
  [0x0c, 4],
  [0x0d, 4],
  [0x0e, 8],
] as const;

function idx(random: Random): Uint8Array {
  const shape = [1 + random.int(4), ...shapeOf(random)];
  const [type, bytes] = random.pick(idxTypes);
  const head = new DataView(new ArrayBuffer(4 + 4 * shape.length));
  head.setUint8(2, type);
  head.setUint8(3, shape.length);
  for (const [k, d] of shape.entries()) head.setUint32(4 + 4 * k, d);
  return concat(new Uint8Array(head.buffer), elements(shape, bytes, random));
}

// === safetensors and checkpoints ===

/** A safetensors file of a header that may be any JSON. */
function withHeader(header: unknown, body: Uint8Array): Uint8Array {
  return withText(JSON.stringify(header) ?? "", body);
}

function withText(header: string, body: Uint8Array): Uint8Array {
  const text = encoder.encode(header);
  const head = new DataView(new ArrayBuffer(8));
  head.setBigUint64(0, BigInt(text.length), true);
  return concat(new Uint8Array(head.buffer), text, body);
}

function safetensors(random: Random): Uint8Array {
  const header: Record<string, unknown> = {};
  const bodies: Uint8Array[] = [];
  let at = 0;
  if (random.chance(0.3)) header["__metadata__"] = { made: "by a test" };
  for (let k = 0; k < random.int(4); k++) {
    const shape = shapeOf(random);
    const [dtype, bytes] = random.pick([
      ["F32", 4],
      ["F16", 2],
      ["I64", 8],
      ["BOOL", 1],
    ] as const);
    const body = elements(shape, bytes, random);
    header[`t${k}`] = { dtype, shape, data_offsets: [at, at + body.length] };
    bodies.push(body);
    at += body.length;
  }
  const damaged = random.chance(0.5) ? mutateJson(header, random) : header;
  const text = JSON.stringify(damaged) ?? "";
  return withText(random.chance(0.2) ? repeatName(text, random) : text, concat(...bodies));
}

/** Says one name of a header twice, or writes a part of it once more. */
function repeatName(text: string, random: Random): string {
  const names = [...text.matchAll(/"[^"]*":/g)];
  if (names.length === 0) return text;
  const { 0: name, index } = random.pick(names);
  return (
    `${text.slice(0, index)}${name}${random.pick(["0", "[]", "{}", '"x"'])},` + text.slice(index)
  );
}

/** A checkpoint that the library wrote itself, and what is in its header. */
async function soundCheckpoint(): Promise<Uint8Array> {
  using model = new Linear(3, 2);
  using optimizer = new Adam(model.parameters(), { lr: 0.1 });
  {
    using _ = newDisposeScope("one step");
    model
      .call(ones([1, 3]))
      .sum()
      .backward();
    optimizer.step();
  }
  return await packCheckpoint({ model, optimizer }, { extra: { epoch: 1 } });
}

function checkpointFormat(sound: Uint8Array): Format {
  const length = Number(new DataView(sound.buffer, sound.byteOffset).getBigUint64(0, true));
  const text = new TextDecoder().decode(sound.subarray(8, 8 + length));
  const header = JSON.parse(text) as { __metadata__: { tenure: string } };
  const body = sound.subarray(8 + length);
  return {
    name: "checkpoint JSON",
    factor: 32,
    make(random) {
      const inner = mutateJson(JSON.parse(header.__metadata__.tenure), random);
      const outer = { ...header, __metadata__: { tenure: JSON.stringify(inner) ?? "" } };
      const damaged = random.chance(0.2) ? mutateJson(outer, random) : outer;
      const file = withHeader(damaged, body);
      return random.chance(0.1) ? mutateBytes(file, random) : file;
    },
    reader() {
      const model = new Linear(3, 2);
      const optimizer = new Adam(model.parameters(), { lr: 0.1 });
      return {
        read: (bytes) => unpackCheckpoint(bytes, { model, optimizer }),
        [Symbol.dispose]() {
          optimizer.dispose();
          model.dispose();
        },
      };
    },
  };
}

// === programs ===

function programFormat(): Format {
  using model = new Linear(3, 2);
  const program = trace(() => {
    const y = model
      .call(ones([1, 3]))
      .relu()
      .sum();
    y.backward();
    return y;
  });
  const sound: unknown = JSON.parse(JSON.stringify(program));
  return {
    name: "program JSON",
    factor: 64,
    make: (random) => encoder.encode(JSON.stringify(mutateJson(sound, random)) ?? "null"),
    reader: plainReader((bytes) => {
      const read = programFromJSON(JSON.parse(new TextDecoder().decode(bytes)));
      return plan(read, {}).verify();
    }),
  };
}

// === traces ===

/** What `memory.chromeTrace()` says of some work, as JSON. */
async function traced(work: () => Promise<unknown>): Promise<unknown> {
  memory.track("full");
  await work();
  const { traceEvents, ...file } = memory.chromeTrace();
  memory.track("off");
  // The inspector reads none of the events that are Chrome's.
  return JSON.parse(JSON.stringify({ ...file, traceEvents: traceEvents.slice(0, 2) }));
}

/**
 * Traces of nothing, of a tensor without a step, and of a training step, each after the other. The
 * library logs all along, so that they are small only where nothing was done before.
 */
async function soundTraces(): Promise<unknown[]> {
  const nothing = await traced(() => Promise.resolve());
  const tensor = await traced(async () => {
    using t = scoped(() => ones([2]).add(1), "a batch");
    return await t.data();
  });
  using weight = ones([2], { requiresGrad: true });
  using scheduler = new Scheduler();
  const step = await traced(() => scheduler.step(() => weight.mul(2).sum().backward()));
  return [nothing, tensor, step];
}

/** What the inspector makes of a trace: the page's text, and its model. */
function traceFormat(sound: readonly unknown[]): Format {
  return {
    name: "trace JSON",
    factor: 64,
    errors: TraceError,
    make(random) {
      const damaged = mutateJson(random.pick(sound), random);
      const file = encoder.encode(JSON.stringify(damaged) ?? "null");
      return random.chance(0.1) ? mutateBytes(file, random) : file;
    },
    reader: plainReader((bytes) => {
      const file = parseTrace(new TextDecoder().decode(bytes));
      modelOf(checkTrace(file));
      return inspectorHTML(file, { page: "{{trace}}" });
    }),
  };
}

function binary(
  name: string,
  factor: number,
  make: (r: Random) => Uint8Array,
  read: Reader["read"],
): Format {
  return {
    name,
    factor,
    make: (random) => {
      const sound = make(random);
      return random.chance(0.85) ? mutateBytes(sound, random) : sound;
    },
    reader: plainReader(read),
  };
}

/** All formats. `init` has run. */
export async function formats(): Promise<Format[]> {
  const traces = await soundTraces();
  return [
    binary("safetensors", 32, safetensors, (bytes) => fromSafetensors(bytes)),
    binary("npy", 32, npy, (bytes) => parseNpy(bytes)),
    // Deflate shrinks at most 1,032 times.
    binary("npz", 1100, npz, (bytes) => parseNpz(bytes)),
    binary("idx", 16, idx, (bytes) => parseIdx(bytes)),
    checkpointFormat(await soundCheckpoint()),
    programFormat(),
    traceFormat(traces),
  ];
}
