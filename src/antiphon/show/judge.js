"use strict";
// Texts are only ever put into the page as texts (textContent), never as markup.
const at = (id) => document.getElementById(id);
const SCALES = [
  ["adequacy", "Meaning: 1 none of it, 5 all", 5],
  ["fluency", "Language: 1 unreadable, 5 flawless", 5],
  ["rank", "Rank: 1 is best", 0],
];
let judge = "";
let sheet = null;
let last = 0;

const make = (name, properties, ...children) => {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
};

async function ask(address, options) {
  const answer = await fetch(address, options);
  const content = await answer.json();
  if (!answer.ok) throw new Error(content.error);
  return content;
}

function say(problem) {
  at("problem").textContent = problem;
}

function group(place, [key, title, most], chosen) {
  const choices = make("div", { className: "choices" });
  for (let value = 1; value <= most; value++) {
    const name = `${key}-${place}`;
    const input = make("input", { type: "radio", name, value: String(value), checked: value === chosen });
    input.setAttribute("aria-label", `${title}: ${value}`);
    choices.append(make("label", {}, input, make("span", { textContent: String(value), ariaHidden: "true" })));
  }
  return make("fieldset", {}, make("legend", { textContent: title }), choices);
}

function show(state) {
  sheet = state.sheet;
  at("enter").hidden = true;
  at("bar").max = state.pairs;
  at("bar").value = state.done;
  at("count").textContent = `${state.done} of ${state.pairs} judged`;
  at("finished").hidden = sheet !== null;
  at("sheet").hidden = sheet === null;
  say("");
  if (sheet === null) {
    last = state.pairs;
    return;
  }
  last = sheet.number;
  at("back").disabled = sheet.number === 0;
  at("source").textContent = sheet.source;
  at("reference-part").hidden = sheet.reference === null;
  at("reference").textContent = sheet.reference ?? "";
  at("answers").replaceChildren(...sheet.answers.map((text, place) => {
    const scales = SCALES.map(([key, title, most]) => [key, title, most || sheet.answers.length]);
    const marks = sheet.marks[place] ?? [];
    return make("li", {},
      make("h2", { textContent: `Answer ${place + 1}` }),
      make("p", { className: "text", dir: "auto", textContent: text || "(no answer)" }),
      make("div", { className: "groups" }, ...scales.map((scale, number) => group(place, scale, marks[number]))));
  }));
  window.scrollTo(0, 0);
  focusOn(0);
}

const groups = () => [...at("answers").querySelectorAll("fieldset")];

function focusOn(number) {
  const next = groups()[number];
  if (next) (next.querySelector("input:checked") ?? next.querySelector("input")).focus();
  else at("save").focus();
}

const go = (number) => ask(`/sheet?${new URLSearchParams({ judge, ...(number === undefined ? {} : { number }) })}`)
  .then(show).catch((problem) => say(problem.message));

at("enter").addEventListener("submit", (event) => {
  event.preventDefault();
  judge = at("name").value.trim();
  if (judge) go();
});

at("sheet").addEventListener("submit", (event) => {
  event.preventDefault();
  const missing = groups().filter((one) => !one.querySelector("input:checked"));
  groups().forEach((one) => one.classList.toggle("missing", missing.includes(one)));
  if (missing.length) {
    say("Some marks are missing.");
    missing[0].querySelector("input").focus();
    return;
  }
  const value = (key, place) => Number(document.querySelector(`input[name="${key}-${place}"]:checked`).value);
  const marks = sheet.answers.map((_, place) => Object.fromEntries(SCALES.map(([key]) => [key, value(key, place)])));
  const body = JSON.stringify({ judge, number: sheet.number, marks });
  ask("/marks", { method: "POST", headers: { "Content-Type": "application/json" }, body })
    .then(show).catch((problem) => say(problem.message));
});

at("sheet").addEventListener("keydown", (event) => {
  const input = event.target.closest("input[type=radio]");
  if (!input || event.ctrlKey || event.metaKey || event.altKey || !/^[1-9]$/.test(event.key)) return;
  const chosen = document.querySelector(`input[name="${input.name}"][value="${event.key}"]`);
  if (!chosen) return;
  event.preventDefault();
  chosen.checked = true;
  focusOn(groups().indexOf(chosen.closest("fieldset")) + 1);
});

at("back").addEventListener("click", () => go(last - 1));
at("again").addEventListener("click", () => go(last - 1));
