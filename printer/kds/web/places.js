// Fixed places: a card stays where it is until it is bumped, and a new one comes where there is room for it. A card
// whose height changes so that it does not fit any more gets another place.

export class Places {
  constructor(gap) {
    this.gap = gap;
    this.byKey = new Map(); // {column, top, columns}
  }

  // place finds where cards go. show(column, card, segments, top) is called for each; divide(card) returns the pieces
  // of a card, one for each column. Only the first of several begins at top.
  place(cards, height, perPage, divide, show) {
    this.forget(new Set(cards.map((c) => c.order.key)), perPage);
    const taken = []; // for each column: from where to where
    const ranges = (column, top, segments) =>
      segments.map((s, n) => ({ column: column + n, from: n ? 0 : top, to: (n ? 0 : top) + s.height + this.gap }));
    const isFree = ({ column, from, to }) =>
      to <= height + this.gap && !(taken[column] || []).some((t) => from < t.to && t.from < to);
    const take = (card, column, top, segments) => {
      const all = ranges(column, top, segments);
      if (!all.every(isFree)) return false;
      for (const r of all) (taken[r.column] = taken[r.column] || []).push(r);
      this.byKey.set(card.order.key, { column, top, columns: segments.length });
      show(column, card, segments, top);
      return true;
    };
    const fresh = cards.filter((card) => {
      const was = this.byKey.get(card.order.key);
      return !was || !take(card, was.column, was.top, divide(card));
    });
    for (const card of fresh) {
      const segments = divide(card);
      for (let column = 0, isPlaced = false; !isPlaced; column++) {
        const tops = [0, ...(taken[column] || []).map((t) => t.to).sort((a, b) => a - b)];
        isPlaced = tops.some((top) => take(card, column, top, segments));
      }
    }
  }

  // forget drops the places of cards that have gone, and pages that nothing is left on.
  forget(keys, perPage) {
    for (const key of this.byKey.keys()) if (!keys.has(key)) this.byKey.delete(key);
    const used = new Set();
    for (const { column, columns } of this.byKey.values())
      for (let c = column; c < column + columns; c++) used.add(Math.floor(c / perPage));
    const pages = Array.from(used).sort((a, b) => a - b);
    for (const place of this.byKey.values()) {
      const page = Math.floor(place.column / perPage);
      place.column += (pages.indexOf(page) - page) * perPage;
    }
  }
}
