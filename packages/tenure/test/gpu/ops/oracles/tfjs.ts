/**
 * TF.js on its CPU backend, ready to be asked for values and gradients. Its package for Node leaves
 * out gradients and methods on tensors; they register themselves with the one engine when these
 * modules are loaded.
 */
import { createRequire } from "node:module";
import * as tf from "@tensorflow/tfjs-core";
import "@tensorflow/tfjs-backend-cpu";
import type {} from "@tensorflow/tfjs-core/dist/public/chained_ops/register_all_chained_ops.js";

const require = createRequire(import.meta.url);
for (const part of ["register_all_gradients.js", "public/chained_ops/register_all_chained_ops.js"])
  require(`@tensorflow/tfjs-core/dist/${part}`);
await tf.setBackend("cpu");
export { tf };
