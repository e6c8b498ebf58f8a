// Divides cards into columns by the heights that columns.js has measured.

export const GAP = 6; // pixels between cards, as in board.css
const BORDER = 4; // of a card, above and below
const ITEM = 7; // pixels of an item beside its lines, as in board.css
const MORE = 24; // of the line that says that a card continues
const SMALL_REST = 0.07; // of a column that may stay empty at its end
const KEPT_ITEM = 0.06; // of a column that may stay empty to keep an item together

// place finds where cards go, in columns of a height. show(column, card, segments) is called for each;
// segments are the blocks [from, to) of each of its columns. Without mayCut only a card that is longer than a
// column is cut.
export function place(cards, height, mayCut, show) {
  let column = 0,
    used = 0;
  for (const card of cards) {
    let segments = divide(card, height - used, height);
    if (used && (!segments || (segments.length > 1 && !mayCut))) {
      column++;
      used = 0;
      segments = divide(card, height, height);
    }
    show(column, card, segments);
    column += segments.length - 1;
    used = (segments.length > 1 ? 0 : used) + segments[segments.length - 1].height + GAP;
  }
}

// columnsOf is how many columns cards fill.
export function columnsOf(cards, height, mayCut) {
  let columns = 0;
  place(cards, height, mayCut, (i, card, segments) => {
    columns = i + segments.length;
  });
  return columns;
}

// divide cuts a card so that its first piece fits into room and the others into a column. It returns
// null if the card should begin in a new column.
export function divide(card, room, height) {
  const blocks = card.blocks;
  const whole = card.headHeight + heightOf(blocks, 0, blocks.length) + card.footHeight + BORDER;
  if (whole <= room) return [{ from: 0, to: blocks.length, height: whole }];
  if (room < height && room < SMALL_REST * height) return null;
  const repeated = repeatedHeight(card, height);
  const segments = [];
  let from = 0;
  for (;;) {
    const first = segments.length === 0;
    const name = isInside(blocks, from) ? blocks[from].again : 0;
    const fixed = (first ? card.headHeight : card.againHeight + repeated) + BORDER + name;
    const most = (first ? room : height) - fixed;
    const rest = heightOf(blocks, from, blocks.length);
    if (from === blocks.length || (!first && rest + card.footHeight <= most)) {
      segments.push({ from, to: blocks.length, height: fixed + rest + card.footHeight });
      return segments;
    }
    const to = cut(blocks, from, most - MORE, height);
    // A head without anything to cook is no use at the end of a column.
    if (first && room < height && !blocks.slice(0, to).some((b) => b.content)) return null;
    const end = Math.max(to, from + 1);
    segments.push({ from, to: end, height: fixed + heightOf(blocks, from, end) + MORE });
    from = end;
  }
}

// isInside reports whether a block is not the first of its item.
export const isInside = (blocks, i) =>
  i > 0 && i < blocks.length && blocks[i].item && blocks[i].item === blocks[i - 1].item;

// cut returns the end of the blocks that fit into room pixels, beginning with the block from. It keeps an item together
// unless that would leave much of a column empty.
function cut(blocks, from, room, height) {
  let to = from;
  while (to < blocks.length && heightOf(blocks, from, to + 1) <= room) to++;
  if (to === blocks.length && to > from + 1) to--; // the foot never stands alone
  let start = to;
  while (start > from && isInside(blocks, start)) start--;
  if (start > from && heightOf(blocks, start, to) < KEPT_ITEM * height) to = start;
  while (to > from && blocks[to - 1].keep) to--;
  return to;
}

// heightOf is the height of the blocks [from, to). Lines that are a whole item are as high as it.
function heightOf(blocks, from, to) {
  let sum = 0;
  for (let i = from; i < to; ) {
    const item = blocks[i].item;
    let end = i + 1,
      lines = blocks[i].height;
    while (item && end < to && blocks[end].item === item) lines += blocks[end++].height;
    const isWhole = !item || ((i === 0 || blocks[i - 1].item !== item) && (!blocks[end] || blocks[end].item !== item));
    sum += isWhole ? blocks[i].whole : Math.max(lines + ITEM, item.isStatic ? 0 : 48);
    i = end;
  }
  return sum;
}

// repeatedHeight is the height of the allergies that each further column of a card repeats; 0 if they
// would leave little room for anything else.
function repeatedHeight(card, height) {
  const h = heightOf(card.blocks, 0, card.alarmBlocks);
  card.repeats = h < 0.25 * height;
  return card.repeats ? h : 0;
}
