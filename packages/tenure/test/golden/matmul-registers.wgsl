struct Params { M: u32, N: u32, K: u32, tilesN: u32, tiles: u32, total: u32, am: u32, bk: u32, offsetA: u32, offsetB: u32, resultRows: u32 }
@group(0) @binding(3) var<uniform> p: Params;
@group(0) @binding(0) var<storage, read> b0: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> b1: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> b2: array<vec4<f32>>;
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let id = (wg.y * grid.x + wg.x) * 64u + lane;
  if (id >= p.total) { return; }
  let batch = id / p.tiles;
  let tile = id % p.tiles;
  let m0 = (tile / p.tilesN) * 4u;
  let n0 = (tile % p.tilesN) * 8u;
  const q0 = 0u;
  let baseA = p.offsetA;
  let baseB = p.offsetB;
  let rowA0 = baseA + min(m0 + 0u, p.M - 1u) * p.am;
  let rowA1 = baseA + min(m0 + 1u, p.M - 1u) * p.am;
  let rowA2 = baseA + min(m0 + 2u, p.M - 1u) * p.am;
  let rowA3 = baseA + min(m0 + 3u, p.M - 1u) * p.am;
  let colB0 = baseB + min(n0 + 0u, p.N - 4u) / 4u;
  let colB1 = baseB + min(n0 + 4u, p.N - 4u) / 4u;
  var c0_0 = vec4<f32>();
  var c0_1 = vec4<f32>();
  var c1_0 = vec4<f32>();
  var c1_1 = vec4<f32>();
  var c2_0 = vec4<f32>();
  var c2_1 = vec4<f32>();
  var c3_0 = vec4<f32>();
  var c3_1 = vec4<f32>();
  for (var k = 0u; k < p.K; k += 4u) {
    let a0 = b0[rowA0 + k / 4u];
    let a1 = b0[rowA1 + k / 4u];
    let a2 = b0[rowA2 + k / 4u];
    let a3 = b0[rowA3 + k / 4u];
    let v0_0 = b1[colB0 + (k + 0u) * p.bk];
    let v0_1 = b1[colB1 + (k + 0u) * p.bk];
    let v1_0 = b1[colB0 + (k + 1u) * p.bk];
    let v1_1 = b1[colB1 + (k + 1u) * p.bk];
    let v2_0 = b1[colB0 + (k + 2u) * p.bk];
    let v2_1 = b1[colB1 + (k + 2u) * p.bk];
    let v3_0 = b1[colB0 + (k + 3u) * p.bk];
    let v3_1 = b1[colB1 + (k + 3u) * p.bk];
    c0_0 += a0.x * v0_0 + a0.y * v1_0 + a0.z * v2_0 + a0.w * v3_0;
    c0_1 += a0.x * v0_1 + a0.y * v1_1 + a0.z * v2_1 + a0.w * v3_1;
    c1_0 += a1.x * v0_0 + a1.y * v1_0 + a1.z * v2_0 + a1.w * v3_0;
    c1_1 += a1.x * v0_1 + a1.y * v1_1 + a1.z * v2_1 + a1.w * v3_1;
    c2_0 += a2.x * v0_0 + a2.y * v1_0 + a2.z * v2_0 + a2.w * v3_0;
    c2_1 += a2.x * v0_1 + a2.y * v1_1 + a2.z * v2_1 + a2.w * v3_1;
    c3_0 += a3.x * v0_0 + a3.y * v1_0 + a3.z * v2_0 + a3.w * v3_0;
    c3_1 += a3.x * v0_1 + a3.y * v1_1 + a3.z * v2_1 + a3.w * v3_1;
  }
  for (var i = 0u; i < p.resultRows; i += 1u) {
    let row_0 = select(select(select(c0_0, c1_0, i == 1u), c2_0, i == 2u), c3_0, i == 3u);
    let row_1 = select(select(select(c0_1, c1_1, i == 1u), c2_1, i == 2u), c3_1, i == 3u);
    if (m0 + i >= p.M) { break; }
    let at = (batch * p.M + m0 + i) * p.N;
    if (n0 + 0u < p.N) { b2[(at + min(n0 + 0u, p.N - 4u)) / 4u] = row_0; }
    if (n0 + 4u < p.N) { b2[(at + min(n0 + 4u, p.N - 4u)) / 4u] = row_1; }
  }
}
