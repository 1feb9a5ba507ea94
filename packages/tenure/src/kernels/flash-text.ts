/**
 * The text of the kernels of flash.ts. An invocation owns `rows` rows of one side (queries, or keys
 * for their gradient), as the components of a vector, and goes over the other side in blocks of
 * `columns` rows: scores of the block, weights, and what the weights add to each result. Results
 * grow in their own buffer or, where that would round too much or is slow, in private memory. Owns
 * nothing.
 */
import { at } from "../base/access.ts";
import {
  type FlashPlan,
  type Target,
  joined,
  load,
  loadOther,
  operandOf,
  part,
  sidesOf,
  targetsOf,
  types,
  upTo,
} from "./flash-plan.ts";
import { flatWorkgroup, indent, toStored } from "./wgsl.ts";

/** `name`0, 1, …: products of the rows with those of the block. */
function products(plan: FlashPlan, name: string, own: string, other: string): string[] {
  const { f } = types(plan);
  const features = own === "Q" || own === "K" ? plan.E : plan.F;
  const product = (i: number): string => (features.unit === 4 ? `dot(a${i}, b)` : `a${i} * b`);
  const lines = [
    ...upTo(plan.rows).map((i) => `let a${i} = ${load(plan, own, `${own}x${i}`, "e")};`),
    ...upTo(plan.columns).map(
      (j) =>
        `{ let b = ${loadOther(plan, other, j, "e")}; ` +
        `${name}${j} += ${joined(plan, f, product)}; }`,
    ),
  ];
  return [
    ...upTo(plan.columns).map((j) => `var ${name}${j} = ${f}();`),
    `for (var e = 0u; e < ${features.count}; e++) {`,
    indent(lines.join("\n")),
    "}",
  ];
}

/** Adds weights times the block to a result. `factor`: what the result is multiplied by before. */
function accumulate(plan: FlashPlan, target: Target, factor: string | null): string[] {
  const { count } = target.features;
  const lines = [
    ...upTo(plan.rows).map((i) => {
      const scaled = factor === null ? "" : ` * ${part(plan, factor, i)}`;
      return `var o${i} = ${resultAt(plan, target, i)}${scaled};`;
    }),
    ...upTo(plan.columns).map((j) => {
      const adds = upTo(plan.rows).map(
        (i) => `o${i} += ${part(plan, `${target.weights}${j}`, i)} * b;`,
      );
      return `{ let b = ${loadOther(plan, target.from, j, "e")}; ${adds.join(" ")} }`;
    }),
    ...upTo(plan.rows).map((i) => `${resultAt(plan, target, i)} = o${i};`),
  ];
  return [`for (var e = 0u; e < ${count}; e++) {`, indent(lines.join("\n")), "}"];
}

function resultAt(plan: FlashPlan, { binding, features }: Target, i: number): string {
  return plan.registers
    ? `result${binding}[${i}u * ${features.count} + e]`
    : placeOf({ binding, features }, i);
}

/** Unit `e` of row `i` in the buffer of a result. */
function placeOf({ binding, features }: Pick<Target, "binding" | "features">, i: number): string {
  return `b${binding}[first${i} * ${features.count} + e]`;
}

/** Stores a result that did not grow in its buffer. */
function storeResult(plan: FlashPlan, target: Target): string[] {
  if (!plan.registers) return [];
  const { dtype, vec } = at(plan.decls, target.binding);
  const lines = upTo(plan.rows).map((i) => {
    const value = resultAt(plan, target, i);
    const stored = vec && dtype === "float16" ? `vec4<f16>(${value})` : toStored(dtype, value);
    return `${placeOf(target, i)} = ${stored};`;
  });
  return [`for (var e = 0u; e < ${target.features.count}; e++) {`, indent(lines.join("\n")), "}"];
}

/** Declares a result, or zeroes the rows of its buffer. */
function begin(plan: FlashPlan, target: Target): string[] {
  const { binding, features } = target;
  const type = features.unit === 4 ? "vec4<f32>" : "f32";
  if (plan.registers) {
    const length = plan.rows * parseInt(features.count);
    return [`var result${binding}: array<${type}, ${Math.max(1, length)}>;`];
  }
  const zero = upTo(plan.rows).map((i) => `${resultAt(plan, target, i)} = ${type}();`);
  return [`for (var e = 0u; e < ${features.count}; e++) {`, indent(zero.join("\n")), "}"];
}

