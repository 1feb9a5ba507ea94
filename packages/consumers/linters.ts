/**
 * In which projects the lint plugin works: each has the packed plugin, an ESLint and a TypeScript
 * of its own, installed from the npm registry under strict peers, and lints a program that leaks
 * one tensor. With types the rules find it; without, they say once per file what they need. Called
 * by main.ts; the projects are removed.
 */
import { pack, Project } from "./packed.ts";

/** TypeScript and ESLint of each project. TypeScript 7 has no programming interface for linters. */
const projects = [
  { typescript: "5.2.2", eslint: "9.39.1" },
  { typescript: "5.9.3", eslint: "10.15.0" },
  { typescript: "6.0.3", eslint: "10.15.0" },
  { typescript: "7.0.2", eslint: "9.39.1" },
  { typescript: "7.0.2", eslint: "10.15.0" },
] as const;

const files = {
  "tsconfig.json": JSON.stringify({
    compilerOptions: {
      target: "es2022",
      lib: ["es2022", "esnext.disposable"],
      module: "nodenext",
      strict: true,
      noEmit: true,
      types: [],
    },
    files: ["program.ts"],
  }),
  "program.ts": `
    import { ones } from "tenure";
    export async function leaks(): Promise<number> {
      const x = ones([2]);
      return x.item();
    }
  `,
  "eslint.config.js": `
    import tenure from "eslint-plugin-tenure";
    const projectService = process.env.LINT_TYPES === "1";
    const parserOptions = projectService
      ? { projectService, tsconfigRootDir: import.meta.dirname }
      : {};
    const languageOptions = { parser: tenure.parser, parserOptions };
    export default [{ files: ["**/*.ts"], languageOptions }, tenure.configs.recommended];
  `,
};

/** Lints in every project. @returns a table, and what was wrong */
export async function runLinters(): Promise<{ table: string; wrong: string[] }> {
  const lines = ["| TypeScript | ESLint | with types | without |", "| --- | --- | --- | --- |"];
  const wrong: string[] = [];
  for (const { typescript, eslint } of projects) {
    using project = new Project();
    for (const [path, text] of Object.entries(files)) project.write(path, text);
    const tarballs = [await pack("tenure"), await pack("eslint-plugin-tenure")];
    const names = [
      ...tarballs.map((p) => p.tarball),
      `typescript@${typescript}`,
      `eslint@${eslint}`,
    ];
    await project.run("npm", [
      "install",
      "--strict-peer-deps",
      "--no-audit",
      "--no-fund",
      ...names,
    ]);
    const typed = await lint(project, true);
    const untyped = await lint(project, false);
    const where = `TypeScript ${typescript}, ESLint ${eslint}`;
    if (typed.join() !== "4 tenure/require-disposal") wrong.push(`${where}: ${typed.join("; ")}`);
    if (untyped.length !== 1 || !untyped[0]?.includes("need type information"))
      wrong.push(`${where}, without types: ${untyped.join("; ")}`);
    lines.push(`| ${typescript} | ${eslint} | ${typed.join("; ")} | ${untyped.join("; ")} |`);
    console.error(lines.at(-1));
  }
  return { table: lines.join("\n"), wrong };
}

interface Linted {
  readonly messages: readonly { ruleId: string | null; line?: number; message: string }[];
}

/** What ESLint reports: line and rule of a finding, the words of what is wrong with the set-up. */
async function lint(project: Project, types: boolean): Promise<string[]> {
  const args = ["node_modules/eslint/bin/eslint.js", "--format=json", "--max-warnings=-1", "."];
  // ESLint ends with 1 for findings; what it found is in its output all the same.
  const script = `node ${args.join(" ")} > found.json || test $? -eq 1; cat found.json`;
  const text = await project.run("sh", ["-c", script], { LINT_TYPES: types ? "1" : "0" });
  const found = (JSON.parse(text) as readonly Linted[]).flatMap(({ messages }) => messages);
  return found.map(({ ruleId, line = 0, message }) =>
    line > 1 ? `${line} ${ruleId}` : (message.split(";")[0] ?? ""),
  );
}
