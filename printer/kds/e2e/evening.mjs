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
  const part = (station, kind, state, text, more) => ({ station, title: station, kind, state, text, ...more });
  const parts = cancelled
    ? [part("hot-line", "screen", "gone", "hot-line: cancelled")]
    : [
        part("hot-line", "screen", ready ? "done" : "open", "hot-line", { left: 3 }),
        part("cold", "screen", ready || i % 2 ? "done" : "open", "cold", { left: 2 }),
        part("bar", "paper", ready ? "made" : "out", "bar: on paper, confirmed 19:32, cannot know when it is made", {
          lines: ["1 Negroni", "2 Flat white"], ticked_at: ready ? 1 : 0,
        }),
        ...(held ? [part("grill", "paper", "held", "grill: HELD – call somebody")] : []),
      ];
  return { ...o, ready, cancelled, must_ack_void: false, parts };
}