/** WGSL functions: scores scaled and masked, exponentials. */
function functionsOf(plan: FlashPlan): string {
  const { f, u, b } = types(plan);
  const low = `${f}(${plan.low})`;
  const lines = [`var t = s * ${plan.scale};`];
  const mask = operandOf(plan, "M");
  if (mask !== undefined) {
    const place = (i: number): string =>
      `b${mask.binding}[base + min(${part(plan, "query", i)}, ${plan.L} - 1u) * ${mask.row} + ` +
      `min(${part(plan, "key", i)}, ${plan.S} - 1u) * ${mask.feature}]`;
    if (plan.mask === "bool")
      lines.push(`t = select(${low}, t, ${joined(plan, b, (i) => `${place(i)} != 0u`)});`);
    else lines.push(`t += ${joined(plan, f, (i) => `f32(${place(i)})`)};`);
  }
  if (plan.causal) lines.push(`t = select(${low}, t, key <= query);`);
  const { columns } = sidesOf(plan);
  const inside =
    plan.goal === "key gradient" ? `query < ${u}(${columns})` : `key < ${u}(${columns})`;
  lines.push(`return select(${low}, t, ${inside});`);
  return (
    `fn masked(s: ${f}, query: ${u}, key: ${u}, base: u32) -> ${f} {\n` +
    `${indent(lines.join("\n"))}}\n` +
    `fn raised(x: ${f}, m: ${f}) -> ${f} {\n` +
    `  let d = x - m;\n` +
    `  return exp(select(d, ${f}(-110.0), d < ${f}(-110.0)));\n}\n`
  );
}

/** Which weights of the block are kept, as bits, and `keep0, 1, …`: what they are multiplied by. */
function dropped(plan: FlashPlan): string[] {
  if (plan.dropout === null) return [];
  const { seeds, keep } = plan.dropout;
  const n = plan.rows * plan.columns;
  const { rows } = sidesOf(plan);
  const own = plan.rows === 1 ? "x" : `min(x0 + n % ${plan.rows}u, ${rows} - 1u)`;
  const other = plan.rows === 1 ? "y1 + n" : `y1 + n / ${plan.rows}u`;
  const [query, key] = plan.goal === "key gradient" ? [other, own] : [own, other];
  const index = `(batch * ${plan.L} + ${query}) * ${plan.S} + ${key}`;
  return [
    "var kept = 0u;",
    `for (var n = 0u; n < ${n}u; n++) {`,
    `  let u = uniformOne(${seeds.join(", ")}, ${index});`,
    `  kept |= select(0u, 1u, u < ${keep}) << n;`,
    "}",
    ...upTo(plan.columns).map((j) => {
      const bit = (i: number): string => `f32((kept >> ${j * plan.rows + i}u) & 1u)`;
      return `let keep${j} = ${joined(plan, types(plan).f, bit)} / ${keep};`;
    }),
  ];
}

/** Scores of the block as `s0, 1, …`, scaled and masked. */
function scores(plan: FlashPlan): string[] {
  const { own, other } = sidesOf(plan);
  const { u } = types(plan);
  const base = plan.mask === undefined ? "0u" : "baseM";
  return [
    ...products(plan, "s", at(own, 0), at(other, 0)),
    ...upTo(plan.columns).map((j) => {
      const pair =
        plan.goal === "key gradient" ? [`${u}(y1 + ${j}u)`, "x"] : ["x", `${u}(y1 + ${j}u)`];
      return `s${j} = masked(s${j}, ${pair.join(", ")}, ${base});`;
    }),
  ];
}

