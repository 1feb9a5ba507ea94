struct Params { negInf: u32, nan: u32, ignores: u32, ignored: i32, rows: u32, units: u32, axisLength: u32, o0: u32, t0k0: u32, q0o: u32 }
@group(0) @binding(3) var<uniform> p: Params;
@group(0) @binding(0) var<storage, read> b0: array<f32>;
@group(0) @binding(1) var<storage, read> b1: array<i32>;
@group(0) @binding(2) var<storage, read_write> b2: array<f32>;
fn isNan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }
fn expShifted(x: f32, m: f32) -> f32 {
  let d = x - m;
  return select(exp(max(d, -110.0)), d, isNan(d));
}
fn isFinite(x: f32) -> bool { return (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u; }
fn isInf(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u; }
var<private> nanBits: u32 = 0x7fc00000u;
fn nan() -> f32 { return bitcast<f32>(nanBits); }
var<private> infBits: u32 = 0x7f800000u;
fn inf() -> f32 { return bitcast<f32>(infBits); }
fn logOf(x: f32) -> f32 {
  if (isNan(x)) { return x; }
  if (x < 0.0) { return nan(); }
  if (x == 0.0) { return -inf(); }
  return select(log(x), x, isInf(x));
}
@compute @workgroup_size(4, 1, 1)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let row = (wg.y * grid.x + wg.x) * 4u + lane;
  const ly = 0u;
  let k0 = row;
  let base0 = p.o0 + k0 * p.t0k0;
  var q0: i32;
  if (row < p.rows) {
    q0 = b1[p.q0o + k0];
  }
  let ignored = p.ignores == 1u && q0 == p.ignored;
  let valid = u32(q0) < p.axisLength;
  var picked = bitcast<f32>(p.nan);
  if (row < p.rows && valid && !ignored) { let t = u32(q0);
   picked = b0[base0 + (t)]; }
  var m = bitcast<f32>(p.negInf);
  if (row < p.rows) {
    for (var c = ly; c < p.units; c += 64u) {
      var part = bitcast<f32>(p.negInf);
      let end = min(c + 64u, p.units);
      for (var j = c; j < end; j += 1u) {
        { let at = j; let a0 = b0[base0 + j]; part = max(part, a0); }
      }
      m = max(m, part);
    }
  }
  if (!isFinite(m)) { m = bitcast<f32>(p.nan); }
  var z = 0.0;
  if (row < p.rows) {
    for (var c = ly; c < p.units; c += 64u) {
      var part = 0.0;
      let end = min(c + 64u, p.units);
      for (var j = c; j < end; j += 1u) {
        { let at = j; let a0 = b0[base0 + j]; part = part + expShifted(a0, m); }
      }
      z = z + part;
    }
  }
  if (ly == 0u && row < p.rows) { b2[row] = select(logOf(z) - (picked - m), 0.0, ignored); }
}
