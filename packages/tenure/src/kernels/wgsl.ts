/**
 * What every generator shares: the uniform struct, storage declarations, typed loads and stores,
 * and launches of more than 65,535 workgroups. Called by the generators in this folder only. Text
 * and numbers; owns nothing.
 */
import { hash64 } from "../base/hash.ts";
import { type DType, wgslType } from "../base/dtype.ts";
import { DTypeError } from "../base/errors.ts";
import { helperText } from "./helpers.ts";
import { type DeviceCaps, type Kernel, f32Bits, i32Bits } from "./kernel.ts";

export { helperText } from "./helpers.ts";

/**
 * Collects the fields of a kernel's uniform struct; each method returns the WGSL expression that
 * reads the field.
 */
export class Params {
  #head = "";
  #fields: string[] = [];
  #words: number[] = [];
  #dynamic: { word: number; scalar: number }[] = [];

  /** The same struct for another part of the kernel: its fields' names begin with `head`. */
  within(head: string): Params {
    const part = new Params();
    part.#head = `${this.#head}${head}`;
    part.#fields = this.#fields;
    part.#words = this.#words;
    part.#dynamic = this.#dynamic;
    return part;
  }

  u32(name: string, value: number): string {
    return this.#add(name, "u32", value >>> 0);
  }
  i32(name: string, value: number): string {
    return this.#add(name, "i32", i32Bits(value));
  }
  f32(name: string, value: number): string {
    return this.#add(name, "f32", f32Bits(value));
  }

  /** A field that is filled at each execution from the op's per-call scalars. */
  scalar(name: string, type: "f32" | "u32" | "i32", index: number): string {
    this.#dynamic.push({ word: this.#words.length, scalar: index });
    return this.#add(name, type, 0);
  }

  #add(name: string, type: string, word: number): string {
    this.#fields.push(`${this.#head}${name}: ${type}`);
    this.#words.push(word);
    return `p.${this.#head}${name}`;
  }

  get words(): readonly number[] {
    return this.#words;
  }
  get dynamic(): readonly { word: number; scalar: number }[] {
    return this.#dynamic;
  }

  declaration(binding: number): string {
    return this.#fields.length === 0
      ? ""
      : `struct Params { ${this.#fields.join(", ")} }\n` +
          `@group(0) @binding(${binding}) var<uniform> p: Params;\n`;
  }
}

/** One storage binding `b0, b1, …`: what it holds and how it is accessed. */
export interface StorageDecl {
  readonly dtype: DType;
  /**
   * Declared as `array<vec4<T>>`; the caller has checked that every offset and size is a multiple
   * of 4.
   */
  readonly vec: boolean;
  readonly access: "read" | "read_write";
}

/**
 * WGSL that loads element `index` (an expression) of a scalar binding, converted to the compute
 * type.
 */
export function loadElement(decl: StorageDecl, binding: number, index: string): string {
  const raw = `b${binding}[${index}]`;
  return decl.dtype === "bool" ? `(${raw} != 0u)` : decl.dtype === "float16" ? `f32(${raw})` : raw;
}

/**
 * WGSL that loads four elements at vector index `index` of a `vec` binding, in the compute type.
 */
export function loadVec4(decl: StorageDecl, binding: number, index: string): string {
  const raw = `b${binding}[${index}]`;
  return decl.dtype === "bool"
    ? `(${raw} != vec4<u32>())`
    : decl.dtype === "float16"
      ? `vec4<f32>(${raw})`
      : raw;
}

/** WGSL that turns a computed value into what is stored. */
export function toStored(dtype: DType, value: string): string {
  return dtype === "bool"
    ? `select(0u, 1u, ${value})`
    : dtype === "float16"
      ? `f16(${value})`
      : value;
}

/** The stored vector type, e.g. `vec4<f32>`. */
export function vec4Type(dtype: DType): string {
  return `vec4<${wgslType(dtype)}>`;
}

/** What a kernel is put together from. */
export interface ModuleSpec {
  /** Short readable name: the head of the key. */
  readonly name: string;
  readonly storages: readonly StorageDecl[];
  readonly params: Params;
  readonly helpers?: readonly string[];
  readonly workgroupSize: readonly [number, number, number];
  /** Module-scope text: functions, workgroup variables. */
  readonly globals?: string;
  /**
   * Statements of `main`. In scope: `wg` (workgroup id, vec3), `grid` (workgroups, vec3), `lane`
   * (local index), `lid` (local id, vec3), `sub` (index in the subgroup, where there are any).
   */
  readonly main: string;
  readonly workgroups: readonly [number, number, number];
}

/**
 * Puts a kernel together. The key is the name and a 64-bit hash of the text, so equal keys mean
 * equal text by construction.
 */
export function makeKernel(spec: ModuleSpec, caps: DeviceCaps): Kernel {
  const half = spec.storages.some((s) => s.dtype === "float16");
  if (half && !caps.f16)
    throw new DTypeError(
      spec.name,
      "a device with shader-f16 for float16 tensors",
      "one without",
      "use float32 here",
    );
  const storages = spec.storages
    .map(
      (s, i) =>
        `@group(0) @binding(${i}) var<storage, ${s.access}> b${i}: ` +
        `array<${s.vec ? vec4Type(s.dtype) : wgslType(s.dtype)}>;\n`,
    )
    .join("");
  const builtins = [
    ["wg", "workgroup_id", "vec3<u32>"],
    ["grid", "num_workgroups", "vec3<u32>"],
    ["lane", "local_invocation_index", "u32"],
    ["lid", "local_invocation_id", "vec3<u32>"],
    ["sub", "subgroup_invocation_id", "u32"],
  ] as const;
  const used = builtins.filter(([name]) => new RegExp(`\\b${name}\\b`).test(spec.main));
  const args = used.map(([name, builtin, type]) => `@builtin(${builtin}) ${name}: ${type}`);
  const wgsl =
    (half ? "enable f16;\n" : "") +
    (/\bsub(group[A-Z]\w*)?\b/.test(spec.main) ? "enable subgroups;\n" : "") +
    spec.params.declaration(spec.storages.length) +
    storages +
    helperText(spec.helpers ?? []) +
    (spec.globals ?? "") +
    `@compute @workgroup_size(${spec.workgroupSize.join(", ")})\n` +
    `fn main(${args.join(", ")}) {\n${indent(spec.main)}}\n`;
  const dynamic = spec.params.dynamic;
  return {
    key: `${spec.name}:${hash64(wgsl)}`,
    wgsl,
    bindings: spec.storages.map((s) => s.access),
    params: spec.params.words,
    ...(dynamic.length > 0 ? { dynamic } : {}),
    workgroups: spec.workgroups,
  };
}

/**
 * A one-dimensional launch folded over x and y where it exceeds the limit. The kernel's index is
 * `wg.y * grid.x + wg.x` and must be checked.
 */
export function gridOf(count: number, caps: DeviceCaps): [number, number, number] {
  if (count === 0) return [0, 0, 0];
  const max = caps.maxWorkgroupsPerDimension;
  if (count <= max) return [count, 1, 1];
  const y = Math.ceil(count / max);
  return [Math.ceil(count / y), y, 1];
}

/** The index of this workgroup in a launch made by `gridOf`. */
export const flatWorkgroup = "wg.y * grid.x + wg.x";

/** WGSL type and bit pattern of special f32 words for params. */
export const nanBits = 0x7fc00000,
  infBits = 0x7f800000,
  negInfBits = 0xff800000;

/** Lines moved two spaces to the right, each ended. */
export function indent(text: string, by = "  "): string {
  return text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => `${by}${line}\n`)
    .join("");
}
