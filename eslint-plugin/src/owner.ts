/**
 * The vocabulary of `settings.tenure` as types: specifiers, scopes, owners. Used by `settings.ts`,
 * which validates them, by the presets, which are written in them, and by every analysis file,
 * which reads them.
 */
/**
 * Names a type or function: by name, optionally only from one package, file or the standard
 * library.
 */
export interface Specifier {
  from?: "package" | "file" | "lib";
  package?: string;
  path?: string;
  name: string | string[];
}
/** A function by bare name (looked for in the owner's own package) or by specifier. */
export type CalleeSpecifier = string | Specifier;

/**
 * How a scope is opened: a function taking a callback, a begin/end pair, or a value held by
 * `using`.
 */
export type ScopeSettings =
  | {
      callee: CalleeSpecifier;
      callback?: "last" | "first";
      movesResultOut?: boolean;
      async?: boolean;
    }
  | { begin: string; end: string }
  | { using: CalleeSpecifier };

/** The type of scope objects, and what their methods do. */
export interface ScopeObjectSettings {
  type: string;
  /** The scope has what they are given from then on (`attach`). */
  keeps?: string[];
  /** The new value stands where the old one stood, in the scope or out of it (`carry`). */
  carries?: string[];
  /** They run a function in the scope (`run`). */
  runs?: string[];
  /** They are given first which scope has the value from then on, or `null` for none (`moveTo`). */
  moves?: string[];
  /** What else leaves the scope open (`report`). */
  others?: string[];
}

/** The names that tell where there are no types. */
export interface UntypedSettings {
  /** The library's global, as a script tag leaves it. */
  globals: string[];
  /** Functions and methods that give one value. */
  makes: string[];
  /** Functions and methods that give a list of values. */
  lists: string[];
  /** Functions that give an object of values, with the names of its fields (`topk`). */
  records?: { callee: string; fields: string[] }[];
  /** Functions that give what makes a value when a method is called (`webcam.capture`). */
  sources?: { callee: string; methods: string[] }[];
  /** Parts of the library whose functions count, too (`tf.image`). */
  parts?: string[];
  /** Methods that only such values have: what they are asked of is one (`dataSync`). */
  marks?: string[];
  /** Methods of anything that look at a value and give a new one (`model.predict`). */
  runs?: string[];
  /** Methods of what a run gives that tell it is a value, where one waits (`await x.data()`). */
  answers?: string[];
  /** Methods of anything that only look at a value they are given (`model.fit`). */
  looks?: string[];
  /** Methods of anything that run a function in a scope (`optimizer.minimize`). */
  encloses?: string[];
  /**
   * Methods that hardly anything else has where they are given such a value (`x.mul(t)`): what they
   * belong to and what they give is one too.
   */
  joins?: string[];
  /** Methods of anything that take nothing else first, and only look (`knn.addExample`). */
  wants?: string[];
  /** Methods of anything that make a value, told by the fields of the object they are given. */
  described?: { callee: string; fields: string[] }[];
  /** Methods of anything that only look at a value in the hands of such a library. */
  lent?: string[];
}

