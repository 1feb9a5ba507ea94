/**
 * A client of the ESLint language server that editors run (`vscode-eslint-language-server`): as
 * much of the protocol as an editor needs to show reports and take their fixes. Used by the test
 * of the editor and by the bench. Owns the server's process, which ends with `close()`.
 */
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

interface Position {
  line: number;
  character: number;
}
/** A piece of a document, both ends counted from 0. */
export interface Range {
  start: Position;
  end: Position;
}
/** One report, as the editor gets it. */
export interface Diagnostic {
  range: Range;
  message: string;
  code: string;
  /** 1 for an error, 2 for a warning. */
  severity: number;
}
/** What the lamp offers; the server makes the edit when the command is run. */
export interface CodeAction {
  title: string;
  command: { command: string; arguments: unknown[] };
}
interface TextEdit {
  range: Range;
  newText: string;
}
interface Message {
  id?: number;
  method?: string;
  params?: unknown;
  result?: unknown;
  error?: { message: string };
}

const require = createRequire(import.meta.url);
const bin = require.resolve("vscode-langservers-extracted/bin/vscode-eslint-language-server");

/** What the server asks the editor for; VS Code's defaults where nothing else is said. */
const configuration = {
  validate: "on",
  run: "onType",
  packageManager: null, // else it asks npm where global packages lie
  nodePath: null,
  useESLintClass: true,
  experimental: {},
  problems: { shortenToSingleLine: false },
  rulesCustomizations: [],
  codeAction: {
    disableRuleComment: { enable: false, location: "separateLine", commentStyle: "line" },
    showDocumentation: { enable: false },
  },
  codeActionOnSave: { mode: "all" },
  format: false,
  quiet: false,
  onIgnoredFiles: "off",
  options: {},
};

/** The server on folders, with one document at hand. */
export class LanguageServer {
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #folders: { uri: string; name: string }[];
  #uri: string;
  readonly #waiting = new Map<number, (message: Message) => void>();
  #received = Buffer.alloc(0);
  #asked = 0;
  #version = 0;
  #text = "";

