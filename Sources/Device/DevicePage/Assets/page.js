"use strict";
// The page works without this script, too.
const show = document.getElementById("show");
if (show) {
  show.parentElement.hidden = false;
  show.addEventListener("change", () => {
    document.getElementById("password").type = show.checked ? "text" : "password";
  });
}
const { live, next } = document.body.dataset;
if (live) {
  const phase = document.getElementById("phase");
  const look = async () => {
    try {
      const answer = await fetch(live, { cache: "no-store", signal: AbortSignal.timeout(4000) });
      if (answer.status === 404) return location.replace("/");
      const progress = await answer.json();
      if (progress.done) return location.replace(next);
      if (phase.textContent !== progress.text) phase.textContent = progress.text;
    } catch {
      // The device is unreachable. Retry until it answers.
    }
    setTimeout(look, 700);
  };
  look();
}
