/**
 * A device of the program, and its buffers, beside those of the pool: bytes are copied from and to
 * them on the device, and nothing else is done with them. They stay the program's: nobody keeps,
 * recycles or destroys them here. A part of the engine, which `init({ gpuDevice })` loads; called
 * through the device, by the runtime.
 */
import { isNode } from "../base/env.ts";
import { ArgumentError, DeviceLostError } from "../base/errors.ts";
import { describeValue } from "../base/options.ts";
import { type Acquired, factsOf, hostGPU, infoOf, wantedFeatures } from "./acquire.ts";
import { labelled } from "./device.ts";
import type { Lending } from "./lending.ts";
import { Patience } from "./patience.ts";
import type { GPUDevice } from "./webgpu.ts";

type ToldFacts = Parameters<typeof factsOf>[0];

/** What there is to know where an adapter says nothing. */
const untold: ToldFacts = {
  ...{ vendor: "", architecture: "", device: "", description: "" },
  isFallbackAdapter: false,
};

/**
 * A device that the program made and keeps. @throws DeviceLostError for one that is lost, and where
 * the host lacks the constants of WebGPU
 */
export async function openGiven(device: GPUDevice): Promise<Acquired> {
  if (!("GPUBufferUsage" in globalThis))
    throw new DeviceLostError(
      "init",
      "expected GPUBufferUsage among the globals, got none; in Node, " +
        'Object.assign(globalThis, globals) with the globals of the package "webgpu"',
    );
  const lost = await Promise.race([device.lost, Promise.resolve(null)]);
  if (lost !== null)
    throw new DeviceLostError(
      "init",
      `expected a working gpuDevice, got a lost one (${lost.reason}: ${lost.message}); ` +
        "pass a new one",
    );
  // hosts with an older WebGPU do not tell
  const told: GPUAdapterInfo | undefined = device.adapterInfo;
  const facts = factsOf(told ?? untold);
  const kind = facts.software ? "software" : "gpu";
  const features = wantedFeatures.filter((f) => device.features.has(f));
  const info = infoOf(device, { ...facts, kind, source: "init({ gpuDevice })", features });
  // a host with WebGPU of its own does not poll, and may forbid its thread to sleep
  const polls = facts.software && isNode && hostGPU() === undefined;
  return { device, info, lending, patience: new Patience(polls) };
}

const checkPlace: Lending["checkPlace"] = (op, { buffer, offset }, bytes, usage) => {
  const refuse = (expected: string, got: string, remedy: string): ArgumentError =>
    new ArgumentError(op, expected, got, remedy);
  const given: unknown = buffer;
  if (typeof given !== "object" || given === null || !("mapState" in given))
    throw refuse("a GPUBuffer", describeValue(given), "make one with gpuDevice.createBuffer(…)");
  if ((buffer.usage & GPUBufferUsage[usage]) === 0)
    throw refuse(
      `a buffer with GPUBufferUsage.${usage}`,
      `one with usage 0x${buffer.usage.toString(16)}`,
      "add the flag where it is made",
    );
  if (buffer.mapState !== "unmapped")
    throw refuse("an unmapped buffer", `a ${buffer.mapState} one`, "unmap() it first");
  if (offset % 4 !== 0)
    throw refuse(
      "an offset that is a multiple of 4",
      `${offset}`,
      "WebGPU copies words of 4 bytes",
    );
  if (bytes % 4 !== 0)
    throw refuse(
      "a multiple of 4 bytes",
      `${bytes}`,
      "pad it to an even number of float16 elements",
    );
  if (offset + bytes > buffer.size)
    throw refuse(
      `a buffer of at least ${offset + bytes} bytes`,
      `one of ${buffer.size}`,
      "check the shape, the dtype and the offset",
    );
};

const copyBetween: Lending["copyBetween"] = (device, op, from, to, bytes) => {
  let thrown: unknown = null;
  const verdict = device.watch(() => {
    try {
      device.queue.copyAlone(op, from.buffer, from.offset, to.buffer, to.offset, bytes);
    } catch (error) {
      thrown = error;
    }
  });
  if (thrown === null) return verdict;
  throw new ArgumentError(
    op,
    "a GPUBuffer of the device in use",
    `one it refuses (${thrown instanceof Error ? thrown.message : describeValue(thrown)})`,
    "make it with the gpuDevice that init() was given",
  );
};

const lending: Lending = {
  checkPlace,
  copyBetween,
  isOurs: ({ message }) => /"tenure\b/.test(message) || labelled.test(message),
};
