"use strict";
// One page, its stages: start -> (columns or variables) -> look -> run -> result. The server says what is in a file; here it is shown.
const $ = (id) => document.getElementById(id);
const STAGES = ["start", "columns", "variables", "look", "run", "result"];
let file = null;      // what the server said about the file
let news = null;      // the stream of a run
let masked = null;    // the name of a mask that the server holds
let sent = null;      // the strokes that were sent last, as JSON
let drawing = null;   // asks for the details of an answer, until the file is left
let dismissed = [];   // the questions that were answered with No

// The work survives a reload: the server keeps the file, this tab its key and the strokes painted on it.
function remember() {
  const kept = file ? { key: file.key, strokes: paint.strokes, sent, dismissed } : null;
  try { sessionStorage.setItem("work", JSON.stringify(kept)); } catch { /* storage is full or off */ }
}

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

// Sentences, which may begin with the name of the file.
function fillNotes(list, texts) {
  fillList(list, texts.map((t) => (t.startsWith(file.name) ? t : capital(t))));
}

const ENDED = "tensorfill app is no longer running. Start it again, and open the address that it prints.";

async function ask(path, options) {
  let response;
  try {
    response = await fetch(path, { method: "POST", ...options });
  } catch {
    throw { error: ENDED };
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

const capital = (text) => text[0].toUpperCase() + text.slice(1);

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
    const answer = await ask(`files?name=${encodeURIComponent(chosen.name)}`, { body: chosen });
    if (!answer.error) await looked(answer);
    else if (answer.columns) askColumns(answer);
    else askVariable({ ...answer, name: chosen.name });
  } catch (answer) {
    problem(answer.error);
  }
  $("reading").hidden = true;
}

function leave() {
  if (news) news.close();
  if (drawing) drawing.abort();
  if (file) navigator.sendBeacon(place("close"));
  file = news = masked = sent = null;
  dismissed = [];
  remember();
}

function askColumns(answer) {
  file = { ...file, key: answer.key };
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

function askVariable(answer) {
  file = { ...file, key: answer.key };
  problem();
  const word = /\.xls[xm]$/i.test(answer.name) ? "sheet" : "variable";
  $("variables-title").textContent = `Which ${word}?`;
  $("variable-label").textContent = capital(word);
  $("variable").replaceChildren(...answer.variables.map((name) => new Option(name, name)));
  if (file.chosen && file.chosen.variable) $("variable").value = file.chosen.variable;
  show("variables", "variable");
}

$("variables-form").addEventListener("submit", (event) => { event.preventDefault(); again({ variable: $("variable").value }); });
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
    await looked(await ask(place("read"), asJson(given)));
  } catch (answer) {
    problem(answer.error);
    if (file.chosen) $("missing").value = file.chosen.missing_value ?? "";
  }
}

const NUMBERS = ["rank", "seed", "horizon", "max_gap"];
const FIELDS = ["effort", "prior", "method", "time", "fold", ...NUMBERS];

async function looked(answer, work = { strokes: [], sent: null }) {
  file = { ...file, ...answer };
  masked = answer.mask;
  sent = work.sent;
  $("look-title").textContent = file.name;
  $("look-lead").textContent = leadWords();
  showQuestions();
  fillNotes($("notes"), file.notes);
  fillList($("lines"), file.lines);
  showPeek();
  $("strips").replaceChildren(...file.strips.map((name) => element("span", name)));
  $("time-fields").hidden = file.paint;
  if (file.paint) for (const name of ["horizon", "max_gap", "fold"]) $(name).value = "";
  const board = $("board");
  board.classList.toggle("flat", !file.paint);
  $("given").src = place(`pictures/${file.given}?${Date.now()}`);
  $("given").alt = file.paint ? `The picture ${file.name}` : `Known entries of ${file.name}, as colours; missing ones are grey`;
  $("paint-tools").hidden = $("canvas").hidden = !file.paint;
  await $("given").decode().catch(() => {});
  zoom.to(1);
  $("width").max = Math.max(60, Math.round(Math.max(...file.shape.slice(0, 2)) / 8));
  if (file.paint) paint.open(file.shape[1], file.shape[0], contrastingColour($("given")), work.strokes);
  $("missing").value = file.chosen.missing_value ?? "";
  $("time").replaceChildren(new Option("the one with dates", ""), ...file.dims.map((name) => new Option(name, name)));
  $("fold-hint").textContent = `${file.dims[0]}=24: every 24 steps; ${file.dims[0]}=day,hour: by dates`;
  showPainted();
  show("look", "look-title");
}

