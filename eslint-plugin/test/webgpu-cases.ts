/**
 * Cases of the preset for WebGPU objects: programs and the rules that must report, in order of
 * lines. The types are a few of WebGPU's own, so that the cases stay short. Used by the tests of
 * that preset.
 */
import type { Test } from "uvu";
import plugin from "../src/index.ts";
import { assert, lines, lint, typeErrors } from "./tester.ts";

const gpu =
  "interface GPUBuffer { destroy(): void; size: number } interface GPUTexture { " +
  "destroy(): void; width: number; createView(): object }\ninterface GPUDevice { " +
  "createBuffer(d: object): GPUBuffer; createTexture(d: object): GPUTexture; " +
  "createBindGroup(d: object): GPUBindGroup; queue: " +
  "GPUQueue; destroy(): void } interface GPUQueue { writeBuffer(b: GPUBuffer, o: number, " +
  "d: object): void }\ninterface GPUCanvasContext { getCurrentTexture(): GPUTexture }\n";

/** Adds a case to a suite: a program and the rules that must report on it. */
export const casesOf =
  (test: Test) =>
  (name: string, code: string, expected: string[]): void => {
    test(name, () => {
      const text = `export {};\n${gpu}${code}`;
      assert.equal(typeErrors(text), []);
      const settings = { presets: ["webgpu"] };
      const found = lint(text, { settings, rules: plugin.configs.recommended.rules });
      const rules = found.map((m) => (m.ruleId ?? m.message).replace("tenure/", ""));
      assert.equal(rules, expected, lines(found).join("\n"));
    });
  };
