// plwhy.ts NAME N [config] [line substring]: which statements silence the report; or `show` prints reports
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import ts from "typescript";
import tenure from "eslint-plugin-tenure";
import { lintFiles } from "./linting.ts";
import { installDeclarations } from "../test/declarations.ts";
import { folder, readProgram } from "./planted-edits.ts";
import { programMaker } from "./programs.ts";
import { root } from "./corpus.ts";
const [, , name = "", n = "1", mode = "why", config = "strict"] = process.argv;
const target = mkdtempSync(join(tmpdir(), "plwhy-"));
const p = readProgram(name);
const edit = n === "0" ? { text: p.text, lines: new Set<number>(), kind: "" } : p.edits[+n - 1]!;
const only = process.env.LINE;
writeFileSync(join(target, p.file), edit.text);
installDeclarations(target);
for (const t of ["@types", "@webgpu"]) symlinkSync(join(root, "node_modules", t), join(target, "node_modules", t));
writeFileSync(join(target, "tsconfig.json"), JSON.stringify({ extends: join(root, "tsconfig.base.json"), compilerOptions: { allowJs: true, checkJs: true, customConditions: [] }, include: [p.file] }));
const programOf = programMaker(true), tsconfig = join(target, "tsconfig.json");
const reports = (code: string) => { writeFileSync(join(target, p.file), code); const program = programOf(tsconfig);
  const c = config as "strict"; const { reports, fatal } = lintFiles({ tsconfig, program }, [join(target, p.file)], "tenure", { rules: tenure.configs[c].rules, config: c } as never); if (fatal.length) return []; return reports; };
const lines = only ? new Set(edit.text.split("\n").flatMap((l, i) => l.includes(only) ? [i + 1] : [])) : edit.lines;
const reported = (code: string) => reports(code).some((r) => lines.has(r.line) && !r.rule.includes("prefer"));
const text = edit.text;
if (mode === "show") { for (const r of reports(text)) console.log(lines.has(r.line) ? "*" : " ", r.line, r.rule, r.text); rmSync(target, { recursive: true }); process.exit(); }
const source = ts.createSourceFile(p.file, text, ts.ScriptTarget.Latest, true);
const starts = source.getLineStarts();
const targets = [...lines].map((l) => starts[l - 1]! + text.split("\n")[l - 1]!.search(/\S/));
const holds = (x: ts.Node) => targets.some((t) => x.getStart() <= t && t < x.end);
const units: ts.Node[] = [];
const visit = (x: ts.Node): void => { if ((ts.isStatement(x) && !ts.isBlock(x)) || ts.isClassElement(x)) { if (!holds(x)) { units.push(x); return; } } ts.forEachChild(x, visit); };
ts.forEachChild(source, visit);
const without = (gone: Set<ts.Node>): string => { let code = text; for (const x of [...gone].sort((a, b) => b.pos - a.pos)) code = code.slice(0, x.getStart()) + text.slice(x.getStart(), x.end).replace(/[^\n]/g, " ") + code.slice(x.end); return code; };
const gone = new Set<ts.Node>(units.filter((u) => !ts.isImportDeclaration(u) && !ts.isInterfaceDeclaration(u) && !ts.isTypeAliasDeclaration(u)));
console.log(units.length, "units; all gone:", reported(without(gone)), "; whole:", reported(text));
// drop one at a time: which single removal brings the report
for (const u of gone) { const r = reported(without(new Set([u]))); if (r) console.log("ALONE", source.getLineAndCharacterOfPosition(u.getStart()).line + 1, u.getText().slice(0, 130).replace(/\s+/g, " ")); }
rmSync(target, { recursive: true, force: true });
