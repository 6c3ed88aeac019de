"use strict"
// Drawings of benches: how near kernels come to the roofs of the machine, and how much longer others take.

const WIDTH = 720
// Its name is an address, and a reader of the page finds none in it.
const SVG = Object.assign(document.createElement("div"), {innerHTML: "<svg></svg>"}).firstChild.namespaceURI
const clean = number => Number(number.toPrecision(3)).toLocaleString("en")

function svg(name, attributes, ...inside) {
  const made = document.createElementNS(SVG, name)
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value)
  made.append(...inside.flat(Infinity).filter(one => one !== null && one !== undefined && one !== ""))
  return made
}

// The cells of a row by the names of their columns.
const cells = (found, row) => Object.fromEntries(found.columns.map((column, k) => [column, row[k]]))
const called = row => [row.kernel, row.specialization && row.specialization !== "-" ? row.specialization : "", row.shape || row.sizes,
  row.target].filter(Boolean).join(" ")

// A scale of powers: from the least and the most to places on the drawing, with the marks that fit.
function scale(values, from, to, steps = [1]) {
  const low = Math.min(...values) / 1.3, high = Math.max(...values) * 1.3
  const place = value => from + (to - from) * Math.log(value / low) / Math.log(high / low)
  const marks = []
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++)
    for (const step of steps) if (step * 10 ** power >= low && step * 10 ** power <= high) marks.push(step * 10 ** power)
  return {place, marks, low, high}
}

const finer = values => Math.max(...values) / Math.min(...values) < 200 ? [1, 2, 5] : [1]

// One point a row: operations for each byte that it moves, operations a second. The sloping roof is what a copy moves,
// the level one what NumPy's matmul computes; both were measured in the same run.
function roofline(found, only) {
  const points = found.rows.map(row => cells(found, row)).filter(row => row["Gop/s"] > 0 && row["GB/s"] > 0)
    .map(row => ({...row, x: row["Gop/s"] / row["GB/s"], y: row["Gop/s"], copy: row["GB/s"] / row["of a copy"],
      most: row["Gop/s"] / row["of matmul"]})).filter(row => row.copy > 0 && isFinite(row.copy))
  if (!points.length || (only !== undefined && !points.some(point => point.kernel === only))) return ""
  const copies = points.map(point => point.copy), peak = Math.max(0, ...points.map(point => point.most).filter(isFinite))
  const slopes = Math.max(...copies) > 1.5 * Math.min(...copies) ? [Math.min(...copies), Math.max(...copies)] : [Math.max(...copies)]
  const left = 52, right = WIDTH - 16, top = 14, bottom = 330
  const ridge = peak ? [peak / slopes[0]] : []
  const across = [...points.map(point => point.x), ...ridge.map(x => 2 * x)]
  const x = scale(across, left, right, finer(across))
  const heights = [...points.map(point => point.y), ...(peak ? [peak] : [])]
  const y = scale(heights, bottom, top, finer(heights))
  const roofs = slopes.map(copy => {
    const from = Math.max(x.low, y.low / copy), to = Math.min(x.high, (peak || y.high) / copy)
    if (from >= to) return ""
    const angle = -Math.atan2(y.place(copy * from) - y.place(copy * to), x.place(to) - x.place(from)) * 180 / Math.PI
    return [svg("line", {class: "roof", x1: x.place(from), y1: y.place(copy * from), x2: x.place(to), y2: y.place(copy * to)}),
      svg("text", {class: "said",
        transform: `translate(${x.place(from) + 8} ${y.place(copy * from) - 8}) rotate(${angle})`},
        `a copy: ${clean(copy)} GB/s`)]
  })
  if (peak) roofs.push(
    svg("line", {class: "roof", x1: x.place(Math.min(x.high, peak / slopes.at(-1))), y1: y.place(peak), x2: right, y2: y.place(peak)}),
    svg("text", {class: "said", x: right, y: y.place(peak) - 5, "text-anchor": "end"}, `matmul of NumPy: ${clean(peak)} Gop/s`))
  const taken = []
  const free = box => taken.every(other => box.x > other.x + other.w || other.x > box.x + box.w || Math.abs(box.y - other.y) > 12)
  const dots = points.map(point => {
    const at = {x: x.place(point.x), y: y.place(point.y)}, off = only !== undefined && point.kernel !== only
    const told = `${called(point)}\n${clean(point.y)} Gop/s, ${clean(point["GB/s"])} GB/s, ${clean(point.x)} operations a byte`
      + `\n${Math.round(100 * point["of a copy"])} % of a copy` + (peak ? `, ${Math.round(100 * point["of matmul"])} % of matmul` : "")
    const dot = svg("circle", {class: off ? "dot off" : "dot", cx: at.x, cy: at.y, r: 4.5}, svg("title", {}, told))
    const width = 6.6 * point.kernel.length, box = {x: at.x + 8, y: at.y, w: width}
    if (box.x + width > right) box.x = at.x - 8 - width
    const named = !off && free(box)
    if (named) taken.push(box)
    return svg("a", {href: link(point.kernel)}, dot, named ? svg("text", {class: "name", x: box.x, y: at.y + 4}, point.kernel) : "")
  })
  const drawn = svg("svg", {viewBox: `0 0 ${WIDTH} ${bottom + 46}`, role: "img", "aria-label": "roofline"},
    x.marks.map(mark => [svg("line", {class: "grid", x1: x.place(mark), x2: x.place(mark), y1: top, y2: bottom}),
      svg("text", {class: "mark-text", x: x.place(mark), y: bottom + 16, "text-anchor": "middle"}, clean(mark))]),
    y.marks.map(mark => [svg("line", {class: "grid", x1: left, x2: right, y1: y.place(mark), y2: y.place(mark)}),
      svg("text", {class: "mark-text", x: left - 6, y: y.place(mark) + 4, "text-anchor": "end"}, clean(mark))]),
    svg("text", {class: "mark-text", x: (left + right) / 2, y: bottom + 36, "text-anchor": "middle"}, "operations for each byte"),
    svg("text", {class: "mark-text", transform: `translate(12 ${(top + bottom) / 2}) rotate(-90)`, "text-anchor": "middle"},
      "Gop/s"),
    roofs, dots)
  const unknown = found.rows.length - points.length
  return [el("div", {class: "scroll chart"}, drawn), unknown ? el("p", {class: "dim small"},
    `${several(unknown, "row")} ${unknown === 1 ? "declares" : "declare"} no operations, and ${unknown === 1 ? "is" : "are"} not drawn.`) : ""]
}

