struct Params { total: u32, columnTiles: u32, rows: u32, columns: u32, channelTiles: u32, groups: u32, channelsIn: u32, channelsOut: u32, H: u32, W: u32, source: u32, weight: u32, xs0: u32, xs1: u32, xs2: u32, xs3: u32, ws0: u32, ws1: u32, ws2: u32, ws3: u32, wgroup: u32, R: u32, resultRows: u32, resultColumns: u32 }
@group(0) @binding(3) var<uniform> p: Params;
@group(0) @binding(0) var<storage, read> b0: array<f32>;
@group(0) @binding(1) var<storage, read> b1: array<f32>;
@group(0) @binding(2) var<storage, read_write> b2: array<f32>;
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let id = (wg.y * grid.x + wg.x) * 64u + lane;
  if (id >= p.total) { return; }
  let q0 = (id % p.columnTiles) * 7u;
  var rest = id / p.columnTiles;
  let p0 = rest % p.rows;
  rest /= p.rows;
  let o0 = (rest % p.channelTiles) * 4u;
  rest /= p.channelTiles;
  let group = rest % p.groups;
  let n = rest / p.groups;
  let top = p0 * 1u - 1u;
  let left = q0 * 1u - 1u;
  let image = p.source + n * p.xs0 + group * p.channelsIn * p.xs1;
  let filter0 = p.weight + group * p.wgroup + min(o0 + 0u, p.channelsOut - 1u) * p.ws0;
  let filter1 = p.weight + group * p.wgroup + min(o0 + 1u, p.channelsOut - 1u) * p.ws0;
  let filter2 = p.weight + group * p.wgroup + min(o0 + 2u, p.channelsOut - 1u) * p.ws0;
  let filter3 = p.weight + group * p.wgroup + min(o0 + 3u, p.channelsOut - 1u) * p.ws0;
  var c0_0 = 0.0;
  var c0_1 = 0.0;
  var c0_2 = 0.0;
  var c0_3 = 0.0;
  var c0_4 = 0.0;
  var c0_5 = 0.0;
  var c0_6 = 0.0;
  var c1_0 = 0.0;
  var c1_1 = 0.0;
  var c1_2 = 0.0;
  var c1_3 = 0.0;
  var c1_4 = 0.0;
  var c1_5 = 0.0;
  var c1_6 = 0.0;
  var c2_0 = 0.0;
  var c2_1 = 0.0;
  var c2_2 = 0.0;
  var c2_3 = 0.0;
  var c2_4 = 0.0;
  var c2_5 = 0.0;
  var c2_6 = 0.0;
  var c3_0 = 0.0;
  var c3_1 = 0.0;
  var c3_2 = 0.0;
  var c3_3 = 0.0;
  var c3_4 = 0.0;
  var c3_5 = 0.0;
  var c3_6 = 0.0;
  for (var c = 0u; c < p.channelsIn; c++) {
    for (var r = 0u; r < p.R; r++) {
      let y = top + r * 1u;
      if (y >= p.H) { continue; }
      let row = image + c * p.xs1 + y * p.xs2;
      let wrow0 = filter0 + c * p.ws1 + r * p.ws2;
      let wrow1 = filter1 + c * p.ws1 + r * p.ws2;
      let wrow2 = filter2 + c * p.ws1 + r * p.ws2;
      let wrow3 = filter3 + c * p.ws1 + r * p.ws2;
      let x0 = select(0.0, b0[row + min(left + 0u, p.W - 1u) * p.xs3], left + 0u < p.W);
      let x1 = select(0.0, b0[row + min(left + 1u, p.W - 1u) * p.xs3], left + 1u < p.W);
      let x2 = select(0.0, b0[row + min(left + 2u, p.W - 1u) * p.xs3], left + 2u < p.W);
      let x3 = select(0.0, b0[row + min(left + 3u, p.W - 1u) * p.xs3], left + 3u < p.W);
      let x4 = select(0.0, b0[row + min(left + 4u, p.W - 1u) * p.xs3], left + 4u < p.W);
      let x5 = select(0.0, b0[row + min(left + 5u, p.W - 1u) * p.xs3], left + 5u < p.W);
      let x6 = select(0.0, b0[row + min(left + 6u, p.W - 1u) * p.xs3], left + 6u < p.W);
      let x7 = select(0.0, b0[row + min(left + 7u, p.W - 1u) * p.xs3], left + 7u < p.W);
      let x8 = select(0.0, b0[row + min(left + 8u, p.W - 1u) * p.xs3], left + 8u < p.W);
      let w0_0 = b1[wrow0 + 0u];
      let w1_0 = b1[wrow1 + 0u];
      let w2_0 = b1[wrow2 + 0u];
      let w3_0 = b1[wrow3 + 0u];
      let w0_1 = b1[wrow0 + 1u * p.ws3];
      let w1_1 = b1[wrow1 + 1u * p.ws3];
      let w2_1 = b1[wrow2 + 1u * p.ws3];
      let w3_1 = b1[wrow3 + 1u * p.ws3];
      let w0_2 = b1[wrow0 + 2u * p.ws3];
      let w1_2 = b1[wrow1 + 2u * p.ws3];
      let w2_2 = b1[wrow2 + 2u * p.ws3];
      let w3_2 = b1[wrow3 + 2u * p.ws3];
      c0_0 += x0 * w0_0 + x1 * w0_1 + x2 * w0_2;
      c0_1 += x1 * w0_0 + x2 * w0_1 + x3 * w0_2;
      c0_2 += x2 * w0_0 + x3 * w0_1 + x4 * w0_2;
      c0_3 += x3 * w0_0 + x4 * w0_1 + x5 * w0_2;
      c0_4 += x4 * w0_0 + x5 * w0_1 + x6 * w0_2;
      c0_5 += x5 * w0_0 + x6 * w0_1 + x7 * w0_2;
      c0_6 += x6 * w0_0 + x7 * w0_1 + x8 * w0_2;
      c1_0 += x0 * w1_0 + x1 * w1_1 + x2 * w1_2;
      c1_1 += x1 * w1_0 + x2 * w1_1 + x3 * w1_2;
      c1_2 += x2 * w1_0 + x3 * w1_1 + x4 * w1_2;
      c1_3 += x3 * w1_0 + x4 * w1_1 + x5 * w1_2;
      c1_4 += x4 * w1_0 + x5 * w1_1 + x6 * w1_2;
      c1_5 += x5 * w1_0 + x6 * w1_1 + x7 * w1_2;
      c1_6 += x6 * w1_0 + x7 * w1_1 + x8 * w1_2;
      c2_0 += x0 * w2_0 + x1 * w2_1 + x2 * w2_2;
      c2_1 += x1 * w2_0 + x2 * w2_1 + x3 * w2_2;
      c2_2 += x2 * w2_0 + x3 * w2_1 + x4 * w2_2;
      c2_3 += x3 * w2_0 + x4 * w2_1 + x5 * w2_2;
      c2_4 += x4 * w2_0 + x5 * w2_1 + x6 * w2_2;
      c2_5 += x5 * w2_0 + x6 * w2_1 + x7 * w2_2;
      c2_6 += x6 * w2_0 + x7 * w2_1 + x8 * w2_2;
      c3_0 += x0 * w3_0 + x1 * w3_1 + x2 * w3_2;
      c3_1 += x1 * w3_0 + x2 * w3_1 + x3 * w3_2;
      c3_2 += x2 * w3_0 + x3 * w3_1 + x4 * w3_2;
      c3_3 += x3 * w3_0 + x4 * w3_1 + x5 * w3_2;
      c3_4 += x4 * w3_0 + x5 * w3_1 + x6 * w3_2;
      c3_5 += x5 * w3_0 + x6 * w3_1 + x7 * w3_2;
      c3_6 += x6 * w3_0 + x7 * w3_1 + x8 * w3_2;
    }
  }
  for (var i = 0u; i < p.resultRows; i += 1u) {
    let row_0 = select(select(select(c0_0, c1_0, i == 1u), c2_0, i == 2u), c3_0, i == 3u);
    let row_1 = select(select(select(c0_1, c1_1, i == 1u), c2_1, i == 2u), c3_1, i == 3u);
    let row_2 = select(select(select(c0_2, c1_2, i == 1u), c2_2, i == 2u), c3_2, i == 3u);
    let row_3 = select(select(select(c0_3, c1_3, i == 1u), c2_3, i == 2u), c3_3, i == 3u);
    let row_4 = select(select(select(c0_4, c1_4, i == 1u), c2_4, i == 2u), c3_4, i == 3u);
    let row_5 = select(select(select(c0_5, c1_5, i == 1u), c2_5, i == 2u), c3_5, i == 3u);
    let row_6 = select(select(select(c0_6, c1_6, i == 1u), c2_6, i == 2u), c3_6, i == 3u);
    if (o0 + i >= p.channelsOut) { break; }
    let at = (((n * p.groups + group) * p.channelsOut + o0 + i) * p.rows + p0) * p.columns + q0;
    for (var j = 0u; j < p.resultColumns; j += 1u) {
      let result = select(select(select(select(select(select(row_0, row_1, j == 1u), row_2, j == 2u), row_3, j == 3u), row_4, j == 4u), row_5, j == 5u), row_6, j == 6u);
      { b2[at + j] = result; }
    }
  }
}