function leadWords() {
  const what = file.kind.replace(/^an? /, "");
  if (file.shape.length === 2 && file.dims[1] === "column") return `${capital(what)}, ${plural(file.shape[0], "row", "rows")}, ${plural(file.shape[1], "column", "columns")}`;
  const size = file.shape.map((n, k) => (file.picture ? n : `${file.dims[k]} ${n}`)).join(" × ");
  return `${capital(what)}, ${size}`;
}

function showFacts() {
  const painted = file.paint ? paint.share() : 0;
  const rows = [
    ["Entries", count(file.entries)],
    ["Missing", file.missing ? `${count(file.missing)} (${percent(file.share)})` : painted ? `${percent(painted)}, painted over` : "none yet", file.missing || painted ? "many" : ""],
    ...(file.kinds ? [["Columns", file.kinds]] : [
      ["Numbers", `${file.picture ? "brightness" : file.numbers}, ${file.range[0]} to ${file.range[1]}`],
      ["Stored as", file.dtype],
    ]),
  ];
  if (file.read_as) rows.push(["Read as", `${file.read_as.dims.join(" × ")} → ${file.read_as.value || "value"}`]);
  if (masked) rows.push(["Mask", masked]);
  $("facts").replaceChildren(...rows.flatMap(([k, v, kind]) => [element("dt", k), element("dd", v, kind)]));
}

