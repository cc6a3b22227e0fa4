// The page at "/": jobs, measures and models of one server, kept up to date by its event stream.
"use strict";

const jobs = new Map(); // by id
let chosen = location.hash.slice(1) || null; // id of the job whose measures are shown
let shownSheet = null; // id of the job whose sheet is in the picture

const at = (id) => document.getElementById(id);

function cell(row, text, classes) {
  const out = row.insertCell();
  out.textContent = text ?? "";
  if (classes) out.className = classes;
  return out;
}

function button(parent, text, act) {
  const out = document.createElement("button");
  out.textContent = text;
  out.addEventListener("click", (event) => { event.stopPropagation(); act(); });
  parent.append(out);
}

// A request with this tab's token, where the server wants one: it is asked for once, and again when
// the server does not know it.
let asking = null;
async function get(path, options = {}) {
  const token = sessionStorage.getItem("token");
  const headers = {...options.headers, ...(token ? {Authorization: `Bearer ${token}`} : {})};
  const answer = await fetch(path, {...options, headers});
  if (answer.status !== 401) return answer;
  asking ??= askToken(token).finally(() => { asking = null; });
  await asking;
  return get(path, options);
}

function askToken(refused) {
  return new Promise((resume) => {
    const form = at("login");
    if (sessionStorage.getItem("token") !== refused) return resume(); // another request has asked
    form.hidden = false;
    at("refused").textContent = refused ? "The server does not know this token." : "This server wants a token.";
    at("token").focus();
    form.onsubmit = (event) => {
      event.preventDefault();
      sessionStorage.setItem("token", at("token").value.trim());
      at("token").value = "";
      form.hidden = true;
      resume();
    };
  });
}

// A link cannot send a token: what it leads to is fetched, and opened from memory.
async function openLink(event, path) {
  if (!sessionStorage.getItem("token")) return;
  event.preventDefault();
  const answer = await get(path);
  if (!answer.ok) return say(`${answer.status} ${answer.statusText}`);
  const url = URL.createObjectURL(await answer.blob());
  window.open(url);
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}

async function ask(method, path, body, type) {
  const headers = type ? {"Content-Type": type} : {};
  const answer = await get(path, {method, body, headers});
  const text = await answer.text();
  let value = null;
  try { value = text ? JSON.parse(text) : null; } catch { /* a proxy's own page */ }
  if (!answer.ok) throw new Error(value?.detail ?? `${answer.status} ${answer.statusText}`);
  return value;
}

function say(text) { at("said").textContent = text; }

const number = (value) => value === null || value === undefined ? "" :
  Math.abs(value) >= 1e-3 && Math.abs(value) < 1e5 ? value.toPrecision(4) : value === 0 ? "0" : value.toExponential(2);

// --- jobs ---

function measure(job, name) {
  const rows = (job.measures ?? []).filter((row) => row.name === name);
  return (rows.find((row) => row.target === "*") ?? rows[0])?.value;
}

// The bounds of a measure, where the job has a gate on it: green inside, red outside.
function judged(job, name, value) {
  const gate = job.job?.gates?.[name];
  if (!gate || value === null || value === undefined) return "number";
  const fits = (gate.max == null || value <= gate.max) && (gate.min == null || value >= gate.min);
  return fits ? "number in" : "number out";
}

function drawJob(body, job) {
  const row = body.insertRow();
  row.classList.toggle("chosen", job.id === chosen);
  row.addEventListener("click", () => choose(job.id));
  const name = cell(row, job.name ? job.name + " " : "");
  const id = document.createElement("span");
  id.className = "id";
  id.textContent = job.id.slice(0, 12) + "…";
  id.title = job.id;
  name.append(id);
  for (const [key, value] of Object.entries(job.tags ?? {})) {
    const tag = document.createElement("span");
    tag.className = "tag";
    tag.textContent = `${key}: ${value}`;
    name.append(tag);
  }
  cell(row, job.state + (job.cached ? " (cached)" : job.position ? ` (${job.position})` : ""), "state " + job.state);
  const bar = document.createElement("progress");
  bar.value = job.progress;
  cell(row).append(bar);
  cell(row, `${job.frames} / ${job.frame_count}`, "number");
  for (const what of ["stretch.p99", "stretch.max"]) {
    const value = measure(job, what);
    cell(row, number(value), judged(job, what, value));
  }
  cell(row, job.passed === null ? "" : job.passed ? "passed" : "not passed", job.passed ? "in" : "out");
  cell(row, job.seconds ? job.seconds.toFixed(2) : "", "number");
  const acts = cell(row);
  if (job.state === "queued" || job.state === "running") button(acts, "cancel", () => move(job.id, "cancel"));
  if (job.state === "failed" || job.state === "cancelled") button(acts, "retry", () => move(job.id, "retry"));
}

function draw() {
  const body = document.createElement("tbody");
  body.id = "jobs";
  const all = [...jobs.values()].sort((a, b) => (a.created < b.created ? 1 : -1));
  for (const job of all) drawJob(body, job);
  at("jobs").replaceWith(body);
  at("none").hidden = all.length > 0;
  const count = (state) => all.filter((job) => job.state === state).length;
  at("tally").textContent = `${count("running")} running, ${count("queued")} waiting, ${count("done")} done, ${count("failed")} failed`;
  drawDetail();
}

// At most one redraw for all the events of a moment.
let isDue = false;
function redraw() {
  if (isDue) return;
  isDue = true;
  setTimeout(() => { isDue = false; draw(); }, 100);
}

async function move(id, verb) {
  try { await ask("POST", `/v1/jobs/${id}/${verb}`); await fetchJob(id); } catch (error) { say(error.message); }
}

