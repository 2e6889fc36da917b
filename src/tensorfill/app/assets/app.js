"use strict";
// One page, five stages: start -> (columns) -> look -> run -> result. The server says what is in a file; here it is shown.
const $ = (id) => document.getElementById(id);
const STAGES = ["start", "columns", "look", "run", "result"];
let file = null;      // what the server said about the file
let news = null;      // the stream of a run
let masked = null;    // the name of a mask that the server holds
let sent = null;      // the strokes that were sent last

// --- helpers ---------------------------------------------------------------------------------------------------------
function show(stage, focus) {
  for (const s of STAGES) $(s).hidden = s !== stage;
  $("again").hidden = stage === "start";
  if (focus) $(focus).focus({ preventScroll: true });
  window.scrollTo(0, 0);
}

function problem(text) {
  const box = $("problem");
  box.textContent = text || "";
  box.hidden = !text;
  if (text) box.scrollIntoView({ block: "nearest" });
}

function element(tag, text, kind) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (kind) e.className = kind;
  return e;
}

function fillList(list, texts) {
  list.replaceChildren(...(texts || []).map((t) => element("li", t)));
}

async function ask(path, options) {
  let response;
  try {
    response = await fetch(path, { method: "POST", ...options });
  } catch {
    throw { error: "the server does not answer: is tensorfill app still running?" };
  }
  const answer = await response.json().catch(() => ({ error: `the server answered ${response.status}` }));
  if (!response.ok) throw answer;
  return answer;
}

const asJson = (given) => ({ body: JSON.stringify(given) });
const place = (rest) => `files/${file.key}/${rest}`;
const percent = (share) => (share > 0 && share < 0.001 ? "less than 0.1 %" : `${(100 * share).toFixed(1)} %`);
const count = (n) => n.toLocaleString("en");

function plural(n, one, many) { return n === 1 ? `1 ${one}` : `${count(n)} ${many}`; }

function clock(seconds) {
  const s = Math.max(0, Math.round(seconds));
  return `${Math.floor(s / 60)}:${String(s % 60).padStart(2, "0")}`;
}

// --- start -----------------------------------------------------------------------------------------------------------
async function upload(chosen) {
  if (!chosen) return;
  problem();
  leave();
  show("start");
  $("reading").hidden = false;
  $("reading").textContent = `Reading ${chosen.name}`;
  try {
    looked(await ask(`files?name=${encodeURIComponent(chosen.name)}`, { body: chosen }));
  } catch (answer) {
    if (answer.columns) askColumns(answer);
    else problem(answer.error);
  }
  $("reading").hidden = true;
}

function leave() {
  if (news) news.close();
  if (file) navigator.sendBeacon(place("close"));
  file = news = masked = sent = null;
}

function askColumns(answer) {
  file = { key: answer.key };
  problem(answer.error);
  $("dims").replaceChildren(...answer.columns.map((name, k) => {
    const label = element("label");
    const box = Object.assign(element("input"), { type: "checkbox", value: name, checked: k < answer.columns.length - 1 });
    label.append(box, name);
    return label;
  }));
  $("value").replaceChildren(...answer.columns.map((name) => new Option(name, name)));
  $("value").value = answer.columns.at(-1);
  show("columns");
}

$("columns-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const dims = [...$("dims").querySelectorAll("input:checked")].map((box) => box.value);
  await again({ dims, value: $("value").value });
});
$("as-matrix").addEventListener("click", () => again({}));

// --- look ------------------------------------------------------------------------------------------------------------
// Read the file again with what was said about it.
async function again(given) {
  problem();
  try {
    looked(await ask(place("look"), asJson(given)));
  } catch (answer) {
    problem(answer.error);
  }
}

const FIELDS = ["effort", "prior", "method", "rank", "seed"];

function looked(answer) {
  file = { ...file, ...answer };
  masked = answer.mask;
  sent = null;
  $("look-title").textContent = file.name;
  $("look-lead").textContent = leadWords();
  showQuestions();
  fillList($("notes"), file.notes);
  fillList($("lines"), file.lines);
  showPeek();
  const board = $("board");
  board.classList.toggle("flat", !file.paint);
  $("given").src = place(`pictures/given.png?${Date.now()}`);
  $("given").alt = file.paint ? `The picture ${file.name}` : `Known entries of ${file.name}, as colours; missing ones are grey`;
  $("paint-tools").hidden = $("canvas").hidden = !file.paint;
  if (file.paint) paint.open(file.shape[1], file.shape[0]);
  $("missing").value = file.chosen.missing_value ?? "";
  showPainted();
  show("look", "look-title");
}

