/**
 * The generators and functions that records of ops name, by the files that a page loads them in:
 * each family comes when a program first holds one of its ops, and main.ts with `init()`. Types
 * only: the runtime loads families and hands them to the records. Owns nothing.
 */
import type * as functions from "./functions.ts";
import type * as images from "./images.ts";
import type * as main from "./main.ts";
import type * as resizing from "./resizing.ts";
import type * as sequences from "./sequences.ts";
import type * as transformers from "./transformers.ts";

/** Generators by the family that is loaded as one. */
export interface Families {
  readonly main: typeof main;
  readonly functions: typeof functions;
  readonly images: typeof images;
  readonly resizing: typeof resizing;
  readonly sequences: typeof sequences;
  readonly transformers: typeof transformers;
}

/** The name of a family. */
export type Family = keyof Families;

/** All generators. A record may call those of the family that it names. */
export type Kernels = typeof main &
  typeof functions &
  typeof images &
  typeof resizing &
  typeof sequences &
  typeof transformers;
