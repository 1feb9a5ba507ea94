struct Params { H: u32, W: u32, low: u32, x0: u32, x1: u32, x2: u32, x3: u32, x: u32, total: u32, Q: u32, P: u32, C: u32 }
@group(0) @binding(2) var<uniform> p: Params;
@group(0) @binding(0) var<storage, read> b0: array<f32>;
@group(0) @binding(1) var<storage, read_write> b1: array<f32>;
fn isNan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let id = (wg.y * grid.x + wg.x) * 64u + lane;
  if (id >= p.total) { return; }
  let px = id % p.Q;
  var rest = id / p.Q;
  let py = rest % p.P;
  rest /= p.P;
  let c = rest % p.C;
  let n = rest / p.C;
  let plane = (p.x + n * p.x0 + c * p.x1);
  var best = bitcast<f32>(p.low);
  let corner = plane + py * 2u * p.x2 + px * 2u * p.x3;
  { let v = b0[corner + 0u * p.x2 + 0u * p.x3]; if (!isNan(best) && (v > best || isNan(v))) { best = v; } }
  { let v = b0[corner + 0u * p.x2 + 1u * p.x3]; if (!isNan(best) && (v > best || isNan(v))) { best = v; } }
  { let v = b0[corner + 1u * p.x2 + 0u * p.x3]; if (!isNan(best) && (v > best || isNan(v))) { best = v; } }
  { let v = b0[corner + 1u * p.x2 + 1u * p.x3]; if (!isNan(best) && (v > best || isNan(v))) { best = v; } }
  b1[id] = best;
}