// Of each bench the column of ours, and those of others' times in the same unit.
const PEERS = {"ns an element": ["NumPy", "Numba"], "µs": ["reference µs"]}

// A line a kernel: how many times as long each peer takes, a mark a case; right of the line at 1 ours is faster.
function peers(found, only) {
  const own = Object.keys(PEERS).find(column => found.columns.includes(column) && PEERS[column].some(one => found.columns.includes(one)))
  if (own === undefined) return ""
  const name = found.columns.includes("function") ? "function" : "kernel"
  const marks = found.rows.map(row => cells(found, row)).filter(row => row[own] > 0 && (only === undefined || row[name] === only))
    .flatMap(row => PEERS[own].filter(peer => row[peer] > 0)
      .map(peer => ({...row, peer, kernel: String(row[name]), times: row[peer] / row[own]})))
  if (!marks.length) return ""
  const names = [...new Set(marks.map(mark => mark.kernel))], shown = [...new Set(marks.map(mark => mark.peer))]
  const longest = Math.min(24, Math.max(...names.map(one => one.length)))
  const left = 24 + 7 * longest, right = WIDTH - 16, high = 20, top = 26
  const bottom = top + high * names.length
  const values = [1, ...marks.map(mark => mark.times)], x = scale(values, left, right, finer(values))
  const shape = (mark, cx, cy) => {
    const told = svg("title", {}, `${called(mark)}\n${mark.peer.replace(" µs", "")}: ${clean(mark.times)} times as long`)
    const style = `peer p${shown.indexOf(mark.peer)}`
    return shown.indexOf(mark.peer) % 2
      ? svg("rect", {class: style, x: cx - 4, y: cy - 4, width: 8, height: 8, transform: `rotate(45 ${cx} ${cy})`}, told)
      : svg("circle", {class: style, cx, cy, r: 4.5}, told)
  }
  const drawn = svg("svg", {viewBox: `0 0 ${WIDTH} ${bottom + 40}`, role: "img", "aria-label": "peers"},
    x.marks.map(mark => [svg("line", {class: "grid", x1: x.place(mark), x2: x.place(mark), y1: top, y2: bottom}),
      svg("text", {class: "mark-text", x: x.place(mark), y: bottom + 16, "text-anchor": "middle"}, `${clean(mark)}×`)]),
    svg("line", {class: "one", x1: x.place(1), x2: x.place(1), y1: top - 6, y2: bottom}),
    svg("text", {class: "mark-text", x: (left + right) / 2, y: bottom + 34, "text-anchor": "middle"}, "times as long as ours"),
    shown.map((peer, k) => [shape({...marks.find(mark => mark.peer === peer), times: NaN}, left + 8 + 110 * k, 9),
      svg("text", {class: "name", x: left + 18 + 110 * k, y: 13}, peer.replace(" µs", ""))]),
    names.map((one, k) => svg("a", name === "kernel" ? {href: link(one)} : {},
      svg("text", {class: "name", x: left - 10, y: top + high * (k + 0.5) + 4, "text-anchor": "end"},
        one.length > longest ? `${one.slice(0, longest - 1)}…` : one))),
    marks.map(mark => shape(mark, x.place(mark.times), top + high * (names.indexOf(mark.kernel) + 0.5))))
  return el("div", {class: "scroll chart"}, drawn)
}
