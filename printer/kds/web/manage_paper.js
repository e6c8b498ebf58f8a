// Draws a ticket as it would look on paper: every character in its column, in its size.

import { el } from "./dom.js";

export function paper({ columns, lines }, label) {
  const sheet = el("div", { class: "paper", role: "group", "aria-label": label });
  sheet.style.setProperty("--columns", columns);
  for (const line of lines) {
    if (line.qr) sheet.append(el("div", { class: "qr", text: "[QR]" }));
    const row = el("div", { class: "paperline" });
    row.style.height = line.height * 1.25 + "em";
    for (const s of line.spans) {
      const { width = 1, height = 1 } = s;
      const text = el("span", { text: s.text, dir: s.rtl && "rtl" });
      text.style.transform = width * height > 1 ? "scale(" + width + "," + height + ")" : "";
      const kind = (s.bold ? "bold " : "") + (s.invert ? "invert " : "") + (s.red ? "red" : "");
      const box = el("span", { class: kind }, text);
      box.style.width = s.columns * width + "ch";
      box.style.height = height * 1.25 + "em";
      row.append(box);
    }
    sheet.append(row);
  }
  return sheet;
}