function leadWords() {
  const what = file.kind.replace(/^an? /, "");
  const size = file.shape.map((n, k) => (file.picture ? n : `${file.dims[k]} ${n}`)).join(" × ");
  return `${what[0].toUpperCase()}${what.slice(1)}, ${size}`;
}

function showFacts() {
  const painted = file.paint ? paint.share() : 0;
  const rows = [
    ["Entries", count(file.entries)],
    ["Missing", file.missing ? `${count(file.missing)} (${percent(file.share)})` : painted ? `${percent(painted)}, painted over` : "none yet", file.missing || painted ? "many" : ""],
    ["Numbers", `${file.picture ? "brightness" : file.numbers}, ${file.range[0]} to ${file.range[1]}`],
    ["Stored as", file.dtype],
  ];
  if (file.read_as) rows.push(["Read as", `${file.read_as.dims.join(" × ")} → ${file.read_as.value || "value"}`]);
  if (masked) rows.push(["Mask", masked]);
  $("facts").replaceChildren(...rows.flatMap(([k, v, kind]) => [element("dt", k), element("dd", v, kind)]));
}

function showQuestions() {
  const boxes = file.questions.map((q) => {
    const box = element("div", undefined, "question");
    const yes = Object.assign(element("button", "Yes, missing"), { type: "button" });
    yes.addEventListener("click", () => (q.mask ? sendMask({ query: `name=${q.mask}` }) : again({ ...file.chosen, ...q.set })));
    box.append(element("span", q.text), yes);
    return box;
  });
  if (file.columns.length > 2) {
    const box = element("div", undefined, "question");
    const change = Object.assign(element("button", "Other columns"), { type: "button" });
    change.addEventListener("click", () => askColumns({ key: file.key, columns: file.columns }));
    box.append(element("span", `One row for each entry: ${file.read_as.dims.join(", ")} name it.`), change);
    boxes.push(box);
  }
  $("questions").replaceChildren(...boxes);
}

function showPeek() {
  const box = $("peek");
  box.replaceChildren();
  if (!file.peek) return;
  const { corner, rows, columns, cells, more } = file.peek;
  const table = element("table");
  const head = element("tr");
  head.append(element("th", corner), ...columns.map((c) => element("th", c)), ...(more[1] > 0 ? [element("th", `+ ${count(more[1])}`)] : []));
  table.append(Object.assign(element("caption", `First rows of ${file.name}`), { className: "sr" }), head);
  cells.forEach((line, k) => {
    const row = element("tr");
    row.append(element("th", rows[k]), ...line.map((c) => element("td", c ?? "missing", c === null ? "gone" : "")));
    table.append(row);
  });
  box.append(table);
  if (more[0] > 0) box.append(element("p", `and ${plural(more[0], "row", "rows")} more`, "soft"));
}

// --- masks -----------------------------------------------------------------------------------------------------------
const paint = new Paint($("canvas"), $("ring"), showPainted);

function showPainted() {
  if (!file) return;
  const share = file.paint ? paint.share() : 0;
  $("undo").disabled = $("clear").disabled = !paint.strokes.length;
  $("width").value = Math.round(paint.diameter);
  $("painted").textContent = !file.paint ? `${file.shape.length > 2 ? "One slice, each" : "Each"} entry as a colour, from low (dark) to high (bright); missing ones are grey.` : share ? `${percent(share)} of the picture painted over` : file.missing ? "" : "Paint over what is to be replaced.";
  showFacts();
  const gaps = file.missing > 0 || share > 0;
  $("fill").disabled = !gaps;
  $("fill-why").textContent = gaps ? "" : file.paint ? "Nothing is missing yet: paint over the picture" : "Nothing is missing: say which value means missing, or give a mask";
}

