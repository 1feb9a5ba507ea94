/**
 * Everything users import from `tenure/nn`.
 */
import "../base/polyfills.ts";
export { Module, type StateDict } from "./module.ts";
export { Conv2d, CrossEntropyLoss, Dropout, Flatten, Linear, MaxPool2d, ReLU, Sequential } from "./layers.ts";
export * as functional from "./functional.ts";
export * as init from "./init.ts";
