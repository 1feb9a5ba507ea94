/**
 * Moves of handles between owners, each counted: shared by scopes and by the methods of tensors.
 */
import { isDev, warn } from "../base/env.ts";
import { type FrameScope, frames } from "./current.ts";
import { Handle, type Owner } from "./handle.ts";

/** A scope, as far as moves are concerned. */
interface Standing extends Owner, FrameScope<Standing> {
  isInside(scope: Owner): boolean;
}

/** Puts a handle into a scope, out of the one it is in. */
function relink(handle: Handle, target: Owner): void {
  if (handle.scope !== null) handle.scope.unlink(handle, "moved");
  handle.keeper = null;
  target.link(handle, false);
}

/** Takes a handle out of all scopes, counted. */
export function detachHandle(
  handle: Handle,
  how: "detached" | "noOuter" | "orphaned" = "detached",
): void {
  if (handle.scope === null) return;
  handle.depart(how);
  handle.scope.unlink(handle, "detached");
  handle.statistics.detachedFromScopeCount++;
  if (how === "orphaned") handle.statistics.orphaned++;
  handle.logOwner("own");
}

/** Moves a handle to `target`, which is open. */
export function moveHandle(handle: Handle, target: Owner): void {
  if (handle.scope !== null) handle.statistics.moved++;
  handle.depart("moved");
  relink(handle, target);
  handle.logOwner("own");
}

/** `scope.carry(from, to)`: `to` takes the place of `from`, which is disposed. */
export function carryHandle(from: Handle, to: Handle): void {
  from.assertLive("carry");
  to.assertLive("carry");
  if (from === to) return;
  if (to.scope !== from.scope) {
    to.depart("carried");
    if (from.scope === null) to.scope?.unlink(to, "moved");
    else relink(to, from.scope);
    to.keeper = from.keeper;
    to.keeperKind = from.keeperKind;
    to.logOwner("own");
    to.statistics.moved++;
  }
  to.statistics.carried++;
  from.dispose();
}

/** `t.moveToOuter()`: one level up from the scope that owns it now; nothing when no scope does. */
export function moveHandleToOuter(handle: Handle): void {
  handle.assertLive("moveToOuter");
  const owner = handle.scope;
  if (owner === null) return;
  if (isDev && owner !== frames<Standing>().current())
    warn(
      `${handle.describe()} moves out of ${owner.describe()}, which is not the current ` +
        "scope; scope.moveToOuter(t) says which scope it leaves",
    );
  owner.moveHandleOut(handle);
}

/**
 * `t.moveTo(target)`: into a scope, or beside another handle's owner (nowhere when that has none).
 */
export function moveHandleTo(handle: Handle, target: Owner | Handle): void {
  handle.assertLive("moveTo");
  if (!(target instanceof Handle)) {
    target.attachHandle(handle);
    return;
  }
  target.assertLive("moveTo");
  if (target.scope === null) detachHandle(handle);
  else target.scope.attachHandle(handle);
}
