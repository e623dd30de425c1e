// What pages do while they are open: times go on, buttons copy, events come. All else works without it.
"use strict";
(() => {
  const minute = 60, hour = 60 * minute, day = 24 * hour;
  // about is as the server has it.
  const about = (s) => {
    const two = (large, name, small, other) => {
      const rest = Math.floor((s % large) / small);
      return Math.floor(s / large) + "\u00a0" + name + (rest && other ? " " + rest + "\u00a0" + other : "");
    };
    if (s < minute) return Math.floor(s) + "\u00a0s";
    if (s < hour) return two(minute, "min", 1);
    if (s < 10 * hour) return two(hour, "h", minute, "min");
    if (s < 2 * day) return two(hour, "h", 1);
    return two(day, "d", 1);
  };
  const count = () => {
    for (const time of document.querySelectorAll("time[data-age]")) {
      const s = (Date.now() - Date.parse(time.dateTime)) / 1000;
      time.textContent = s >= 1 ? about(s) + " ago" : s > -1 ? "now" : "in " + about(-s);
    }
  };
  setInterval(count, 10_000);

  for (const button of document.querySelectorAll("[data-copy]")) {
    if (!navigator.clipboard) break;
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.querySelector(button.dataset.copy).textContent);
      button.textContent = "Copied";
    });
  }

  const section = document.querySelector("[data-tail]");
  if (!section || !window.EventSource) return;
  const rows = section.querySelector("[data-tail-rows]");
  const state = section.querySelector("[data-tail-state]");
  const pause = section.querySelector("[data-tail-pause]");
  const most = 100;
  let dropped = 0; // by the server
  let held = []; // came while paused, or while a row has the focus
  let paused = false;

  const make = (name, className, ...inside) => {
    const e = document.createElement(name);
    if (className) e.className = className;
    e.append(...inside);
    return e;
  };
  const link = (href, ...inside) => {
    const a = make("a", "", ...inside);
    a.href = href;
    return a;
  };
  const row = (e) => {
    const time = make("time", "", e.at.slice(11));
    time.dateTime = e.stamp;
    time.title = e.at + " UTC";
    const at = make("th", "nb half", e.page.startsWith("event?") ? link(e.page, time) : time);
    at.scope = "row";
    const late = make("td", "n", e.late);
    late.dataset.label = "Late by";
    let post = e.text || "post";
    if (/^https?:\/\//i.test(e.url)) {
      post = link(e.url, post);
      post.rel = "noopener noreferrer nofollow";
      post.target = "_blank";
    }
    return make("tr", "fresh", at, late,
      make("td", "whole", make("span", "cut m", make("bdi", "", (e.platform ? e.platform + ":" : "") + e.author)), make("span", "under cut m", "for ", make("bdi", "", e.for))),
      make("td", "whole fill", make("bdi", "lines", post)));
  };
  const show = () => {
    const waits = paused || section.contains(document.activeElement) && document.activeElement !== pause || document.querySelector(":popover-open");
    if (!waits) {
      for (const e of held) rows.prepend(row(e));
      held = [];
      while (rows.rows.length > most) rows.deleteRow(-1);
    }
    let text = waits && held.length ? held.length + " more wait." : paused ? "Paused." : "Live.";
    if (dropped) text += " " + dropped + " events were left out, as they came faster than they could be shown.";
    state.textContent = text;
  };
  const source = new EventSource(section.dataset.tail);
  source.addEventListener("ready", show);
  source.addEventListener("item", (m) => {
    held.push(JSON.parse(m.data));
    held = held.slice(-most);
    show();
  });
  source.addEventListener("dropped", (m) => {
    dropped += Number(m.data);
    show();
  });
  source.addEventListener("error", () => {
    state.textContent = source.readyState === EventSource.CLOSED ? "Not live: reload the page." : "The connection is being made again.";
  });
  section.addEventListener("focusout", () => setTimeout(show));
  pause.hidden = false;
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.textContent = paused ? "Go on" : "Pause";
    show();
  });
})();