  /** @param nodeArguments what Node needs to load the folder's `eslint.config.js` */
  constructor(folder: string, file: string, nodeArguments: readonly string[]) {
    this.#uri = pathToFileURL(file).href;
    this.#folders = [{ uri: pathToFileURL(folder).href, name: "project" }];
    this.#process = spawn(process.execPath, [...nodeArguments, bin, "--stdio"], { cwd: folder });
    this.#process.stdout.on("data", (bytes: Buffer) => {
      this.#received = Buffer.concat([this.#received, bytes]);
      this.#read();
    });
    this.#process.once("exit", () => {
      for (const settle of this.#waiting.values()) settle({ error: { message: "server ended" } });
    });
  }

  /** The document as it is now. */
  get text(): string {
    return this.#text;
  }

  /** Shakes hands and opens the document. */
  async open(text: string): Promise<void> {
    await this.#ask("initialize", {
      processId: process.pid,
      rootUri: this.#folders[0]?.uri,
      workspaceFolders: this.#folders,
      capabilities: {
        workspace: { applyEdit: true, configuration: true, workspaceFolders: true },
        textDocument: { codeAction: { codeActionLiteralSupport: { codeActionKind: {} } } },
      },
    });
    this.#tell("initialized", {});
    this.#show(text);
  }

  /** Opens another document, which is at hand from now on. */
  turnTo(file: string, text: string): void {
    this.#uri = pathToFileURL(file).href;
    this.#show(text);
  }

  /** Opens another folder beside the first. */
  addFolder(path: string): void {
    const folder = { uri: pathToFileURL(path).href, name: path };
    this.#folders.push(folder);
    const event = { added: [folder], removed: [] };
    this.#tell("workspace/didChangeWorkspaceFolders", { event });
  }

  #show(text: string): void {
    this.#text = text;
    const languageId = this.#uri.endsWith(".js") ? "javascript" : "typescript";
    const textDocument = { uri: this.#uri, languageId, version: ++this.#version, text };
    this.#tell("textDocument/didOpen", { textDocument });
  }

  /** Replaces a piece of the document, as typing does. */
  type(range: Range, newText: string): void {
    this.#version++;
    this.#text = replaced(this.#text, [{ range, newText }]);
    this.#tell("textDocument/didChange", {
      textDocument: { uri: this.#uri, version: this.#version },
      contentChanges: [{ range, text: newText }],
    });
  }

  /** The reports on the document as it is now. */
  async diagnostics(): Promise<Diagnostic[]> {
    const textDocument = { uri: this.#uri };
    const found = await this.#ask("textDocument/diagnostic", { textDocument });
    return (found as { items: Diagnostic[] }).items;
  }

  /** What the lamp at a report offers. */
  async actions(diagnostic: Diagnostic): Promise<CodeAction[]> {
    return (await this.#ask("textDocument/codeAction", {
      textDocument: { uri: this.#uri },
      range: diagnostic.range,
      context: { diagnostics: [diagnostic] },
    })) as CodeAction[];
  }

  /** Takes an offer: the server sends the edit, which is typed into the document. */
  async take({ command }: CodeAction): Promise<void> {
    await this.#ask("workspace/executeCommand", command);
  }

  /** Milliseconds of processor time the server has used so far, where Linux says it; else 0. */
  processorTime(): number {
    const path = `/proc/${String(this.#process.pid)}/schedstat`;
    const [main = "0"] = existsSync(path) ? readFileSync(path, "utf8").split(" ") : [];
    return Number(main) / 1e6;
  }

  /** Ends the server and waits until it is gone. */
  async close(): Promise<void> {
    const gone = new Promise((done) => this.#process.once("exit", done));
    this.#process.kill();
    await gone;
  }

  // ---- messages ----

  #tell(method: string, params: unknown): void {
    this.#send({ method, params });
  }

  async #ask(method: string, params: unknown): Promise<unknown> {
    const id = ++this.#asked;
    const answer = new Promise<Message>((settle) => this.#waiting.set(id, settle));
    this.#send({ id, method, params });
    const { result, error } = await answer;
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  }

  #send(message: Message): void {
    const body = JSON.stringify({ jsonrpc: "2.0", ...message });
    this.#process.stdin.write(`Content-Length: ${String(Buffer.byteLength(body))}\r\n\r\n${body}`);
  }

  #read(): void {
    for (;;) {
      const end = this.#received.indexOf("\r\n\r\n");
      const length = Number(/Content-Length: (\d+)/i.exec(this.#received.toString())?.[1]);
      if (end < 0 || this.#received.length < end + 4 + length) return;
      const body = this.#received.subarray(end + 4, end + 4 + length).toString();
      this.#received = this.#received.subarray(end + 4 + length);
      this.#take(JSON.parse(body) as Message);
    }
  }

  #take(message: Message): void {
    const { id, method } = message;
    if (method === undefined) {
      if (id === undefined) return;
      this.#waiting.get(id)?.(message);
      this.#waiting.delete(id);
    } else if (id !== undefined) this.#send({ id, result: this.#answer(method, message.params) });
  }

  /** What the server wants to know or to have done. */
  #answer(method: string, params: unknown): unknown {
    if (method === "workspace/configuration") {
      const { items } = params as { items: { scopeUri: string }[] };
      const around = (uri: string): object | undefined =>
        this.#folders.find((folder) => uri.startsWith(folder.uri));
      return items.map((i) => ({ ...configuration, workspaceFolder: around(i.scopeUri) }));
    }
    if (method !== "workspace/applyEdit") return null;
    const { documentChanges, changes } = (params as { edit: WorkspaceEdit }).edit;
    const edits = documentChanges?.flatMap((c) => c.edits) ?? changes?.[this.#uri] ?? [];
    for (const { range, newText } of inReverse(edits)) this.type(range, newText);
    return { applied: edits.length > 0 };
  }
}

interface WorkspaceEdit {
  documentChanges?: { edits: TextEdit[] }[];
  changes?: Record<string, TextEdit[]>;
}

/** Last first, so that each edit finds its place where the server saw it. */
const inReverse = (edits: readonly TextEdit[]): TextEdit[] =>
  [...edits].sort(
    ({ range: { start: a } }, { range: { start: b } }) =>
      b.line - a.line || b.character - a.character,
  );

function replaced(text: string, edits: readonly TextEdit[]): string {
  return inReverse(edits).reduce(
    (now, { range, newText }) =>
      now.slice(0, offsetAt(now, range.start)) + newText + now.slice(offsetAt(now, range.end)),
    text,
  );
}

function offsetAt(text: string, { line, character }: Position): number {
  let start = 0;
  for (let n = 0; n < line; n++) start = text.indexOf("\n", start) + 1;
  return start + character;
}

/** The text of a piece of a document. */
export const textAt = (text: string, { start, end }: Range): string =>
  text.slice(offsetAt(text, start), offsetAt(text, end));

/** The piece of a document where `part` stands first. */
export function rangeOf(text: string, part: string): Range {
  const at = (offset: number): Position => {
    const before = text.slice(0, offset).split("\n");
    return { line: before.length - 1, character: before.at(-1)?.length ?? 0 };
  };
  const start = text.indexOf(part);
  return { start: at(start), end: at(start + part.length) };
}
