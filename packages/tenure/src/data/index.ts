/**
 * Everything users import from `tenure/data`.
 */
import "../base/polyfills.ts";
export { parseIdx, type Idx, type IdxData } from "./idx.ts";
export { ArrayDataset, DataLoader, type Batch, type Column, type DataLoaderOptions, type Dataset } from "./loader.ts";
export { fromSafetensors, toSafetensors, type HostTensor } from "./safetensors.ts";
