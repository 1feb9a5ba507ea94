struct Params { negInf: u32, nan: u32, rows: u32, units: u32, axisLength: u32, o0: u32, t0k0: u32, o1: u32, t1k0: u32 }
@group(0) @binding(2) var<uniform> p: Params;
@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> b1: array<vec4<f32>>;
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
var<workgroup> shared_: array<f32, 256>;
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let row = (wg.y * grid.x + wg.x) * 16u + lane / 16u;
  let ly = lane % 16u;
  let k0 = row;
  let base0 = p.o0 + k0 * p.t0k0;
  let base1 = p.o1 + k0 * p.t1k0;
  var m = bitcast<f32>(p.negInf);
  if (row < p.rows) {
    for (var c = ly; c < p.units; c += 1024u) {
      var part = bitcast<f32>(p.negInf);
      let end = min(c + 1024u, p.units);
      for (var j = c; j < end; j += 16u) {
        let x0 = b0[base0 + j];
        { let at = j * 4u + 0u; let a0 = x0.x; part = max(part, a0); }
        { let at = j * 4u + 1u; let a0 = x0.y; part = max(part, a0); }
        { let at = j * 4u + 2u; let a0 = x0.z; part = max(part, a0); }
        { let at = j * 4u + 3u; let a0 = x0.w; part = max(part, a0); }
      }
      m = max(m, part);
    }
  }
  let slot_m = ly * 16u + (lane / 16u);
  workgroupBarrier();
  shared_[slot_m] = m;
  for (var reach = 8u; reach > 0u; reach >>= 1u) {
    workgroupBarrier();
    if (ly < reach) { shared_[slot_m] = max(shared_[slot_m], shared_[slot_m + reach * 16u]); }
  }
  workgroupBarrier();
  m = shared_[lane / 16u];
  if (!isFinite(m)) { m = bitcast<f32>(p.nan); }
  var z = 0.0;
  if (row < p.rows) {
    for (var c = ly; c < p.units; c += 1024u) {
      var part = 0.0;
      let end = min(c + 1024u, p.units);
      for (var j = c; j < end; j += 16u) {
        let x0 = b0[base0 + j];
        { let at = j * 4u + 0u; let a0 = x0.x; part = part + expShifted(a0, m); }
        { let at = j * 4u + 1u; let a0 = x0.y; part = part + expShifted(a0, m); }
        { let at = j * 4u + 2u; let a0 = x0.z; part = part + expShifted(a0, m); }
        { let at = j * 4u + 3u; let a0 = x0.w; part = part + expShifted(a0, m); }
      }
      z = z + part;
    }
  }
  let slot_z = ly * 16u + (lane / 16u);
  workgroupBarrier();
  shared_[slot_z] = z;
  for (var reach = 8u; reach > 0u; reach >>= 1u) {
    workgroupBarrier();
    if (ly < reach) { shared_[slot_z] = shared_[slot_z] + shared_[slot_z + reach * 16u]; }
  }
  workgroupBarrier();
  z = shared_[lane / 16u];
  let scale = 1.0 / z;
  if (row < p.rows) {
    for (var j = ly; j < p.units; j += 16u) {
      var r: vec4<f32>;
      let x0 = b0[base0 + j];
      { let at = j * 4u + 0u; let a0 = x0.x; r.x = expShifted(a0, m) * scale; }
      { let at = j * 4u + 1u; let a0 = x0.y; r.y = expShifted(a0, m) * scale; }
      { let at = j * 4u + 2u; let a0 = x0.z; r.z = expShifted(a0, m) * scale; }
      { let at = j * 4u + 3u; let a0 = x0.w; r.w = expShifted(a0, m) * scale; }
      b1[base1 + j] = r;
    }
  }
}