/** Everything the analysis must know about one family of owned values. */
export interface OwnerSettings {
  /** The word messages use: "tensor", "buffer", "resource". */
  noun?: string;
  types: Specifier[] | { disposable: "sync" | "async" | "any" };
  /**
   * Packages, besides those of `types`, whose functions follow the same protocol; a trailing `*`
   * matches a prefix.
   */
  library?: string[];
  /** Members that identify the type when the package name does not (forks, workspaces). */
  brand?: string[];
  dispose?: { methods?: string[]; functions?: CalleeSpecifier[] };
  /** What a call returning the type gives when nothing better is known. */
  calls?: "fresh" | "identity" | "unknown";
  /**
   * Calls that give a fresh value although `calls` says otherwise; a trailing `*` matches a prefix.
   */
  fresh?: CalleeSpecifier[];
  /** Calls that give a fresh value when one argument is `true` (`minimize(f, true)`). */
  freshWhen?: { callee: CalleeSpecifier; arg: number }[];
  /** Properties whose every read is a fresh value (`p.grad`). */
  freshProperties?: string[];
  /** The names by which values are known in scripts without types. */
  untyped?: UntypedSettings;
  borrows?: CalleeSpecifier[];
  /** Members whose values go on using it, and may outlive its name: the layers of a model. */
  shares?: string[];
  /** Methods by which it takes in values that others may hold, too: `model.add(layer)`. */
  adopts?: string[];
  /**
   * "repeated": one that is made once may last as long as the program, so that only those made
   * again and again are lost. "running": what is lost once, as a program starts, does no harm
   * until its exit.
   */
  lost?: "always" | "running" | "repeated";
  takes?: { callee: CalleeSpecifier; args: number[] }[];
  /** What happens to arguments of calls that nothing better is known about. */
  args?: "borrow" | "transfer";
  /**
   * Prefixes of interfaces whose methods only borrow what they are given, and of classes of the
   * library, or of what these extend, whose constructors do.
   */
  borrowers?: string[];
  /** Calls whose result goes on using what they are given or asked of (`createBindGroup`). */
  holders?: CalleeSpecifier[];
  /** Calls whose result gives by its methods what goes on using all that it was given. */
  recorders?: CalleeSpecifier[];
  keep?: { methods?: string[]; functions?: CalleeSpecifier[] };
  /** Those of `keep` after which no scope frees the value (`tf.keep`, `detachFromScope`). */
  lasting?: CalleeSpecifier[];
  alias?: string;
  scopes?: ScopeSettings[];
  scopeObject?: ScopeObjectSettings;
  /** The symbol by which objects list the values they hold, for scopes to see (`[tensors]`). */
  listing?: string;
  runsInScope?: CalleeSpecifier[];
  /** Functions that call their callback at once, in the scope of the caller (`noGrad`). */
  runsInline?: CalleeSpecifier[];
  /** Those that give their callback something new each time, for it to end (`forEachAsync`). */
  freshArguments?: CalleeSpecifier[];
  safeAfterDispose?: string[];
  /** Base classes whose instances own the values stored in their fields. */
  managers?: string[];
  /**
   * Methods that classes with such a base write and the library calls, by way of others of theirs:
   * `model.call(x)` runs the `forward` of a model.
   */
  overrides?: { method: string; calledBy: string[] }[];
  /** Values scopes never free although the type is owned (TF.js variables). */
  outsideScopes?: string[];
  /**
   * "protocol": inputs are borrowed and results fresh, by contract; "generic": no such contract.
   */
  policy?: "protocol" | "scoped" | "generic";
}

/** What users write under `settings.tenure`. */
export interface TenureSettings {
  presets?: ("tenure" | "tfjs" | "disposable" | "webgpu" | "onnxruntime")[];
  scopeInference?: "program" | "file" | "off";
  exportedFunctions?: "strict" | "callers" | "once" | "assume-scoped";
  /**
   * What is made once and kept as long as the program runs: `"reported"`, as `strict` has it, asks
   * for an end of everything that code in functions and classes makes.
   */
  untilExit?: "allowed" | "reported";
  /**
   * A file of leaks that an old code base may keep, looked for from each linted file's folder
   * upwards; `null` for none.
   */
  baseline?: string | null;
  owners?: OwnerSettings[];
}

/** An owner with every default filled in. */
export interface Owner extends Required<
  Omit<OwnerSettings, "dispose" | "keep" | "untyped" | "scopeObject">
> {
  untyped: Required<UntypedSettings>;
  scopeObject: Required<ScopeObjectSettings>;
  dispose: { methods: string[]; functions: CalleeSpecifier[] };
  keep: { methods: string[]; functions: CalleeSpecifier[] };
}

/** Settings after validation; what the analysis reads. */
export interface ResolvedSettings {
  scopeInference: "program" | "file" | "off";
  exportedFunctions: "strict" | "callers" | "once" | "assume-scoped";
  untilExit: "allowed" | "reported";
  /** The path of a baseline file. */
  baseline: string | null;
  owners: Owner[];
  /**
   * What classes of the program follow that keep owned values in fields and free them: somebody
   * must free their instances. Null where no owner names its types.
   */
  holder: Owner | null;
}

/** Whether nobody agreed on a protocol for arguments, so that who is given a value may keep it. */
export const isLoose = ({ policy, args }: Owner): boolean =>
  policy === "generic" && args === "transfer";

/** Whether an owner is of anything disposable: its values are told by `[Symbol.dispose]` alone. */
export const isAnything = (owner: Owner): boolean => isLoose(owner) && !Array.isArray(owner.types);

/** Whether everybody agrees on who ends a value: by a library's protocol, or by what manages it. */
export const hasProtocol = ({ policy, managers }: Owner): boolean =>
  policy === "protocol" || (policy === "generic" && managers.length > 0);

/** Whether an owner is that of objects which hold owned values in their fields. */
export const isHolder = (owner: Owner, { holder }: ResolvedSettings): boolean =>
  owner.types === holder?.types;

/** What a message tells to do with a value: "dispose" it, "`destroy()`" it, "`release()`" it. */
export function toEnd({ dispose: { methods } }: Owner): string {
  const [end = "dispose"] = methods;
  return end === "dispose" ? end : `\`${end}()\``;
}

/** What a message says of a value that was ended: "disposed", "destroyed", "released". */
export function ended({ dispose: { methods } }: Owner): string {
  const [end = "dispose"] = methods;
  return /^(dispose|destroy|release|close)$/.test(end) ? end.replace(/e?$/, "ed") : "disposed";
}