/** What is done with a block on the way to the result: running maximum and sum. */
function blockOfOutput(plan: FlashPlan): string[] {
  const { f, u } = types(plan);
  const each = upTo(plan.columns);
  const kept = (j: number): string => (plan.dropout === null ? "" : ` * keep${j}`);
  return [
    ...scores(plan),
    ...each.map((j) => `top = max(top, bitcast<${u}>(s${j}) & ${u}(0x7fffffffu));`),
    "var next = m;",
    ...each.map((j) => `next = max(next, s${j});`),
    `let shift = select(next, ${f}(), next == ${f}(${plan.low}));`,
    "var shrink = z * raised(m, shift);",
    "m = next;",
    "z = shrink;",
    ...each.map((j) => `var w${j} = raised(s${j}, shift);`),
    ...each.map((j) => `z += w${j};`),
    `var over = select(${f}(1.0) / z, ${f}(), z == ${f}());`,
    `let broken = (top > ${u}(0x7f800000u)) | (m == ${f}(-(${plan.low})));`,
    `over = select(over, ${f}(${plan.nan}), broken);`,
    "shrink *= over;",
    ...dropped(plan),
    ...each.map((j) => `w${j} *= over${kept(j)};`),
    ...targetsOf(plan).flatMap((t) => accumulate(plan, t, "shrink")),
  ];
}

/** What is done with a block on the way to gradients: weights `w` and gradients of scores `d`. */
function blockOfGradient(plan: FlashPlan): string[] {
  const { own, other } = sidesOf(plan);
  const { f } = types(plan);
  const byColumn = plan.goal === "key gradient";
  const lines = [
    ...scores(plan),
    ...products(plan, "g", at(own, 1), at(other, 1)),
    ...dropped(plan),
  ];
  for (const j of upTo(plan.columns)) {
    const keep = plan.dropout === null ? "" : ` * keep${j}`;
    const [log, sum] = byColumn
      ? [`${f}(log${j})`, `${f}(${rowValue(plan, `min(y1 + ${j}u, ${plan.L} - 1u)`, 1)})`]
      : ["log", "sum"];
    if (byColumn)
      lines.push(`let log${j} = ${rowValue(plan, `min(y1 + ${j}u, ${plan.L} - 1u)`, 0)};`);
    lines.push(
      `let p${j} = raised(s${j}, ${log});`,
      `let d${j} = p${j} * (g${j}${keep} - ${sum}) * ${plan.scale};`,
    );
    if (byColumn) lines.push(`let w${j} = p${j}${keep};`);
  }
  return [...lines, ...targetsOf(plan).flatMap((t) => accumulate(plan, t, null))];
}

/** What attentionRowsKernel found of a query: its logarithm (0) or product (1). */
function rowValue(plan: FlashPlan, query: string, which: 0 | 1): string {
  const operand = operandOf(plan, "R")!;
  return `b${operand.binding}[baseR + (${query}) * ${operand.row}${which === 0 ? "" : " + 1u"}]`;
}

/** Copies the block's rows of an operand to workgroup memory. */
function stage(plan: FlashPlan, name: string): string[] {
  const { columns } = sidesOf(plan);
  const { count } = name === "Q" || name === "K" ? plan.E : plan.F;
  const operand = operandOf(plan, name)!;
  const start = `base${name} + min(y0 + n / ${count}, ${columns} - 1u) * ${operand.row}`;
  return [
    `for (var n = lane; n < ${plan.block}u * ${count}; n += ${plan.lanes}u) {`,
    `  let e = n % ${count};`,
    `  tile${name}[n] = ${load(plan, name, start, "e")};`,
    "}",
  ];
}

/** The loop over blocks of the other side. */
function blocks(plan: FlashPlan): string[] {
  const { other, columns } = sidesOf(plan);
  const onKeys = plan.goal === "key gradient";
  const last =
    plan.block === null ? `x0 + ${plan.rows}u` : `tile * ${plan.lanes}u + ${plan.lanes}u`;
  const first = plan.block === null ? "x0" : `tile * ${plan.lanes}u`;
  const start = plan.causal && onKeys ? first : "0u";
  const bound = plan.causal && !onKeys ? `min(${columns}, ${last})` : columns;
  const block = plan.goal === "output" ? blockOfOutput(plan) : blockOfGradient(plan);
  const used = plan.goal === "output" ? other : [...other];
  const starts = used.flatMap((name) => {
    const operand = operandOf(plan, name)!;
    return upTo(plan.columns).map((j) => {
      const row = `min(y1 + ${j}u, ${columns} - 1u) * ${operand.row}`;
      return `let ${name}y${j} = base${name} + ${row};`;
    });
  });
  const lines =
    plan.block === null
      ? ["let y1 = y0;", ...starts, ...block]
      : [
          "workgroupBarrier();",
          ...used.flatMap((name) => stage(plan, name)),
          "workgroupBarrier();",
          `for (var c = 0u; c < ${plan.block}u; c += ${plan.columns}u) {`,
          indent(["let y1 = y0 + c;", ...block].join("\n")),
          "}",
        ];
  const step = plan.block ?? plan.columns;
  return [
    `for (var y0 = ${start}; y0 < ${bound}; y0 += ${step}u) {`,
    indent(lines.join("\n")),
    "}",
  ];
}

