/**
 * The risk desk of a toy exchange. Quotes and orders come in as events, books and positions are
 * kept in maps, and shocks are tried out by jobs that wait in a queue.
 */
import { EventEmitter } from "node:events";
import { type Tensor, concat, randn, scoped, stack, tensor, zeros } from "tenure";

interface Book {
  windows: Tensor[]; // the newest is last
  vol: Tensor | null;
}
interface Position {
  quantity: number;
  cost: Tensor;
}
interface Order {
  id: number;
  symbol: string;
  quantity: number;
}
interface Job {
  symbol: string;
  shock: Tensor; // the job's until it has run or is cancelled
  done: (loss: Tensor) => void; // must end the loss
}

const KEEP = 3;

function openDesk() {
  const bus = new EventEmitter();
  const books = new Map<string, Book>();
  const positions = new Map<string, Position>();
  const orders: Order[] = [];
  const jobs: Job[] = [];
  const snapshots: { at: number; costs: Tensor; vols: Tensor }[] = [];
  const waiting = new Map<string, Tensor>(); // quotes of late, until the book is open
  const limits = new Map<string, Tensor>();
  const reads: Promise<number>[] = [];
  let clock = 0;

  function logReturns(window: Tensor) {
    const shifted = window.add(1);
    const logs = shifted.log();
    const later = logs.slice(0, 1);
    const sooner = logs.slice(0, 0, -1);
    const returns = later.sub(sooner);
    for (const t of [shifted, logs, later, sooner]) t.dispose();
    return returns;
  }

  function updateVol(book: Book) {
    const newest = book.windows.at(-1);
    if (!newest) return;
    const returns = logReturns(newest);
    const vol = returns.std();
    returns.dispose();
    if (book.vol) {
      const blended = book.vol.lerp(vol, 0.2);
      book.vol.dispose();
      vol.dispose();
      book.vol = blended;
    } else {
      book.vol = vol;
    }
  }

  function lastPrice(symbol: string) {
    const window = books.get(symbol)?.windows.at(-1);
    return window ? window.select(0, -1) : null;
  }

  bus.on("quote", (symbol: string, prices: number[]) => {
    const window = tensor(prices);
    const book = books.get(symbol);
    if (!book) {
      const early = waiting.get(symbol);
      waiting.set(symbol, early ? concat([early, window]) : window.alias());
      if (early) early.dispose();
      window.dispose();
      return;
    }
    book.windows.push(window);
    while (book.windows.length > KEEP) {
      const old = book.windows.shift();
      if (old) old.dispose();
    }
    updateVol(book);
  });

  bus.on("open", (symbol: string) => {
    if (books.has(symbol)) return;
    const early = waiting.get(symbol);
    waiting.delete(symbol);
    const windows = early ? [early] : [];
    books.set(symbol, { windows, vol: null });
  });

  bus.on("limit", (symbol: string, amount: number) => {
    const before = limits.get(symbol);
    if (before) before.dispose();
    limits.set(symbol, tensor([amount]));
  });

  bus.on("order", (order: Order) => {
    orders.push(order);
    if (orders.length >= 2) setImmediate(() => bus.emit("match"));
  });

  bus.on("match", () => {
    for (let order = orders.shift(); order; order = orders.shift()) {
      const price = lastPrice(order.symbol);
      if (!price) {
        bus.emit("rejected", order.id);
        continue;
      }
      const cost = price.mul(order.quantity);
      price.dispose();
      const position = positions.get(order.symbol);
      if (position) {
        const total = position.cost.add(cost);
        position.cost.dispose();
        cost.dispose();
        position.cost = total;
        position.quantity += order.quantity;
        if (position.quantity === 0) {
          positions.delete(order.symbol);
          total.dispose();
        }
      } else {
        positions.set(order.symbol, { quantity: order.quantity, cost });
      }
      bus.emit("filled", order.id);
    }
  });

  bus.on("filled", () => {
    const costs = zeros([positions.size]);
    const vols = [...books.values()].map((book) => book.vol?.alias() ?? zeros([]));
    snapshots.push({ at: clock++, costs, vols: stack(vols) });
    vols.forEach((vol) => vol.dispose());
    if (snapshots.length > KEEP) {
      const [first] = snapshots.splice(0, 1);
      first?.costs.dispose();
      first?.vols.dispose();
    }
  });

  function stress(symbol: string, done: (loss: Tensor) => void) {
    const shock = randn([8]);
    jobs.push({ symbol, shock, done });
  }

  function runJobs(most: number) {
    for (const { symbol, shock, done } of jobs.splice(0, most)) {
      const position = positions.get(symbol);
      if (position) {
        const loss = scoped(() => shock.mul(position.cost).min());
        done(loss);
      }
      shock.dispose();
    }
  }

  function cancelJobs(symbol: string) {
    const dropped = jobs.filter((job) => job.symbol === symbol);
    for (const job of dropped) {
      job.shock.dispose();
      jobs.splice(jobs.indexOf(job), 1);
    }
  }

  function report(symbol: string) {
    stress(symbol, (loss) => {
      const limit = limits.get(symbol);
      const room = limit ? limit.add(loss) : loss.alias();
      const worst = room.max();
      reads.push(worst.item());
      worst.dispose();
      room.dispose();
      loss.dispose();
    });
  }

  function close() {
    bus.removeAllListeners();
    for (const book of books.values()) {
      book.windows.forEach((window) => window.dispose());
      if (book.vol) book.vol.dispose();
    }
    for (const map of [waiting, limits]) for (const value of map.values()) value.dispose();
    for (const position of positions.values()) position.cost.dispose();
    for (const { costs, vols } of snapshots.splice(0)) [costs, vols].forEach((t) => t.dispose());
    jobs.splice(0).forEach((job) => job.shock.dispose());
  }

  return { bus, report, runJobs, cancelJobs, close, reads };
}

const pause = () => new Promise((resolve) => setTimeout(resolve, 1));

/** A short day at the exchange. */
export async function run(): Promise<number> {
  const { bus, report, runJobs, cancelJobs, close, reads } = openDesk();
  let filled = 0;
  bus.on("filled", () => filled++);
  bus.emit("quote", "ACME", [1, 2, 3]);
  bus.emit("quote", "ACME", [2, 3]);
  for (const symbol of ["ACME", "BOLT", "CORK"]) bus.emit("open", symbol);
  bus.emit("quote", "DUNE", [4, 5]);
  for (const amount of [10, 20]) bus.emit("limit", "ACME", amount);
  for (let i = 1; i < 5; i++) {
    for (const symbol of ["ACME", "BOLT"]) bus.emit("quote", symbol, [i, i + 1, i + 2, i + 1]);
    bus.emit("order", { id: i, symbol: "ACME", quantity: i });
    bus.emit("order", { id: -i, symbol: i < 4 ? "BOLT" : "CORK", quantity: i === 3 ? -3 : i });
    await pause();
  }
  for (const symbol of ["ACME", "ACME", "BOLT", "CORK", "ACME"]) report(symbol);
  runJobs(4);
  cancelJobs("CORK");
  report("CORK");
  cancelJobs("CORK");
  const rooms = await Promise.all(reads);
  close();
  return rooms.length + filled;
}