async function choose(id) {
  chosen = id;
  history.replaceState(null, "", "#" + id);
  at("detail").hidden = false;
  await fetchJob(id);
}

function drawDetail() {
  const job = jobs.get(chosen);
  at("detail").hidden = !job;
  if (!job) return;
  at("title").textContent = (job.name ? job.name + " – " : "") + job.id;
  at("error").textContent = job.error?.detail ?? job.reason ?? "";
  const links = at("links");
  links.replaceChildren();
  const base = `/v1/jobs/${job.id}`;
  const list = [["job", base], ["measures", base + "/measures"], ["frames", base + "/frames"]];
  if (job.state === "done") list.push(["GLB", base + "/export?format=glb"], ["sheet", base + "/sheet.png"]);
  for (const [text, path] of list) {
    const link = document.createElement("a");
    link.textContent = text;
    link.href = path;
    link.addEventListener("click", (event) => openLink(event, path));
    links.append(link);
  }
  const body = document.createElement("tbody");
  body.id = "measures";
  for (const row of job.measures ?? []) {
    const line = body.insertRow();
    cell(line, row.name);
    cell(line, row.simulation);
    cell(line, row.target);
    cell(line, number(row.value), judged(job, row.name, row.value));
    cell(line, row.unit);
  }
  at("measures").replaceWith(body);
  drawSheet(job);
}

async function drawSheet(job) {
  const picture = at("sheet");
  if (job.state !== "done") { picture.hidden = true; shownSheet = null; return; }
  if (shownSheet === job.id) return;
  shownSheet = job.id;
  picture.hidden = true;
  const answer = await get(`/v1/jobs/${job.id}/sheet.png`);
  if (!answer.ok || shownSheet !== job.id) return;
  if (picture.src) URL.revokeObjectURL(picture.src);
  picture.src = URL.createObjectURL(await answer.blob());
  picture.hidden = false;
}

async function fetchJob(id) {
  try { jobs.set(id, await ask("GET", `/v1/jobs/${id}`)); } catch { jobs.delete(id); }
  redraw();
}

async function fetchJobs() {
  const list = await ask("GET", "/v1/jobs?limit=100");
  jobs.clear();
  for (const job of list.items) jobs.set(job.id, job);
  draw();
  // the list has no canonical jobs, and with them no bounds to colour by
  for (const job of list.items) if (job.passed !== null || job.id === chosen) await fetchJob(job.id);
}

// --- models ---

async function bake(model) {
  const job = {model: model.id, name: model.name, animation: {procedural: "head_turn"},
    simulations: [{type: "chains"}], output: {channels: ["joints", "segments"]}};
  try {
    const made = await ask("POST", "/v1/jobs", JSON.stringify(job), "application/json");
    jobs.set(made.id, made);
    choose(made.id);
  } catch (error) { say(error.message); }
}

async function fetchModels() {
  const list = await ask("GET", "/v1/models?limit=100");
  const body = document.createElement("tbody");
  body.id = "models";
  for (const model of list.items) {
    const row = body.insertRow();
    const name = cell(row, (model.name || "(no name)") + " ");
    const id = document.createElement("span");
    id.className = "id";
    id.textContent = model.id.slice(0, 12) + "…";
    id.title = model.id;
    name.append(id);
    cell(row, model.format);
    cell(row, (model.size / 1048576).toFixed(1) + " MiB", "number");
    cell(row, new Date(model.created).toLocaleString());
    button(cell(row), "head turn", () => bake(model));
  }
  at("models").replaceWith(body);
}

async function upload() {
  const file = at("file").files[0];
  if (!file) return;
  say(`uploading ${file.name} …`);
  try {
    const name = encodeURIComponent(file.name.replace(/\.\w+$/, ""));
    const model = await ask("POST", `/v1/models?name=${name}`, file, "application/octet-stream");
    const warnings = model.summary.warnings.length;
    say(`${model.name}: ${model.format}${warnings ? `, ${warnings} warnings` : ""}`);
    await fetchModels();
  } catch (error) { say(error.message); }
  at("file").value = "";
}

// --- events, by fetch: an EventSource could not send tokens ---

function take(kind, data) {
  const job = jobs.get(data.job);
  if (kind === "asset") return void fetchModels();
  if (kind === "deleted") { jobs.delete(data.job); return redraw(); }
  if (kind === "state" || !job) return void fetchJob(data.job);
  if (kind === "progress") Object.assign(job, {progress: data.progress, frames: data.frame});
  if (kind === "measure") job.measures = data.measures;
  redraw();
}

async function follow() {
  const answer = await get("/v1/events?topics=jobs,measures,server");
  if (!answer.ok) throw new Error(answer.statusText);
  await Promise.all([fetchJobs(), fetchModels()]);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    // no word within two heartbeats: the line is dead though nobody said so
    const late = setTimeout(() => reader.cancel(), 35000);
    const {value, done} = await reader.read();
    clearTimeout(late);
    if (done) return;
    at("live").textContent = "live";
    at("live").className = "";
    text += value;
    const blocks = text.split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const field = Object.fromEntries(block.split("\n").filter((line) => line.includes(": ") && line[0] !== ":")
        .map((line) => [line.slice(0, line.indexOf(": ")), line.slice(line.indexOf(": ") + 2)]));
      if (field.event) take(field.event, JSON.parse(field.data));
    }
  }
}

async function start() {
  at("file").addEventListener("change", upload);
  for (;;) {
    try { await follow(); } catch { /* tried again below */ }
    at("live").textContent = "not connected";
    at("live").className = "stale";
    await new Promise((resume) => setTimeout(resume, 2000));
  }
}

start();
