// matmul+add+relu
struct Params { ed1: u32, chainzero: u32, M: u32, N: u32, K: u32, tilesN: u32, tiles: u32, total: u32, offsetA: u32, offsetB: u32, Ax: u32, Bk: u32 }
@group(0) @binding(4) var<uniform> p: Params;
@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> b1: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> b2: array<f32>;
@group(0) @binding(3) var<storage, read_write> b3: array<f32>;
fn hold(x: f32, zero: u32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ zero); }
fn isNan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }
fn relu(x: f32) -> f32 { return select(max(x, 0.0), x, isNan(x)); }
fn op_add(a0: f32, a1: f32) -> f32 {
  var r0: f32;
  let x = a0;
  let y = a1;
  r0 = (x + y);
  return r0;
}
fn op_relu(a0: f32) -> f32 {
  var r0: f32;
  let x = a0;
  r0 = relu(x);
  return r0;
}
fn chain(a0: f32, a1: f32) -> f32 {
  let zero = p.chainzero;
  var r0: f32;
  let v0 = op_add(hold(a0, zero), a1);
  let v1 = op_relu(hold(v0, zero));
  r0 = v1;
  return r0;
}
fn finish(a0: f32, at: u32) {
  var erest = at;
  let e1 = erest % p.ed1;
  let y = chain(a0, b2[e1]);
  b3[at] = y;
}
var<workgroup> tileA: array<vec4<f32>, 256>;
var<workgroup> tileB: array<vec4<f32>, 256>;
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let id = wg.y * grid.x + wg.x;
  if (id >= p.total) { return; }
  let batch = id / p.tiles;
  let m0 = ((id % p.tiles) / p.tilesN) * 64u;
  let n0 = ((id % p.tiles) % p.tilesN) * 64u;
  let tx = lane % 16u;
  let ty = lane / 16u;
  const q0 = 0u;
  let baseA = p.offsetA;
  let baseB = p.offsetB;
  var c0 = vec4<f32>();
  var c1 = vec4<f32>();
  var c2 = vec4<f32>();
  var c3 = vec4<f32>();
  for (var k0 = 0u; k0 < p.K; k0 += 16u) {
    {
      let slot = lane;
      let kq = slot % 4u; let x = slot / 4u;
      let gx = m0 + x; let gk = k0 + kq * 4u;
      var v = vec4<f32>();
      if (gx < p.M && gk < p.K) { v = b0[baseA + gx * p.Ax + gk / 4u]; }
      tileA[(kq * 4u + 0u) * 16u + x / 4u][x % 4u] = v.x;
      tileA[(kq * 4u + 1u) * 16u + x / 4u][x % 4u] = v.y;
      tileA[(kq * 4u + 2u) * 16u + x / 4u][x % 4u] = v.z;
      tileA[(kq * 4u + 3u) * 16u + x / 4u][x % 4u] = v.w;
    }
    {
      let slot = lane;
      let kk = slot / 16u; let x = slot % 16u;
      let gx = n0 + x * 4u; let gk = k0 + kk;
      var v = vec4<f32>();
      if (gx < p.N && gk < p.K) { v = b1[baseB + gx / 4u + gk * p.Bk]; }
      tileB[slot] = v;
    }
    workgroupBarrier();
    for (var kk = 0u; kk < 16u; kk++) {
      let a0 = tileA[kk * 16u + ty * 1u + 0u];
      let b = tileB[kk * 16u + tx];
      c0 += a0.x * b;
      c1 += a0.y * b;
      c2 += a0.z * b;
      c3 += a0.w * b;
    }
    workgroupBarrier();
  }
  let n = n0 + tx * 4u;
  {
    let m = m0 + ty * 4u + 0u;
    if (m < p.M) {
      let at = (batch * p.M + m) * p.N + n;
      if (n + 0u < p.N) { finish(c0.x, at + 0u); }
      if (n + 1u < p.N) { finish(c0.y, at + 1u); }
      if (n + 2u < p.N) { finish(c0.z, at + 2u); }
      if (n + 3u < p.N) { finish(c0.w, at + 3u); }
    }
  }
  {
    let m = m0 + ty * 4u + 1u;
    if (m < p.M) {
      let at = (batch * p.M + m) * p.N + n;
      if (n + 0u < p.N) { finish(c1.x, at + 0u); }
      if (n + 1u < p.N) { finish(c1.y, at + 1u); }
      if (n + 2u < p.N) { finish(c1.z, at + 2u); }
      if (n + 3u < p.N) { finish(c1.w, at + 3u); }
    }
  }
  {
    let m = m0 + ty * 4u + 2u;
    if (m < p.M) {
      let at = (batch * p.M + m) * p.N + n;
      if (n + 0u < p.N) { finish(c2.x, at + 0u); }
      if (n + 1u < p.N) { finish(c2.y, at + 1u); }
      if (n + 2u < p.N) { finish(c2.z, at + 2u); }
      if (n + 3u < p.N) { finish(c2.w, at + 3u); }
    }
  }
  {
    let m = m0 + ty * 4u + 3u;
    if (m < p.M) {
      let at = (batch * p.M + m) * p.N + n;
      if (n + 0u < p.N) { finish(c3.x, at + 0u); }
      if (n + 1u < p.N) { finish(c3.y, at + 1u); }
      if (n + 2u < p.N) { finish(c3.z, at + 2u); }
      if (n + 3u < p.N) { finish(c3.w, at + 3u); }
    }
  }
}
