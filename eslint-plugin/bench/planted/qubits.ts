/**
 * A small simulator of quantum circuits: complex tensors as pairs, a register of qubits, gates,
 * circuits, observables, and a variational solver that learns the angles of an ansatz.
 */
import { type Tensor, arange, concat, einsum, eye, manualSeed, multinomial } from "tenure";
import { newDisposeScope, ones, rand, scoped, tensor, tensors, valueAndGrad, zeros } from "tenure";

/** A complex tensor. It owns its two halves. */
export class Complex implements Disposable {
  readonly re: Tensor;
  readonly im: Tensor;

  /** Takes both. */
  constructor(re: Tensor, im: Tensor) {
    this.re = re;
    this.im = im;
  }

  /** A matrix of a gate, row by row. */
  static gate(re: number[], im = [0, 0, 0, 0]): Complex {
    return new Complex(tensor(re, { shape: [2, 2] }), tensor(im, { shape: [2, 2] }));
  }

  /** The sum of products that an equation names. */
  contract(equation: string, other: Complex): Complex {
    return scoped(() => {
      const product = (a: Tensor, b: Tensor): Tensor => einsum(equation, a, b);
      return new Complex(
        product(this.re, other.re).sub(product(this.im, other.im)),
        product(this.re, other.im).add(product(this.im, other.re)),
      );
    });
  }

  each(fn: (half: Tensor) => Tensor): Complex {
    return new Complex(fn(this.re), fn(this.im));
  }

  [tensors](): Tensor[] {
    return [this.re, this.im];
  }

  [Symbol.dispose](): void {
    this.re.dispose();
    this.im.dispose();
  }
}

/** Matrices of gates by name. They stay the set's; so do the orders of flips. */
export class GateSet implements Disposable {
  readonly #matrices = new Map<string, Complex>();
  readonly #flips = new Map<string, Tensor>();

  constructor() {
    const h = Math.SQRT1_2;
    this.define("x", Complex.gate([0, 1, 1, 0]));
    this.define("h", Complex.gate([h, h, h, -h]));
    this.define("s", Complex.gate([1, 0, 0, 0], [0, 0, 0, 1]));
  }

  /** Takes the matrix, in place of the one that had the name. */
  define(name: string, matrix: Complex): void {
    this.#matrices.get(name)?.[Symbol.dispose]();
    this.#matrices.set(name, matrix);
  }

  get(name: string): Complex {
    const matrix = this.#matrices.get(name);
    if (matrix === undefined) throw new RangeError(`no gate is called ${name}`);
    return matrix;
  }

  /** Where each amplitude comes from when `control` flips `target`. */
  flip(wires: number, control: number, target: number): Tensor {
    const key = [wires, control, target].join();
    let order = this.#flips.get(key);
    if (order === undefined) {
      const bit = (i: number, wire: number): number => (i >> (wires - 1 - wire)) & 1;
      const from = Array.from({ length: 2 ** wires }, (_, i) =>
        bit(i, control) === 1 ? i ^ (1 << (wires - 1 - target)) : i,
      );
      order = tensor(from, { dtype: "int32" });
      this.#flips.set(key, order);
    }
    return order;
  }

  [Symbol.dispose](): void {
    for (const matrix of this.#matrices.values()) matrix[Symbol.dispose]();
    for (const order of this.#flips.values()) order.dispose();
    this.#matrices.clear();
    this.#flips.clear();
  }
}

/** The state of a number of qubits, all 0 at first. */
export class Register implements Disposable {
  readonly wires: number;
  #amplitudes: Complex;
  readonly #saved: Complex[] = [];

  constructor(wires: number) {
    this.wires = wires;
    using basis = eye(1, 2 ** wires);
    this.#amplitudes = new Complex(basis.squeeze(0), zeros([2 ** wires]));
  }

  #become(next: Complex): void {
    this.#amplitudes[Symbol.dispose]();
    this.#amplitudes = next;
  }

  /** A gate of one qubit. */
  apply(matrix: Complex, wire: number): void {
    const [before, after] = [2 ** wire, 2 ** (this.wires - wire - 1)];
    using split = this.#amplitudes.each((half) => half.reshape(before, 2, after));
    using turned = matrix.contract("ij,ajb->aib", split);
    this.#become(turned.each((half) => half.reshape(-1)));
  }

  permute(order: Tensor): void {
    this.#become(this.#amplitudes.each((half) => half.index(order)));
  }

  /** |z|² of every basis state. The caller's. */
  probabilities(): Tensor {
    using re = this.#amplitudes.re.square();
    using im = this.#amplitudes.im.square();
    return re.add(im);
  }

  /** What was measured, as numbers of basis states. */
  async sample(shots: number): Promise<number[]> {
    using probabilities = this.probabilities();
    using drawn = multinomial(probabilities, shots, { replacement: true });
    return [...(await drawn.data())];
  }

  save(): void {
    this.#saved.push(this.#amplitudes.each((half) => half.clone()));
  }

  /** Goes back to what was saved last. */
  restore(): void {
    const last = this.#saved.pop();
    if (last !== undefined) this.#become(last);
  }

  [Symbol.dispose](): void {
    this.#amplitudes[Symbol.dispose]();
    for (const state of this.#saved) state[Symbol.dispose]();
    this.#saved.length = 0;
  }
}

type Step = (register: Register, gates: GateSet) => void;

export class Circuit {
  readonly #steps: Step[] = [];

  gate(name: string, wire: number): this {
    this.#steps.push((register, gates) => register.apply(gates.get(name), wire));
    return this;
  }

  cnot(control: number, target: number): this {
    this.#steps.push((register, gates) =>
      register.permute(gates.flip(register.wires, control, target)),
    );
    return this;
  }

  run(register: Register, gates: GateSet): void {
    for (const step of this.#steps) step(register, gates);
  }

  /** The probabilities after each step, lent until the next is asked for. */
  *trace(register: Register, gates: GateSet): Generator<Tensor> {
    for (const step of this.#steps) {
      step(register, gates);
      using now = register.probabilities();
      yield now;
    }
  }
}

/** A sum of weighted products of Pauli Z. */
export class Energy implements Disposable {
  readonly #diagonal: Tensor;

  constructor(wires: number, terms: ReadonlyMap<readonly number[], number>) {
    this.#diagonal = scoped(() => {
      const states = arange(2 ** wires);
      let sum = zeros([2 ** wires]);
      for (const [on, weight] of terms) {
        let sign = ones([2 ** wires]);
        for (const wire of on) {
          const bit = states.floorDiv(2 ** (wires - 1 - wire)).mod(2);
          sign = sign.mul(bit.to("float32").mul(-2).add(1));
        }
        sum = sum.add(sign.mul(weight));
      }
      return sum;
    });
  }

