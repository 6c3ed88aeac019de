const MARKS = {checked: "✓", built: "●", stale: "◐", failed: "✕", declared: "○"}
const ROWS = 150
const main = document.getElementById("main")
const parts = [...document.querySelectorAll("script.part")]
const view = {search: "", state: "", scroll: 0}  // of the overview, which is come back to
let whole, theme

// Everything that is shown goes through here: text is text, never markup.
function el(name, attributes, ...inside) {
  const made = document.createElement(name)
  for (const [key, value] of Object.entries(attributes || {}))
    if (key.startsWith("on")) made[key] = value
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value)
  made.append(...inside.flat(Infinity).filter(one => one !== null && one !== undefined && one !== false))
  return made
}

// Base 85, as Python's base64.b85encode has it, with four other digits.
const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%,()*+-;.=:?@^_[{|}~"
const VALUES = new Map([...DIGITS].map((digit, value) => [digit.charCodeAt(0), value]))

function decoded(text) {
  const result = new Uint8Array(Math.floor(text.length * 4 / 5))
  for (let group = 0, at = 0; group < text.length; group += 5) {
    let number = 0
    for (let k = group; k < group + 5; k++) number = number * 85 + (k < text.length ? VALUES.get(text.charCodeAt(k)) : 84)
    for (let shift = 24; shift >= 0; shift -= 8) if (at < result.length) result[at++] = number >>> shift
  }
  return result
}

async function unpacked(script) {
  const stream = new Blob([decoded(script.textContent)]).stream().pipeThrough(new DecompressionStream("deflate"))
  return JSON.parse(await new Response(stream).text())
}

function bytes(size) {
  for (const unit of ["B", "KB", "MB"]) {
    if (size < 1000) return unit === "B" ? `${size} B` : `${size.toFixed(1)} ${unit}`
    size /= 1000
  }
  return `${size.toFixed(1)} GB`
}
const seconds = time => !time ? "0 s" : time < 9.95 ? `${time.toFixed(time < 0.1 ? 3 : 1)} s`
  : time < 60 ? `${Math.round(time)} s` : `${Math.floor(time / 60)} min ${Math.round(time % 60)} s`
const day = time => new Date(time * 1000).toLocaleString(undefined, {dateStyle: "medium", timeStyle: "short"})
const several = (number, what, many = `${what}s`) => `${number.toLocaleString()} ${number === 1 ? what : many}`
const mark = (state, title) => el("span", {class: `mark ${state}`, title, role: "img", "aria-label": title}, MARKS[state])
const link = name => `#kernel=${encodeURIComponent(name)}`

function themed(next) {
  theme = next
  document.documentElement.dataset.theme = theme
}
const themeButton = () => el("button", {
  class: "theme", title: "dark or light", "aria-label": "dark or light", onclick: () => themed(theme === "dark" ? "light" : "dark"),
}, "◐")

// ---- the overview

function overview() {
  main.className = ""
  const counts = {}
  let size = 0, took = 0, artifacts = 0
  for (const kernel of whole.kernels) {
    kernel.size = kernel.took = 0
    kernel.states = new Set()
    for (const cell of kernel.cells.flat())
      if (cell) {
        counts[cell[0]] = (counts[cell[0]] || 0) + 1
        kernel.states.add(cell[0])
        kernel.size += cell[2] || 0
        kernel.took += cell[3] || 0
        artifacts++
      }
    size += kernel.size
    took += kernel.took
    kernel.words = [kernel.name, kernel.doc, kernel.signature, ...kernel.specializations].join(" ").toLowerCase()
  }
  const body = el("tbody"), found = el("p", {class: "dim small found"})
  const most = Math.max(1, ...whole.kernels.map(kernel => kernel.size))
  for (const kernel of whole.kernels) kernel.row = null

  let rest = []
  function more() {  // so many rows as are seen, and some: the others come when one scrolls there
    body.append(...rest.slice(0, ROWS).map(kernel => kernel.row = kernel.row || row(kernel, most)))
    rest = rest.slice(ROWS)
    end.hidden = !rest.length
  }
  const end = el("p", {class: "dim small"}, "…")
  onscroll = () => { while (end.isConnected && rest.length && end.getBoundingClientRect().top < 2 * innerHeight) more() }
  function list() {
    const words = view.search.toLowerCase().split(/\s+/).filter(Boolean)
    const chosen = whole.kernels.filter(kernel => words.every(word => kernel.words.includes(word))
      && (!view.state || kernel.states.has(view.state)))
    rest = chosen
    body.replaceChildren()
    more()
    found.textContent = chosen.length === whole.kernels.length ? "" : `${chosen.length} of ${several(whole.kernels.length, "kernel")}`
  }
  const search = el("input", {type: "search", placeholder: "Search kernels", "aria-label": "Search kernels", value: view.search,
    oninput: () => { view.search = search.value; list() }})
  const filters = Object.keys(whole.states).filter(state => counts[state]).map(state => el("button", {
    title: whole.states[state], "aria-pressed": String(view.state === state), class: "filter",
    onclick: event => {
      view.state = view.state === state ? "" : state
      for (const one of filters) one.setAttribute("aria-pressed", String(one === event.currentTarget && !!view.state))
      list()
    },
  }, el("span", {class: state}, MARKS[state]), ` ${counts[state]} ${state}`))
  const builds = whole.builds, misses = Object.entries(builds.misses)
  main.replaceChildren(
    el("header", {}, el("h1", {}, whole.project),
      el("span", {class: "dim"}, `${several(whole.kernels.length, "kernel")}, ${several(artifacts, "artifact")}, ${bytes(size)}`),
      el("span", {class: "end dim small"}, day(whole.made)), themeButton()),
    el("div", {class: "tools"}, search, filters),
    el("div", {class: "scroll"}, el("table", {class: "matrix"}, el("thead", {}, el("tr", {},
      el("th", {}, "kernel"), whole.targets.map(target => el("th", {}, target)),
      el("th", {class: "number"}, "size"), el("th", {class: "number"}, "build"))), body)),
    end, found,
    whole.timeline ? build(whole.timeline) : "",
    builds.since === null ? "" : el("p", {class: "small dim"},
      `${several(builds.builds, "build")} since ${day(builds.since)}: ${several(builds.hits, "hit")}${builds.saved ? `, which saved ${seconds(builds.saved)}` : ""}`
      + (misses.length ? `; made anew: ${misses.map(([why, number]) => `${number} ${why}`).join(", ")}` : "")),
    ...whole.benches.map(found => bench(found)))
  list()
  while (rest.length && document.documentElement.scrollHeight < view.scroll + innerHeight) more()
  scrollTo(0, view.scroll)
}

function row(kernel, most) {
  return el("tr", {},
    el("td", {}, el("a", {href: link(kernel.name)}, kernel.name), kernel.doc ? el("span", {class: "dim small doc"}, `  ${kernel.doc}`) : ""),
    kernel.cells.map((cells, t) => el("td", {}, cells.map((cell, k) => cell
      && mark(cell[0], `${kernel.name} ${kernel.specializations[k]} ${whole.targets[t]}\n${cell[0]}: ${cell[1]}`)))),
    el("td", {class: "number bar", style: `--share: ${(100 * kernel.size / most).toFixed(1)}%`}, kernel.size ? bytes(kernel.size) : ""),
    el("td", {class: "number"}, kernel.took ? seconds(kernel.took) : ""))
}

function build(time) {
  const share = at => `${(100 * at / time.seconds).toFixed(3)}%`
  const name = job => `${job.kernel} ${job.specialization}`
  const chain = time.critical.map(k => time.jobs[k])
  const first = chain.length ? chain[0].start : 0, last = chain.length ? chain[chain.length - 1].end : 0
  const longest = Math.max(0, ...time.jobs.map(job => job.end - job.start))
  const lanes = Array.from({length: time.lanes}, () => el("div", {class: "lane"}))
  time.jobs.forEach((job, k) => lanes[job.lane].append(el("a", {
    href: link(job.kernel),
    class: `job${time.critical.includes(k) ? " on" : ""}${job.failed ? " bad" : ""}`,
    style: `left: ${share(job.start)}; width: ${share(job.end - job.start)}; color: inherit`,
    title: [`${name(job)}: ${seconds(job.end - job.start)}${job.failed ? ", failed" : ""}`, job.targets.join(", "),
      ...Object.entries(job.phases).map(([phase, took]) => `  ${phase} ${seconds(took)}`)].join("\n"),
  }, name(job))))
  return el("section", {}, el("h2", {}, "The last build"),
    el("p", {}, `${seconds(time.seconds)} with ${several(time.lanes, "process", "processes")}, ${day(time.at)}. `,
      el("span", {class: "dim"}, `The longest job took ${seconds(longest)}: with any number of processes no build of these is shorter.`)),
    el("div", {class: "scroll"}, el("div", {class: "lanes"}, lanes,
      el("div", {class: "axis"}, [0, 0.25, 0.5, 0.75, 1].map(part => el("span", {style: `left: ${100 * part}%`}, seconds(part * time.seconds)))))),
    el("p", {class: "small"}, el("b", {}, "Critical path: "), `plan ${seconds(first)}`,
      chain.slice(0, 12).map(job => [" → ", el("a", {href: link(job.kernel)}, name(job)), ` ${seconds(job.end - job.start)}`]),
      chain.length > 12 ? ` → ${chain.length - 12} more` : "", ` → manifest ${seconds(Math.max(0, time.seconds - last))}`))
}

function bench(found, only) {
  const named = found.columns.indexOf("kernel")
  const rows = found.rows.filter(row => only === undefined || row[named] === only)
  if (!rows.length) return ""
  const most = found.columns.map((column, k) => {
    const numbers = found.rows.map(row => row[k]).filter(value => typeof value === "number")
    return numbers.length ? Math.max(column.startsWith("of ") ? 1 : 0, ...numbers) : 0
  })
  const text = value => typeof value !== "number" ? value ?? "" : Number.isInteger(value) ? value.toLocaleString()
    : value >= 100 ? value.toFixed(0) : value.toPrecision(3)
  return el("section", {}, el("h2", {}, `Bench: ${found.subject}`, el("span", {class: "dim small"}, `  ${found.file}`)),
    roofline(found, only), peers(found, only),
    el("div", {class: "scroll"}, el("table", {class: "bench"},
      el("thead", {}, el("tr", {}, found.columns.map((column, k) => el("th", {class: most[k] && "number"}, column)))),
      el("tbody", {}, rows.map(row => el("tr", {}, row.map((value, k) => {
        const ratio = most[k] && typeof value === "number" && /^(of |times)/.test(found.columns[k])
        const slower = ratio && found.columns[k].startsWith("times") && value < 1
        return el("td", {class: most[k] ? `number${ratio ? " bar" : ""}${slower ? " stale" : ""}` : null,
          style: ratio ? `--share: ${(100 * value / most[k]).toFixed(1)}%` : null}, text(value))
      })))))))
}

// ---- one kernel

async function detail(name) {
  const number = whole.kernels.findIndex(kernel => kernel.name === name)
  if (number < 0) return overview()
  const kernel = whole.kernels[number]
  kernel.part = kernel.part || await unpacked(parts[number])
  main.className = "wide"
  const place = el("div")
  const artifacts = kernel.part.artifacts
  const choice = el("select", {"aria-label": "artifact", onchange: () => place.replaceChildren(...artifact(kernel, artifacts[choice.value]))},
    artifacts.map((one, k) => el("option", {value: k}, `${MARKS[one.state]}  ${one.specialization}  ${one.target}`)))
  const coded = artifacts.findIndex(one => code(kernel, one))
  choice.value = Math.max(coded, 0)
  main.replaceChildren(
    el("header", {}, el("a", {href: "#"}, "← all kernels"), el("span", {class: "end"}), themeButton()),
    el("h1", {style: "margin-top: 0.8rem"}, kernel.name),
    el("p", {class: "mono", style: "overflow-wrap: anywhere"}, kernel.signature, el("span", {class: "dim"}, `  ${kernel.at}`)),
    kernel.doc && el("p", {}, kernel.doc),
    artifacts.length ? choice : el("p", {class: "dim"}, "It has no artifacts."), place,
    ...whole.benches.map(found => bench(found, name)))
  if (artifacts.length) choice.onchange()
  scrollTo(0, 0)
}

const code = (kernel, one) => kernel.part.codes.find(code => code.specialization === one.specialization && code.target === one.target)

function artifact(kernel, one) {
  const pair = (name, value) => value === undefined || value === null || value === false || value === "" ? [] : el("div", {}, el("dt", {}, name), el("dd", {}, value))
  const plain = value => Array.isArray(value) ? value.map(plain).join(", ") : value === null || typeof value !== "object" ? String(value)
    : Object.entries(value).map(([name, inner]) => `${name}${inner !== null && typeof inner === "object" ? ":" : ""} ${plain(inner)}`).join(", ")
  const shown = code(kernel, one)
  const meta = Object.entries(one.meta || {}).filter(([name, value]) =>
    !["sites", "calls", "places", "note", "resources", "unchecked"].includes(name) && !(Array.isArray(value) && !value.length))
  return [
    el("dl", {},
      el("div", {class: one.why && one.why.length > 60 ? "all" : ""}, el("dt", {}, "state"), el("dd", {}, el("span", {class: one.state}, `${MARKS[one.state]} ${one.state}`), one.why ? ` · ${one.why}` : "")),
      pair("size", one.size && bytes(one.size)), pair("code generation", one.seconds && seconds(one.seconds)),
      pair("made", one.made && day(one.made)), pair("checked", one.checked && day(one.checked)),
      pair("last used", one.used ? day(one.used) : one.size ? "never, as far as is known" : null),
      pair("indices", one.indices),
      pair("note", one.meta && one.meta.note),
      pair("resources", !shown && one.meta && one.meta.resources && plain(one.meta.resources))),
    shown ? [remarks(shown), columns(shown)] : el("p", {class: "dim"}, "This page does not have the code of this artifact: 'pydotcompute report -t "
      + `${one.target}' does, with --every-specialization of every choice of types and params.`),
    el("details", {}, el("summary", {}, "Key and provenance"),
      el("dl", {class: "small list"}, pair("key", one.key && el("code", {}, one.key)), pair("object", one.object && el("code", {}, one.object)),
        pair("file", one.path && el("code", {}, one.path)), meta.map(([name, value]) => pair(name, el("code", {}, plain(value)))),
        Object.entries(one.fields || {}).map(([name, value]) => pair(name, el("code", {}, value))))),
  ].flat(Infinity).filter(Boolean)
}

function remarks(shown) {
  const told = [...shown.remarks, ...shown.loops.map(loop => [loop.at, cost(loop)])].sort((one, other) => one[0] - other[0])
  told.push(...shown.entries.map(entry => [-1, use(entry)]))
  if (!told.length) return ""
  return el("ul", {class: "remarks small"}, told.map(([at, text]) => el("li", {},
    at >= 0 ? [el("button", {class: "line", onclick: () => pin(at)}, `line ${shown.places[at][1]}`), ` ${text}`] : text)))
}

function cost(loop) {
  const each = (number, what) => loop.elements ? `, ${(number / loop.elements).toPrecision(3)} ${what} an element` : ""
  const classes = Object.entries(loop.classes).sort((one, other) => other[1] - one[1]).map(([name, number]) => `${number} ${name}`)
  return `${several(loop.total, "instruction")} a turn${each(loop.total, "")} (${classes.join(", ")})`.replace("  ", " ")
    + (loop.cycles ? `; ${loop.cycles.toPrecision(3)} cycles a turn on ${loop.by}${each(loop.cycles, "")}`.replace("  ", " ") : "")
}

function use(entry) {
  const spills = entry.spill_stores + entry.spill_loads
  return `${entry.name}: ${entry.block} threads, ${entry.registers} registers, ${bytes(entry.shared)} of shared memory, `
    + (spills ? `${bytes(spills)} of spills a thread` : "no spills") + (entry.warps === null || !entry.most_warps ? ""
    : `; ${entry.warps} of ${entry.most_warps} warps at once (${Math.round(100 * entry.warps / entry.most_warps)}%, by ${entry.limit})`)
}

let pin = () => {}

function columns(shown) {
  const numbers = new Map(shown.places.map(([file, line], k) => [`${file}:${line}`, k]))
  const last = shown.stages[shown.stages.length - 1], used = new Map()
  for (const at of last.at) used.set(at, (used.get(at) || 0) + 1)
  const rows = new Map()  // place → its lines in every column
  const line = (number, text, at) => {
    const made = el("span", {class: "row"}, el("i", {}, number), text || " ")
    if (at !== undefined && at >= 0) {
      made.dataset.at = at
      made.style.setProperty("--hue", at * 137.5 % 360)
      rows.has(at) ? rows.get(at).push(made) : rows.set(at, [made])
    }
    return made
  }
  const blocks = made => {  // of so many lines that the browser can leave out those that are not seen
    const found = []
    for (let k = 0; k < made.length; k += 100) found.push(el("div", {}, made.slice(k, k + 100)))
    return found
  }
  const all = [{
    name: "declared", title: "declared", notes: [], problem: "",
    text: el("div", {class: "text"}, shown.files.map(([path, lines], file) => [el("span", {class: "file"}, path),
      ...blocks(lines.map(([number, text]) => {
        const at = numbers.get(`${file}:${number}`), made = line(number, text, at)
        if (used.get(at)) made.title = `${several(used.get(at), "line")} of ${last.stage}`
        return made
      }))])),
  }, ...shown.stages.map(stage => ({
    name: stage.stage, title: stage.title, notes: stage.notes, problem: stage.problem,
    text: el("div", {class: "text"}, stage.text ? blocks(stage.text.split("\n").map((text, k) => line(k + 1, text, stage.at[k]))) : ""),
  }))]
  const made = all.map(one => el("section", {class: "column", "data-stage": one.name}, el("h3", {title: one.title}, one.name,
    one.title !== one.name ? el("span", {class: "dim"}, `  ${one.title}`) : ""),
  one.problem ? el("p", {class: "failed small"}, one.problem) : one.text, one.notes.map(note => el("p", {class: "dim small"}, note))))
  const open = new Set(all.map(one => one.name).filter(name => name !== "llvm"))
  const narrow = matchMedia("(max-width: 700px)").matches
  if (narrow) { open.clear(); open.add("declared"); open.add(last.stage) }
  const show = () => made.forEach((column, k) => {
    column.hidden = !open.has(all[k].name)
    column.style.display = column.hidden ? "none" : ""
  })
  const buttons = all.map(one => el("button", {class: "stage", "aria-pressed": String(open.has(one.name)), onclick: event => {
    open.has(one.name) ? open.delete(one.name) : open.add(one.name)
    event.currentTarget.setAttribute("aria-pressed", String(open.has(one.name)))
    show()
  }}, one.name))
  show()
  const grid = el("div", {class: "columns"}, made)
  let lit = [], pinned = []
  const light = at => {
    for (const one of lit) one.classList.remove("hit")
    lit = rows.get(at) || []
    for (const one of lit) one.classList.add("hit")
  }
  const of = event => { const found = event.target.closest("[data-at]"); return found ? Number(found.dataset.at) : -1 }
  pin = (at, from) => {
    for (const one of pinned) one.classList.remove("pin")
    pinned = rows.get(at) || []
    for (const one of pinned) one.classList.add("pin")
    const columns = new Set()
    for (const one of pinned) {
      const text = one.closest(".text")
      if (columns.has(text) || text.parentElement.hidden) continue
      columns.add(text)
      if (text !== from) text.scrollTop += one.getBoundingClientRect().top - text.getBoundingClientRect().top - text.clientHeight / 3
    }
  }
  grid.onmouseover = event => light(of(event))
  grid.onmouseleave = () => light(-1)
  grid.onclick = event => { const at = of(event); if (at >= 0 && !String(getSelection())) pin(at, event.target.closest(".text")) }
  return [el("div", {class: "tools", style: "position: static"}, buttons, el("span", {class: "dim small"}, "Click on a line to see what becomes of it.")), grid]
}

function route() {
  const name = new URLSearchParams(location.hash.slice(1)).get("kernel")
  if (name === null) return overview()
  if (main.className !== "wide") view.scroll = scrollY
  return detail(name)
}

themed(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")
matchMedia("(prefers-color-scheme: dark)").onchange = event => themed(event.matches ? "dark" : "light")
unpacked(document.getElementById("whole")).then(data => { whole = data; onhashchange = route; return route() })
  .then(() => { document.documentElement.dataset.ready = "yes" })
