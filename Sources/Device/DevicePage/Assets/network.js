"use strict";
// Times as ages, with the time in the browser's zone as their title.
const tongue = document.documentElement.lang;
const ages = new Intl.RelativeTimeFormat(tongue, { numeric: "auto" });
const units = [[86400, "day"], [3600, "hour"], [60, "minute"], [1, "second"]];
const setUpTimes = () => {
  for (const element of document.querySelectorAll("time")) {
    const time = new Date(element.dateTime);
    const seconds = (Date.now() - time) / 1000;
    const [size, unit] = units.find(([size]) => seconds >= size) || units[3];
    element.title = time.toLocaleString(tongue);
    // A device or browser with a wrong clock has no ages.
    element.textContent = seconds < -60 ? element.title : ages.format(-Math.floor(Math.max(0, seconds) / size), unit);
  }
};
setUpTimes();
setInterval(setUpTimes, 30000);
document.addEventListener("fresh", setUpTimes);
