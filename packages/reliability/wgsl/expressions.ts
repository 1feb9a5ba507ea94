/**
 * Expressions of WGSL as expressions of JavaScript, with their types: float32 arithmetic rounds
 * after every op, integers wrap at 32 bits. Used by `translate.ts`. Pure.
 */
import { type Field, type Type, Unsupported, type Words, array, scalars, vector } from "./types.ts";

/** An expression in JavaScript. */
export interface Expression {
  readonly code: string;
  readonly type: Type;
  /** How to assign to it, where that can be done. */
  readonly assign?: (value: string) => string;
}

/** What names mean. */
export interface Names {
  readonly structs: ReadonlyMap<string, Type>;
  /** Result types. */
  readonly functions: ReadonlyMap<string, Type>;
  readonly variables: Map<string, Expression>;
}

const precedence: readonly (readonly string[])[] = [
  ["||"],
  ["&&"],
  ["|"],
  ["^"],
  ["&"],
  ["==", "!="],
  ["<", ">", "<=", ">="],
  ["<<", ">>"],
  ["+", "-"],
  ["*", "/", "%"],
];
const comparisons: Readonly<Record<string, string>> = {
  "==": "===",
  "!=": "!==",
  "<": "<",
  ">": ">",
  "<=": "<=",
  ">=": ">=",
};
const letters = ["x", "y", "z", "w"];

/** Reads a type. */
export function readType(words: Words, structs: ReadonlyMap<string, Type>): Type {
  const name = words.take();
  const known = structs.get(name) ?? (scalars as Record<string, Type>)[name];
  if (known !== undefined) return known;
  const lanes = /^vec([234])$/.exec(name)?.[1];
  if (lanes === undefined && name !== "array") throw new Unsupported(`the type ${name}`);
  words.expect("<");
  const of = readType(words, structs);
  const count = words.accept(",") ? Number.parseInt(words.take(), 10) : undefined;
  words.expect(">");
  return lanes === undefined ? array(of, count) : vector(Number(lanes), of);
}

/** Zero of a type. */
export function zero(type: Type): string {
  if (type.fields !== undefined)
    return `{${type.fields.map((f) => `${f.name}: ${zero(f.type)}`).join()}}`;
  if (type.of !== undefined) {
    const of = zero(type.of);
    return `Array.from({ length: ${type.count ?? 0} }, () => ${of})`;
  }
  return type.name === "bool" ? "false" : "0";
}

/** A value that a variable may keep: vectors and arrays are copied, since they can be changed. */
export function owned({ code, type }: Expression): string {
  return type.of === undefined ? code : `${code}.slice()`;
}

/** Reads one expression. */
export class Expressions {
  readonly #words: Words;
  readonly #names: Names;

  constructor(words: Words, names: Names) {
    this.#words = words;
    this.#names = names;
  }

  read(level = 0): Expression {
    const operators = precedence[level];
    if (operators === undefined) return this.#unary();
    let left = this.read(level + 1);
    while (operators.includes(this.#words.peek())) {
      const operator = this.#words.take();
      left = binary(operator, left, this.read(level + 1));
    }
    return left;
  }

  #unary(): Expression {
    const words = this.#words;
    if (words.accept("-")) {
      const { code, type } = this.#unary();
      const lane = type.of ?? type;
      const nothing = lane.name === "f32" || lane.name === "float" ? "-0" : "0";
      return lanewise(type, [{ code, type }], ([x = ""]) => scalarOp("-", lane, nothing, x));
    }
    if (words.accept("!")) {
      const value = this.#unary();
      return lanewise(value.type, [value], ([x = ""]) => `!${x}`);
    }
    return this.#parts(this.#primary());
  }

  /** Indices, fields and components behind an expression. */
  #parts(of: Expression): Expression {
    let value = of;
    for (;;) {
      if (this.#words.accept("[")) {
        const index = this.read();
        this.#words.expect("]");
        value = element(value, index);
      } else if (this.#words.accept(".")) value = part(value, this.#words.take());
      else return value;
    }
  }

