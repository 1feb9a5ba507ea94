/**
 * Kernels of WGSL as functions of JavaScript, statement by statement, for a device that computes on
 * the host and watches every access. It knows the part of the language that the kernels of random
 * programs use and refuses the rest. Used by `device.ts`. Owns nothing.
 */
import {
  type Expression,
  Expressions,
  binary,
  owned,
  readType,
  settled,
  zero,
} from "./expressions.ts";
import { type Field, type Type, Unsupported, Words, scalars } from "./types.ts";

/** One binding of a kernel. */
export interface Binding {
  readonly index: number;
  readonly space: "uniform" | "read" | "write";
  readonly type: Type;
}

/** Where an invocation is. */
export interface Place {
  workgroup_id: number[];
  num_workgroups: number[];
  local_invocation_index: number;
}

/** A kernel that runs on the host. */
export interface Translated {
  readonly bindings: readonly Binding[];
  readonly workgroupSize: number;
  /** One invocation. `bound` holds what is bound, by binding number. */
  link(bound: readonly unknown[]): (place: Place) => void;
}

/** Translates a module whose entry point is `main`. @throws Unsupported */
export function translate(text: string): Translated {
  return new Translator(text).module();
}

const scratch = `
  const { fround, imul, trunc } = Math;
  const floats = new Float32Array(1);
  const bits = new Uint32Array(floats.buffer);
  const asFloat = (u) => { bits[0] = u; return floats[0]; };
  const asBits = (f) => { floats[0] = f; return bits[0]; };`;

class Translator {
  readonly #words: Words;
  readonly #structs = new Map<string, Type>();
  readonly #functions = new Map<string, Type>();
  readonly #globals = new Map<string, Expression>();
  readonly #bindings: Binding[] = [];
  readonly #out: string[] = [];
  #variables = new Map<string, Expression>();
  #expressions: Expressions;
  #workgroupSize = 1;
  /** Of the function that is being read. */
  #result: Type = scalars.none;
  #made = 0;

  constructor(text: string) {
    this.#words = new Words(text);
    this.#expressions = this.#within(this.#globals);
  }

