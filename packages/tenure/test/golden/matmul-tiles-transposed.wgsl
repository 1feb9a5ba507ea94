struct Params { M: u32, N: u32, K: u32, tilesN: u32, tiles: u32, total: u32, offsetA: u32, offsetB: u32, Ak: u32, Bk: u32 }
@group(0) @binding(3) var<uniform> p: Params;
@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> b1: array<f32>;
@group(0) @binding(2) var<storage, read_write> b2: array<f32>;
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
      let kk = slot / 16u; let x = slot % 16u;
      let gx = m0 + x * 4u; let gk = k0 + kk;
      var v = vec4<f32>();
      if (gx < p.M && gk < p.K) { v = b0[baseA + gx / 4u + gk * p.Ak]; }
      tileA[slot] = v;
    }
    for (var e = 0u; e < 4u; e++) {
      let slot = lane + e * 256u;
      let x = slot % 64u; let kk = slot / 64u;
      let gx = n0 + x; let gk = k0 + kk;
      var v = f32();
      if (gx < p.N && gk < p.K) { v = b1[baseB + gx + gk * p.Bk]; }
      tileB[kk * 16u + x / 4u][x % 4u] = v;
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
      if (n + 0u < p.N) { b2[at + 0u] = c0.x; }
      if (n + 1u < p.N) { b2[at + 1u] = c0.y; }
      if (n + 2u < p.N) { b2[at + 2u] = c0.z; }
      if (n + 3u < p.N) { b2[at + 3u] = c0.w; }
    }
  }
  {
    let m = m0 + ty * 4u + 1u;
    if (m < p.M) {
      let at = (batch * p.M + m) * p.N + n;
      if (n + 0u < p.N) { b2[at + 0u] = c1.x; }
      if (n + 1u < p.N) { b2[at + 1u] = c1.y; }
      if (n + 2u < p.N) { b2[at + 2u] = c1.z; }
      if (n + 3u < p.N) { b2[at + 3u] = c1.w; }
    }
  }
  {
    let m = m0 + ty * 4u + 2u;
    if (m < p.M) {
      let at = (batch * p.M + m) * p.N + n;
      if (n + 0u < p.N) { b2[at + 0u] = c2.x; }
      if (n + 1u < p.N) { b2[at + 1u] = c2.y; }
      if (n + 2u < p.N) { b2[at + 2u] = c2.z; }
      if (n + 3u < p.N) { b2[at + 3u] = c2.w; }
    }
  }
  {
    let m = m0 + ty * 4u + 3u;
    if (m < p.M) {
      let at = (batch * p.M + m) * p.N + n;
      if (n + 0u < p.N) { b2[at + 0u] = c3.x; }
      if (n + 1u < p.N) { b2[at + 1u] = c3.y; }
      if (n + 2u < p.N) { b2[at + 2u] = c3.z; }
      if (n + 3u < p.N) { b2[at + 3u] = c3.w; }
    }
  }
}
