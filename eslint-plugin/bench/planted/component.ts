/**
 * A component with hooks, as in React, on a small runtime of its own: refs, effects that clean up,
 * memos, and state that is a tensor.
 */
import { type Tensor, newDisposeScope, noGrad, rand, scoped, tensor, zeros } from "tenure";
import { Conv2d, Flatten, Linear, Sequential } from "tenure/nn";

interface Ref<T> {
  current: T;
}
type Cleanup = () => void;

/** As much of a runtime as the component needs. */
class Hooks {
  readonly #slots: unknown[] = [];
  readonly #cleanups = new Map<number, Cleanup | undefined>();
  #at = 0;

  begin(): void {
    this.#at = 0;
  }
  useRef<T>(initial: T): Ref<T> {
    const at = this.#at++;
    this.#slots[at] ??= { current: initial };
    return this.#slots[at] as Ref<T>;
  }
  useEffect(effect: () => Cleanup | undefined, dependencies: readonly unknown[]): void {
    const at = this.#at++,
      before = this.#slots[at] as readonly unknown[] | undefined;
    if (before?.every((d, i) => Object.is(d, dependencies[i]))) return;
    this.#cleanups.get(at)?.();
    this.#slots[at] = dependencies;
    this.#cleanups.set(at, effect());
  }
  unmount(): void {
    for (const cleanup of this.#cleanups.values()) cleanup?.();
    this.#cleanups.clear();
  }
}

interface Props {
  readonly size: number;
  readonly strokes: readonly (readonly [x: number, y: number])[];
  readonly onGuess: (guess: number) => void;
}

function draw(strokes: Props["strokes"], size: number): Tensor {
  const pixels = new Float32Array(size * size);
  for (const [x, y] of strokes) pixels[y * size + x] = 1;
  return tensor(pixels, { shape: [1, 1, size, size] });
}

/** Recognizes what is drawn. */
function Pad(hooks: Hooks, { size, strokes, onGuess }: Props): { predict: () => Promise<void> } {
  hooks.begin();
  const model = hooks.useRef<Sequential | null>(null);
  const canvas = hooks.useRef<Tensor | null>(null);
  const trail = hooks.useRef<Tensor[]>([]);

  hooks.useEffect(() => {
    const net = new Sequential(
      new Conv2d(1, 2, 3, { padding: 1 }),
      new Flatten(),
      new Linear(2 * size * size, 3),
    );
    model.current = net;
    return () => {
      net.dispose();
      model.current = null;
    };
  }, [size]);

  hooks.useEffect(() => {
    canvas.current?.dispose();
    canvas.current = draw(strokes, size);
    return undefined;
  }, [strokes, size]);

  hooks.useEffect(() => {
    const background = zeros([1, 1, size, size]);
    trail.current.push(background);
    return () => {
      trail.current.forEach((t) => t.dispose());
      trail.current = [];
      canvas.current?.dispose();
      canvas.current = null;
    };
  }, []);

  const remember = (image: Tensor): void => {
    trail.current.push(image.clone());
    if (trail.current.length > 2) trail.current.shift()?.dispose();
  };

  const predict = async (): Promise<void> => {
    const net = model.current,
      image = canvas.current;
    if (net === null || image === null) return;
    remember(image);
    let guess: Promise<number>;
    {
      using _scope = newDisposeScope("predict");
      guess = noGrad(() =>
        net
          .call(image.add(rand(image.shape).mul(0.01)))
          .argMax()
          .item(),
      );
    }
    onGuess(await guess);
  };
  return { predict };
}

/** A chart of the last guesses that smooths them. */
function createChart(width: number): {
  push: (value: number) => void;
  values: () => Promise<number[]>;
  destroy: () => void;
} {
  let line = zeros([width]);
  return {
    push: (value) => {
      const next = scoped(() => line.roll(-1).mul(0.5).add(value));
      line.dispose();
      line = next;
    },
    values: async () => [...(await line.data())],
    destroy: () => line.dispose(),
  };
}

/** Mounts the component, draws and takes it away. */
export async function run(): Promise<number> {
  const hooks = new Hooks(),
    chart = createChart(4);
  const onGuess = (guess: number): void => chart.push(guess);
  const strokes: [number, number][] = [[1, 1]];
  for (const size of [4, 4, 5]) {
    const { predict } = Pad(hooks, { size, strokes, onGuess });
    await predict();
    const { predict: again } = Pad(hooks, { size, strokes: [[0, 1]], onGuess });
    await again();
  }
  hooks.unmount();
  const values = await chart.values();
  chart.destroy();
  return values.length;
}
