// The live tail: rows that come while one looks. Everything else works without it.
"use strict";
(() => {
  const section = document.querySelector("[data-tail]");
  if (!section || !window.EventSource) return;
  const rows = section.querySelector("[data-tail-rows]");
  const state = section.querySelector("[data-tail-state]");
  const pause = section.querySelector("[data-tail-pause]");
  const most = 100;
  let dropped = 0; // by the server
  let waiting = 0; // came while paused
  let paused = false;

  const cell = (text, name) => {
    const td = document.createElement("td");
    if (name) td.className = name;
    td.textContent = text;
    return td;
  };
  const row = (e) => {
    const tr = document.createElement("tr");
    const at = cell("");
    const time = document.createElement("time");
    time.dateTime = e.stamp;
    time.textContent = e.at;
    if (e.page.startsWith("event?")) {
      const a = document.createElement("a");
      a.href = e.page;
      a.append(time);
      at.append(a);
    } else {
      at.append(time);
    }
    const post = cell("");
    if (/^https?:\/\//i.test(e.url)) {
      const a = document.createElement("a");
      a.href = e.url;
      a.rel = "noopener noreferrer nofollow";
      a.target = "_blank";
      a.textContent = e.text || "post";
      post.append(a);
    } else {
      post.textContent = e.text || "post";
    }
    tr.append(at, cell(e.late, "n"), cell((e.platform ? e.platform + ":" : "") + e.author), post, cell(e.for));
    return tr;
  };
  const say = (text) => { state.textContent = text; };
  const live = () => {
    let text = paused ? "Paused: " + waiting + " came meanwhile; they are not kept." : "Live.";
    if (dropped) text += " " + dropped + " events were left out, as they came faster than they could be shown.";
    say(text);
  };

  const source = new EventSource(section.dataset.tail);
  source.addEventListener("ready", live);
  source.addEventListener("item", (m) => {
    if (paused) {
      waiting++;
      live();
      return;
    }
    rows.prepend(row(JSON.parse(m.data)));
    while (rows.rows.length > most) rows.deleteRow(-1);
  });
  source.addEventListener("dropped", (m) => {
    dropped += Number(m.data);
    live();
  });
  source.addEventListener("error", () => {
    say(source.readyState === EventSource.CLOSED ? "Not live: reload the page." : "The connection is being made again.");
  });
  pause.hidden = false;
  pause.addEventListener("click", () => {
    paused = !paused;
    waiting = 0;
    pause.textContent = paused ? "Go on" : "Pause";
    live();
  });
})();