$("brush").addEventListener("click", () => tool(false));
$("eraser").addEventListener("click", () => tool(true));
function tool(erasing) {
  paint.erasing = erasing;
  $("brush").setAttribute("aria-pressed", String(!erasing));
  $("eraser").setAttribute("aria-pressed", String(erasing));
}
$("width").max = 200;
$("width").addEventListener("input", () => { paint.diameter = Number($("width").value); });
$("undo").addEventListener("click", () => paint.undo());
$("clear").addEventListener("click", () => paint.clear());
$("mask-choose").addEventListener("click", () => $("mask-file").click());
$("mask-file").addEventListener("change", () => {
  const chosen = $("mask-file").files[0];
  $("mask-file").value = "";
  if (chosen) sendMask({ query: `name=${encodeURIComponent(chosen.name)}`, body: chosen });
});

async function sendMask({ query, body }) {
  problem();
  try {
    looked(await ask(place(`mask?${query}`), { body }));
  } catch (answer) {
    problem(answer.error);
  }
}

// What was painted goes to the server when the run starts; what is missing in the file stays missing.
async function sendPainted() {
  const now = JSON.stringify(paint.strokes);
  if (!file.paint || (sent === now) || (paint.empty && sent === null)) return;
  const answer = paint.empty
    ? await ask(place("mask"))
    : await ask(place("mask?name=painted.png&painted=1"), { body: await paint.mask() });
  masked = answer.mask;
  sent = now;
}

// --- run -------------------------------------------------------------------------------------------------------------
$("missing").addEventListener("change", () => again({ ...file.chosen, missing_value: $("missing").value.trim() || null }));

$("run-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  problem();
  const given = Object.fromEntries(FIELDS.map((name) => [name, $(name).value]));
  for (const name of ["rank", "seed"]) given[name] = given[name] === "" ? null : Number(given[name]);
  given.error_bars = $("bars").checked;
  $("fill").disabled = true;
  try {
    await sendPainted();
    await ask(place("run"), asJson(given));
  } catch (answer) {
    problem(answer.error);
    showPainted();
    return;
  }
  watch();
});

function watch() {
  $("now-box").hidden = $("live").hidden = true;
  $("tries").replaceChildren();
  $("stop").disabled = false;
  $("stop").textContent = "Stop and keep the best so far";
  progress({ seconds: 0 });
  show("run", "run-title");
  news = new EventSource(place("events"));
  news.onmessage = (event) => {
    const status = JSON.parse(event.data);
    if (status.state === "running") return progress(status);
    news.close();
    if (status.state === "done") return finished(status);
    problem(status.sentence || "the run did not end well");
    showPainted();
    show("look", "look-title");
  };
  news.onerror = () => { if (news.readyState === EventSource.CLOSED) { problem("the server does not answer: is tensorfill app still running?"); } };
}

// How much of the expected time is over; past it the bar creeps on without ever arriving.
function shareDone(seconds, expected) {
  const x = seconds / Math.max(expected || 1, 0.5);
  return x < 1 ? 0.85 * x : 0.85 + 0.13 * (1 - Math.exp(1 - x));
}

function progress(status) {
  const share = Math.round(100 * Math.max(shareDone(status.seconds, status.expected), 0.02));
  const meter = $("meter");
  meter.setAttribute("aria-valuenow", share);
  meter.firstElementChild.style.width = share + "%";
  const words = [];
  if (status.tried) words.push(`${plural(status.tried, "way", "ways")} of filling tried`);
  else if (status.iteration !== undefined) words.push(`Fit ${status.fit}, iteration ${status.iteration}`);
  if (typeof status.held_out === "number") words.push(`held-out error ${status.held_out.toPrecision(3)}`);
  else if (status.tries && status.tries.length) words.push(`held-out error ${(100 * status.tries[0].error).toFixed(1)} % of the spread`);
  $("run-words").textContent = words.join(" · ") || "Starting";
  const left = (status.expected || 0) - status.seconds;
  $("run-clock").textContent = clock(status.seconds) + (left > 1 ? ` · about ${clock(left)} left` : "");
  if (status.picture && $("now").dataset.number !== String(status.picture)) {
    $("now").dataset.number = status.picture;
    $("now").src = place(`pictures/now.jpg?${status.picture}`);
    $("now-box").hidden = false;
  }
  if (status.tries && status.tries.length) showTries(status.tries);
}

function showTries(tries) {
  $("live").hidden = false;
  const most = Math.max(...tries.map((t) => Math.min(t.error, 1.5)), 0.01);
  $("tries").replaceChildren(...tries.map((t) => {
    const row = element("li");
    const track = element("span", undefined, "track");
    const bar = element("i");
    bar.style.width = Math.min(100, (100 * t.error) / most) + "%";
    track.append(bar);
    row.append(element("span", t.name), track, element("span", (100 * t.error).toFixed(1) + " %", "number"));
    return row;
  }));
}

