/**
 * Elementwise computations that share a dispatch, though they are of different sizes. Called by the
 * runtime for the updates of an optimizer. Generators only; nothing is owned.
 */
import { at } from "../base/access.ts";
import { collapse } from "../base/layout.ts";
import {
  type ElementwiseSpec,
  type Section,
  layoutsOf,
  sectionOf,
  workgroupSize,
} from "./elementwise.ts";
import type { DeviceCaps, Kernel } from "./kernel.ts";
import { Params, flatWorkgroup, gridOf, indent, makeKernel } from "./wgsl.ts";

/**
 * Several computations in one dispatch, each in the workgroups that it would have alone. All views
 * are in order, so that each collapses to one dimension. Bindings: those of each in turn; scalars
 * are counted through. Their functions must be the same, as those of one op are.
 */
export function sideBySide(specs: readonly ElementwiseSpec[], caps: DeviceCaps): Kernel {
  const params = new Params();
  const sections: Section[] = [];
  const branches: string[] = [];
  let first = 0;
  let before = "0u";
  let groups = 0;
  for (const [k, spec] of specs.entries()) {
    const fields = params.within(`part${k}_`);
    const made = sectionOf(k === 0 ? spec : { ...spec, functions: "" }, caps, params, {
      name: k === 0 ? "body" : `body${k}`,
      first,
      fields,
      own: "own",
      all: (count) => fields.u32("groups", count),
    });
    const end = fields.u32("end", (groups += made.workgroups));
    branches.push(`if (flat < ${end}) {\n${indent(`let own = flat - ${before};\n${made.main}`)}}`);
    sections.push(made);
    first += spec.bindings.length;
    before = end;
  }
  const main = `let flat = ${flatWorkgroup};\n${branches.join(" else ")}`;
  return makeKernel(
    {
      name: `${at(specs, 0).name}×${specs.length}`,
      storages: sections.flatMap(({ storages }) => storages),
      params,
      helpers: sections.flatMap(({ helpers }) => helpers),
      workgroupSize,
      globals: sections.map(({ globals }) => globals).join(""),
      main,
      workgroups: gridOf(groups, caps),
    },
    caps,
  );
}

/** Whether each view of a computation collapses to one dimension. */
export function isFlat(spec: ElementwiseSpec): boolean {
  return collapse(layoutsOf(spec)).shape.length === 1;
}