const asked = () => file.questions.filter((q) => !dismissed.includes(q.text));
const both = (names) => `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;

function showQuestions() {
  const boxes = asked().map((q) => {
    const box = element("div", undefined, "question");
    const yes = Object.assign(element("button", "Yes"), { type: "button" });
    const no = Object.assign(element("button", "No"), { type: "button" });
    yes.addEventListener("click", () => (q.mask ? sendMask({ query: `name=${q.mask}` }) : again({ ...file.chosen, ...q.set })));
    no.addEventListener("click", () => { dismissed.push(q.text); remember(); showQuestions(); showPainted(); $("fill").focus(); });
    const answers = element("div", undefined, "answers");
    answers.append(yes, no);
    box.append(element("span", q.text), answers);
    return box;
  });
  const offer = (text, label, change) => {
    const box = element("div", undefined, "question");
    const button = Object.assign(element("button", label), { type: "button" });
    button.addEventListener("click", change);
    box.append(element("span", text), button);
    boxes.push(box);
  };
  if (file.columns.length > 2) offer(`Each row is one value; ${both(file.read_as.dims)} say where it belongs.`, "Other columns", () => askColumns(file));
  if (file.variables.length > 1) offer(`${file.chosen.variable}, one of ${file.variables.length} in this file.`, "Choose another", () => askVariable(file));
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
const zoom = new Zoom($("frame"), $("board"), showZoom);
const paint = new Paint($("canvas"), $("ring"), zoom, showPainted);

function showZoom() {
  const near = zoom.factor > 1;
  $("zoom-out").disabled = $("zoom-fit").disabled = !near;
  $("hand").disabled = !near;
  if (!near && paint.moving) tool("brush");
}
$("zoom-in").addEventListener("click", () => zoom.to(zoom.factor * 1.6));
$("zoom-out").addEventListener("click", () => zoom.to(zoom.factor / 1.6));
$("zoom-fit").addEventListener("click", () => zoom.to(1));

function heatWords() {
  const within = file.own_scales ? ` of its ${file.own_scales}` : "";
  return `${file.shape.length > 2 ? "One slice, each" : "Each"} entry as a colour, from the lowest (dark) to the highest value (bright)${within}; missing ones are grey.`;
}

function showPainted() {
  if (!file) return;
  remember();
  const share = file.paint ? paint.share() : 0;
  $("undo").disabled = $("clear").disabled = !paint.strokes.length;
  $("width").value = Math.round(paint.diameter);
  $("painted").textContent = !file.paint ? heatWords() : share ? `${percent(share)} of the picture painted over` : file.missing ? "" : "Paint over what should be replaced.";
  showFacts();
  const gaps = file.missing > 0 || share > 0 || Number($("horizon").value) > 0;
  $("fill").disabled = !gaps;
  $("fill-why").textContent = gaps ? "" : file.paint ? "Nothing is missing yet: paint over the picture" : asked().length ? "Nothing is missing yet: answer the question above" : "Nothing is missing: say under More options which value means missing, or choose a mask";
}

const TOOLS = ["brush", "eraser", "hand"];
for (const name of TOOLS) $(name).addEventListener("click", () => tool(name));
function tool(chosen) {
  paint.erasing = chosen === "eraser";
  paint.moving = chosen === "hand";
  $("canvas").classList.toggle("moving", paint.moving);
  $("ring").hidden = true;
  for (const name of TOOLS) $(name).setAttribute("aria-pressed", String(name === chosen));
}
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
    await looked(await ask(place(`mask?${query}`), { body }));
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
  remember();
}

// --- run -------------------------------------------------------------------------------------------------------------
$("missing").addEventListener("change", () => again({ ...file.chosen, missing_value: $("missing").value.trim() || null }));

$("horizon").addEventListener("input", showPainted);

$("run-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  problem();
  const given = Object.fromEntries(FIELDS.map((name) => [name, $(name).value]));
  for (const name of NUMBERS) given[name] = given[name] === "" ? null : Number(given[name]);
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
    problem(status.sentence || "the run failed");
    showPainted();
    show("look", "look-title");
  };
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
  if (status.tried) words.push(`${plural(status.tried, "method", "methods")} tried`);
  else if (status.iteration !== undefined) words.push(`Fit ${status.fit}, iteration ${status.iteration}`);
  if (typeof status.held_out === "number") words.push(`held-out error ${status.held_out.toPrecision(3)}`);
  else if (status.tries && status.tries.length) words.push(`best error ${(100 * status.tries[0].error).toFixed(1)} %`);
  $("run-words").textContent = words.join(" · ") || (status.seconds < 0.5 ? "Starting" : "Trying methods on known entries");
  $("run-clock").textContent = clock(status.seconds) + (status.left > 2 ? ` · about ${clock(status.left)} left` : "");
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
    row.append(element("span", t.name), track, element("span", t.error < 9.995 ? `${(100 * t.error).toFixed(1)} %` : "> 999 %", "number"));
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
  const stopped = status.stopped ? "Stopped. " : "";
  const done = status.ahead ? [`${plural(status.ahead, "step", "steps")} forecast`] : [];
  if (status.filled || !status.ahead) done.push(`${plural(status.filled, status.unit, status.unit + "s")} filled`);
  $("result-title").textContent = `${stopped}${done.join(", ")} in ${file.name}`;
  $("result-lead").textContent = `${status.quality} ${status.stopped ? "" : `It took ${status.seconds.toFixed(1)} s.`}`;
  fillNotes($("result-notes"), [...(status.good || status.stopped ? [] : [status.sentence]), ...status.notes]);
  $("format").replaceChildren(...status.formats.map((f) => new Option(`${f.title.replace(/^an? /, "")} (${f.ending})`, f.name)));
  $("bars-file").hidden = !status.bars;
  $("mask-save").hidden = !status.mask;
  $("command").textContent = status.command;
  $("python").textContent = status.python;
  $("same-note").textContent = (status.mask ? `Save the mask as ${status.mask} beside the file. ` : "") + (status.stopped ? "These run to the end, past the point where you stopped." : "Both give exactly the same numbers.");
  $("details").replaceChildren(element("p", "Drawing the result …", "soft drawing"));
  show("result", "result-title");
  drawing = new AbortController();
  const { signal } = drawing;
  try {
    const response = await fetch(place("details"), { signal });
    if (!response.ok) throw new Error("refused");
    $("details").innerHTML = await response.text(); // written by our own server, everything in it escaped
    compare($("details"));
  } catch {
    if (!signal.aborted) $("details").replaceChildren(element("p", "The result could not be drawn; it can be downloaded all the same.", "soft"));
  }
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
  }).catch((answer) => problem(answer.error || ENDED));
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
window.addEventListener("pagehide", () => { if (file) navigator.sendBeacon(place("leave")); });
window.addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.key !== "z" || $("look").hidden || event.target.matches("input, select")) return;
  event.preventDefault();
  paint.undo();
});

async function offer() {
  const { priors, methods } = await (await fetch("choices")).json();
  $("prior").append(...priors.map(([name, words]) => new Option(`${name}: ${words}`, name)));
  $("method").replaceChildren(...methods.map(([name, words]) => new Option(name === "auto" ? "automatic" : `${name}: ${words}`, name)));
}

// Is the server still there, and the file? The server learns in turn that this page is.
async function checkServer() {
  let answer;
  try {
    const response = await fetch(`alive?key=${file ? file.key : ""}`);
    answer = response.ok ? await response.json() : null;
  } catch { answer = null; }
  if (!answer) return problem(ENDED);
  if ($("problem").textContent === ENDED) problem();
  if (answer.open || !file) return;
  file = null;
  leave();
  show("start");
  problem("the file was closed, because nobody used it for long or others needed the room; open it again.");
}
setInterval(checkServer, 1500);

async function resume() {
  const work = JSON.parse(sessionStorage.getItem("work") || "null");
  if (!work) return;
  const response = await fetch(`files/${work.key}`);
  if (!response.ok) return;
  const { file: was, status } = await response.json();
  if (!was.key || file) return; // it was never read, or another one was opened meanwhile
  dismissed = work.dismissed;
  await looked(was, work);
  if (status.state === "running") watch();
  if (status.state === "done") await finished(status);
}
offer();
resume();
