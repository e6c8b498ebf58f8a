// Package kds puts tickets where there is no paper: on a screen in the kitchen's own
// browser, or into a kitchen display of somebody else's.
//
// [Screen] and [Push] are stations of the dispatcher, beside paper: the same line, the same
// promises, the same honest outcome. A screen's ticket is shown when a live page holds it
// and has said so; a pushed one is taken when the other system answered that it has it.
//
// # The board, and what a page is told
//
// The server owns the state. [Board] is the open tickets of one screen station, on stable
// storage; a page only shows what it was told and asks for changes. All of it is JSON, all
// times are milliseconds since 1970 by the server's clock (a page keeps the difference to its
// own and never shows its own), all texts are free of control characters but are still text:
// a page escapes them. Fields are only ever added.
//
// A page begins with a [Snapshot]:
//
//	{"id": "5f0c….17", "run": "5f0c…", "seq": 17, "now": 1770374988000, "station": "hot-line",
//	 "open": [card, …], "recall": [card, …]}
//
// open is in place (oldest first, top left), recall newest first. id names the state: two pages
// with the same id show the same. run changes whenever the board is opened anew; seq
// counts changes within a run. A card ([Card]):
//
//	{"job": 1017, "place": 12, "version": 3, "state": "open", "order": "9f…",
//	 "number": "#18", "table": "Table B10", "type": "Dine In", "server": "Ann", …,
//	 "received": 1770374988000, "clock": "21:49", "courses": ["Mains"],
//	 "duplicate": true, "add_on": true, "void": true, "must_ack": true, …,
//	 "notes": ["sesame allergy"],
//	 "items": [{"i": 0, "quantity": "2", "name": "Burger", "done": true},
//	           {"i": 1, "depth": 1, "quantity": "1", "name": "no onions", "done": true}, …]}
//
// What is absent is false, zero or empty. After the snapshot come an [Event] each:
//
//	{"id": "5f0c….18", "seq": 18, "kind": "card", "job": 1017, "card": {…}}
//	{"id": "5f0c….19", "seq": 19, "kind": "forget", "job": 950}
//
// "card" is the whole card as it now is: put it in place of the one with that job. Its state
// says where it belongs: "open" cards on the board, sorted by place; "bumped" and
// "elsewhere" ones in the recall list, sorted by off, the largest first. "forget" takes a job
// out of either. That is all a page has to know to stay the same as the server. A stream is
// resumed with the last id ([Board.Since]); when that says no, take a snapshot. A heartbeat
// carries {"id", "now"}: an id that is not the page's own means that it missed something.
//
// A page asks with a [Command], and is answered with a [Result]:
//
//	{"id": "a page's own random id, new for each press", "do": "bump", "job": 1017, "version": 3}
//	{"id": "…", "outcome": "done", "card": {…}, "at": "5f0c….20"}
//
//	do         means                                             also needs
//	bump       the ticket is done: off the board, into recall
//	undo       takes the card's last change back, within 10 s
//	recall     from the recall list back to its place
//	item_done  item i (a line of depth 0) and what is under it    "item": i
//	item_undone                                                  "item": i
//	ack_void   the cancellation was read
//
//	outcome    means
//	done       it was done now, or by an earlier delivery of the very same command
//	already    it is so already; nothing was done
//	conflict   the card changed since the page's version; nothing was done, show card
//	unread     it has a cancellation that nobody acknowledged: ack_void first
//	too_late   more than 10 s ago; recall it instead
//	gone       no such card any more; drop it
//
// A page sends a command again, with the same id, until it is answered: it is done once. A
// command that was not stored is an error (503), not a Result. "undo" of a page's last press
// is the card's last change only if nobody changed it since: the version sees to that.
//
// A page says which cards it holds, on whichever page of cards: {"jobs": [1017, 1018]}, new
// ones at once and all of them whenever it connects anew. That, and nothing less, is what
// "shown" means.
//
// # Expo
//
// A screen at the pass sees several boards at once, by order. Its snapshot has "orders" and
// "recall" of [Order] instead of cards, its events are
//
//	{"id": "…", "seq": 20, "kind": "order", "order": "9f…", "view": {order}}
//	{"id": "…", "seq": 21, "kind": "forget_order", "order": "9f…"}
//
// and its commands name "order" (an order's key) and the order's version instead of job: bump,
// undo, recall. A bumped order has another key than the open one had.
// What a station does to its cards changes the order; what the pass bumps stays open at the
// stations.
//
//	{"key": "9f…", "version": 81723, "state": "open", "number": "#18", …, "ready": false,
//	 "stations": [{"station": "hot-line", "done": true, "cards": [card, …]},
//	              {"station": "cold", "done": false, "left": 2, "cards": [card, …]}]}
package kds