  #primary(): Expression {
    const words = this.#words;
    if (words.accept("(")) {
      const inside = this.read();
      words.expect(")");
      return { code: `(${inside.code})`, type: inside.type };
    }
    const next = words.peek();
    if (/^\d/.test(next)) return literal(words.take());
    if (next === "true" || next === "false") return { code: words.take(), type: scalars.bool };
    const variable = this.#names.variables.get(next);
    if (variable !== undefined && words.peek(1) !== "(") {
      words.take();
      return variable;
    }
    return this.call();
  }

  /** A call, a constructor or a bitcast. */
  call(): Expression {
    const words = this.#words;
    const name = words.peek();
    const { structs, functions } = this.#names;
    if (name === "bitcast") {
      words.take();
      words.expect("<");
      const type = readType(words, structs);
      words.expect(">");
      return bitcast(type, this.#arguments());
    }
    const result = functions.get(name);
    if (result !== undefined) {
      words.take();
      const list = this.#arguments().map((a) => a.code);
      return { code: `f_${name}(${list.join()})`, type: result };
    }
    if (words.peek(1) === "(" && name in builtins) {
      words.take();
      return builtin(name, this.#arguments());
    }
    if (words.peek(1) === "(" && name in folds) {
      words.take();
      return fold(name, this.#arguments());
    }
    const type = readType(words, structs);
    return construct(type, this.#arguments());
  }

  #arguments(): Expression[] {
    const list: Expression[] = [];
    this.#words.expect("(");
    while (!this.#words.accept(")")) {
      list.push(this.read());
      this.#words.accept(",");
    }
    return list;
  }
}

function literal(text: string): Expression {
  const hex = text.startsWith("0x");
  const digits = text.replace(hex ? /[ui]$/ : /[fui]$/, "");
  if (/u$/.test(text)) return { code: digits, type: scalars.u32 };
  if (/i$/.test(text)) return { code: digits, type: scalars.i32 };
  if (!hex && /f$/.test(text)) return { code: `fround(${digits})`, type: scalars.f32 };
  return { code: digits, type: !hex && /[.eE]/.test(digits) ? scalars.float : scalars.int };
}

/** The value as one of `type`, where it is a literal that has none yet. */
export function settled({ code, type }: Expression, wanted?: Type): Expression {
  if (type.name === "int") return { code, type: wanted ?? scalars.i32 };
  if (type.name === "float") return { code: `fround(${code})`, type: scalars.f32 };
  return { code, type };
}

/** One op on scalars of a type. */
function scalarOp(operator: string, type: Type, a: string, b: string): string {
  const exact = `(${a} ${operator} ${b})`;
  switch (type.name) {
    case "int":
    case "float":
      return exact;
    case "f32":
      return `fround${exact}`;
    case "u32":
      if (operator === "*") return `(imul(${a}, ${b}) >>> 0)`;
      if (operator === ">>") return `(${a} >>> ${b})`;
      if (operator === "/") return `(trunc${exact})`;
      return `(${exact} >>> 0)`;
    case "i32":
      return operator === "*" ? `imul(${a}, ${b})` : `(${exact} | 0)`;
    case "bool":
      if (operator === "&&" || operator === "||") return exact;
      if (operator === "&" || operator === "|") return `(${exact} !== 0)`;
  }
  throw new Unsupported(`${operator} of ${type.name}`);
}

/** One op on two values, literals taking the type of what is beside them. */
export function binary(operator: string, left: Expression, right: Expression): Expression {
  const wanted = /^(int|float)$/.test(left.type.name) ? right.type : left.type;
  const lane = wanted.of ?? wanted;
  const a = settled(left, lane);
  const b = settled(right, lane);
  const comparison = comparisons[operator];
  const many = a.type.of === undefined ? b.type : a.type;
  const type = comparison === undefined ? many : answers(many);
  return lanewise(type, [a, b], ([x = "", y = ""]) =>
    comparison === undefined ? scalarOp(operator, lane, x, y) : `(${x} ${comparison} ${y})`,
  );
}

/** The type of a comparison of values of a type. */
function answers({ of, count }: Type): Type {
  return of === undefined || count === undefined ? scalars.bool : vector(count, scalars.bool);
}

/** Does something on each component of `type`; operands without components count for all. */
function lanewise(
  type: Type,
  operands: readonly Expression[],
  of: (codes: readonly string[]) => string,
): Expression {
  if (type.of === undefined) return { code: of(operands.map((e) => e.code)), type };
  const names = operands.map((_, k) => `v${k}`);
  const lanes = Array.from({ length: type.count ?? 0 }, (_, k) =>
    of(operands.map((e, i) => (e.type.of === undefined ? `v${i}` : `v${i}[${k}]`))),
  );
  const given = operands.map((e) => e.code);
  return { code: `((${names.join()}) => [${lanes.join()}])(${given.join()})`, type };
}

function element(value: Expression, index: Expression): Expression {
  const { of } = value.type;
  if (of === undefined) throw new Unsupported(`an index into ${value.type.name}`);
  const at = settled(index, scalars.u32).code;
  if (value.type.count === undefined) {
    // a binding: the accessors check where it ends and who else is there
    const lanes = of.count === undefined ? "" : String(of.count);
    return {
      code: `${value.code}.load${lanes}(${at})`,
      type: of,
      assign: (v) => `${value.code}.store${lanes}(${at}, ${v})`,
    };
  }
  const code = `${value.code}[${at}]`;
  return { code, type: of, assign: (v) => `${code} = ${v}` };
}

function part(value: Expression, name: string): Expression {
  const field = value.type.fields?.find((f: Field) => f.name === name);
  const lane = letters.indexOf(name);
  if (field === undefined && (lane === -1 || value.type.of === undefined))
    throw new Unsupported(`.${name} of ${value.type.name}`);
  const code = field === undefined ? `${value.code}[${lane}]` : `${value.code}.${name}`;
  const type = field?.type ?? value.type.of ?? scalars.none;
  return { code, type, assign: (v) => `${code} = ${v}` };
}

function construct(type: Type, list: readonly Expression[]): Expression {
  if (type.fields !== undefined) {
    const parts = type.fields.map(({ name, type: t }, k) => {
      const given = list[k];
      return `${name}: ${given === undefined ? zero(t) : owned(settled(given, t))}`;
    });
    return { code: `({${parts.join()}})`, type };
  }
  const { of, count } = type;
  if (of === undefined) return { code: convert(type, list[0]), type };
  if (list.length === 0) return { code: zero(type), type };
  const [only] = list;
  if (list.length === 1 && only?.type.of !== undefined && only.type.count === count)
    return lanewise(type, list, ([x = ""]) => convert(of, { code: x, type: only.type.of ?? of }));
  const lanes = list.map((v) => settled(v, of).code);
  if (lanes.length === 1) return { code: `Array(${count ?? 0}).fill(${lanes.join()})`, type };
  return { code: `[${lanes.join()}]`, type };
}

function convert(to: Type, value: Expression | undefined): string {
  if (value === undefined) return zero(to);
  const { code, type } = value;
  if (to.name === "f32") return `fround(${code})`;
  if (to.name === "bool") return `(${code} != 0)`;
  if (type.name === "f32") {
    const [low, high] = to.name === "u32" ? [0, 2 ** 32 - 1] : [-(2 ** 31), 2 ** 31 - 1];
    return `trunc(Math.min(Math.max(${code} || 0, ${low}), ${high}))`;
  }
  return to.name === "u32" ? `(${code} >>> 0)` : `(${code} | 0)`;
}

function bitcast(type: Type, [value]: readonly Expression[]): Expression {
  if (value === undefined) throw new Unsupported("bitcast of nothing");
  if (value.type.name === type.name) return value;
  const { of } = type;
  const from = value.type.of;
  if (of !== undefined && from !== undefined)
    return lanewise(type, [value], ([x = ""]) => bitcast(of, [{ code: x, type: from }]).code);
  if (type.name === "f32") return { code: `asFloat(${value.code})`, type };
  if (value.type.name === "f32") {
    const signed = type.name === "i32" ? " | 0" : "";
    return { code: `(asBits(${value.code})${signed})`, type };
  }
  return { code: `(${value.code} ${type.name === "u32" ? ">>> 0" : "| 0"})`, type };
}

/** Of float32, rounded to it. */
const rounded = (name: string) => (codes: readonly string[]) =>
  `fround(Math.${name}(${codes.join()}))`;

/** Functions of the language that kernels of the random programs use, for each component. */
const builtins: Readonly<Record<string, (codes: readonly string[]) => string>> = {
  min: (codes) => `Math.min(${codes.join()})`,
  max: (codes) => `Math.max(${codes.join()})`,
  abs: (codes) => `Math.abs(${codes.join()})`,
  floor: (codes) => `Math.floor(${codes.join()})`,
  ceil: (codes) => `Math.ceil(${codes.join()})`,
  trunc: (codes) => `trunc(${codes.join()})`,
  sign: (codes) => `Math.sign(${codes.join()})`,
  clamp: ([x = "", low = "", high = ""]) => `Math.min(Math.max(${x}, ${low}), ${high})`,
  fma: ([x = "", y = "", z = ""]) => `fround(${x} * ${y} + ${z})`,
  inverseSqrt: ([x = ""]) => `fround(1 / Math.sqrt(${x}))`,
  select: ([no = "", yes = "", when = ""]) => `(${when} ? ${yes} : ${no})`,
  ...Object.fromEntries(
    ["exp", "log", "log2", "sqrt", "sin", "cos", "tan", "tanh", "atan", "atan2", "pow"].map(
      (name) => [name, rounded(name)],
    ),
  ),
  exp2: ([x = ""]) => `fround(2 ** ${x})`,
};

/** Functions that make one value of the components. */
const folds: Readonly<Record<string, string>> = { any: "||", all: "&&", dot: "+" };

function builtin(name: string, list: readonly Expression[]): Expression {
  const typed = list.find((e) => !/^(int|float)$/.test(e.type.name))?.type;
  const values = list.map((e) => settled(e, typed?.of ?? typed));
  const [first] = values;
  const make = builtins[name];
  if (make === undefined || first === undefined)
    throw new Unsupported(`${name} of ${first?.type.name ?? "nothing"}`);
  const many = values.find((e) => e.type.of !== undefined)?.type;
  const answered = name === "select" && first.type.of === undefined ? first.type : many;
  // a condition of one component chooses between whole vectors
  if (name === "select" && values[2]?.type.of === undefined)
    return { code: make(values.map((v) => v.code)), type: first.type };
  return lanewise(answered ?? first.type, values, make);
}

function fold(name: string, list: readonly Expression[]): Expression {
  const operator = folds[name] ?? "";
  const [a, b] = list;
  const { of, count }: Type = a?.type ?? scalars.none;
  if (a === undefined || of === undefined) throw new Unsupported(`${name} of one number`);
  const product = b === undefined ? a : binary("*", a, b);
  const lanes = Array.from({ length: count ?? 0 }, (_, k) => `v[${k}]`);
  const code = lanes.reduce((x, y) => scalarOp(operator, of, x, y));
  return { code: `((v) => ${code})(${product.code})`, type: of };
}