  /** The caller's, 0-d. */
  of(probabilities: Tensor): Tensor {
    return probabilities.dot(this.#diagonal);
  }

  [Symbol.dispose](): void {
    this.#diagonal.dispose();
  }
}

/** Looks for the angles of one RY per qubit with the least energy: descent with momentum. */
export class Solver implements Disposable {
  readonly #energy: Energy;
  #angles: Tensor;
  #velocity: Tensor;
  #best: { readonly angles: Tensor; readonly energy: number } | null = null;

  constructor(wires: number, energy: Energy) {
    this.#energy = energy;
    this.#angles = rand([wires]);
    this.#velocity = zeros([wires]);
  }

  readonly #loss = (angles: Tensor): Tensor => {
    using scope = newDisposeScope("ansatz");
    let odds = ones([1]);
    for (const angle of angles.split(1)) {
      const half = angle.div(2);
      odds = odds.outer(concat([half.cos(), half.sin()]).square()).flatten();
    }
    return scope.moveToOuter(this.#energy.of(odds));
  };

  /** The energy before the step. The caller's. */
  step(rate: number): Tensor {
    const { value, grads } = valueAndGrad(this.#loss)(this.#angles);
    using slope = grads[0]!;
    using push = slope.mul(rate);
    using kept = this.#velocity.mul(0.9);
    this.#velocity.dispose();
    this.#velocity = kept.sub(push);
    const moved = this.#angles.add(this.#velocity);
    this.#angles.dispose();
    this.#angles = moved;
    return value;
  }

  async solve(steps: number, rate = 0.2): Promise<number> {
    for (let i = 0; i < steps; i++) {
      const tried = this.#angles.alias();
      try {
        using energy = this.step(rate);
        const now = await energy.item();
        if (this.#best !== null && now > this.#best.energy) continue;
        this.#best?.angles.dispose();
        this.#best = { angles: tried.alias(), energy: now };
      } finally {
        tried.dispose();
      }
    }
    return this.#best?.energy ?? NaN;
  }

  [Symbol.dispose](): void {
    this.#angles.dispose();
    this.#velocity.dispose();
    this.#best?.angles.dispose();
  }
}

export async function run(): Promise<string> {
  manualSeed(7);
  const wires = 3;
  using gates = new GateSet();
  using register = new Register(wires);
  const ghz = new Circuit().gate("h", 0).cnot(0, 1).cnot(1, 2);
  register.save();
  const certain: number[] = [];
  for (const odds of ghz.trace(register, gates)) {
    using highest = odds.max();
    certain.push(await highest.item());
  }
  const seen = await register.sample(20);

  register.save();
  gates.define("s", Complex.gate([1, 0, 0, Math.SQRT1_2], [0, 0, 0, Math.SQRT1_2]));
  new Circuit().gate("x", 1).gate("s", 1).run(register, gates);
  register.restore();
  const chain = new Map([[[0, 1], -1] as const, [[1, 2], -1] as const, [[0], 0.5] as const]);
  using energy = new Energy(wires, chain);
  using solver = new Solver(wires, energy);
  const least = await solver.solve(4);
  return `${certain.join(" ")}, ${new Set(seen).size} states, ${least}`;
}
