// Helpers to make elements. Nothing here parses HTML, so text of an order cannot become markup.

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

export function removeChildren(e) {
  while (e.firstChild) e.removeChild(e.firstChild);
  return e;
}

// setText leaves the document alone if nothing changes: the browser would compute the layout anew.
export function setText(e, text) {
  if (e.textContent !== text) e.textContent = text;
}

// randomID returns 128 random bits as text. (crypto.randomUUID needs HTTPS and a newer browser.)
export function randomID() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
}

// setting is stored in this browser, tabSetting for as long as the tab is open. In a browser that
// stores nothing, both return the fallback.
export const setting = settingIn(() => localStorage);
export const tabSetting = settingIn(() => sessionStorage);

function settingIn(storage) {
  return {
    get(name, fallback) {
      try {
        const v = storage().getItem("ticketrail." + name);
        return v === null ? fallback : v;
      } catch (e) {
        return fallback;
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
