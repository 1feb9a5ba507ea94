/**
 * Cases of the preset for WebGPU objects: programs and the rules that must report, in order of
 * lines. The types are a few of WebGPU's own, so that the cases stay short. Used by the tests of
 * that preset.
 */
import type { Test } from "uvu";
import plugin, { type TenureSettings } from "../src/index.ts";
import { assert, lines, lint, typeErrors } from "./tester.ts";

/** A few of WebGPU's types. */
export const gpuTypes = `interface GPUBuffer {
  destroy(): void; size: number; mapAsync(mode: number): Promise<void>;
  getMappedRange(): ArrayBuffer; unmap(): void;
}
interface GPUTexture { destroy(): void; width: number; createView(): GPUTextureView }
interface GPUTextureView { label: string }
interface GPUBindGroup { label: string }
interface GPUQuerySet { destroy(): void; count: number }
interface GPUAdapter { requestDevice(): Promise<GPUDevice> }
interface GPUDevice {
  createBuffer(d: object): GPUBuffer; createTexture(d: object): GPUTexture;
  createQuerySet(d: object): GPUQuerySet; createBindGroup(d: object): GPUBindGroup;
  createCommandEncoder(d: object): GPUCommandEncoder; queue: GPUQueue; destroy(): void;
}
interface GPUQueue {
  writeBuffer(b: GPUBuffer, o: number, d: object): void; submit(all: object[]): void;
}
interface GPUCommandEncoder {
  copyBufferToBuffer(a: GPUBuffer, i: number, b: GPUBuffer, j: number, n: number): void;
  resolveQuerySet(s: GPUQuerySet, i: number, n: number): void;
  beginRenderPass(d: object): GPURenderPassEncoder; finish(): object;
}
interface GPUCanvasContext { getCurrentTexture(): GPUTexture }
interface GPURenderPassEncoder {
  setBindGroup(i: number, g: GPUBindGroup): void; draw(n: number): void; end(): void;
}
`;

/**
 * Adds a case to a suite: a program and the rules that must report on it.
 *
 * @param more settings beside the preset
 */
export const casesOf =
  (test: Test, more: TenureSettings = {}) =>
  (name: string, code: string, expected: string[]): void => {
    test(name, () => {
      const text = `export {};\n${gpuTypes}${code}`;
      assert.equal(typeErrors(text), []);
      const settings = { presets: ["webgpu"], ...more };
      const found = lint(text, { settings, rules: plugin.configs.recommended.rules });
      const rules = found.map((m) => (m.ruleId ?? m.message).replace("tenure/", ""));
      assert.equal(rules, expected, lines(found).join("\n"));
    });
  };

/** Adds a case to a suite that only what lasts until exit makes a report. */
export const lastingOf = (test: Test): ReturnType<typeof casesOf> => {
  const allowed = casesOf(test);
  const reported = casesOf(test, { untilExit: "reported" });
  return (name, code, expected) => {
    allowed(`${name}, allowed`, code, []);
    reported(name, code, expected);
  };
};
