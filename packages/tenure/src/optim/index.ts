/**
 * Everything users import from `tenure/optim`.
 */
import "../base/polyfills.ts";
export { Optimizer } from "./optimizer.ts";
export { Adam, AdamW, SGD, type AdamOptions, type SGDOptions } from "./algorithms.ts";