  #within(variables: Map<string, Expression>): Expressions {
    this.#variables = variables;
    const names = { structs: this.#structs, functions: this.#functions, variables };
    return new Expressions(this.#words, names);
  }

  module(): Translated {
    while (this.#words.peek() !== "") this.#declaration();
    const source = `${scratch}\n${this.#out.join("\n")}\nreturn f_main;`;
    // The text comes from the translator alone, which lets names and numbers through, nothing else.
    // eslint-disable-next-line @typescript-eslint/no-implied-eval
    const link = new Function("bound", source) as Translated["link"];
    return { bindings: this.#bindings, workgroupSize: this.#workgroupSize, link };
  }

  #declaration(): void {
    const attributes = this.#attributes();
    const size = attributes.get("workgroup_size");
    if (size !== undefined)
      this.#workgroupSize = size.reduce((n, d) => n * Number.parseInt(d, 10), 1);
    const what = this.#words.take();
    if (what === "struct") return this.#struct();
    if (what === "fn") return this.#function();
    if (what === "var") return this.#binding(Number(attributes.get("binding")?.[0]));
    if (what === ";") return;
    throw new Unsupported(what);
  }

  /** Attributes with their arguments. */
  #attributes(): Map<string, string[]> {
    const found = new Map<string, string[]>();
    while (this.#words.accept("@")) {
      const list: string[] = [];
      found.set(this.#words.take(), list);
      if (!this.#words.accept("(")) continue;
      for (let word = this.#words.take(); word !== ")"; word = this.#words.take())
        if (word !== ",") list.push(word);
    }
    return found;
  }

  #type(): Type {
    return readType(this.#words, this.#structs);
  }

  #struct(): void {
    const name = this.#words.take();
    const fields: Field[] = [];
    this.#words.expect("{");
    while (!this.#words.accept("}")) {
      const field = this.#words.take();
      this.#words.expect(":");
      fields.push({ name: field, type: this.#type() });
      this.#words.accept(",");
    }
    this.#structs.set(name, { name, fields });
  }

  #binding(index: number): void {
    const words = this.#words;
    words.expect("<");
    const kind = words.take();
    const writes = words.accept(",") && words.take() === "read_write";
    words.expect(">");
    const name = words.take();
    words.expect(":");
    const type = this.#type();
    if (kind === "private") return this.#constant(name, type);
    words.expect(";");
    if (kind !== "storage" && kind !== "uniform") throw new Unsupported(`var<${kind}>`);
    const space = kind === "uniform" ? "uniform" : writes ? "write" : "read";
    this.#bindings.push({ index, space, type });
    this.#out.push(`const $${name} = bound[${index}];`);
    this.#globals.set(name, { code: `$${name}`, type });
  }

  /** A private variable that keeps its first value: invocations share it. */
  #constant(name: string, type: Type): void {
    this.#words.expect("=");
    this.#out.push(`const $${name} = ${settled(this.#expressions.read(), type).code};`);
    this.#words.expect(";");
    this.#globals.set(name, { code: `$${name}`, type });
  }

  #function(): void {
    const words = this.#words;
    const name = words.take();
    const variables = new Map(this.#globals);
    const parameters: string[] = [];
    words.expect("(");
    while (!words.accept(")")) {
      const builtin = this.#attributes().get("builtin")?.[0];
      const parameter = words.take();
      words.expect(":");
      variables.set(parameter, { code: `$${parameter}`, type: this.#type() });
      parameters.push(builtin === undefined ? `$${parameter}` : `${builtin}: $${parameter}`);
      words.accept(",");
    }
    this.#result = words.accept("->") ? this.#type() : scalars.none;
    this.#functions.set(name, this.#result);
    const list = name === "main" ? `{ ${parameters.join()} }` : parameters.join();
    this.#expressions = this.#within(variables);
    this.#out.push(`function f_${name}(${list}) ${this.#block()}`);
  }

  /** Statements between braces; their names end with them. */
  #block(): string {
    const outer = this.#variables;
    this.#expressions = this.#within(new Map(outer));
    const lines: string[] = [];
    this.#words.expect("{");
    while (!this.#words.accept("}")) lines.push(this.#statement());
    this.#expressions = this.#within(outer);
    return `{\n${lines.join("\n")}\n}`;
  }

  #statement(): string {
    const words = this.#words;
    switch (words.peek()) {
      case "{":
        return this.#block();
      case "if":
        return this.#if();
      case "for":
        return this.#for();
      case "break":
      case "continue": {
        const jump = words.take();
        words.expect(";");
        return `${jump};`;
      }
      case "return": {
        words.take();
        if (words.accept(";")) return "return;";
        const value = this.#expressions.read();
        words.expect(";");
        return `return ${settled(value, this.#result).code};`;
      }
      default: {
        const text = this.#simple();
        words.expect(";");
        return `${text};`;
      }
    }
  }

  #if(): string {
    const words = this.#words;
    words.expect("if");
    const condition = this.#expressions.read().code;
    const text = `if (${condition}) ${this.#block()}`;
    if (!words.accept("else")) return text;
    return `${text} else ${words.peek() === "if" ? this.#if() : this.#block()}`;
  }

  #for(): string {
    const words = this.#words;
    const outer = this.#variables;
    this.#expressions = this.#within(new Map(outer));
    words.expect("for");
    words.expect("(");
    const init = words.peek() === ";" ? "" : this.#simple();
    words.expect(";");
    const condition = this.#expressions.read().code;
    words.expect(";");
    const update = words.peek() === ")" ? "" : this.#simple();
    words.expect(")");
    const text = `for (${init}; ${condition}; ${update}) ${this.#block()}`;
    this.#expressions = this.#within(outer);
    return text;
  }

  /** A declaration, an assignment or a call, without its semicolon. */
  #simple(): string {
    const words = this.#words;
    const first = words.peek();
    if (["let", "var", "const"].includes(first)) return this.#variable();
    if (this.#functions.has(first) && !this.#variables.has(first))
      return this.#expressions.call().code;
    const target = this.#expressions.read(10);
    const operator = words.take();
    const { assign } = target;
    if (assign === undefined) throw new Unsupported(`an assignment to ${target.code}`);
    if (operator === "++")
      return assign(binary("+", target, { code: "1", type: scalars.int }).code);
    const value = this.#expressions.read();
    if (operator === "=") return assign(owned(settled(value, target.type)));
    if (!/^[-+*/&|^]=$/.test(operator)) throw new Unsupported(operator);
    return assign(binary(operator.slice(0, 1), target, value).code);
  }

  #variable(): string {
    const words = this.#words;
    words.take();
    const name = words.take();
    const given = words.accept(":") ? this.#type() : undefined;
    const value = words.accept("=") ? settled(this.#expressions.read(), given) : undefined;
    const type = given ?? value?.type ?? scalars.none;
    // Numbered, since JavaScript makes no new name from an outer one of the same text.
    const code = `$${name}_${++this.#made}`;
    this.#variables.set(name, { code, type, assign: (v) => `${code} = ${v}` });
    return `let ${code} = ${value === undefined ? zero(type) : owned(value)}`;
  }
}
