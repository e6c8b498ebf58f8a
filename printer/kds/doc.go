// Package kds shows tickets on screens in the kitchen.
//
// It is for cooks who work from a screen instead of paper: they see the open tickets of their
// station, mark items done, bump a ticket when it is finished and recall it when that was wrong.
//
// [Screen] is a station of the dispatcher, as a printer is: the same queue in front, the same promises, the same kinds
// of outcome. A third-party kitchen display, which the configuration calls kds, is a station of package push and not of
// this one. A ticket on a screen is "shown" when a live page has confirmed that it holds the ticket's card. The package
// depends on package board, the dispatcher's station interface and HTTP only; it does not know printers, routes or the
// configuration file.
//
// # Terms
//
// ARCHITECTURE.md has the terms of the whole program. These are added here:
//
//   - Page: one browser tab that shows a board. (The JSON and the scripts also say page for a screenful of cards, of
//     which a board has several; here that is a sheet.) A page is live while its event stream is open and
//     it answers heartbeats. A tab in the background does not answer: no cook sees it.
//   - Dark: a screen without any live page. After HoldFor its open tickets come out of its backup on one
//     piece of paper, and the tickets of its queue after it.
//   - Pairing: the permission of one browser to see one screen.
//
// # The way of a ticket
//
// The dispatcher calls Print of [Screen]. It stores the ticket as a card (board, Add) and publishes the board: its
// cards are grouped into orders (group), and a builder makes an order of each group (build). A changed order goes to
// the event stream of each page (server_stream); in the browser connection.js receives it, store.js keeps it, main.js
// announces it, and board.js and cards.js draw it. The page's confirmation comes back to the screen (screen_pages), and
// Print returns "shown".
//
// A page confirms that it holds a card; the proof is "shown" and not "confirmed", which is a printer's.
//
// Package board has the terms of the orders on a screen (board, card, order, pass), and the JSON in which
// pages are told of it and ask for changes. This package carries it: the page as a shell with the first
// snapshot, an event stream for each page, and the answers to its posts. A heartbeat of the stream carries
// {"id", "now", "offset"}: an id that is not the page's own means that the page has missed a change.
//
// A page confirms the cards it holds, on whichever of its sheets they are drawn, and says which of them are
// on the sheet that is visible now:
//
//	{"page": "…", "jobs": [1017, 1018], "visible": [1017]}
//
// jobs has new ones at once, and all of them whenever the page connects anew: of each ticket of its orders. Only this
// confirmation makes a ticket "shown". visible is recorded as when it was first seen.
package kds
