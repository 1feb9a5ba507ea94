/**
 * The rows in Tenure, as a user would write them. Called by `worker.ts` after `init()`, and by the
 * test; a program's tensors are its own until `dispose`.
 */
import { type Tensor, newDisposeScope, scoped, sync, tensor } from "tenure";
import { Conv2d, Flatten, Linear, MaxPool2d, ReLU, Sequential, functional } from "tenure/nn";
import { Adam, SGD } from "tenure/optim";
import {
  type Program,
  type Spec,
  type Values,
  adam,
  lenetSide,
  rates,
  spread,
  startOf,
  transposed,
} from "./rows.ts";

const put = ({ shape, data }: Values): Tensor => tensor(data, { shape });

/** What rows without training compute. */
function forward(spec: Spec, inputs: readonly Tensor[]): Tensor {
  const [x, b, c] = inputs as readonly [Tensor, Tensor, Tensor];
  switch (spec.kind) {
    case "matmul":
      return x.matmul(b);
    case "softmax":
      return x.softmax(1);
    case "layerNorm":
      return functional.layerNorm(x, spec.columns, b, c);
    case "chain": {
      let y = x;
      for (let i = 0; i < spec.ops; i++) y = spec.multiply && i % 2 === 0 ? y.mul(c) : y.add(b);
      return y;
    }
    case "mlp":
    case "lenet":
      throw new Error(`forward: expected a row without training, got ${spec.kind}`);
  }
}

/** x [batch, in] or [batch, 1, side, side] → logits [batch, 10]. */
export function modelOf(spec: Extract<Spec, { kind: "mlp" | "lenet" }>): Sequential {
  if (spec.kind === "mlp") {
    const [input, hidden, output] = spec.widths;
    return new Sequential(new Linear(input, hidden), new ReLU(), new Linear(hidden, output));
  }
  return new Sequential(
    new Conv2d(1, 6, 5, { padding: 2 }),
    new ReLU(),
    new MaxPool2d(2),
    new Conv2d(6, 16, 5),
    new ReLU(),
    new MaxPool2d(2),
    new Flatten(),
    new Linear(16 * lenetSide(spec.side) ** 2, 120),
    new ReLU(),
    new Linear(120, 84),
    new ReLU(),
    new Linear(84, 10),
  );
}

function training(spec: Extract<Spec, { kind: "mlp" | "lenet" }>): Program {
  const start = startOf(spec);
  const model = modelOf(spec);
  const scope = newDisposeScope("weights");
  model.loadStateDict(
    new Map(
      [...model.namedParameters()].map(([name], i) => {
        const w = start.weights[i];
        if (w === undefined) throw new Error(`training: no weights for ${name}`);
        return [name, put(w.shape.length === 2 ? transposed(w, [1, 0]) : w)] as const;
      }),
    ),
  );
  scope.dispose();
  const optimizer =
    spec.kind === "mlp" && spec.optimizer === "Adam"
      ? new Adam(model.parameters(), {
          lr: rates.Adam,
          betas: [adam.beta1, adam.beta2],
          eps: adam.epsilon,
        })
      : new SGD(model.parameters(), { lr: rates.SGD });
  const x = start.inputs.map(put);
  const labels = tensor(start.labels);
  const step = (): Promise<number> => {
    using _scope = newDisposeScope("step");
    optimizer.zeroGrad();
    const loss = functional.crossEntropy(model.call(...(x as [Tensor])), labels);
    loss.backward();
    optimizer.step();
    return loss.item();
  };
  return {
    run: async () => {
      await step();
    },
    values: async () => [await step(), await step(), await step()],
    dispose: () => {
      for (const owned of [optimizer, model, labels, ...x]) owned.dispose();
    },
  };
}

/** Sets a row up. */
export function tenureProgram(spec: Spec): Program {
  if (spec.kind === "mlp" || spec.kind === "lenet") return training(spec);
  const inputs = startOf(spec).inputs.map(put);
  const compute = (): Tensor => scoped(() => forward(spec, inputs));
  return {
    run: async () => {
      using _y = compute();
      await sync();
    },
    values: async () => {
      using y = compute();
      return spread(await y.data());
    },
    dispose: () => {
      for (const x of inputs) x.dispose();
    },
  };
}
