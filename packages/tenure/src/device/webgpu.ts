/**
 * WebGPU's types as declarations of this package may name them: its own where the program's
 * compiler knows WebGPU (from `dom` or `@webgpu/types`), `unknown` where it does not, so that users
 * can check the declarations without either. Used by everything whose signature mentions a GPU
 * object. Owns nothing.
 */

/** The global class of this name, if the compiler knows one. */
type Known<Name extends string> = typeof globalThis extends {
  readonly [N in Name]: { readonly prototype: infer T };
}
  ? T
  : unknown;

/** Where adapters are found. */
export type GPU = Known<"GPU">;
/** What `requestAdapter` takes. */
export type GPURequestAdapterOptions = GPU extends {
  requestAdapter(options?: infer O): unknown;
}
  ? NonNullable<O>
  : unknown;

/** Device memory. */
export type GPUBuffer = Known<"GPUBuffer">;
/** A device and all that it makes. */
export type GPUDevice = Known<"GPUDevice">;
/** The buffers that a pipeline works on. */
export type GPUBindGroup = Known<"GPUBindGroup">;
/** What buffers a pipeline takes. */
export type GPUBindGroupLayout = Known<"GPUBindGroupLayout">;
/** A compiled kernel. */
export type GPUComputePipeline = Known<"GPUComputePipeline">;

/** Commands that are being recorded. */
export type GPUCommandEncoder = Known<"GPUCommandEncoder">;
/** What `beginComputePass` takes. */
export type GPUComputePassDescriptor = GPUCommandEncoder extends {
  beginComputePass(descriptor?: infer D): unknown;
}
  ? D
  : unknown;

/** What `createBuffer` takes. */
export type GPUBufferDescriptor = GPUDevice extends {
  createBuffer(descriptor: infer D): unknown;
}
  ? D
  : unknown;

/** Which adapter is preferred where a machine has several. */
export type GPUPowerPreference = "low-power" | "high-performance";
