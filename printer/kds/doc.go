// Package kds shows tickets on screens in the kitchen.
//
// It is for cooks who work from a screen instead of paper: they see the open tickets of their
// station, mark items done, bump a ticket when it is finished and recall it when that was wrong.
//
// [Screen] is a station of the dispatcher, as a printer is: the same queue in front, the same
// promises, the same kinds of outcome. A ticket on a screen is "shown" when a live page has
// confirmed that it holds the ticket's card. The package depends on the dispatcher's station interface and on HTTP
// only; it does not know printers, routes or the configuration file.
//
// # Terms
//
// ARCHITECTURE.md has the terms of the whole program. These are added here:
//
//   - Board: the open tickets of one screen station, on stable storage. There is one for each.
//   - Card: one ticket on a board. A card keeps its place until it is bumped.
//   - Page: one browser tab that shows a board. A page is live while its event stream is open and
//     it answers heartbeats. A tab in the background does not answer: nobody sees it.
//   - Dark: a screen without any live page. Its new tickets wait in its queue; after HoldFor they
//     come out of its backup.
//   - Rescue: copies of what was shown and not bumped, for the backup of a screen that is dark.
//   - Pass: a screen that shows whole orders, and which stations are done with them.
//   - Pairing: the permission of one browser to see one screen.
//   - Place: a counter that sorts the board. off: a counter of the cards that left the board, which
//     sorts the recall list. Clocks can be set back, so nothing is sorted by time.
//
// # The protocol between page and server
//
// The server owns the state. A page shows what it was told, and asks for changes with commands.
// All of it is JSON. All times are milliseconds since 1970 by the server's clock; a page computes
// the difference from its own clock and never shows its own. All texts are free of control
// characters, but they are still untrusted text: a page must escape them. Within a version fields
// are only added.
//
// A page starts with a [Snapshot]:
//
//	{"id": "5f0c….17", "run": "5f0c…", "seq": 17, "now": 1770374988000, "station": "hot-line",
//	 "open": [card, …], "recall": [card, …]}
//
// open is sorted by place (oldest first, top left), recall newest first. id names the state: two
// pages with the same id show the same. run changes whenever the board is opened anew; seq counts
// changes within a run. A card ([Card]):
//
//	{"job": 1017, "place": 12, "version": 3, "state": "open", "order": "9f…",
//	 "number": "#18", "table": "Table B10", "type": "Dine In", "server": "Ann", …,
//	 "received": 1770374988000, "clock": "21:49", "courses": ["Mains"],
//	 "duplicate": true, "add_on": true, "void": true, "must_ack": true, …,
//	 "notes": ["sesame allergy"],
//	 "items": [{"i": 0, "quantity": "2", "name": "Burger", "done": true},
//	           {"i": 1, "depth": 1, "quantity": "1", "name": "no onions", "done": true}, …]}
//
// An absent field is false, zero or empty. After the snapshot comes an [Event] for each change:
//
//	{"id": "5f0c….18", "seq": 18, "kind": "card", "job": 1017, "card": {…}}
//	{"id": "5f0c….19", "seq": 19, "kind": "forget", "job": 950}
//
// "card" carries the whole card as it is now; it replaces the card with that job. Its state says
// where it belongs: "open" cards on the board, sorted by place; "bumped" and "elsewhere" ones in
// the recall list, sorted by off, the largest first. "forget" removes a job from either. A page
// that applies these events stays the same as the server. A stream resumes after the last id
// ([Board.Since]); where that is not possible, the page takes a new snapshot. A heartbeat carries
// {"id", "now"}: an id that is not the page's own means that the page has missed a change.
//
// A page asks for a change with a [Command] and is answered with a [Result]:
//
//	{"id": "a random id of the page, new for each command", "do": "bump", "job": 1017, "version": 3}
//	{"id": "…", "outcome": "done", "card": {…}, "at": "5f0c….20"}
//
//	do           meaning                                              also needs
//	bump         the ticket is done: off the board, into recall
//	undo         reverses the card's last change, within 10 s
//	recall       from the recall list back to its place
//	item_done    item i (a line of depth 0) and the lines under it    "item": i
//	item_undone  the reverse                                          "item": i
//	ack_void     the cancellation was read
//
//	outcome      meaning
//	done         done now, or by an earlier delivery of the same command
//	already      the card is already in the state that the command asks for; nothing was changed
//	conflict     the card has changed since the page's version; nothing was changed, show card
//	unread       it has a cancellation that no cook has acknowledged: send ack_void first
//	too_late     the change is more than 10 s old; use recall
//	gone         there is no such card any more; remove it
//
// A page sends a command again, with the same id, until it is answered; the board does it once.
// If the change could not be stored, the answer is an HTTP error (503) and no Result. "undo" after
// a page's own command cannot undo another cook's change: the version would not match.
//
// A page confirms the cards it holds, on whichever of its pages they are drawn: {"jobs": [1017,
// 1018]}; new ones at once, and all of them whenever it connects anew. Only this confirmation
// makes a ticket "shown".
//
// # Pass
//
// The pass shows the cards of several boards, grouped by order. Its snapshot has "orders"
// and "recall" of [Order] instead of cards. Its events are
//
//	{"id": "…", "seq": 20, "kind": "order", "order": "9f…", "view": {order}}
//	{"id": "…", "seq": 21, "kind": "forget_order", "order": "9f…"}
//
// and its commands name "order" (the order's key) and the order's version instead of a job: bump,
// undo, recall. A bumped order has another key than the open one had. What a station does to its
// cards changes the order; an order that is bumped here stays open at the stations.
//
//	{"key": "9f…", "version": 81723, "state": "open", "number": "#18", …, "ready": false,
//	 "stations": [{"station": "hot-line", "done": true, "cards": [card, …]},
//	              {"station": "cold", "done": false, "left": 2, "cards": [card, …]}]}
package kds
