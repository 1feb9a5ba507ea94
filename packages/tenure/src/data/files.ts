/**
 * Files of Node, as far as checkpoints need them. Called by checkpoint-file.ts; what is read
 * belongs to the caller.
 */
import type { Bytes } from "../base/bytes.ts";
import { builtin } from "../base/env.ts";
import { ArgumentError, TenureError } from "../base/errors.ts";

/** The few functions of Node's fs that are needed. */
interface FileHandle {
  write(data: Uint8Array, offset: number, length: number): Promise<{ bytesWritten: number }>;
  read(data: Uint8Array, offset: number, length: number): Promise<{ bytesRead: number }>;
  sync(): Promise<void>;
  stat(): Promise<{ size: number }>;
  close(): Promise<void>;
}
interface FileSystem {
  open(path: string, flags: string): Promise<FileHandle>;
  rename(from: string, to: string): Promise<void>;
  rm(path: string, options: { force: boolean }): Promise<void>;
}

/** The files of the host. @throws TenureError on a host without any */
export function fileSystem(op: string): FileSystem {
  const fs = builtin<{ promises: FileSystem }>("node:fs");
  if (fs === undefined)
    throw new TenureError(
      op,
      "expected a host with files, got one without; " +
        "use toSafetensors and fromSafetensors with the host's own storage",
    );
  return fs.promises;
}

/** A whole file: `readFile` of Node stops at 2 GiB. */
export async function readFile(op: string, path: string): Promise<Uint8Array> {
  const file = await fileSystem(op).open(path, "r");
  try {
    const bytes = reserve(op, (await file.stat()).size, path);
    for (let at = 0; at < bytes.length;) {
      const { bytesRead } = await file.read(bytes, at, Math.min(bytes.length - at, 2 ** 26));
      if (bytesRead === 0)
        throw new ArgumentError(
          op,
          `${bytes.length} bytes in ${path}`,
          String(at),
          "the file is being changed",
        );
      at += bytesRead;
    }
    return bytes;
  } finally {
    await file.close();
  }
}

/** Memory for a whole file. @throws ArgumentError for one that no array holds */
function reserve(op: string, size: number, path: string): Bytes {
  try {
    return new Uint8Array(size);
  } catch {
    throw new ArgumentError(
      op,
      `a file in ${path} that fits into memory`,
      `${size} bytes`,
      "load it on a host with more memory",
    );
  }
}