/** What comes after the blocks: the result scaled, and the logarithm of each row's sum. */
function finishOutput(plan: FlashPlan): string[] {
  const { f, u } = types(plan);
  const [target] = targetsOf(plan) as [Target];
  return [
    ...storeResult(plan, target),
    // no weight is left of a score that is so far below
    `var sums = select(m + log(z), ${f}(1e30), z == ${f}());`,
    `sums = select(sums, ${f}(${plan.nan}), top > ${u}(0x7f800000u));`,
    ...upTo(plan.rows).map((i) => `b${target.binding + 1}[first${i}] = ${part(plan, "sums", i)};`),
  ];
}

/** Variables of the rows that an invocation owns. */
function ownRows(plan: FlashPlan): string[] {
  const { own, rows } = sidesOf(plan);
  const { f, u } = types(plan);
  const present = plan.operands.map((o) => o.name);
  const clamped = (i: number): string => `min(${i === 0 ? "x0" : `x0 + ${i}u`}, ${rows} - 1u)`;
  return [
    // rows past the end do again what the last one does
    `let x = ${joined(plan, u, clamped)};`,
    ...upTo(plan.rows).map((i) => `let first${i} = batch * ${rows} + ${part(plan, "x", i)};`),
    ...plan.coordinates,
    ...plan.operands.map(({ name, base }) => `let base${name} = ${base};`),
    ...own
      .filter((name) => present.includes(name))
      .flatMap((name) =>
        upTo(plan.rows).map((i) => {
          const { row: stride } = operandOf(plan, name)!;
          return `let ${name}x${i} = base${name} + ${part(plan, "x", i)} * ${stride};`;
        }),
      ),
    ...(plan.goal === "query gradient"
      ? [
          `let log = ${joined(plan, f, (i) => rowValue(plan, part(plan, "x", i), 0))};`,
          `let sum = ${joined(plan, f, (i) => rowValue(plan, part(plan, "x", i), 1))};`,
        ]
      : []),
    ...(plan.goal === "output"
      ? [`var m = ${f}(${plan.low});`, `var z = ${f}();`, `var top = ${u}();`]
      : []),
  ];
}

/** `main` and what it needs at module scope. */
export function flashMain(plan: FlashPlan): { main: string; globals: string } {
  const targets = targetsOf(plan);
  const place =
    plan.block === null
      ? [`let id = (${flatWorkgroup}) * 4u + lane;`]
      : [`let id = ${flatWorkgroup};`];
  const first = plan.block === null ? `tile * ${plan.rows}u` : `tile * ${plan.lanes}u + lane`;
  const main = [
    ...place,
    `if (id >= ${plan.total}) { return; }`,
    `let batch = id / ${plan.tiles};`,
    `let tile = id % ${plan.tiles};`,
    `let x0 = ${first};`,
    ...ownRows(plan),
    ...targets.flatMap((t) => begin(plan, t)),
    ...blocks(plan),
    ...(plan.goal === "output" ? finishOutput(plan) : targets.flatMap((t) => storeResult(plan, t))),
  ];
  const tiles = sidesOf(plan).other.map((name) => {
    const { count, unit } = name === "Q" || name === "K" ? plan.E : plan.F;
    const length = (plan.block ?? 0) * parseInt(count);
    const type = unit === 4 ? "vec4<f32>" : "f32";
    return `var<workgroup> tile${name}: array<${type}, ${Math.max(1, length)}>;\n`;
  });
  return {
    main: main.join("\n"),
    globals: functionsOf(plan) + (plan.block === null ? "" : tiles.join("")),
  };
}
