/**
 * Everything users import from `tenure/data`.
 * @module tenure/data
 */

export type { Bytes } from "../base/bytes.ts";
export { parseIdx, type Idx, type IdxData } from "./idx.ts";
export { ArrayDataset, type Batch, type Column, type Dataset } from "./dataset.ts";
export { DataLoader, type DataLoaderOptions, type LoaderState } from "./loader.ts";
export {
  collated,
  stackSamples,
  type Collated,
  type HostColumn,
  type SampleValue,
  type Samples,
} from "./samples.ts";
export type { HostData, HostTensor, Lossy } from "./elements.ts";
export {
  fromSafetensors,
  readSafetensors,
  toSafetensors,
  type Safetensors,
  type SafetensorsOptions,
} from "./safetensors.ts";
export { parseNpy, parseNpz, type NpyOptions, type NpzOptions } from "./npy.ts";
export {
  loadCheckpoint,
  packCheckpoint,
  saveCheckpoint,
  unpackCheckpoint,
  type CheckpointParts,
  type LoadedCheckpoint,
  type SaveOptions,
  type SavedModel,
  type SavedNumbers,
  type SavedOptimizer,
} from "./checkpoint-file.ts";
