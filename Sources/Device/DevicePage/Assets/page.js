"use strict";
// The page works without this script, too.
const byId = (id) => document.getElementById(id);

// The password belongs into the row of the chosen network.
let isPointer = false;
const setUpForm = () => {
  const [form, secret, password, open, show, name] = ["join", "secret", "password", "open", "show", "name"].map(byId);
  if (!form) return;
  const choose = (isByHand) => {
    const radio = form.querySelector("[name=network]:checked");
    secret.hidden = !radio;
    if (!radio) return;
    radio.parentElement.append(secret);
    name.required = radio.id === "other";
    password.required = !(name.required ? open.checked : radio.className);
    password.minLength = password.required ? radio.dataset.min || 8 : 0;
    if (isByHand && isPointer) (name.required ? name : password.required ? password : radio).focus();
  };
  form.onpointerdown = () => { isPointer = true; };
  form.onkeydown = () => { isPointer = false; };
  form.onchange = (event) => choose(event.target.name === "network");
  form.oninput = (event) => event.target.removeAttribute("aria-invalid");
  form.addEventListener("invalid", (event) => event.target.setAttribute("aria-invalid", "true"), true);
  show.parentElement.hidden = false;
  show.onchange = () => { password.type = show.checked ? "text" : "password"; };
  choose(false);
  form.querySelector("[aria-invalid]")?.focus();
};

// Replaces the part of a page that changes, unless the user has begun to fill in a form there.
let isTouched = false;
let heard = Date.now();
const look = async () => {
  const part = document.querySelector("[data-live]");
  if (!part) return;
  const path = part.dataset.live;
  try {
    if (!document.hidden) {
      const answer = await fetch(path + "?live", { cache: "no-store", signal: AbortSignal.timeout(4000) });
      const text = await answer.text();
      heard = Date.now();
      if (answer.ok) {
        const fresh = new DOMParser().parseFromString(text, "text/html").getElementById(part.id);
        if (!fresh) return location.replace(path);
        const isBusy = isTouched || part.contains(document.activeElement) || part.querySelector(":checked, [open]");
        if (!isBusy && fresh.innerHTML !== part.innerHTML) {
          part.replaceWith(fresh);
          setUpForm();
          document.dispatchEvent(new Event("fresh"));
        }
      }
    }
  } catch {
    // The device is unreachable. Retry until it answers.
  }
  setTimeout(look, path === "/status" ? 5000 : 1500);
};
document.oninput = () => { isTouched = true; };

const began = Date.now();
const elapsed = document.querySelector("#elapsed bdi");
if (elapsed) {
  const before = Number(elapsed.textContent);
  setInterval(() => {
    elapsed.textContent = before + Math.floor((Date.now() - began) / 1000);
    byId("silent").hidden = Date.now() - heard < 15000;
  }, 1000);
}
setUpForm();
look();
