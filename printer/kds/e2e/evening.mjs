// An evening in a kitchen: orders as different as they are.

import { cannedOrder } from "./canned.mjs";

const dishes = [
  "Margherita", "Wagyu burger", "Barramundi, lemon butter", "Fish & chips", "Caesar salad", "Pad Thai",
  "Chicken schnitzel", "Mushroom risotto", "Steak frites 300 g", "Kids pasta", "Chocolate fondant", "Crème brûlée",
];
const changes = [
  "no onions", "extra cheese", "gluten free base", "sauce on the side", "medium rare", "swap chips for salad",
];

// evening returns n open orders, the oldest first.
export function evening(n) {
  return Array.from({ length: n }, (_, i) => {
    const items = [];
    for (let j = 0; j <= (i * 7) % 5; j++) {
      const course = i % 3 ? "" : j ? "Mains" : "Starters";
      items.push({ name: dishes[(i * 5 + j * 3) % dishes.length], quantity: (i + j) % 4 ? "1" : "2", course });
      if ((i + j) % 3 === 0) items.push({ name: changes[(i + j) % 6], depth: 1, colour: i % 2 ? "red" : "" });
      if ((i + j) % 5 === 0)
        items.push({ name: changes[(i + j + 2) % 6], quantity: "2", depth: 1, notes: [{ text: "well done" }] });
    }
    const more = { age: Math.max(5, 640 - i * 53), courses: i % 3 ? [] : ["Starters", "Mains"] };
    if (i % 6 === 1) {
      items[0].notes = [{ text: "SESAME ALLERGY", alarm: true }];
      more.alarms = [{ text: "SESAME ALLERGY", job: 1, item: 0 }];
    }
    if (i % 6 === 3) more.ticket = { notes: [{ text: "birthday, candle please" }] };
    if (i === 4) {
      Object.assign(items[0], { void: true });
      more.voids = [{ job: 9000, clock: "19:40", lines: [items[0].name] }];
      more.must_ack_void = true;
    }
    if (i === 6) Object.assign(more, { table: "Priya", type: "Takeaway", dine_in: false });
    if (i === 7) more.also_at = ["bar", "pastry"];
    if (i === 8) more.rush = true;
    return cannedOrder(101 + i, items, more);
  });
}

// atThePass gives orders the parts that a pass knows.
export function atThePass(o, i) {
  const [ready, cancelled, held] = [1, 3, 2].map((n) => i % 5 === n);
  const part = (station, kind, state, told, more) => ({ station, title: station, kind, state, told, ...more });
  const parts = cancelled
    ? [part("hot-line", "screen", "gone", "voided")]
    : [
        part("hot-line", "screen", ready ? "done" : "open", ready ? "bumped" : "open", { left: 3 }),
        part("cold", "screen", ready || i % 2 ? "done" : "open", ready || i % 2 ? "bumped" : "open", { left: 2 }),
        part("bar", "paper", ready ? "ticked" : "out", "confirmed", {
          clock: "19:32", lines: [{ text: "1 Negroni" }, { text: "2 Flat white" }], ticked_at: ready ? 1 : 0,
        }),
        ...(held ? [part("grill", "paper", "held", "held")] : []),
      ];
  return { ...o, ready, cancelled, must_ack_void: false, parts };
}

// marked returns orders with every mark that a card can have, and so many plain ones that they are on more than one
// page. No letter of their data is Latin.
export function marked(plain = 50) {
  const unusual = {
    for: "7", down: "printer", refused_by: ["8"], duplicate: true, reprint: true, refire: true, no_route: true,
    paper: "9", added: true, clock: "19:40",
    notes: [
      { key: "replaces", text: "#1", clock: "19:31", part: 1, parts: 2, tickets: 3 },
      { key: "wanted", text: "20:00" }, { key: "wanted", text: "20:00", day: "2026-11-22" },
      { key: "later_void", text: "13", clock: "19:40", void: true }, { key: "later_voids", text: "", void: true },
      { key: "nothing_listed", text: "" }, { key: "late_refused", text: "魚", clock: "19:20" },
      { key: "more_unread", text: "3" }, { key: "was_on_screen", text: "" }, { key: "done_on_screen", text: "" },
    ],
  };
  const fish = [
    { name: "魚", seat: "2", course: "甲" }, { name: "肉", void: true, course: "乙" }, { name: "米", refire: true },
    { name: "菜", notes: [{ key: "may_cancel", text: "茶", void: true }], no_route: true, fire: Date.now() + 3600e3 },
  ];
  const read = { name: "魚", done: true, notes: [{ text: "花生", alarm: true }, { text: "米" }] };
  const alarm = { alarms: [{ text: "花生", job: 1 }], must_ack_alarm: true };
  const voids = [{ job: 90, clock: "19:40", lines: ["1 肉", "1 魚", "1 米", "1 菜"], bumped_clock: "19:05" }];
  const list = [
    cannedOrder(1, fish, { courses: ["甲", "乙"], ticket: unusual, bumped_clock: "19:10", also_at: ["7"], rush: true }),
    cannedOrder(2, ["魚"], { voids, must_ack_void: true }),
    cannedOrder(3, ["魚"], { ...alarm, age: 400 }),
    cannedOrder(4, [], { voids: [{ job: 91, clock: "19:41", changed: true, acked_at: 1 }] }),
    cannedOrder(5, [{ name: "魚", fire: -1 }]),
    cannedOrder(6, [read], { age: 900, alarms: alarm.alarms, alarm_acked_at: 1 }),
    cannedOrder(7, ["魚"], { number: "", kind: "test" }),
    cannedOrder(8, ["魚"], { number: "", table: "", kind: "slip" }),
    ...Array.from({ length: plain }, (_, i) => cannedOrder(9 + i, ["魚", "肉", "米"])),
    cannedOrder(60, ["魚"], { voids, must_ack_void: true }), cannedOrder(61, ["魚"], alarm),
    cannedOrder(62, ["魚"], { age: 900 }), cannedOrder(63, ["魚"], { ticket: { seen: 0, at: 1 } }),
    cannedOrder(64, [{ name: "魚", course: "#1 · Table 9 · 19:41 · Wanted 20:15 · 甲" }], {
      number: "", table: "", kind: "open_orders", place: 0,
    }),
  ];
  return list.map((o) => ({ ...o, server: "王", venue: "海", type: "堂" }));
}

// withParts gives orders a part in each state.
export function withParts(o, i) {
  const part = (station, kind, state, told, more) => ({ station, title: station, kind, state, told, ...more });
  const parts = [
    part("1", "screen", "open", "open", { left: 3 }), part("2", "screen", "done", "bumped", { clock: "19:41" }),
    part("3", "paper", "out", "confirmed", { clock: "19:32", at: "9", lines: [{ text: "2 茶" }, { void: true }] }),
    part("4", "display", "out", "taken"),
    part("5", "paper", "held", "held"), part("6", "paper", "expired", "expired"), part("7", "paper", "wait", "pending"),
    part("8", "paper", "gone", "sent", { void: true, clock: "19:33" }), part("9", "paper", "ticked", "dark"),
  ];
  return { ...o, parts, ready: i === 1, cancelled: i === 2, must_ack_alarm: false, must_ack_void: false };
}
