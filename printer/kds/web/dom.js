// The few ways in which this page makes elements. Text is always text: nothing here parses HTML.

export function el(tag, props, ...children) {
  const e = document.createElement(tag);
  for (const name of Object.keys(props || {})) {
    const v = props[name];
    if (v === undefined || v === null || v === false) continue;
    if (name === "class") e.className = v;
    else if (name === "text") e.textContent = v;
    else if (name === "on") for (const type of Object.keys(v)) e.addEventListener(type, v[type]);
    else if (name === "data") for (const key of Object.keys(v)) e.dataset[key] = v[key];
    else e.setAttribute(name, v === true ? "" : v);
  }
  for (const c of children) if (c) e.append(c);
  return e;
}

export const byId = (id) => document.getElementById(id);

export function empty(e) {
  while (e.firstChild) e.removeChild(e.firstChild);
  return e;
}

// setText leaves the document alone when nothing changes.
export function setText(e, text) {
  if (e.textContent !== text) e.textContent = text;
}

// random is letters that nobody else has. (crypto.randomUUID needs HTTPS and a newer browser.)
export function random() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
}

// kept is a setting of this tablet, keptByTab what is true as long as its tab is open. A browser
// that keeps nothing has the default.
export const kept = keeper(() => localStorage);
export const keptByTab = keeper(() => sessionStorage);

function keeper(storage) {
  return {
    get(name, otherwise) {
      try {
        const v = storage().getItem("ticketrail." + name);
        return v === null ? otherwise : v;
      } catch (e) {
        return otherwise;
      }
    },
    set(name, value) {
      try {
        storage().setItem("ticketrail." + name, value);
      } catch (e) {
        /* it lasts until the page is loaded again */
      }
    },
  };
}