$("stop").addEventListener("click", async () => {
  $("stop").disabled = true;
  $("stop").textContent = "Stopping …";
  try { await ask(place("stop")); } catch (answer) { problem(answer.error); }
});

// --- result ----------------------------------------------------------------------------------------------------------
async function finished(status) {
  $("format").replaceChildren();
  const stopped = status.stopped ? "Stopped. " : "";
  $("result-title").textContent = `${stopped}${plural(status.filled, status.unit, status.unit + "s")} filled in ${file.name}`;
  $("result-lead").textContent = `${status.quality} ${status.stopped ? "" : `It took ${status.seconds.toFixed(1)} s.`}`;
  fillList($("result-notes"), [...(status.good || status.stopped ? [] : [status.sentence]), ...status.notes]);
  offerFormats(status.formats);
  $("bars-file").hidden = !status.bars;
  $("mask-save").hidden = !status.mask;
  $("command").textContent = status.command;
  $("python").textContent = status.python;
  $("same-note").textContent = (status.mask ? `Save the mask as ${status.mask} beside the file. ` : "") + (status.stopped ? "The command and the lines go on to the end, where you stopped." : "The command and the lines give the very same numbers.");
  $("details").replaceChildren(element("p", "Drawing the result …", "soft drawing"));
  show("result", "result-title");
  const response = await fetch(place("details"));
  if (!response.ok) return $("details").replaceChildren(element("p", "The result could not be drawn; it can be downloaded all the same.", "soft"));
  $("details").innerHTML = await response.text(); // written by our own server, everything in it escaped
  compare($("details"));
  const more = await fetch(place("formats")); // which takes a while to find out
  if (more.ok) offerFormats((await more.json()).formats);
}

function offerFormats(formats) {
  const chosen = $("format").value;
  $("format").replaceChildren(...formats.map((f) => new Option(`${f.title.replace(/^an? /, "")} (${f.ending})`, f.name)));
  if (formats.some((f) => f.name === chosen)) $("format").value = chosen;
}

function download(what) {
  problem();
  fetch(place(`download/${what}`)).then(async (response) => {
    if (!response.ok) throw await response.json();
    const name = /filename\*?=(?:utf-8'')?"?([^";]+)/i.exec(response.headers.get("content-disposition") || "");
    const link = Object.assign(document.createElement("a"), {
      href: URL.createObjectURL(await response.blob()),
      download: name ? decodeURIComponent(name[1]) : what,
    });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  }).catch((answer) => problem(answer.error || "the server does not answer: is tensorfill app still running?"));
}

$("download-form").addEventListener("submit", (event) => { event.preventDefault(); download($("format").value); });
$("report").addEventListener("click", () => download("report"));
$("bars-file").addEventListener("click", () => download("error-bars"));
$("mask-save").addEventListener("click", () => download("mask"));
$("change").addEventListener("click", () => { problem(); showPainted(); show("look", "look-title"); });
for (const button of document.querySelectorAll(".copy")) {
  const words = button.textContent;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText($(button.dataset.copy).textContent);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = words; }, 1500);
  });
}

// --- begin -----------------------------------------------------------------------------------------------------------
$("choose").addEventListener("click", () => $("file").click());
$("file").addEventListener("change", () => { const chosen = $("file").files[0]; upload(chosen).finally(() => { $("file").value = ""; }); });
$("again").addEventListener("click", () => { problem(); leave(); show("start", "choose"); });
for (const kind of ["dragenter", "dragover"]) {
  window.addEventListener(kind, (event) => { event.preventDefault(); $("drop").classList.add("over"); });
}
window.addEventListener("dragleave", (event) => { if (!event.relatedTarget) $("drop").classList.remove("over"); });
window.addEventListener("drop", (event) => {
  event.preventDefault();
  $("drop").classList.remove("over");
  upload(event.dataTransfer.files[0]);
});
window.addEventListener("pagehide", leave);

async function offer() {
  const { priors, methods } = await (await fetch("choices")).json();
  $("prior").append(...priors.map(([name, words]) => new Option(`${name}: ${words}`, name)));
  $("method").replaceChildren(...methods.map(([name, words]) => new Option(name === "auto" ? "auto: by trying" : `${name}: ${words}`, name)));
}
offer();
