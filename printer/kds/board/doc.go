// Package board holds the orders that kitchen screens show, and carries out the commands of cooks. It knows storage and
// tickets, and no HTTP.
//
// # Terms
//
//   - Board: the open tickets of one screen station, on stable storage. There is one for each.
//   - Card: one ticket on a board, stored as one value. A card keeps its place until it is bumped. (In the page's
//     scripts a Card is the drawing of a whole order.)
//   - Order: the unit that pages show: the cards of one order that are together on a board, or that left it together.
//     Orders are never stored; they follow from the cards.
//   - Band: the strip on an order for a ticket that cancels lines, or replaces another one. In JSON it is a void.
//   - Pass: a screen that shows the orders of several boards, with every part of them.
//   - Part: the tickets that one station has of an order, also a station without a screen. A pass asks the queue
//     for the tickets that came in one request with a card of its boards, and for the tickets of later requests
//     of the same check. It guesses nothing from numbers.
//   - Place: a counter that sorts the board. Departure: a counter of the cards that left the board, which
//     sorts the recall list. Clocks can be set back, so no board is sorted by time; a pass is, by the time received.
//
// # State and events
//
// The server owns the state. A page shows the state that it was sent, and asks for changes with commands. All of it is
// JSON. All times are milliseconds since 1970 by the server's clock; a page computes the difference from its own clock
// and never shows its own. All texts are free of control characters, but they are still untrusted text: a page must
// escape them. An absent field is false, zero or empty. Within a version fields are only added.
//
// A page starts with a [Snapshot]:
//
//	{"id": "5f0c….17", "run": "5f0c…", "seq": 17, "now": 1770374988000,
//	 "orders": [order, …], "recall": [order, …]}
//
// orders is sorted by place (oldest first, top left), recall by departure, newest first. id names the state: two
// pages with the same id show the same. run changes whenever the board is opened anew; seq counts changes
// within a run. An order ([Order]):
//
//	{"key": "9f…", "version": 81723, "state": "open", "place": 12, "number": "#18", "table": "Table B10",
//	 "received": 1770374988000, "clock": "21:49", "alarms": [{"text": "nuts", "job": 1017}],
//	 "voids": [{"job": 1020, "lines": ["1 Fish"]}], "must_ack_void": true, "left": 2,
//	 "tickets": [{"job": 1017, "version": 3, "items": [{"i": 0, "quantity": "2", "name": "Burger", "done": true},
//	   {"i": 1, "depth": 1, "quantity": "1", "name": "no onions", "done": true},
//	   {"i": 2, "quantity": "1", "name": "Fish"}]}]}
//
// After the snapshot comes an [Event] for each change:
//
//	{"id": "5f0c….18", "seq": 18, "kind": "order", "order": "9f…", "view": {order}}
//	{"id": "5f0c….19", "seq": 19, "kind": "forget_order", "order": "9f…"}
//
// "order" carries the whole order as it is now; it replaces the one with that key. Its state says where it
// belongs: "open" on the board; "bumped" and "elsewhere" in the recall list. A page that applies these events
// stays the same as the server. A stream resumes after the last id ([Orders.Since]); where that is not
// possible, the page takes a new snapshot.
//
// # Commands
//
// A page sends a [Command] and is answered with a [Result]:
//
//	{"id": "a random id of the page, new for each command", "do": "bump", "order": "9f…", "version": 81723}
//	{"id": "…", "outcome": "done", "order": {order}, "at": "5f0c….20"}
//
//	do           meaning                                              names
//	bump         the order is done: off the board, into recall        order
//	undo         reverses the order's last change, within 10 s        order
//	recall       from the recall list back to its place               order
//	ack_void     its cancellations were read                          order
//	ack_alarm    its allergies were read                              order
//	item_done    item i (a line of depth 0) and the lines under it    job, item: i
//	item_undone  the reverse                                          job, item: i
//	tick         a person has seen a part that nothing reports        order, part
//	untick       the reverse                                          order, part
//
// version is the order's, for an item its ticket's. [Outcome] lists the outcomes. A page
// sends a command again, with the same id, until it is answered; the board does it once. "undo" after a
// page's own command cannot undo another cook's change: the version would not match.
package board
