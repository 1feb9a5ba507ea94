/**
 * Loops through a tensor: each turn gets a new row, which has to end, and the tensor itself stays
 * with whoever has it.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("rows");
const program = marked(test);
const uses = 'import { newDisposeScope, rand, type Tensor } from "tenure";\n';

program(
  "rows by using, of a table that using ends",
  `${uses}export function f(): void {
  using table = rand([4, 8]);
  for (using row of table) console.log(row.shape);
}`,
);
program(
  "rows by using, of the caller's table",
  `${uses}export function f(table: Tensor): void {
  for (using row of table) console.log(row.shape);
}`,
);
program(
  "rows by hand, of a table ended by hand",
  `${uses}export function f(): void {
  const table = rand([4, 8]);
  for (const row of table) {
    console.log(row.shape);
    row.dispose();
  }
  table.dispose();
}`,
);
program(
  "rows that end, of a table that does not",
  `${uses}export function f(): void {
  const table = rand([4, 8]); // !
  for (using row of table) console.log(row.shape);
}`,
);
program(
  "rows of a table without a name",
  `${uses}export function f(): void {
  for (using row of rand([4, 8])) console.log(row.shape); // !
}`,
);
program(
  "rows that do not end",
  `${uses}export function f(table: Tensor): number {
  let n = 0;
  for (const row of table) n += row.size; // !
  return n;
}`,
);
program(
  "rows that end in some turns",
  `${uses}export function f(table: Tensor): void {
  for (const row of table) { // !
    if (row.size > 2) continue;
    row.dispose();
  }
}`,
);
program(
  "rows of a table that has ended",
  `${uses}export function f(): void {
  const table = rand([4, 8]);
  table.dispose();
  for (using row of table) console.log(row.shape); // !
}`,
);
program(
  "rows inside of a scope, and rows given to the caller",
  `${uses}export function f(table: Tensor): void {
  using scope = newDisposeScope();
  for (const row of table) console.log(row.mul(2).shape);
}
export function g(table: Tensor): Tensor[] {
  const rows: Tensor[] = [];
  for (const row of table) rows.push(row);
  return rows;
}`,
);
test.run();
