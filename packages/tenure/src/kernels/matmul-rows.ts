/**
 * The matrix product for few rows or columns: the lanes of a workgroup split K. Called by
 * matmul.ts. Owns nothing.
 */
import { computeType } from "../base/dtype.ts";
import { at } from "../base/access.ts";
import { finishing } from "./fused.ts";
import type { DeviceCaps, Kernel } from "./kernel.ts";
import { type Problem, batchBases, storages, stride } from "./matmul-problem.ts";
import { Params, gridOf, indent, loadElement, makeKernel } from "./wgsl.ts";

/**
 * One output per `lanes` invocations, which split K and meet in workgroup memory. Neighbouring
 * threads read along the contiguous dimension of the large operand.
 */
export function rowsKernel(p: Problem, caps: DeviceCaps): Kernel {
  const params = new Params(),
    type = computeType(p.dtype),
    threads = 256,
    finish = finishing(p.after, p.dtype, 2, params);
  const decls = storages(p, false, false, false, finish);
  const big = p.m <= p.n ? p.b : p.a,
    alongK = Math.abs(big.inner) <= Math.abs(big.outer);
  const outputs = p.m * p.n * p.batches;
  let lanes = alongK ? 32 : 4;
  while (lanes < threads && outputs * lanes < 65536 && lanes * 8 < p.k) lanes *= 2;
  while (lanes > 1 && lanes > p.k) lanes /= 2;
  const group = threads / lanes;
  const M = params.u32("M", p.m),
    N = params.u32("N", p.n),
    K = params.u32("K", p.k),
    total = params.u32("total", outputs);
  const am = stride(params, "am", p.a.outer, 1),
    ak = stride(params, "ak", p.a.inner, 1),
    bn = stride(params, "bn", p.b.outer, 1),
    bk = stride(params, "bk", p.b.inner, 1);
  const main = [
    alongK
      ? `let slot = lane / ${lanes}u; let part = lane % ${lanes}u;`
      : `let slot = lane % ${group}u; let part = lane / ${group}u;`,
    `let id = (wg.y * grid.x + wg.x) * ${group}u + slot;`,
    `var sum = ${type}();`,
    `if (id < ${total}) {`,
    indent(
      [
        // Outputs in an order that keeps neighbours together in the large operand.
        `let batch = id / (${M} * ${N});`,
        `let m = (id / ${N}) % ${M};`,
        `let n = id % ${N};`,
        ...batchBases(p, decls, params),
        `let rowA = baseA + ${am("m")};`,
        `let colB = baseB + ${bn("n")};`,
        `for (var k = part; k < ${K}; k += ${lanes}u) { sum += ` +
          `${loadElement(at(decls, p.a.binding), p.a.binding, `rowA + ${ak("k")}`)} * ` +
          `${loadElement(at(decls, p.b.binding), p.b.binding, `colB + ${bk("k")}`)}; }`,
      ].join("\n"),
    ),
    "}",
    `partial[part * ${group}u + slot] = sum;`,
    `for (var reach = ${Math.floor(lanes / 2)}u; reach > 0u; reach >>= 1u) {`,
    indent(
      [
        "workgroupBarrier();",
        `if (part < reach) { partial[part * ${group}u + slot] += partial[(part + reach) * ` +
          `${group}u + slot]; }`,
      ].join("\n"),
    ),
    "}",
    `if (part == 0u && id < ${total}) { ${finish.store("partial[slot]", "id")} }`,
  ].join("\n");
  return makeKernel(
    {
      name: "matmul.rows",
      storages: decls,
      params,
      workgroupSize: [threads, 1, 1],
      main,
      helpers: finish.helpers,
      globals: `${finish.globals}var<workgroup> partial: array<${type}, ${threads}>;\n`,
      workgroups: outputs === 0 ? [0, 0, 0] : gridOf(Math.ceil(outputs / group), caps),
    },
    caps,
  );
}
